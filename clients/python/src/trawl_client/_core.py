"""What both clients share and no socket is needed for: requests, answers, retries, lines."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from hashlib import sha256
from keyword import iskeyword
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx
from pydantic import TypeAdapter, ValidationError

from .errors import ErrorCode, TrawlError, refusal

T = TypeVar("T")

RETRIES: Final = 3
TIMEOUT_S: Final = 300.0
CONNECT_S: Final = 10.0
#: The service sends an empty line every 15 seconds.
SILENT_S: Final = 45.0
#: How long a service may be away without one more result.
PATIENCE_S: Final = 300.0
_BUDGET: Final = 10.0
#: What each call gives back to the budget.
_BUDGET_SHARE: Final = 0.1
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 8.0
#: A service that asks for a longer pause is not waited for.
_LONGEST_RETRY_AFTER_S: Final = 60.0
_LONGEST_PAUSE_S: Final = 10.0
#: The service takes no larger part of a file.
PART_BYTES: Final = 8 * 2**20
_PASSING: Final = ("connection", "unavailable", "timeout", "rate_limited", "key_rate_limited")


def part(text: str | int) -> str:
    """A segment of a path."""
    return quote(str(text), safe="")


@dataclass(frozen=True)
class Request(Generic[T]):
    method: str
    path: str
    #: The type of the answer.
    answer: Any
    query: Mapping[str, Any] | None = None
    body: Mapping[str, Any] | None = None
    #: Bytes in place of a body of JSON.
    sent: bytes | None = None
    #: Whether a second request changes and costs nothing more than the first.
    is_repeatable: bool = False

    @property
    def parameters(self) -> dict[str, Any] | None:
        return named_as_sent(self.query) if self.query else None

    @property
    def content(self) -> dict[str, Any] | None:
        if self.body is None:
            return None
        # In a change None is a value: it takes a limit away.
        return named_as_sent(self.body, with_none=self.method == "PATCH")


def get(path: str, answer: type[T], query: Mapping[str, Any] | None = None) -> Request[T]:
    return Request("GET", path, answer, query=query, is_repeatable=True)


def post(path: str, answer: type[T], body: Mapping[str, Any]) -> Request[T]:
    """A call that is billed: it is repeated only where the service has done nothing."""
    return Request("POST", path, answer, body=body)


def announce(path: str, answer: type[T], body: Mapping[str, Any]) -> Request[T]:
    """The same file is the same import, however often it is announced."""
    return Request("POST", path, answer, body=body, is_repeatable=True)


def begin(path: str, answer: type[T], body: Mapping[str, Any]) -> Request[T]:
    """A job is begun once, whatever happens on the way: the key that names it is drawn where the caller gives none."""
    keyed = {**body, "idempotency_key": body.get("idempotency_key") or str(uuid4())}
    return Request("POST", path, answer, body=keyed, is_repeatable=True)


def patch(
    path: str, answer: type[T], change: Mapping[str, Any], query: Mapping[str, Any] | None = None
) -> Request[T]:
    return Request("PATCH", path, answer, query=query, body=change, is_repeatable=True)


def append(path: str, answer: type[T], sent: bytes, query: Mapping[str, Any]) -> Request[T]:
    """The bytes are sent as they are."""
    return Request("PATCH", path, answer, query=query, sent=sent, is_repeatable=True)


def delete(path: str, answer: type[T], query: Mapping[str, Any] | None = None) -> Request[T]:
    return Request("DELETE", path, answer, query=query, is_repeatable=True)


@dataclass(frozen=True)
class Upload:
    """A file that is sent in parts."""

    path: Path
    size: int
    sha256: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Upload:
        digest = sha256()
        size = 0
        with open(path, "rb") as file:
            while piece := file.read(PART_BYTES):
                digest.update(piece)
                size += len(piece)
        return cls(Path(path), size, digest.hexdigest())

    def part(self, offset: int) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(offset)
            return file.read(PART_BYTES)


def named_as_sent(fields: Mapping[str, Any], *, with_none: bool = False) -> dict[str, Any]:
    """Without the underscore of names that are words of Python, and without what is None."""
    return {_name(name): value for name, value in fields.items() if with_none or value is not None}


def _name(name: str) -> str:
    return name[:-1] if name.endswith("_") and iskeyword(name[:-1]) else name


@cache
def _adapter(answer: Any) -> TypeAdapter[Any]:
    return TypeAdapter(answer)


def read_json(content: bytes | bytearray, answer: Any, path: str) -> Any:
    if answer is type(None) and not content:
        return None
    try:
        return _adapter(answer).validate_json(bytes(content))
    except ValidationError as problem:
        raise TrawlError("protocol", f"The answer to {path} has another form: {problem}") from problem


def failure(problem: httpx.HTTPError) -> TrawlError:
    code: ErrorCode = "timeout" if isinstance(problem, httpx.TimeoutException) else "connection"
    return TrawlError(code, f"No whole answer came: {problem or type(problem).__name__}")


def refused(status: int, headers: Mapping[str, str], content: bytes) -> TrawlError:
    return refusal(status, headers, content, datetime.now(timezone.utc))


class Retries:
    """Of a client: all its calls share a budget of about one repetition in ten calls."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.budget = _BUDGET

    def begin(self, request: Request[Any], timeout_s: float) -> Attempt:
        self.budget = min(_BUDGET, self.budget + _BUDGET_SHARE)
        return Attempt(self, request, time.monotonic() + timeout_s)


class Attempt:
    """One call with its repetitions."""

    def __init__(self, retries: Retries, request: Request[Any], until_s: float) -> None:
        self._retries = retries
        self._request = request
        self._until_s = until_s
        self._count = 0

    def timeout(self) -> httpx.Timeout:
        left_s = max(0.001, self._until_s - time.monotonic())
        return httpx.Timeout(left_s, connect=min(CONNECT_S, left_s))

    def wait_after(self, error: TrawlError) -> float:
        """Seconds until the next attempt. Raises the error where there is none."""
        wait_s = self._wait_of(error)
        is_over = self._count >= self._retries.most or self._retries.budget < 1
        if wait_s is None or is_over or time.monotonic() + wait_s >= self._until_s:
            raise error
        self._retries.budget -= 1
        self._count += 1
        return wait_s

    def _wait_of(self, error: TrawlError) -> float | None:
        if not self._is_worth_retrying(error):
            return None
        jitter_s = random.random() * min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0**self._count)
        if error.retry_after_s is None:
            return jitter_s
        # Never before Retry-After; clients that were refused together do not come back together.
        return None if error.retry_after_s > _LONGEST_RETRY_AFTER_S else error.retry_after_s + jitter_s / 2

    def _is_worth_retrying(self, error: TrawlError) -> bool:
        if error.code == "customer_suspended":
            return False
        if error.status in (408, 429, 503):
            return True
        if error.code == "connection":
            never_arrived = isinstance(error.__cause__, httpx.ConnectError)
            return self._request.is_repeatable or never_arrived
        is_servers = error.status is not None and error.status >= 500
        return self._request.is_repeatable and is_servers and error.code != "timeout"


class Lines:
    """The lines of a body that comes in pieces. What follows the last line break stays: it may be half a line."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def of(self, piece: bytes) -> Iterable[bytes]:
        start = 0
        while (end := piece.find(b"\n", start)) != -1:
            self._rest += piece[start:end]
            line = bytes(self._rest)
            self._rest.clear()
            start = end + 1
            # An empty line says that the connection lives.
            if line:
                yield line
        self._rest += piece[start:]


class Following:
    """How far the results of a job have been read, over all connections."""

    def __init__(self, start: int) -> None:
        self.next = start
        self._failures = 0
        self._moved_s = time.monotonic()

    def moved(self, index: int) -> None:
        self.next = index + 1
        self._failures = 0
        self._moved_s = time.monotonic()

    def is_over(self, finished_at: Any, total: int) -> bool:
        """A stream ends with the job, after an hour, and when its node stops."""
        return finished_at is not None and self.next >= total

    def check(self, error: TrawlError) -> None:
        """Raises the error unless it passes by itself and the job has moved lately."""
        if error.code not in _PASSING or time.monotonic() - self._moved_s > PATIENCE_S:
            raise error

    def pause_s(self) -> float:
        self._failures += 1
        return random.random() * min(_LONGEST_PAUSE_S, 0.125 * 2.0**self._failures)
