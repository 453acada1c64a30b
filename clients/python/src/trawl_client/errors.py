"""Everything that a call can fail with. What a page failed with is no error of a call: it stands in `error` of the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, cast, get_args

from .models import RefusalCode

#: Of refusals that are a sentence, by their status; of what never was an answer; and `unknown`: a code of a newer service.
ErrorCode = (
    RefusalCode
    | Literal[
        "unauthorized",
        "not_found",
        "upload_too_slow",
        "conflict",
        "body_too_large",
        "encoding_unknown",
        "invalid_request",
        "rate_limited",
        "internal_error",
        "unavailable",
        "connection",
        "timeout",
        "protocol",
        "invalid_signature",
        "unknown",
    ]
)

_STATUS_CODES: Final[Mapping[int, ErrorCode]] = {
    401: "unauthorized",
    404: "not_found",
    405: "not_found",
    408: "upload_too_slow",
    409: "conflict",
    413: "body_too_large",
    415: "encoding_unknown",
    422: "invalid_request",
    429: "rate_limited",
    500: "internal_error",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
}


class TrawlError(Exception):
    """`code` tells errors apart; `request_id` names the request in the logs of the service."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        status: int | None = None,
        request_id: str | None = None,
        retry_after_s: float | None = None,
        body: Mapping[str, Any] | None = None,
        server_code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.status = status
        self.request_id = request_id
        #: After which another try is worth it, where the service says so.
        self.retry_after_s = retry_after_s
        #: As it came; None: there was none.
        self.body = body
        #: The code as the service gave it, also where this client does not know it.
        self.server_code = server_code

    @property
    def mistakes(self) -> Sequence[Mapping[str, Any]]:
        """Of the request, each with its place in `loc`: only with the code `invalid_request`."""
        detail = self.body.get("detail") if self.body else None
        return cast("Sequence[Mapping[str, Any]]", detail) if isinstance(detail, list) else []


def refusal(status: int, headers: Mapping[str, str], content: bytes, now: datetime) -> TrawlError:
    """Of an answer that is none of 2xx."""
    body = _error_body(content)
    detail: Any = body.get("detail") if body else None
    server_code: str | None = None
    if isinstance(detail, dict):
        said = cast("dict[str, Any]", detail)
        server_code = str(said.get("error"))
        sentence = str(said.get("message") or said.get("hint") or server_code)
    elif isinstance(detail, list):
        mistakes = cast("list[dict[str, Any]]", detail)
        sentence = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in mistakes)
    else:
        sentence = str(detail or "no reason given")
    code: ErrorCode = _STATUS_CODES.get(status, "unknown")
    if server_code is not None:
        code = cast("ErrorCode", server_code) if server_code in get_args(RefusalCode) else "unknown"
    request_id = headers.get("x-request-id")
    return TrawlError(
        code,
        f"{status} {sentence}" + (f" ({request_id})" if request_id else ""),
        status=status,
        request_id=request_id,
        retry_after_s=_retry_after(headers.get("retry-after"), now),
        body=body,
        server_code=server_code,
    )


def _error_body(content: bytes) -> Mapping[str, Any] | None:
    try:
        body: Any = json.loads(content)
    except ValueError:
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) and "detail" in body else None


def _retry_after(said: str | None, now: datetime) -> float | None:
    """In seconds or as a date (RFC 9110 §10.2.3)."""
    if said is None:
        return None
    if said.isdigit():
        return float(said)
    try:
        moment = parsedate_to_datetime(said)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - now).total_seconds())
