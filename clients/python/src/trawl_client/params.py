"""Made of the API document by `npm run clients`, which writes it anew: changes are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from typing_extensions import Required, TypedDict

FetchField = Literal["url", "final_url", "redirects", "status", "content_type", "origin_content_type", "headers", "tier", "attempts", "html", "text", "pdf_text_pages", "pdf_page_count", "markdown", "links", "images", "entries", "screenshot", "actions", "archive_url", "structured", "tables", "comments", "extract", "text_truncated", "title", "meta", "sha256", "bytes", "cached", "revalidated", "retrieved_at", "etag", "last_modified", "cost_usd", "llm_cost_usd", "billing_category", "archived_at", "served_from_archive_because", "body_url", "body_kind", "content_kind", "paywall", "paywall_evidence", "alternate_of", "alternate_source", "match_score", "primary_sources", "text_complete", "page_verdict", "error", "error_detail", "premium_routes_tried", "retry_after_s", "debug_url", "warnings", "request_id"]


class Action(TypedDict, total=False):
    type: Required[Literal["click", "type", "press", "select", "scroll", "wait", "screenshot", "evaluate", "pdf"]]
    """`click`, `type` (into a field), `press` (a key), `select` (an option), `scroll` (to the end), `wait`, `screenshot`, `evaluate` (a script), `pdf`"""
    selector: str
    """click, type, select: the first visible element that matches. press: the element that gets the key (default: the focused one). scroll: the element to scroll (default: the page). wait: until an element that matches is visible"""
    text: str
    """type: what the field has then"""
    secret: str
    """type: instead of `text` the name of a secret of the session, which is typed into pages of its origin only"""
    key: str
    """press: a key as in KeyboardEvent.key, with modifiers before it"""
    value: str
    """select: the value of the option, or its words"""
    idle: Literal[True]
    """wait: until no request has been in flight for half a second"""
    ms: int
    """wait: so many milliseconds"""
    max_scrolls: int
    """scroll: the most turns of the wheel, each of 0.8 windows. It ends before where the page does not grow any more"""
    full_page: bool
    """screenshot: from top to bottom, instead of the window"""
    script: str
    """evaluate: an expression, or the body of an async function with `return`; its value as JSON has at most 262,144 bytes"""
    timeout_ms: int
    """How long the step may take. Default: 5,000; scroll and pdf 30,000. All steps have 60,000 together"""
    optional: bool
    """true: the steps after it are taken also when it fails"""


class AlertBody(TypedDict, total=False):
    url: Required[str]
    """A public https address"""
    scope: Required[Literal["key", "project", "customer", "status"]]
    """Whose allowances it is about; `status`: incidents and maintenance of the service"""
    key: str | None
    """With scope key: the prefix of the key; default the calling key"""
    project: str | None
    """With scope project: its name; default the calling key's project"""
    thresholds: Sequence[Literal[50, 80, 100]]
    """Percent of an allowance; default all. Not with scope status"""


class AppendArchiveImportQuery(TypedDict, total=False):
    offset: Required[int]
    """Where the bytes stand in the file"""


class BatchCompaniesBody(TypedDict, total=False):
    items: Required[Sequence[CompanyBatchItem]]
    """The items of the job"""
    action: Literal["get", "refresh", "resolve"] | None
    """What is done with each item; default get"""
    include: Sequence[Literal["people", "ownership", "filings", "financials", "events"]] | None
    """With get and refresh: further parts of the record"""
    max_age: int | None
    """Seconds; older data is fetched again first"""
    idempotency_key: Required[str]
    """Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it."""
    callback_url: str | None
    """Where the job's end is told; null: nowhere"""
    max_cost_usd: float | None
    """The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own"""


class BatchCompaniesFromCsvBody(TypedDict, total=False):
    file: Required[str]
    """The CSV file"""


class BatchCompaniesFromCsvQuery(TypedDict, total=False):
    idempotency_key: str
    """Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it."""
    action: Literal["get", "refresh", "resolve"] | None
    """What is done with each item; default get"""
    include: str | None
    """With get and refresh: further parts of the record, with commas between"""
    max_age: int | None
    """Seconds; older data is fetched again first"""
    callback_url: str | None
    """Where the job's end is told; null: nowhere"""


class BatchFetchBody(TypedDict, total=False):
    items: Required[Sequence[FetchBody]]
    """The items of the job"""
    idempotency_key: Required[str]
    """Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it."""
    callback_url: str | None
    """Where the job's end is told; null: nowhere"""
    max_cost_usd: float | None
    """The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own"""
    webhook: JobWebhookBody | None
    """Where each page and the end of the job are told, signed, one event after the other in the order of items; null: nowhere"""


class BatchFilingsBody(TypedDict, total=False):
    items: Required[Sequence[FilingsItem]]
    """The items of the job"""
    idempotency_key: Required[str]
    """Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it."""
    callback_url: str | None
    """Where the job's end is told; null: nowhere"""
    max_cost_usd: float | None
    """The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own"""


class BatchProfilesBody(TypedDict, total=False):
    items: Required[Sequence[ProfilesItem]]
    """The items of the job"""
    idempotency_key: Required[str]
    """Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it."""
    callback_url: str | None
    """Where the job's end is told; null: nowhere"""
    max_cost_usd: float | None
    """The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own"""


class BatchSearchBody(TypedDict, total=False):
    items: Required[Sequence[SearchItem]]
    """The items of the job"""
    idempotency_key: Required[str]
    """Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it."""
    callback_url: str | None
    """Where the job's end is told; null: nowhere"""
    max_cost_usd: float | None
    """The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own"""


class ChangeKeyQuery(TypedDict, total=False):
    last_admin: bool
    """Do it although no other account admin key of the account works"""


class CompanyBatchItem(TypedDict, total=False):
    ref: str | None
    """cmp_ id or scheme:value"""
    name: str | None
    """With resolve: the name"""
    country: str | None
    """ISO 3166-1 alpha-2"""
    city: str | None
    """The town"""
    postcode: str | None
    """The postcode of the company's registered address"""
    live: bool | None
    """Whether sources are asked by the name; default: only where the register has nothing near"""
    identifiers: Sequence[str] | None
    """Identifiers, each as scheme:value"""
    limit: int | None
    """With resolve: the most candidates"""
    sources: Sequence[str] | None
    """Only these sources; default all"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""


class CompanyResolveBody(TypedDict, total=False):
    name: str | None
    """The name of the company"""
    country: str | None
    """ISO 3166-1 alpha-2"""
    city: str | None
    """The town"""
    postcode: str | None
    """The postcode of the company's registered address"""
    identifiers: Sequence[str] | None
    """Identifiers, each as scheme:value"""
    limit: int | None
    """Default: 5"""
    live: bool | None
    """Whether sources are asked by the name; default: only where the register has nothing near"""


class CompanyReviewDecision(TypedDict, total=False):
    index: Required[int]
    """The item of the job"""
    company: Required[str | None]
    """The company that is meant: its id, or `scheme:value`. Null: none of the candidates"""


class ContentsFetch(TypedDict, total=False):
    render: Literal["auto", "never", "always"]
    """Whether a browser runs the page's scripts: when a plain request finds no text, never, or always"""
    max_bytes: int
    """The largest body that is accepted"""
    accept_pdf: bool
    """Whether PDFs are read"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    min_text_chars: int
    """With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two"""
    allow_archive: bool
    """Whether an archived copy may be served when the page is gone"""
    allow_alternates: bool
    """Whether an open copy of the same text may be served when the page is a teaser or gone"""
    allow_paid: bool
    """Whether routes that cost money may be used"""
    allow_premium: bool
    """Another name of `allow_paid`: false in either of them forbids these routes"""
    tiers: Sequence[Literal["direct", "browser", "archive", "proxy", "proxy_render"]] | None
    """The routes that may be used; null: all"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""
    country: str | None
    """The country of the exit on premium routes, ISO 3166-1 alpha-2"""
    user_agent: str | None
    """The User-Agent to send; the project needs permission"""
    accept_language: str | None
    """The Accept-Language to send"""
    include_html: bool | None
    """Whether the answer has `html`. Default true for a fetch, false for an item of a batch"""
    formats: Sequence[Literal["markdown", "links", "images", "entries", "screenshot", "structured", "tables", "comments"]] | None
    """Further forms of the page that the answer shall have; a screenshot takes the route browser only"""
    fields: Sequence[FetchField] | None
    """The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all"""
    wait_for: WaitFor | None
    """What a browser waits for before it reads the page; takes the route browser only"""
    screenshot_options: ScreenshotOptions | None
    """How the screenshot in `formats` is taken"""
    archive: bool
    """Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project"""
    only_main_content: bool | None
    """false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page"""
    include_comments: bool
    """Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one"""
    include_selectors: Sequence[str] | None
    """CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not"""
    exclude_selectors: Sequence[str] | None
    """CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included"""
    extract: ExtractOptions | None
    """Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there"""
    block_resources: Sequence[Literal["image", "font", "media", "stylesheet", "ads"]] | None
    """What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page"""
    device: Literal["desktop", "mobile"]
    """`mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only"""
    viewport: Viewport | None
    """The window of the browser; takes the route browser only. Default: 1280 × 720"""


class CrawlBody(TypedDict, total=False):
    url: str | None
    """Where the crawl begins; or `seeds`"""
    seeds: Sequence[str] | None
    """Several addresses where it begins, of one or more sites, instead of `url`"""
    scope: Literal["path", "host", "subdomains", "domain"]
    """What belongs to it: addresses in the folder of a seed, on its host (with and without `www.` is one), also on the host's subdomains, or on the whole registrable domain"""
    include: Sequence[str] | None
    """Only addresses that one of these fits, the seeds aside: globs over path and query (`*` within a segment, `**` across them), or `/regular expressions/` (RE2)"""
    exclude: Sequence[str] | None
    """No address that one of these fits, in the same forms"""
    max_depth: int | None
    """The most links from a seed to a page; 0: the seeds alone; null: any number"""
    limit: int
    """The most pages that are fetched, at most what the operator allows (100,000 unless set otherwise); the addresses beyond it are listed with the reason `over_limit`"""
    sitemap: Literal["include", "only", "skip"]
    """Whether the addresses that the site's sitemaps list are pages of the crawl: `include`: beside those that pages link to; `only`: no link is followed. Each file that is read (robots.txt, the sitemaps that it names or else /sitemap.xml, those that an index lists) is an item as a page is, with `sitemap` in its `input`, and counts to `limit`"""
    ignore_query: bool
    """Whether addresses that differ in their query only are one page: the one that is found first is fetched"""
    follow_nofollow: bool
    """Whether links with `rel=nofollow` are followed"""
    fetch: CrawlFetch | None
    """How its pages are fetched: the options of `POST /v1/fetch` but for `method` and `body`. `headers`, and `cookies` without a domain, go to the origin of the seeds only, which must be one. Unlike there, archived and other copies take `allow_archive` and `allow_alternates`"""
    idempotency_key: str | None
    """The same key and limit within the project is the same crawl; null: each request begins one. Also as the header Idempotency-Key"""
    callback_url: str | None
    """Where the crawl's end is told; null: nowhere"""
    max_cost_usd: float | None
    """The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own"""
    since_job: str | None
    """An earlier crawl of the project: each page says in `change` whether its text is new, changed or unchanged since then; null: none"""
    webhook: JobWebhookBody | None
    """Where each page and the end of the job are told, signed, one event after the other in the order of items; null: nowhere"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""


class CrawlFetch(TypedDict, total=False):
    render: Literal["auto", "never", "always"]
    """Whether a browser runs the page's scripts: when a plain request finds no text, never, or always"""
    max_bytes: int
    """The largest body that is accepted"""
    accept_pdf: bool
    """Whether PDFs are read"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    min_text_chars: int
    """With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two"""
    allow_archive: bool
    """Whether an archived copy may be served when the page is gone"""
    allow_alternates: bool
    """Whether an open copy of the same text may be served when the page is a teaser or gone"""
    allow_paid: bool
    """Whether routes that cost money may be used"""
    allow_premium: bool
    """Another name of `allow_paid`: false in either of them forbids these routes"""
    tiers: Sequence[Literal["direct", "browser", "archive", "proxy", "proxy_render"]] | None
    """The routes that may be used; null: all"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""
    country: str | None
    """The country of the exit on premium routes, ISO 3166-1 alpha-2"""
    user_agent: str | None
    """The User-Agent to send; the project needs permission"""
    accept_language: str | None
    """The Accept-Language to send"""
    include_html: bool | None
    """Whether the answer has `html`. Default true for a fetch, false for an item of a batch"""
    formats: Sequence[Literal["markdown", "links", "images", "entries", "screenshot", "structured", "tables", "comments"]] | None
    """Further forms of the page that the answer shall have; a screenshot takes the route browser only"""
    fields: Sequence[FetchField] | None
    """The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all"""
    wait_for: WaitFor | None
    """What a browser waits for before it reads the page; takes the route browser only"""
    screenshot_options: ScreenshotOptions | None
    """How the screenshot in `formats` is taken"""
    archive: bool
    """Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project"""
    headers: Mapping[str, str] | None
    """Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only"""
    cookies: Sequence[GivenCookie] | None
    """Cookies for the origin of `url`. The routes direct and browser only"""
    cache_private: bool
    """Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept"""
    actions: Sequence[Action] | None
    """Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed"""
    session_id: str | None
    """A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies`"""
    only_main_content: bool | None
    """false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page"""
    include_comments: bool
    """Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one"""
    include_selectors: Sequence[str] | None
    """CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not"""
    exclude_selectors: Sequence[str] | None
    """CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included"""
    extract: ExtractOptions | None
    """Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there"""
    block_resources: Sequence[Literal["image", "font", "media", "stylesheet", "ads"]] | None
    """What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page"""
    device: Literal["desktop", "mobile"]
    """`mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only"""
    viewport: Viewport | None
    """The window of the browser; takes the route browser only. Default: 1280 × 720"""


class CreateArchiveImportBody(TypedDict, total=False):
    name: Required[str]
    """The name of the file: attempts that it serves say it"""
    bytes: Required[int]
    """Bytes of the file"""
    sha256: Required[str]
    """Of the file"""
    shared: bool | None
    """It serves every project; for operator keys only. Default: this project alone"""


class CreateCompanyWatchBody(TypedDict, total=False):
    companies: Required[Sequence[str]]
    """Ids of companies, or scheme:value"""
    url: Required[str]
    """An https address that changes are delivered to"""


class DecideCompanyReviewBody(TypedDict, total=False):
    decisions: Required[Sequence[CompanyReviewDecision]]
    """One for each item; all are stored, or none"""


class DiscoverBody(TypedDict, total=False):
    company_name: Required[str]
    """The company that is looked for"""
    headquarters: str | None
    """Its city"""
    min_similarity: float
    """From this similarity of names, 0 to 100, a suggestion is the company"""
    search_fallback: bool
    """Whether the web is searched where no suggestion is similar enough"""
    country: str | None
    """ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored"""
    session_key: str | None
    """Requests with the same key leave by the same exit"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    allow_paid: bool
    """false: nothing is requested, only the cache is read"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""


class DocumentBody(TypedDict, total=False):
    cik: Required[int | str]
    """The number of the filer"""
    accession: Required[str]
    """The number of the filing, with or without dashes"""
    document: Required[str]
    """A file name in the filing's own folder"""
    max_bytes: int
    """The largest body that is accepted"""
    include_html: bool | None
    """Whether the answer has `html`"""
    accept_pdf: bool
    """Whether PDFs are read"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""


class ExtractOptions(TypedDict, total=False):
    fields: Mapping[str, ExtractRule] | None
    """A rule for each name; 100 rules at most, with those in rules. Either this or schema"""
    schema: Mapping[str, Any] | None
    """A JSON Schema of an object: a language model of the operator's takes its values out of the page's text. Each value has a quote of the page in `evidence`; what the page does not say is null"""
    prompt: str | None
    """With schema: what is wanted, in words"""
    model: str | None
    """With schema: the model that is to answer; a service that has another one refuses. Default: the service's"""


class ExtractRule(TypedDict, total=False):
    selector: str | None
    """A CSS selector: which element below that of the rule around it; default: that element itself"""
    attribute: str | None
    """The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has"""
    type: Literal["text", "number", "date", "url", "html", "markdown", "boolean"]
    """What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0"""
    many: bool
    """All elements that match, as an array; default: the first"""
    required: bool
    """Whether its absence is an error, `missing`; the value is null all the same"""
    fields: Mapping[str, ExtractRuleLevel2] | None
    """Makes the value an object of these; rules stand in one another 4 levels deep at most"""


class ExtractRuleLevel2(TypedDict, total=False):
    selector: str | None
    """A CSS selector: which element below that of the rule around it; default: that element itself"""
    attribute: str | None
    """The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has"""
    type: Literal["text", "number", "date", "url", "html", "markdown", "boolean"]
    """What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0"""
    many: bool
    """All elements that match, as an array; default: the first"""
    required: bool
    """Whether its absence is an error, `missing`; the value is null all the same"""
    fields: Mapping[str, ExtractRuleLevel3] | None
    """Makes the value an object of these; rules stand in one another 4 levels deep at most"""


class ExtractRuleLevel3(TypedDict, total=False):
    selector: str | None
    """A CSS selector: which element below that of the rule around it; default: that element itself"""
    attribute: str | None
    """The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has"""
    type: Literal["text", "number", "date", "url", "html", "markdown", "boolean"]
    """What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0"""
    many: bool
    """All elements that match, as an array; default: the first"""
    required: bool
    """Whether its absence is an error, `missing`; the value is null all the same"""
    fields: Mapping[str, ExtractRuleLevel4] | None
    """Makes the value an object of these; rules stand in one another 4 levels deep at most"""


class ExtractRuleLevel4(TypedDict, total=False):
    selector: str | None
    """A CSS selector: which element below that of the rule around it; default: that element itself"""
    attribute: str | None
    """The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has"""
    type: Literal["text", "number", "date", "url", "html", "markdown", "boolean"]
    """What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0"""
    many: bool
    """All elements that match, as an array; default: the first"""
    required: bool
    """Whether its absence is an error, `missing`; the value is null all the same"""


class FetchBody(TypedDict, total=False):
    url: Required[str]
    """The page; what is no http(s) address is answered with the error `invalid_url`. A user name and a password in it are sent to its origin only (Basic)"""
    render: Literal["auto", "never", "always"]
    """Whether a browser runs the page's scripts: when a plain request finds no text, never, or always"""
    max_bytes: int
    """The largest body that is accepted"""
    accept_pdf: bool
    """Whether PDFs are read"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    min_text_chars: int
    """With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    allow_archive: bool
    """Whether an archived copy may be served when the page is gone"""
    allow_alternates: bool
    """Whether an open copy of the same text may be served when the page is a teaser or gone"""
    allow_paid: bool
    """Whether routes that cost money may be used"""
    allow_premium: bool
    """Another name of `allow_paid`: false in either of them forbids these routes"""
    tiers: Sequence[Literal["direct", "browser", "archive", "proxy", "proxy_render"]] | None
    """The routes that may be used; null: all"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""
    country: str | None
    """The country of the exit on premium routes, ISO 3166-1 alpha-2"""
    user_agent: str | None
    """The User-Agent to send; the project needs permission"""
    accept_language: str | None
    """The Accept-Language to send"""
    include_html: bool | None
    """Whether the answer has `html`. Default true for a fetch, false for an item of a batch"""
    formats: Sequence[Literal["markdown", "links", "images", "entries", "screenshot", "structured", "tables", "comments"]] | None
    """Further forms of the page that the answer shall have; a screenshot takes the route browser only"""
    fields: Sequence[FetchField] | None
    """The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all"""
    wait_for: WaitFor | None
    """What a browser waits for before it reads the page; takes the route browser only"""
    screenshot_options: ScreenshotOptions | None
    """How the screenshot in `formats` is taken"""
    archive: bool
    """Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project"""
    headers: Mapping[str, str] | None
    """Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only"""
    cookies: Sequence[GivenCookie] | None
    """Cookies for the origin of `url`. The routes direct and browser only"""
    method: Literal["GET", "POST"]
    """POST sends `body`; it is never sent twice, so no further route is tried once it may have reached the site"""
    body: str | None
    """The body of a POST, 65,536 bytes at most. Without a Content-Type in `headers` it is a form (application/x-www-form-urlencoded)"""
    cache_private: bool
    """Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept"""
    actions: Sequence[Action] | None
    """Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed"""
    session_id: str | None
    """A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies`"""
    only_main_content: bool | None
    """false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page"""
    include_comments: bool
    """Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one"""
    include_selectors: Sequence[str] | None
    """CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not"""
    exclude_selectors: Sequence[str] | None
    """CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included"""
    extract: ExtractOptions | None
    """Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there"""
    block_resources: Sequence[Literal["image", "font", "media", "stylesheet", "ads"]] | None
    """What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page"""
    device: Literal["desktop", "mobile"]
    """`mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only"""
    viewport: Viewport | None
    """The window of the browser; takes the route browser only. Default: 1280 × 720"""


class FilingsItem(TypedDict, total=False):
    op: Required[str]
    """One of resolve, submissions, latest, facts, filing, document"""
    ticker: str | None
    """A ticker symbol"""
    cik: int | str | None
    """The number of the filer"""
    name: str | None
    """With op resolve: a name or a part of one"""
    isin: str | None
    """ISIN of a security of the company"""
    forms: str | None
    """Comma-separated form types, each whole: 10-K is neither 10-K/A nor 10-K405"""
    since: str | None
    """First filing date, YYYY-MM-DD"""
    until: str | None
    """Last filing date, YYYY-MM-DD"""
    limit: int | None
    """With op submissions: the most filings"""
    history: bool | None
    """false: the recent list only"""
    accession: str | None
    """With op filing and document: the number of the filing"""
    document: str | None
    """With op document: a file name in the filing's own folder"""
    max_bytes: int | None
    """The largest body that is accepted"""
    accept_pdf: bool | None
    """Whether PDFs are read"""
    include_html: bool | None
    """With op document: whether the result has `html`; default false in a batch"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""


class GetCompanyEventsQuery(TypedDict, total=False):
    max_age: int | None
    """Seconds; older data is fetched again first"""
    refresh: bool
    """Fetches from every source now"""
    include_former: bool
    """Of people: also those who have left"""
    limit: int
    """The most items of the answer"""
    cursor: str | None
    """`next_cursor` of the page before"""


class GetCompanyFilingsQuery(TypedDict, total=False):
    max_age: int | None
    """Seconds; older data is fetched again first"""
    refresh: bool
    """Fetches from every source now"""
    include_former: bool
    """Of people: also those who have left"""
    limit: int
    """The most items of the answer"""
    cursor: str | None
    """`next_cursor` of the page before"""


class GetCompanyFinancialsQuery(TypedDict, total=False):
    max_age: int | None
    """Seconds; older data is fetched again first"""
    refresh: bool
    """Fetches from every source now"""
    include_former: bool
    """Of people: also those who have left"""
    limit: int
    """The most items of the answer"""
    cursor: str | None
    """`next_cursor` of the page before"""


class GetCompanyHistoryQuery(TypedDict, total=False):
    field: str | None
    """A field, or all below it"""
    limit: int
    """The most items of the answer"""
    cursor: str | None
    """`next_cursor` of the page before"""


class GetCompanyOwnershipQuery(TypedDict, total=False):
    max_age: int | None
    """Seconds; older data is fetched again first"""
    refresh: bool
    """Fetches from every source now"""
    include_former: bool
    """Of people: also those who have left"""
    limit: int
    """The most items of the answer"""
    cursor: str | None
    """`next_cursor` of the page before"""


class GetCompanyPeopleQuery(TypedDict, total=False):
    max_age: int | None
    """Seconds; older data is fetched again first"""
    refresh: bool
    """Fetches from every source now"""
    include_former: bool
    """Of people: also those who have left"""
    limit: int
    """The most items of the answer"""
    cursor: str | None
    """`next_cursor` of the page before"""


class GetCompanyQuery(TypedDict, total=False):
    max_age: int | None
    """Seconds; older data is fetched again first"""
    refresh: bool
    """Fetches from every source now"""
    include: str | None
    """With commas between: people, ownership, filings, financials, events, claims"""
    sources: str | None
    """Names of sources, with commas between"""


class GetCompanyRelationshipsQuery(TypedDict, total=False):
    max_age: int | None
    """Seconds; older data is fetched again first"""
    refresh: bool
    """Fetches from every source now"""
    include_former: bool
    """Of people: also those who have left"""
    limit: int
    """The most items of the answer"""
    cursor: str | None
    """`next_cursor` of the page before"""


class GetCompanySourcesQuery(TypedDict, total=False):
    max_age: int | None
    """Seconds; older data is fetched again first"""
    refresh: bool
    """Fetches from every source now"""
    include_former: bool
    """Of people: also those who have left"""
    limit: int
    """The most items of the answer"""
    cursor: str | None
    """`next_cursor` of the page before"""


class GetInvoiceQuery(TypedDict, total=False):
    format: Literal["json", "html", "pdf"]
    """html: a page to print; pdf: the same as a file; default by the header Accept"""


class GetJobQuery(TypedDict, total=False):
    include: str | None
    """`items`: adds a page of items; `progress`: how it gets on; or both: `items,progress`"""
    offset: int
    """How many of the selected items to skip"""
    limit: int
    """The most items of the page"""
    after: int | None
    """Only items with a larger `index`"""
    status: Literal["pending", "queued", "done", "failed", "cancelled"] | None
    """Only items of this status"""


class GetJobResultsQuery(TypedDict, total=False):
    from_: int
    """The first item"""
    follow: bool
    """Wait for unfinished items"""


class GetJobUrlsCsvQuery(TypedDict, total=False):
    state: Literal["waiting", "in_flight", "done", "failed", "excluded", "gone"] | None
    """Only addresses of this state"""
    change: Literal["new", "changed", "unchanged", "gone"] | None
    """Only pages of which a crawl with `since_job` says so"""
    reason: str | None
    """Only addresses with this reason"""


class GetJobUrlsQuery(TypedDict, total=False):
    state: Literal["waiting", "in_flight", "done", "failed", "excluded", "gone"] | None
    """Only addresses of this state"""
    change: Literal["new", "changed", "unchanged", "gone"] | None
    """Only pages of which a crawl with `since_job` says so"""
    reason: str | None
    """Only addresses with this reason"""
    from_: int
    """The first address: `next_cursor` of the page before"""
    limit: int
    """The most addresses of the page"""


class GivenCookie(TypedDict, total=False):
    name: Required[str]
    """Its name"""
    value: Required[str]
    """Its value"""
    domain: str | None
    """The host of `url` or a domain above it: the cookie then goes to all hosts of that domain. Default: to the origin of `url` only"""
    path: str | None
    """The paths that it goes to begin with this one. Default: /"""


class GraphBody(TypedDict, total=False):
    entity_id: Required[str]
    """The company's id on the site; it may change"""
    country: str | None
    """ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored"""
    session_key: str | None
    """Requests with the same key leave by the same exit"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    allow_paid: bool
    """false: nothing is requested, only the cache is read"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""


class JobPause(TypedDict, total=False):
    paused: Required[bool]
    """Whether the job starts no further item"""


class JobWebhookBody(TypedDict, total=False):
    url: Required[str]
    """An https address that events are delivered to"""
    events: Sequence[Literal["started", "page", "completed", "failed"]]
    """`page`: each page that was fetched or failed; `completed`: the end of the job. Only with the form `firecrawl`: `started`, and `failed`, the end of a job that was cancelled. Default: all of the form"""
    form: Literal["trawl", "firecrawl"]
    """How events are written: `firecrawl` as Firecrawl's API, version 2, has them, signed in `X-Firecrawl-Signature`, too"""
    metadata: Mapping[str, str] | None
    """Only with the form `firecrawl`: what each event gives back"""


class KeyBody(TypedDict, total=False):
    label: str | None
    """Words for the key"""
    categories: Sequence[Literal["search", "fetch"]] | None
    """What the key may be used for; null: everything"""
    rate_limit_rps: int | None
    """Requests a second; null: no limit of its own"""
    quotas: KeyBodyQuotas
    """Requests a month by category"""
    spend_cap: str | None
    """In the customer's currency; null: no limit"""
    paid_fetches: bool
    """Whether routes that cost money may be taken for the key"""
    debug: bool
    """Whether `X-Service-Debug: 1` gets a debug_url"""
    expires_at: str | None
    """When the key stops working, a moment in the future; null: never"""
    project: str
    """The project of the key; default: that of the calling key"""
    role: Literal["standard", "account_admin"]
    """A standard key sees itself, an account admin its whole customer; default standard"""


class KeyBodyQuotas(TypedDict, total=False):
    search: int | None
    """Searches a month; null: no limit"""
    fetch: int | None
    """Fetches a month; null: no limit"""


class KeyChange(TypedDict, total=False):
    label: str | None
    """Words for the key"""
    categories: Sequence[Literal["search", "fetch"]] | None
    """What the key may be used for; null: everything"""
    rate_limit_rps: int | None
    """Requests a second; null: no limit of its own"""
    quotas: KeyBodyQuotas
    """Requests a month by category"""
    spend_cap: str | None
    """In the customer's currency; null: no limit"""
    paid_fetches: bool
    """Whether routes that cost money may be taken for the key"""
    debug: bool
    """Whether `X-Service-Debug: 1` gets a debug_url"""
    expires_at: str | None
    """When the key stops working, a moment in the future; null: never"""


class KeyRotation(TypedDict, total=False):
    grace_s: int
    """How long the old key still works, in seconds; 0: it is revoked at once"""
    expires_at: str | None
    """When the key stops working, a moment in the future; null: never"""


class LatestFilingQuery(TypedDict, total=False):
    forms: str
    """Comma-separated form types, each whole: 10-K is neither 10-K/A nor 10-K405. Amendments only when they are listed"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""


class ListCapturesQuery(TypedDict, total=False):
    url: Required[str]
    """The address; with `*` at its end, everything that begins with it"""
    matchType: Literal["exact", "prefix", "host", "domain"] | None
    """Which addresses: this one, those below it, its host's, also of subdomains"""
    from_: str | None
    """The first time: 1 to 14 digits, as 20261125"""
    to: str | None
    """The last time"""
    limit: int
    """The most captures"""
    filter: str | None
    """`column:expression` (RE2, the whole value), with `!` before it: those that it does not fit"""
    output: Literal["json", "text"] | None
    """A table, or a line for each capture with spaces between its columns"""


class ListCompanyBaselineQuery(TypedDict, total=False):
    country: str | None
    """Only companies of this country, ISO 3166-1 alpha-2"""
    cursor: str | None
    """`next_cursor` of the page before"""
    limit: int
    """The most items of the answer"""


class ListCompanyChangesQuery(TypedDict, total=False):
    since: str | None
    """ISO 8601, a day or a moment, UTC where it has no offset; for the first call"""
    cursor: str | None
    """`next_cursor` of the page before"""
    country: str | None
    """Only companies of this country, ISO 3166-1 alpha-2"""
    limit: int
    """The most items of the answer"""


class ListCompanyReviewQuery(TypedDict, total=False):
    from_: int
    """The first item: `next_from` of the page before"""
    limit: int
    """The most items of the page"""


class ListFilingDocumentsQuery(TypedDict, total=False):
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""


class ListJobsQuery(TypedDict, total=False):
    status: Literal["queued", "running", "completed", "cancelled"] | None
    """Only jobs of this status"""
    kind: Literal["search", "fetch", "filings", "profiles", "company", "crawl"] | None
    """Only jobs of this kind"""
    limit: int
    """The most items of the answer"""
    cursor: str | None
    """`next_cursor` of the page before"""


class ListMonitorChangesQuery(TypedDict, total=False):
    cursor: str | None
    """`next_cursor` of the page before"""
    limit: int
    """The most items of the answer"""


class ListSubmissionsQuery(TypedDict, total=False):
    forms: str
    """Comma-separated form types, each whole: 10-K is neither 10-K/A nor 10-K405"""
    since: str
    """First filing date, YYYY-MM-DD"""
    until: str
    """Last filing date, YYYY-MM-DD"""
    limit: int
    """The most filings"""
    history: bool
    """false: the recent list only, about the last 1000 filings"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""


class MapBody(TypedDict, total=False):
    url: Required[str]
    """An address of the site, usually its home page; what is no http(s) address is answered with the error `invalid_url`"""
    search: str | None
    """Words: addresses whose path or title has them come first"""
    limit: int
    """The most addresses of the answer"""
    sitemap: Literal["include", "only", "skip"]
    """Whether sitemaps are read beside the page at `url`, instead of it, or not at all"""
    include_subdomains: bool
    """Whether addresses of the host's subdomains belong to the answer; with and without `www.` is one host"""
    ignore_query: bool
    """Whether addresses are listed without their query, each once"""
    cache_ttl_s: int | None
    """The oldest acceptable copies of sitemaps and pages, in seconds; 0 reads everything anew"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    timeout_s: float | None
    """After so many seconds the answer has what was found until then. Default 120"""


class MonitorBody(TypedDict, total=False):
    url: Required[str]
    """The page, an http or https address"""
    every_s: int | None
    """Seconds from one visit to the next; this or `cron`"""
    cron: str | None
    """Minute, hour, day of the month, month, day of the week: when the page is visited, at least five minutes apart. What a change of the clock leaves out comes right after it; what it repeats comes once if hour and minute are single numbers"""
    timezone: str | None
    """The time zone of `cron`, by its IANA name. Default UTC"""
    watch: Literal["text", "markdown", "status", "links"]
    """What counts as a change: of the text, of the Markdown, of the status, or of the addresses that the page links to. With `fetch.include_selectors` only of that part of the page"""
    fetch: MonitorFetch | None
    """How the page is fetched; each visit asks anew, and takes no archived copy"""
    webhook: MonitorWebhook | None
    """Where changes are delivered; null: they are only listed"""
    label: str | None
    """A name of the client's own"""


class MonitorFetch(TypedDict, total=False):
    render: Literal["auto", "never", "always"]
    """Whether a browser runs the page's scripts: when a plain request finds no text, never, or always"""
    max_bytes: int
    """The largest body that is accepted"""
    accept_pdf: bool
    """Whether PDFs are read"""
    min_text_chars: int
    """With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    allow_paid: bool
    """Whether routes that cost money may be used"""
    allow_premium: bool
    """Another name of `allow_paid`: false in either of them forbids these routes"""
    tiers: Sequence[Literal["direct", "browser", "archive", "proxy", "proxy_render"]] | None
    """The routes that may be used; null: all"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""
    country: str | None
    """The country of the exit on premium routes, ISO 3166-1 alpha-2"""
    user_agent: str | None
    """The User-Agent to send; the project needs permission"""
    accept_language: str | None
    """The Accept-Language to send"""
    fields: Sequence[FetchField] | None
    """The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all"""
    wait_for: WaitFor | None
    """What a browser waits for before it reads the page; takes the route browser only"""
    archive: bool
    """Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project"""
    headers: Mapping[str, str] | None
    """Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only"""
    cookies: Sequence[GivenCookie] | None
    """Cookies for the origin of `url`. The routes direct and browser only"""
    cache_private: bool
    """Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept"""
    actions: Sequence[Action] | None
    """Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed"""
    session_id: str | None
    """A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies`"""
    only_main_content: bool | None
    """false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page"""
    include_comments: bool
    """Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one"""
    include_selectors: Sequence[str] | None
    """CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not"""
    exclude_selectors: Sequence[str] | None
    """CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included"""
    extract: ExtractOptions | None
    """Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there"""
    block_resources: Sequence[Literal["image", "font", "media", "stylesheet", "ads"]] | None
    """What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page"""
    device: Literal["desktop", "mobile"]
    """`mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only"""
    viewport: Viewport | None
    """The window of the browser; takes the route browser only. Default: 1280 × 720"""


class MonitorPatch(TypedDict, total=False):
    every_s: int | None
    """Seconds from one visit to the next; this or `cron`"""
    cron: str | None
    """Minute, hour, day of the month, month, day of the week: when the page is visited, at least five minutes apart. What a change of the clock leaves out comes right after it; what it repeats comes once if hour and minute are single numbers"""
    timezone: str | None
    """The time zone of `cron`, by its IANA name. Default UTC"""
    watch: Literal["text", "markdown", "status", "links"]
    """Another one begins anew: the next visit only says how the page is"""
    fetch: MonitorFetch | None
    """How the page is fetched; each visit asks anew, and takes no archived copy"""
    webhook: MonitorWebhook | None
    """Where changes are delivered; null: they are only listed"""
    label: str | None
    """A name of the client's own"""
    paused: bool
    """Whether visits stop"""


class MonitorWebhook(TypedDict, total=False):
    url: Required[str]
    """An https address that changes are delivered to"""
    events: Sequence[Literal["monitor.page", "monitor.check.completed"]]
    """Only with the form `firecrawl`: which of its events are delivered of a visit that found a change. Default: both"""
    form: Literal["trawl", "firecrawl"]
    """How events are written: `firecrawl` as Firecrawl's API, version 2, has them, signed in `X-Firecrawl-Signature`, too"""
    metadata: Mapping[str, str] | None
    """Only with the form `firecrawl`: what each event gives back"""


class ProfileBody(TypedDict, total=False):
    url: str | None
    """The address of a profile page; company_name is not used then"""
    company_name: str | None
    """The company that is looked for, where there is no url"""
    include_graph: bool
    """Whether the network graph is fetched"""
    headquarters: str | None
    """Its city"""
    min_similarity: float
    """From this similarity of names, 0 to 100, a suggestion is the company"""
    search_fallback: bool
    """Whether the web is searched where no suggestion is similar enough"""
    country: str | None
    """ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored"""
    session_key: str | None
    """Requests with the same key leave by the same exit"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    allow_paid: bool
    """false: nothing is requested, only the cache is read"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""


class ProfilesItem(TypedDict, total=False):
    op: Literal["suggest", "discover", "profile", "graph"]
    """The operation"""
    query: str | None
    """With op suggest: the beginning of a company's name"""
    entity_id: str | None
    """With op graph: the company's id on the site"""
    url: str | None
    """With op profile: the address of a profile page"""
    company_name: str | None
    """The company that is looked for, where there is no url"""
    include_graph: bool
    """With op profile: whether the network graph is fetched"""
    headquarters: str | None
    """Its city"""
    min_similarity: float
    """From this similarity of names, 0 to 100, a suggestion is the company"""
    search_fallback: bool
    """Whether the web is searched where no suggestion is similar enough"""
    country: str | None
    """ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored"""
    session_key: str | None
    """Requests with the same key leave by the same exit"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    allow_paid: bool
    """false: nothing is requested, only the cache is read"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""


class ReadQuery(TypedDict, total=False):
    render: Literal["auto", "never", "always"]
    """Whether a browser runs the page's scripts: when a plain request finds no text, never, or always"""
    max_bytes: int
    """The largest body that is accepted"""
    accept_pdf: bool
    """Whether PDFs are read"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    min_text_chars: int
    """With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    allow_archive: bool
    """Whether an archived copy may be served when the page is gone"""
    allow_alternates: bool
    """Whether an open copy of the same text may be served when the page is a teaser or gone"""
    allow_paid: bool
    """Whether routes that cost money may be used"""
    allow_premium: bool
    """Another name of `allow_paid`: false in either of them forbids these routes"""
    tiers: Sequence[Literal["direct", "browser", "archive", "proxy", "proxy_render"]] | None
    """The routes that may be used; null: all"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""
    country: str | None
    """The country of the exit on premium routes, ISO 3166-1 alpha-2"""
    user_agent: str | None
    """The User-Agent to send; the project needs permission"""
    accept_language: str | None
    """The Accept-Language to send"""
    include_html: bool | None
    """Whether the answer has `html`. Default true for a fetch, false for an item of a batch"""
    formats: Sequence[Literal["markdown", "links", "images", "entries", "screenshot", "structured", "tables", "comments"]] | None
    """Further forms of the page that the answer shall have; a screenshot takes the route browser only"""
    fields: Sequence[FetchField] | None
    """The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all"""
    archive: bool
    """Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project"""
    session_id: str | None
    """A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies`"""
    only_main_content: bool | None
    """false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page"""
    include_comments: bool
    """Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one"""
    include_selectors: Sequence[str] | None
    """CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not"""
    exclude_selectors: Sequence[str] | None
    """CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included"""
    block_resources: Sequence[Literal["image", "font", "media", "stylesheet", "ads"]] | None
    """What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page"""
    device: Literal["desktop", "mobile"]
    """`mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only"""


class RequestsQuery(TypedDict, total=False):
    since: str
    """The earliest, included"""
    until: str
    """The latest, not included"""
    category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached", "fetch"]
    """Only of a billing category, or of a quota's category"""
    key: str
    """The prefix of a key; a standard key can name only itself"""
    ok: bool
    """Only with an error, or only without"""
    limit: int
    """The most items of the answer"""
    cursor: str
    """`next_cursor` of the page before"""


class ResolveFilerQuery(TypedDict, total=False):
    ticker: str
    """`BRK.B` and `BRK-B` are the same. The list of filers wins over other countries' suffixes: `ALB.PA` is a preferred share in it; `XPAR:ALB` asks for Paris"""
    cik: str
    """The number of the filer"""
    name: str
    """A name or a part of one"""
    isin: str
    """ISIN of a security of the company"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""


class RevokeKeyQuery(TypedDict, total=False):
    last_admin: bool
    """Do it although no other account admin key of the account works"""


class ScreenshotOptions(TypedDict, total=False):
    type: Literal["png", "webp"]
    """The format of the picture"""
    full_page: bool
    """Whether the picture shows the page from top to bottom, 20,000 pixels (WebP: 16,383) at most, instead of the window (1280 × 720, or `viewport`)"""


class SearchBody(TypedDict, total=False):
    query: Required[str]
    """What to search for"""
    language: str | None
    """ISO 639-1, optionally with a region"""
    country: str | None
    """ISO 3166-1 alpha-2, in either case"""
    max_results: int
    """The most results"""
    freshness: Literal["day", "week", "month", "year", "pd", "pw", "pm", "py"] | None
    """Only pages of this period; `pd`, `pw`, `pm` and `py` mean day, week, month and year"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds, at most 7 days; 0 searches anew"""
    include_domains: Sequence[str] | None
    """Only results of these hosts and their subdomains"""
    exclude_domains: Sequence[str] | None
    """No results of these hosts and their subdomains"""
    page: int
    """Which `max_results` of the results: 2 has those after the first page. Both together reach to the 200th result"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    contents: SearchContents | None
    """The pages of the first results, each fetched and billed as by `POST /v1/fetch`"""


class SearchCompaniesQuery(TypedDict, total=False):
    q: str | None
    """A name or a part of one"""
    country: str | None
    """ISO 3166-1 alpha-2"""
    identifier: str | None
    """scheme:value, exact"""
    status: Literal["active", "liquidation", "insolvency", "dissolved", "merged", "dormant", "suspended", "unknown"] | None
    """Only companies of this status"""
    legal_form: Literal["public_limited", "private_limited", "general_partnership", "limited_partnership", "cooperative", "foundation", "association", "sole_proprietor", "branch", "fund", "trust", "government", "european_company", "other", "unknown"] | None
    """A category"""
    limit: int
    """The most items of the answer"""
    cursor: str | None
    """`next_cursor` of the page before"""
    live: bool
    """Whether the sources of the country are asked now"""


class SearchContents(TypedDict, total=False):
    results: int
    """How many of the first results get their pages"""
    fetch: ContentsFetch | None
    """How they are fetched: options of `POST /v1/fetch`. `html` is left out unless `include_html` asks for it"""


class SearchFilingsQuery(TypedDict, total=False):
    q: str
    """Words; a phrase in quotes, OR between words, a minus before what is unwanted"""
    forms: str
    """Comma-separated; unlike elsewhere `10-K` finds `10-K/A` as well: `form` tells"""
    dateRange: str
    """`all`, `10y`, `5y`, `1y`, `30d` (which win over dates), or `custom` with both dates"""
    startdt: str
    """With dateRange=custom: first filing date, YYYY-MM-DD"""
    enddt: str
    """With dateRange=custom: last filing date, YYYY-MM-DD"""
    from_: str
    """How many hits to skip: 0 to 9900, in pages of 100"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""


class SearchItem(TypedDict, total=False):
    query: Required[str]
    """What to search for"""
    language: str | None
    """ISO 639-1, optionally with a region"""
    country: str | None
    """ISO 3166-1 alpha-2, in either case"""
    max_results: int
    """The most results"""
    freshness: Literal["day", "week", "month", "year", "pd", "pw", "pm", "py"] | None
    """Only pages of this period; `pd`, `pw`, `pm` and `py` mean day, week, month and year"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds, at most 7 days; 0 searches anew"""
    include_domains: Sequence[str] | None
    """Only results of these hosts and their subdomains"""
    exclude_domains: Sequence[str] | None
    """No results of these hosts and their subdomains"""
    page: int
    """Which `max_results` of the results: 2 has those after the first page. Both together reach to the 200th result"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""


class SessionBody(TypedDict, total=False):
    ttl_s: int
    """How long it lives, in seconds, whether it is used or not"""
    user_agent: str | None
    """The User-Agent of its requests; the project needs permission"""
    accept_language: str | None
    """The Accept-Language of its requests"""
    country: str | None
    """The country of its exit, ISO 3166-1 alpha-2: its requests take the route proxy and no other, by one exit. Refused where the service has no proxy with exits by country"""
    cookies: Sequence[SessionCookie] | None
    """Cookies that it begins with, such as those of a browser in which somebody has logged in. They are stored encrypted and shown to nobody"""
    secrets: Mapping[str, SessionSecret] | None
    """By name, what a step of the type `type` types with `secret`: passwords, for example. 20 a session at most; a name begins with a letter and has letters, digits, "-" and "_", 64 at most"""
    label: str | None
    """A name for people"""


class SessionCookie(TypedDict, total=False):
    name: Required[str]
    """Its name"""
    value: Required[str]
    """Its value"""
    domain: Required[str]
    """The host that it goes to; with a dot before it, the hosts of that domain"""
    path: str
    """The paths that it goes to begin with this one"""
    expires: float | None
    """When its time is over, in seconds since 1970. Default, or -1: with the session"""
    secure: bool
    """Whether it goes by https alone"""
    http_only: bool
    """Whether scripts of a page do not see it"""


class SessionPatch(TypedDict, total=False):
    secrets: Required[Mapping[str, SessionSecret | None]]
    """Secrets to add or replace, by name; null removes one, and the others stay. 20 a session at most; a name begins with a letter and has letters, digits, "-" and "_", 64 at most"""


class SessionSecret(TypedDict, total=False):
    value: Required[str]
    """What is typed, 4 to 1,024 characters. It is stored encrypted and answered nowhere"""
    origin: str | None
    """The only origin (scheme, host, port) into whose pages it is typed. Default: that of the `url` of each fetch"""


class SinkBody(TypedDict, total=False):
    type: Required[Literal["s3", "webhook"]]
    """Where results go: objects of a bucket, or a webhook"""
    url: Required[str]
    """`s3://bucket/prefix` of an S3 sink; an https address of a webhook"""
    endpoint: str | None
    """S3 only: the http or https address of another store than Amazon's, whose buckets are parts of the path"""
    region: str
    """S3 only: its region"""
    credentials: SinkCredentials | None
    """S3 only, and needed there: who may write to the bucket"""
    format: Literal["ndjson", "parquet"]
    """S3 only: what a part is"""
    rows_per_part: int
    """The most items of a part. A part also ends at 16 MiB of results (8 MiB of a webhook), and 30 s after the part before it"""


class SinkCredentials(TypedDict, total=False):
    access_key_id: Required[str]
    """The id of the access key"""
    secret_access_key: Required[str]
    """Stored encrypted, and never shown"""
    session_token: str | None
    """Of temporary credentials"""


class SuggestBody(TypedDict, total=False):
    query: Required[str]
    """The beginning of a company's name"""
    country: str | None
    """ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored"""
    session_key: str | None
    """Requests with the same key leave by the same exit"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    allow_paid: bool
    """false: nothing is requested, only the cache is read"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""


class SummariseFactsQuery(TypedDict, total=False):
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""


class UsageQuery(TypedDict, total=False):
    since: str
    """First day, for example 2026-11-01"""
    until: str
    """The day after the last"""
    group_by: str
    """Of category, project, day, key; default category"""


class ViewCaptureQuery(TypedDict, total=False):
    url: Required[str]
    """The address"""
    timestamp: str | None
    """The time: 1 to 14 digits. Default: the newest capture"""


class Viewport(TypedDict, total=False):
    width: Required[int]
    """Its width"""
    height: Required[int]
    """Its height"""


class WaitFor(TypedDict, total=False):
    selector: str | None
    """A CSS selector: until the main document has an element that matches, 15 s at most"""
    ms: int | None
    """Until so many milliseconds have passed since the document was parsed"""


class BatchCompaniesOptions(TypedDict, total=False):
    action: Literal["get", "refresh", "resolve"] | None
    """What is done with each item; default get"""
    include: Sequence[Literal["people", "ownership", "filings", "financials", "events"]] | None
    """With get and refresh: further parts of the record"""
    max_age: int | None
    """Seconds; older data is fetched again first"""
    idempotency_key: str
    """Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it."""
    callback_url: str | None
    """Where the job's end is told; null: nowhere"""
    max_cost_usd: float | None
    """The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own"""


class BatchFetchOptions(TypedDict, total=False):
    idempotency_key: str
    """Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it."""
    callback_url: str | None
    """Where the job's end is told; null: nowhere"""
    max_cost_usd: float | None
    """The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own"""
    webhook: JobWebhookBody | None
    """Where each page and the end of the job are told, signed, one event after the other in the order of items; null: nowhere"""


class BatchFilingsOptions(TypedDict, total=False):
    idempotency_key: str
    """Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it."""
    callback_url: str | None
    """Where the job's end is told; null: nowhere"""
    max_cost_usd: float | None
    """The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own"""


class BatchProfilesOptions(TypedDict, total=False):
    idempotency_key: str
    """Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it."""
    callback_url: str | None
    """Where the job's end is told; null: nowhere"""
    max_cost_usd: float | None
    """The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own"""


class BatchSearchOptions(TypedDict, total=False):
    idempotency_key: str
    """Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it."""
    callback_url: str | None
    """Where the job's end is told; null: nowhere"""
    max_cost_usd: float | None
    """The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own"""


class CrawlOptions(TypedDict, total=False):
    scope: Literal["path", "host", "subdomains", "domain"]
    """What belongs to it: addresses in the folder of a seed, on its host (with and without `www.` is one), also on the host's subdomains, or on the whole registrable domain"""
    include: Sequence[str] | None
    """Only addresses that one of these fits, the seeds aside: globs over path and query (`*` within a segment, `**` across them), or `/regular expressions/` (RE2)"""
    exclude: Sequence[str] | None
    """No address that one of these fits, in the same forms"""
    max_depth: int | None
    """The most links from a seed to a page; 0: the seeds alone; null: any number"""
    limit: int
    """The most pages that are fetched, at most what the operator allows (100,000 unless set otherwise); the addresses beyond it are listed with the reason `over_limit`"""
    sitemap: Literal["include", "only", "skip"]
    """Whether the addresses that the site's sitemaps list are pages of the crawl: `include`: beside those that pages link to; `only`: no link is followed. Each file that is read (robots.txt, the sitemaps that it names or else /sitemap.xml, those that an index lists) is an item as a page is, with `sitemap` in its `input`, and counts to `limit`"""
    ignore_query: bool
    """Whether addresses that differ in their query only are one page: the one that is found first is fetched"""
    follow_nofollow: bool
    """Whether links with `rel=nofollow` are followed"""
    fetch: CrawlFetch | None
    """How its pages are fetched: the options of `POST /v1/fetch` but for `method` and `body`. `headers`, and `cookies` without a domain, go to the origin of the seeds only, which must be one. Unlike there, archived and other copies take `allow_archive` and `allow_alternates`"""
    idempotency_key: str | None
    """The same key and limit within the project is the same crawl; null: each request begins one. Also as the header Idempotency-Key"""
    callback_url: str | None
    """Where the crawl's end is told; null: nowhere"""
    max_cost_usd: float | None
    """The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own"""
    since_job: str | None
    """An earlier crawl of the project: each page says in `change` whether its text is new, changed or unchanged since then; null: none"""
    webhook: JobWebhookBody | None
    """Where each page and the end of the job are told, signed, one event after the other in the order of items; null: nowhere"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""


class FetchOptions(TypedDict, total=False):
    render: Literal["auto", "never", "always"]
    """Whether a browser runs the page's scripts: when a plain request finds no text, never, or always"""
    max_bytes: int
    """The largest body that is accepted"""
    accept_pdf: bool
    """Whether PDFs are read"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    min_text_chars: int
    """With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    allow_archive: bool
    """Whether an archived copy may be served when the page is gone"""
    allow_alternates: bool
    """Whether an open copy of the same text may be served when the page is a teaser or gone"""
    allow_paid: bool
    """Whether routes that cost money may be used"""
    allow_premium: bool
    """Another name of `allow_paid`: false in either of them forbids these routes"""
    tiers: Sequence[Literal["direct", "browser", "archive", "proxy", "proxy_render"]] | None
    """The routes that may be used; null: all"""
    timeout_s: float | None
    """How long to wait at most, in seconds; what is then known is the answer"""
    country: str | None
    """The country of the exit on premium routes, ISO 3166-1 alpha-2"""
    user_agent: str | None
    """The User-Agent to send; the project needs permission"""
    accept_language: str | None
    """The Accept-Language to send"""
    include_html: bool | None
    """Whether the answer has `html`. Default true for a fetch, false for an item of a batch"""
    formats: Sequence[Literal["markdown", "links", "images", "entries", "screenshot", "structured", "tables", "comments"]] | None
    """Further forms of the page that the answer shall have; a screenshot takes the route browser only"""
    fields: Sequence[FetchField] | None
    """The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all"""
    wait_for: WaitFor | None
    """What a browser waits for before it reads the page; takes the route browser only"""
    screenshot_options: ScreenshotOptions | None
    """How the screenshot in `formats` is taken"""
    archive: bool
    """Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project"""
    headers: Mapping[str, str] | None
    """Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only"""
    cookies: Sequence[GivenCookie] | None
    """Cookies for the origin of `url`. The routes direct and browser only"""
    method: Literal["GET", "POST"]
    """POST sends `body`; it is never sent twice, so no further route is tried once it may have reached the site"""
    body: str | None
    """The body of a POST, 65,536 bytes at most. Without a Content-Type in `headers` it is a form (application/x-www-form-urlencoded)"""
    cache_private: bool
    """Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept"""
    actions: Sequence[Action] | None
    """Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed"""
    session_id: str | None
    """A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies`"""
    only_main_content: bool | None
    """false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page"""
    include_comments: bool
    """Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one"""
    include_selectors: Sequence[str] | None
    """CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not"""
    exclude_selectors: Sequence[str] | None
    """CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included"""
    extract: ExtractOptions | None
    """Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there"""
    block_resources: Sequence[Literal["image", "font", "media", "stylesheet", "ads"]] | None
    """What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page"""
    device: Literal["desktop", "mobile"]
    """`mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only"""
    viewport: Viewport | None
    """The window of the browser; takes the route browser only. Default: 1280 × 720"""


class CapturesOptions(TypedDict, total=False):
    matchType: Literal["exact", "prefix", "host", "domain"] | None
    """Which addresses: this one, those below it, its host's, also of subdomains"""
    from_: str | None
    """The first time: 1 to 14 digits, as 20261125"""
    to: str | None
    """The last time"""
    limit: int
    """The most captures"""
    filter: str | None
    """`column:expression` (RE2, the whole value), with `!` before it: those that it does not fit"""


class MapOptions(TypedDict, total=False):
    search: str | None
    """Words: addresses whose path or title has them come first"""
    limit: int
    """The most addresses of the answer"""
    sitemap: Literal["include", "only", "skip"]
    """Whether sitemaps are read beside the page at `url`, instead of it, or not at all"""
    include_subdomains: bool
    """Whether addresses of the host's subdomains belong to the answer; with and without `www.` is one host"""
    ignore_query: bool
    """Whether addresses are listed without their query, each once"""
    cache_ttl_s: int | None
    """The oldest acceptable copies of sitemaps and pages, in seconds; 0 reads everything anew"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    timeout_s: float | None
    """After so many seconds the answer has what was found until then. Default 120"""


class MonitorOptions(TypedDict, total=False):
    every_s: int | None
    """Seconds from one visit to the next; this or `cron`"""
    cron: str | None
    """Minute, hour, day of the month, month, day of the week: when the page is visited, at least five minutes apart. What a change of the clock leaves out comes right after it; what it repeats comes once if hour and minute are single numbers"""
    timezone: str | None
    """The time zone of `cron`, by its IANA name. Default UTC"""
    watch: Literal["text", "markdown", "status", "links"]
    """What counts as a change: of the text, of the Markdown, of the status, or of the addresses that the page links to. With `fetch.include_selectors` only of that part of the page"""
    fetch: MonitorFetch | None
    """How the page is fetched; each visit asks anew, and takes no archived copy"""
    webhook: MonitorWebhook | None
    """Where changes are delivered; null: they are only listed"""
    label: str | None
    """A name of the client's own"""


class SearchOptions(TypedDict, total=False):
    language: str | None
    """ISO 639-1, optionally with a region"""
    country: str | None
    """ISO 3166-1 alpha-2, in either case"""
    max_results: int
    """The most results"""
    freshness: Literal["day", "week", "month", "year", "pd", "pw", "pm", "py"] | None
    """Only pages of this period; `pd`, `pw`, `pm` and `py` mean day, week, month and year"""
    cache_ttl_s: int | None
    """The oldest acceptable answer from the cache, in seconds, at most 7 days; 0 searches anew"""
    include_domains: Sequence[str] | None
    """Only results of these hosts and their subdomains"""
    exclude_domains: Sequence[str] | None
    """No results of these hosts and their subdomains"""
    page: int
    """Which `max_results` of the results: 2 has those after the first page. Both together reach to the 200th result"""
    project_ref: str | None
    """A word of the client's own, which the ledger of requests shows again"""
    contents: SearchContents | None
    """The pages of the first results, each fetched and billed as by `POST /v1/fetch`"""
