"""Whether a delivery comes from the service: HMAC-SHA256 over its moment and its exact bytes, with the secret of the webhook."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from .errors import TrawlError

_HEADER = "x-service-signature"


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes | str,
    secret: str | Sequence[str],
    *,
    tolerance_s: float = 300,
    now: float | None = None,
) -> dict[str, Any]:
    """The event, or a TrawlError with the code `invalid_signature`.

    `body`: as it came, byte for byte. `secret`: several while one replaces another.
    """
    said = next((value for name, value in headers.items() if name.lower() == _HEADER), "")
    parts = [part.strip().partition("=") for part in said.split(",")]
    moment = next((value for name, _, value in parts if name == "t"), "")
    signatures = [value for name, _, value in parts if name == "v1"]
    if not re.fullmatch(r"[0-9]+", moment) or not signatures:
        raise TrawlError("invalid_signature", f"The header {_HEADER} is missing or has another form")
    content = body.encode() if isinstance(body, str) else body
    signed = moment.encode() + b"." + content
    expected = [
        hmac.new(each.encode(), signed, hashlib.sha256).hexdigest()
        for each in ([secret] if isinstance(secret, str) else secret)
    ]
    # Takes as long for a wrong signature as for a right one.
    fits = [hmac.compare_digest(one.encode(), given.encode()) for one in expected for given in signatures]
    if not any(fits):
        raise TrawlError("invalid_signature", "No signature fits the body and the secret")
    if abs((time.time() if now is None else now) - int(moment)) > tolerance_s:
        raise TrawlError("invalid_signature", f"The delivery is of {moment}, too far from now")
    return cast("dict[str, Any]", json.loads(content))
