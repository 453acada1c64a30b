"""Client of Trawl: pages, searches, crawls, filings and companies, typed, sync and async."""

from ._async import AsyncJob, AsyncPages, AsyncResults, AsyncTrawl
from ._sync import Job, Pages, Results, Trawl
from .errors import ErrorCode, TrawlError
from .webhooks import verify_webhook

__all__ = [
    "AsyncJob",
    "AsyncPages",
    "AsyncResults",
    "AsyncTrawl",
    "ErrorCode",
    "Job",
    "Pages",
    "Results",
    "Trawl",
    "TrawlError",
    "verify_webhook",
]
