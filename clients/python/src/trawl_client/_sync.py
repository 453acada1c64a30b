"""The client that waits. Made of `_async.py` by `npm run clients`: changes are lost."""

from __future__ import annotations

import time
import os
from collections.abc import Iterator, Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

import httpx
from typing_extensions import Self, Unpack

from . import _core, models, params
from .errors import TrawlError

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")
Page = TypeVar("Page")
Entry = TypeVar("Entry")

#: Of paths: those of jobs and companies have their ids.
_ADDRESSES = 256


class _Indexed(Protocol):
    index: int


Item = TypeVar("Item", bound=_Indexed)


class Http:
    """One way to the service: the key, deadlines, and retries within a budget."""

    def __init__(self, key: str, url: str, retries: int, timeout_s: float, client: httpx.Client | None) -> None:
        self.client = client or httpx.Client()
        self._is_own = client is None

        # To read an address takes a fifth of the CPU time of a call: each path is read once.
        @lru_cache(_ADDRESSES)
        def address(path: str) -> httpx.URL:
            return httpx.URL(url.rstrip("/") + path)

        self._address = address
        self._headers = {"authorization": f"Bearer {key}"}
        self._retries = _core.Retries(retries)
        self._timeout_s = timeout_s

    def close(self) -> None:
        if self._is_own:
            self.client.close()

    def send(self, request: _core.Request[T]) -> T:
        attempt = self._retries.begin(request, self._timeout_s)
        while True:
            try:
                return self._once(request, attempt.timeout())
            except TrawlError as problem:
                error = problem
            time.sleep(attempt.wait_after(error))

    def _once(self, request: _core.Request[T], timeout: httpx.Timeout) -> T:
        headers = self._headers
        if request.sent is not None:
            headers = {**headers, "content-type": "application/octet-stream"}
        try:
            answer = self.client.request(
                request.method,
                self._address(request.path),
                params=request.parameters,
                json=request.content,
                content=request.sent,
                headers=headers,
                timeout=timeout,
            )
        except httpx.HTTPError as problem:
            raise _core.failure(problem) from problem
        if not answer.is_success:
            raise _core.refused(answer.status_code, answer.headers, answer.content)
        return cast("T", _core.read_json(answer.content, request.answer, request.path))

    def pieces(
        self, path: str, range_: str | None = None, query: Mapping[str, Any] | None = None
    ) -> Iterator[bytes]:
        headers = self._headers if range_ is None else {**self._headers, "range": range_}
        parameters = _core.named_as_sent(query) if query else None
        for piece in self._stream(path, parameters, headers, self._timeout_s):
            yield piece

    def lines(self, path: str, query: Mapping[str, Any]) -> Iterator[bytes]:
        lines = _core.Lines()
        for piece in self._stream(path, query, self._headers, _core.SILENT_S):
            for line in lines.of(piece):
                yield line

    def _stream(
        self, path: str, query: Mapping[str, Any] | None, headers: Mapping[str, str], silent_s: float
    ) -> Iterator[bytes]:
        timeout = httpx.Timeout(silent_s, connect=_core.CONNECT_S)
        try:
            with self.client.stream(
                "GET", self._address(path), params=query, headers=headers, timeout=timeout, follow_redirects=True
            ) as answer:
                if not answer.is_success:
                    raise _core.refused(answer.status_code, answer.headers, answer.read())
                for piece in answer.iter_bytes():
                    yield piece
        except httpx.HTTPError as problem:
            raise _core.failure(problem) from problem


class Results(Generic[Item]):
    """Every result in the order of the items, each once, until the job has ended. A lost connection is taken up where it was lost."""

    def __init__(self, http: Http, job: Job[Item], start: int, item: Any) -> None:
        self._http = http
        self._job = job
        self._start = start
        self._item = item

    def __iter__(self) -> Iterator[Item]:
        following = _core.Following(self._start)
        path = f"{self._job.path}/results"
        while True:
            try:
                for line in self._http.lines(path, {"from": following.next, "follow": "true"}):
                    item = cast("Item", _core.read_json(line, self._item, path))
                    following.moved(item.index)
                    yield item
                status = self._job.status()
                if following.is_over(status.finished_at, status.counts.total):
                    return
            except TrawlError as error:
                following.check(error)
            time.sleep(following.pause_s())

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each item: `index`, `status`, `error`, and the fields of input and result as columns. Needs trawl-client[pandas]."""
        from .frames import frame_of

        return frame_of([item for item in self])


class Job(Generic[Item]):
    """A job of the service. Iterated it is its results."""

    def __init__(
        self, http: Http, job_id: str, created: bool, item: Any, webhook_secret: str | None = None
    ) -> None:
        self.id = job_id
        #: Whether this call began it; False: the idempotency key or the id named one that exists.
        self.created = created
        #: Signs the events of a crawl with a `webhook`.
        self.webhook_secret = webhook_secret
        self.path = f"/v1/jobs/{_core.part(job_id)}"
        self._http = http
        self._item = item

    def status(self) -> models.JobStatus:
        return self._http.send(_core.get(self.path, models.JobStatus))

    def progress(self) -> models.JobProgress | None:
        """Items per second and what the job waits for. None: it has ended, or its node does not answer now."""
        job = self._http.send(_core.get(self.path, models.JobStatus, {"include": "progress"}))
        return job.progress

    def pause(self) -> models.JobStatus:
        """No further item starts until `resume`; those in flight end. A job that is paused for 30 days is cancelled."""
        return self._http.send(_core.patch(self.path, models.JobStatus, {"paused": True}))

    def resume(self) -> models.JobStatus:
        """Raises a TrawlError `paused_by_operator` where only the operator of the service can resume it."""
        return self._http.send(_core.patch(self.path, models.JobStatus, {"paused": False}))

    def cancel(self) -> models.JobStatus:
        return self._http.send(_core.delete(self.path, models.JobStatus))

    def wait(self) -> models.JobStatus:
        """Returns when the job has ended, also when it was cancelled."""
        wait_s = 1.0
        while (status := self.status()).finished_at is None:
            time.sleep(wait_s)
            wait_s = min(10.0, wait_s * 1.5)
        return status

    def results(self, *, start: int = 0) -> Results[Item]:
        """From an item on: a program that handled item 41 goes on with 42."""
        return Results(self._http, self, start, self._item)

    def __iter__(self) -> Iterator[Item]:
        return self.results().__iter__()

    def urls(self, **query: Unpack[params.GetJobUrlsQuery]) -> Pages[models.CrawlUrlPage, models.CrawlUrl]:
        """Of a crawl: every address that it has seen, with why it was not fetched."""
        return Pages(
            self._http, f"{self.path}/urls", models.CrawlUrlPage, query, lambda page: page.items, cursor="from_"
        )

    def urls_csv(self, **query: Unpack[params.GetJobUrlsCsvQuery]) -> Iterator[bytes]:
        """What `urls` lists, as CSV, piece by piece."""
        return self._http.pieces(f"{self.path}/urls.csv", query=query)

    def add_sink(self, **options: Unpack[params.SinkBody]) -> models.Sink:
        """Pushes the results to a bucket or a webhook as they end. The secret of a webhook is told only here."""
        return self._http.send(_core.post(f"{self.path}/sinks", models.Sink, options))

    def sinks(self) -> models.ListJobSinksResponse:
        return self._http.send(_core.get(f"{self.path}/sinks", models.ListJobSinksResponse))

    def remove_sink(self, sink_id: str) -> None:
        """What it has delivered stays."""
        self._http.send(_core.delete(f"{self.path}/sinks/{_core.part(sink_id)}", type(None)))

    def wacz(self, *, range_: str | None = None) -> Iterator[bytes]:
        """What was archived, as a WACZ file, piece by piece; `range_` as in HTTP."""
        return self._http.pieces(f"{self.path}.wacz", range_)

    def warc(self, *, range_: str | None = None) -> Iterator[bytes]:
        """What was archived, as a WARC file, piece by piece; `range_` as in HTTP."""
        return self._http.pieces(f"{self.path}.warc.gz", range_)


class Pages(Generic[Page, Entry]):
    """A list that comes in pages. Iterated it is the entries of all of them."""

    def __init__(
        self,
        http: Http,
        path: str,
        answer: type[Page],
        query: Mapping[str, Any],
        entries: Callable[[Page], Sequence[Entry]],
        *,
        cursor: str = "cursor",
    ) -> None:
        self._http = http
        self._path = path
        self._answer = answer
        self._query = query
        self._entries = entries
        self._cursor = cursor

    def page(self, cursor: str | int | None = None) -> Page:
        """The first page, or the one of a `next_cursor`."""
        query = self._query if cursor is None else {**self._query, self._cursor: cursor}
        return self._http.send(_core.get(self._path, self._answer, query))

    def __iter__(self) -> Iterator[Entry]:
        cursor: Any = None
        while True:
            page: Any = self.page(cursor)
            for entry in self._entries(page):
                yield entry
            cursor = page.next_from if isinstance(page, models.CompanyReviewPage) else page.next_cursor
            if cursor is None:
                return


class Batches:
    """Thousands of items in the background, each as the single call would have it."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def fetch(
        self, items: Sequence[str | params.FetchBody], **options: Unpack[params.BatchFetchOptions]
    ) -> Job[models.FetchJobItem]:
        whole = [{"url": item} if isinstance(item, str) else item for item in items]
        return _job(self._http, "/v1/batch/fetch", {**options, "items": whole}, models.FetchJobItem)

    def search(
        self, items: Sequence[str | params.SearchBody], **options: Unpack[params.BatchSearchOptions]
    ) -> Job[models.SearchJobItem]:
        whole = [{"query": item} if isinstance(item, str) else item for item in items]
        return _job(self._http, "/v1/batch/search", {**options, "items": whole}, models.SearchJobItem)

    def filings(
        self, items: Sequence[params.FilingsItem], **options: Unpack[params.BatchFilingsOptions]
    ) -> Job[models.FilingsJobItem]:
        return _job(self._http, "/v1/batch/filings", {**options, "items": items}, models.FilingsJobItem)

    def profiles(
        self, items: Sequence[params.ProfilesItem], **options: Unpack[params.BatchProfilesOptions]
    ) -> Job[models.ProfilesJobItem]:
        return _job(self._http, "/v1/batch/profiles", {**options, "items": items}, models.ProfilesJobItem)

    def companies(
        self, items: Sequence[params.CompanyBatchItem], **options: Unpack[params.BatchCompaniesOptions]
    ) -> Job[models.CompanyJobItem]:
        return _job(self._http, "/v1/companies/batch", {**options, "items": items}, models.CompanyJobItem)


def _job(http: Http, path: str, body: Mapping[str, Any], item: type[Item]) -> Job[Item]:
    created = http.send(_core.begin(path, models.JobCreated, body))
    return Job(http, created.job_id, created.created, item, created.webhook_secret)


class Filings:
    """Filings of companies with the SEC."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def resolve(self, **query: Unpack[params.ResolveFilerQuery]) -> models.ResolveAnswer:
        """The filer with a ticker, a number, an ISIN or a name."""
        return self._http.send(_core.get("/v1/filings/companies/resolve", models.ResolveAnswer, query))

    def submissions(
        self, cik: str | int, **query: Unpack[params.ListSubmissionsQuery]
    ) -> models.SubmissionsAnswer:
        return self._http.send(_core.get(_filer(cik, "submissions"), models.SubmissionsAnswer, query))

    def latest(self, cik: str | int, **query: Unpack[params.LatestFilingQuery]) -> models.LatestAnswer:
        return self._http.send(_core.get(_filer(cik, "filings/latest"), models.LatestAnswer, query))

    def index(
        self, cik: str | int, accession: str, **query: Unpack[params.ListFilingDocumentsQuery]
    ) -> models.IndexAnswer:
        """The documents of one filing."""
        path = f"/v1/filings/index/{_core.part(cik)}/{_core.part(accession)}"
        return self._http.send(_core.get(path, models.IndexAnswer, query))

    def document(self, **body: Unpack[params.DocumentBody]) -> models.FilingDocumentResponse:
        return self._http.send(
            _core.post("/v1/filings/documents/fetch", models.FilingDocumentResponse, body)
        )

    def facts(self, cik: str | int, **query: Unpack[params.SummariseFactsQuery]) -> models.FactsAnswer:
        return self._http.send(_core.get(_filer(cik, "facts"), models.FactsAnswer, query))

    def search(self, **query: Unpack[params.SearchFilingsQuery]) -> models.FilingSearchAnswer:
        return self._http.send(_core.get("/v1/filings/search", models.FilingSearchAnswer, query))


def _filer(cik: str | int, rest: str) -> str:
    return f"/v1/filings/companies/{_core.part(cik)}/{rest}"


class Profiles:
    """Profiles of companies from a public site."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def suggest(self, **body: Unpack[params.SuggestBody]) -> models.SuggestAnswer:
        return self._http.send(_core.post("/v1/profiles/suggest", models.SuggestAnswer, body))

    def discover(self, **body: Unpack[params.DiscoverBody]) -> models.DiscoverAnswer:
        return self._http.send(_core.post("/v1/profiles/discover", models.DiscoverAnswer, body))

    def profile(self, **body: Unpack[params.ProfileBody]) -> models.ProfileAnswer:
        return self._http.send(_core.post("/v1/profiles/profile", models.ProfileAnswer, body))

    def graph(self, **body: Unpack[params.GraphBody]) -> models.GraphAnswer:
        return self._http.send(_core.post("/v1/profiles/graph", models.GraphAnswer, body))


class Companies:
    """The register. `ref`: an id, or `scheme:value` of one of a company's numbers."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.watches = Watches(http)

    def search(
        self, **query: Unpack[params.SearchCompaniesQuery]
    ) -> Pages[models.CompanySearchAnswer, models.CompanySummary]:
        return Pages(
            self._http, "/v1/companies/search", models.CompanySearchAnswer, query, lambda page: page.results
        )

    def resolve(self, **body: Unpack[params.CompanyResolveBody]) -> models.CompanyResolveAnswer:
        return self._http.send(_core.post("/v1/companies/resolve", models.CompanyResolveAnswer, body))

    def get(self, ref: str, **query: Unpack[params.GetCompanyQuery]) -> models.CompanyRecord:
        return self._http.send(_core.get(_company(ref), models.CompanyRecord, query))

    def baseline(
        self, **query: Unpack[params.ListCompanyBaselineQuery]
    ) -> models.ListCompanyBaselineResponse:
        """A page of all companies; after the last one, `changes` goes on from `changes_cursor`."""
        return self._http.send(
            _core.get("/v1/companies/baseline", models.ListCompanyBaselineResponse, query)
        )

    def changes(
        self, **query: Unpack[params.ListCompanyChangesQuery]
    ) -> models.ListCompanyChangesResponse:
        """What has changed since a moment or a cursor: `next_cursor` is kept for the next question."""
        return self._http.send(
            _core.get("/v1/companies/changes", models.ListCompanyChangesResponse, query)
        )

    def all_sources(self) -> models.ListCompanySourcesResponse:
        """The sources of the register, with their licences and how they are."""
        return self._http.send(_core.get("/v1/companies/sources", models.ListCompanySourcesResponse))

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a record."""
        return self._http.send(_core.get("/v1/schemas/company", dict[str, Any]))

    def csv(self, job_id: str) -> Iterator[bytes]:
        """The results of a batch of companies as CSV, when it has ended."""
        return self._http.pieces(f"/v1/companies/batch/{_core.part(job_id)}.csv")

    def review(
        self, job_id: str, **query: Unpack[params.ListCompanyReviewQuery]
    ) -> Pages[models.CompanyReviewPage, models.CompanyReviewItem]:
        """The items of a batch whose company was not found for certain."""
        path = f"/v1/companies/batch/{_core.part(job_id)}/review"
        return Pages(
            self._http, path, models.CompanyReviewPage, query, lambda page: page.items, cursor="from_"
        )

    def decide(
        self, job_id: str, decisions: Sequence[params.CompanyReviewDecision]
    ) -> models.CompanyReviewDecided:
        """Which company an item means; None: none of its candidates."""
        path = f"/v1/companies/batch/{_core.part(job_id)}/review"
        request = _core.Request[models.CompanyReviewDecided](
            "POST", path, models.CompanyReviewDecided, body={"decisions": decisions}, is_repeatable=True
        )
        return self._http.send(request)

    # One for each list below a company: `npm run clients` does not know them, `mypy --strict` does.
    def people(
        self, ref: str, **query: Unpack[params.GetCompanyPeopleQuery]
    ) -> Pages[models.GetCompanyPeopleResponse, Any]:
        return Pages(
            self._http, _company(ref, "people"), models.GetCompanyPeopleResponse, query, lambda page: page.items
        )

    def events(
        self, ref: str, **query: Unpack[params.GetCompanyEventsQuery]
    ) -> Pages[models.GetCompanyEventsResponse, Any]:
        return Pages(
            self._http, _company(ref, "events"), models.GetCompanyEventsResponse, query, lambda page: page.items
        )

    def history(
        self, ref: str, **query: Unpack[params.GetCompanyHistoryQuery]
    ) -> Pages[models.GetCompanyHistoryResponse, Any]:
        return Pages(
            self._http, _company(ref, "history"), models.GetCompanyHistoryResponse, query, lambda page: page.items
        )

    def ownership(
        self, ref: str, **query: Unpack[params.GetCompanyOwnershipQuery]
    ) -> Pages[models.GetCompanyOwnershipResponse, Any]:
        return Pages(
            self._http, _company(ref, "ownership"), models.GetCompanyOwnershipResponse, query, lambda page: page.items
        )

    def relationships(
        self, ref: str, **query: Unpack[params.GetCompanyRelationshipsQuery]
    ) -> Pages[models.GetCompanyRelationshipsResponse, Any]:
        return Pages(
            self._http,
            _company(ref, "relationships"),
            models.GetCompanyRelationshipsResponse,
            query,
            lambda page: page.items,
        )

    def filings(
        self, ref: str, **query: Unpack[params.GetCompanyFilingsQuery]
    ) -> Pages[models.GetCompanyFilingsResponse, Any]:
        return Pages(
            self._http, _company(ref, "filings"), models.GetCompanyFilingsResponse, query, lambda page: page.items
        )

    def financials(
        self, ref: str, **query: Unpack[params.GetCompanyFinancialsQuery]
    ) -> Pages[models.GetCompanyFinancialsResponse, Any]:
        return Pages(
            self._http, _company(ref, "financials"), models.GetCompanyFinancialsResponse, query, lambda page: page.items
        )

    def sources(
        self, ref: str, **query: Unpack[params.GetCompanySourcesQuery]
    ) -> Pages[models.GetCompanySourcesResponse, Any]:
        return Pages(
            self._http, _company(ref, "sources"), models.GetCompanySourcesResponse, query, lambda page: page.items
        )


def _company(ref: str, name: str | None = None) -> str:
    return f"/v1/companies/{_core.part(ref)}" + (f"/{name}" if name else "")


class Watches:
    """Addresses that are told when a company changes."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> models.ListCompanyWatchesResponse:
        return self._http.send(_core.get("/v1/companies/watches", models.ListCompanyWatchesResponse))

    def create(self, **body: Unpack[params.CreateCompanyWatchBody]) -> models.CompanyWatch:
        """Its `secret` is told only here."""
        return self._http.send(_core.post("/v1/companies/watches", models.CompanyWatch, body))

    def delete(self, watch_id: str) -> None:
        self._http.send(_core.delete(f"/v1/companies/watches/{_core.part(watch_id)}", type(None)))


class Monitors:
    """Pages that the service looks at again and again."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def create(self, url: str, **options: Unpack[params.MonitorOptions]) -> models.Monitor:
        """Its `secret` is told only here."""
        return self._http.send(_core.post("/v1/monitors", models.Monitor, {**options, "url": url}))

    def list(self) -> models.ListMonitorsResponse:
        return self._http.send(_core.get("/v1/monitors", models.ListMonitorsResponse))

    def get(self, monitor_id: str) -> models.Monitor:
        return self._http.send(_core.get(_monitor(monitor_id), models.Monitor))

    def change(self, monitor_id: str, **change: Unpack[params.MonitorPatch]) -> models.Monitor:
        return self._http.send(_core.patch(_monitor(monitor_id), models.Monitor, change))

    def run(self, monitor_id: str) -> models.Monitor:
        """Looks at the page now."""
        return self._http.send(_core.post(f"{_monitor(monitor_id)}/run", models.Monitor, {}))

    def delete(self, monitor_id: str) -> None:
        self._http.send(_core.delete(_monitor(monitor_id), type(None)))

    def changes(
        self, monitor_id: str, **query: Unpack[params.ListMonitorChangesQuery]
    ) -> models.ListMonitorChangesResponse:
        return self._http.send(
            _core.get(f"{_monitor(monitor_id)}/changes", models.ListMonitorChangesResponse, query)
        )


def _monitor(monitor_id: str) -> str:
    return f"/v1/monitors/{_core.part(monitor_id)}"


class Sessions:
    """What several fetches have in common, by their `session_id`: cookies, a user agent, a language."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def create(self, **options: Unpack[params.SessionBody]) -> models.Session:
        return self._http.send(_core.post("/v1/sessions", models.Session, options))

    def list(self) -> models.ListSessionsResponse:
        return self._http.send(_core.get("/v1/sessions", models.ListSessionsResponse))

    def get(self, session_id: str) -> models.Session:
        return self._http.send(_core.get(_session(session_id), models.Session))

    def change(self, session_id: str, **change: Unpack[params.SessionPatch]) -> models.Session:
        """Adds, replaces and removes secrets."""
        return self._http.send(_core.patch(_session(session_id), models.Session, change))

    def delete(self, session_id: str) -> None:
        """Ends it, and forgets its cookies and secrets."""
        self._http.send(_core.delete(_session(session_id), type(None)))


def _session(session_id: str) -> str:
    return f"/v1/sessions/{_core.part(session_id)}"


class Keys:
    """Keys of the account, each known by its prefix. Only for an admin key."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> models.AccountKeys:
        return self._http.send(_core.get("/v1/keys", models.AccountKeys))

    def create(self, **options: Unpack[params.KeyBody]) -> models.AccountKeyCreated:
        """The key itself is told only here."""
        return self._http.send(_core.post("/v1/keys", models.AccountKeyCreated, options))

    def change(
        self, prefix: str, *, last_admin: bool = False, **change: Unpack[params.KeyChange]
    ) -> models.AccountKey:
        """What is left out stays; None takes a limit away."""
        return self._http.send(
            _core.patch(_key(prefix), models.AccountKey, change, {"last_admin": last_admin or None})
        )

    def rotate(self, prefix: str, **options: Unpack[params.KeyRotation]) -> models.AccountKeyCreated:
        """A new key in place of this one, which works for `grace_s` more seconds. The new key is told only here."""
        return self._http.send(_core.post(f"{_key(prefix)}/rotate", models.AccountKeyCreated, options))

    def revoke(self, prefix: str, *, last_admin: bool = False) -> None:
        self._http.send(_core.delete(_key(prefix), type(None), {"last_admin": last_admin or None}))

    def events(self) -> models.KeyEvents:
        """Who has made, changed and revoked keys, newest first."""
        return self._http.send(_core.get("/v1/keys/events", models.KeyEvents))


def _key(prefix: str) -> str:
    return f"/v1/keys/{_core.part(prefix)}"


class Alerts:
    """Addresses that are told when an allowance is nearly used."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> models.ListAlertsResponse:
        return self._http.send(_core.get("/v1/alerts", models.ListAlertsResponse))

    def create(self, **body: Unpack[params.AlertBody]) -> models.AlertHookCreated:
        """Its `secret` is told only here."""
        return self._http.send(_core.post("/v1/alerts", models.AlertHookCreated, body))

    def delete(self, alert_id: int) -> None:
        self._http.send(_core.delete(f"/v1/alerts/{_core.part(alert_id)}", type(None)))


class Invoices:
    """Finished months of the account."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> models.ListInvoicesResponse:
        return self._http.send(_core.get("/v1/invoices", models.ListInvoicesResponse))

    def get(self, invoice_id: str) -> models.Invoice:
        return self._http.send(_core.get(f"/v1/invoices/{_core.part(invoice_id)}", models.Invoice))


class ArchiveImports:
    """Archive files that you have, as a source of the service."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def upload(
        self, path: str | os.PathLike[str], *, name: str | None = None, shared: bool | None = None
    ) -> models.ArchiveImport:
        """A WARC or WACZ file, in parts. Again for the same file it goes on where it was broken off. The service reads the file afterwards: `get` tells how far it is."""
        upload = _core.Upload.of(path)
        body = {"name": name or upload.path.name, "bytes": upload.size, "sha256": upload.sha256, "shared": shared}
        told = self._http.send(_core.announce("/v1/archives", models.ArchiveImport, body))
        while told.state == "uploading" and told.received_bytes < upload.size:
            offset = told.received_bytes
            path_of = f"/v1/archives/{_core.part(told.id)}"
            part = _core.append(path_of, models.ArchiveImport, upload.part(offset), {"offset": offset})
            try:
                told = self._http.send(part)
            except TrawlError as problem:
                # The part had arrived, though its answer was lost.
                if problem.status != 409:
                    raise
                told = self.get(told.id)
                if told.received_bytes <= offset:
                    raise
        return told

    def list(self) -> models.ListArchiveImportsResponse:
        return self._http.send(_core.get("/v1/archives", models.ListArchiveImportsResponse))

    def get(self, import_id: str) -> models.ArchiveImport:
        return self._http.send(_core.get(f"/v1/archives/{_core.part(import_id)}", models.ArchiveImport))

    def delete(self, import_id: str) -> None:
        """With its captures."""
        self._http.send(_core.delete(f"/v1/archives/{_core.part(import_id)}", type(None)))

    def warc(self, import_id: str) -> Iterator[bytes]:
        """Its captures, as a WARC file, piece by piece."""
        return self._http.pieces(f"/v1/archives/{_core.part(import_id)}.warc.gz")


class Archive:
    """What was fetched with `archive`, and archive files that were imported."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.imports = ArchiveImports(http)

    def captures(self, url: str, **query: Unpack[params.CapturesOptions]) -> list[list[str]]:
        """The names of the columns, then a row for each capture of the address."""
        return self._http.send(_core.get("/v1/archive/cdx", list[list[str]], {**query, "url": url}))

    def capture(self, timestamp: str, url: str) -> Iterator[bytes]:
        """The bytes of the capture that is nearest to the time (1 to 14 digits), piece by piece."""
        return self._http.pieces(f"/v1/archive/web/{_core.part(timestamp)}id_/{url}")

    def view(self, url: str, *, timestamp: str | None = None) -> models.ViewCaptureResponse:
        """An address at which a browser shows the capture."""
        query = {"url": url, "timestamp": timestamp}
        return self._http.send(_core.get("/v1/archive/view", models.ViewCaptureResponse, query))

    def warc(self, request_id: str) -> Iterator[bytes]:
        """The exchanges of one fetch, as a WARC file, piece by piece."""
        return self._http.pieces(f"/v1/requests/{_core.part(request_id)}.warc.gz")


class Trawl:
    """The client of a service and a key. `timeout_s`: how long a call may take with its retries; the results of a job may take longer."""

    def __init__(
        self,
        *,
        key: str,
        url: str,
        retries: int = _core.RETRIES,
        timeout_s: float = _core.TIMEOUT_S,
        client: httpx.Client | None = None,
    ) -> None:
        self._http = Http(key, url, retries, timeout_s, client)
        self.alerts = Alerts(self._http)
        self.archive = Archive(self._http)
        self.batch = Batches(self._http)
        self.filings = Filings(self._http)
        self.companies = Companies(self._http)
        self.invoices = Invoices(self._http)
        self.keys = Keys(self._http)
        self.profiles = Profiles(self._http)
        self.monitors = Monitors(self._http)
        self.sessions = Sessions(self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def fetch(self, url: str, **options: Unpack[params.FetchOptions]) -> models.FetchResponse:
        """One page. What it failed with stands in `error` of the answer; only a refused request is raised."""
        return self._http.send(_core.post("/v1/fetch", models.FetchResponse, {**options, "url": url}))

    def search(self, query: str, **options: Unpack[params.SearchOptions]) -> models.SearchResponse:
        return self._http.send(_core.post("/v1/search", models.SearchResponse, {**options, "query": query}))

    def map(self, url: str, **options: Unpack[params.MapOptions]) -> models.MapResponse:
        """The addresses of a site."""
        return self._http.send(_core.post("/v1/map", models.MapResponse, {**options, "url": url}))

    def crawl(
        self, start: str | Sequence[str], **options: Unpack[params.CrawlOptions]
    ) -> Job[models.CrawlJobItem]:
        """The pages of a site, from one address or several: a job, whose results come as they are fetched."""
        origin = {"url": start} if isinstance(start, str) else {"seeds": start}
        return _job(self._http, "/v1/crawl", {**options, **origin}, models.CrawlJobItem)

    def job(self, job_id: str) -> Job[models.JobItem]:
        """A job that exists. Nothing is asked yet."""
        return Job(self._http, job_id, False, models.JobItem)

    def jobs(self, **query: Unpack[params.ListJobsQuery]) -> Pages[models.JobPage, models.JobStatus]:
        """The project's jobs, newest first."""
        return Pages(self._http, "/v1/jobs", models.JobPage, query, lambda page: page.items)

    def body(self, sha256: str, *, range_: str | None = None) -> Iterator[bytes]:
        """The exact bytes with this digest, piece by piece; `range_` as in HTTP: `bytes=0-1023`."""
        return self._http.pieces(f"/v1/bodies/{_core.part(sha256)}", range_)

    def account(self) -> models.AccountView:
        """What the key may do, and what its customer has agreed to."""
        return self._http.send(_core.get("/v1/account", models.AccountView))

    def usage(self, **query: Unpack[params.UsageQuery]) -> models.UsageReport:
        return self._http.send(_core.get("/v1/usage", models.UsageReport, query))

    def quota(self) -> models.Quota:
        """What is left of the key's allowances."""
        return self._http.send(_core.get("/v1/quota", models.Quota))

    def requests(
        self, **query: Unpack[params.RequestsQuery]
    ) -> Pages[models.RequestList, models.RequestRecord]:
        """The ledger: each request with what it cost, newest first."""
        return Pages(self._http, "/v1/requests", models.RequestList, query, lambda page: page.items)
