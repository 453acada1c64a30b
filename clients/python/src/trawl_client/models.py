"""Made of the API document by `npm run clients`, which writes it anew: changes are lost."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

#: Of a field that the service always sends, and leaves out where it was asked to.
ABSENT: Any = None


class Answer(BaseModel):
    model_config = ConfigDict(extra="allow", populate_by_name=True, protected_namespaces=())

AttemptReasonName = Literal["ok", "not_modified", "thin_content", "not_configured", "no_room", "invalid_url", "blocked_destination", "robots_disallowed", "too_large", "pdf_not_accepted", "unreadable_document", "selector_not_found", "screenshot_failed", "action_failed", "all_tiers_failed", "domain_unavailable", "domain_dead", "timeout", "no_tier_allowed", "politeness_timeout", "domain_busy", "premium_route_required", "budget_exhausted", "session_not_found", "post_not_repeated", "filings_not_configured", "rate_limited", "filings_unavailable", "redirect_not_allowed"]
CallbackOutcome = Literal["blocked_destination", "error_interrupted", "error_secret_unreadable"]
CompanyFieldGroup = Literal["core", "identifiers", "people", "ownership", "relationships", "filings", "financials", "events", "securities", "web"]
CompanyJobItemErrorName = Literal["not_found", "source_unavailable", "cancelled", "result_unavailable", "internal_error", "key_quota_exhausted", "key_budget_exhausted"]
ContentRefusalCode = Literal["timeout", "key_quota_exhausted", "key_budget_exhausted", "key_rate_limited", "key_category_not_allowed", "user_agent_not_allowed", "unavailable", "refused"]
CrawlJobItemErrorName = Literal["invalid_url", "blocked_destination", "robots_disallowed", "too_large", "pdf_not_accepted", "unreadable_document", "selector_not_found", "screenshot_failed", "action_failed", "all_tiers_failed", "domain_unavailable", "domain_dead", "timeout", "no_tier_allowed", "politeness_timeout", "domain_busy", "premium_route_required", "budget_exhausted", "session_not_found", "post_not_repeated", "filings_not_configured", "rate_limited", "filings_unavailable", "redirect_not_allowed", "out_of_scope", "cancelled", "result_unavailable", "internal_error", "key_quota_exhausted", "key_budget_exhausted"]
FetchErrorName = Literal["invalid_url", "blocked_destination", "robots_disallowed", "too_large", "pdf_not_accepted", "unreadable_document", "selector_not_found", "screenshot_failed", "action_failed", "all_tiers_failed", "domain_unavailable", "domain_dead", "timeout", "no_tier_allowed", "politeness_timeout", "domain_busy", "premium_route_required", "budget_exhausted", "session_not_found", "post_not_repeated", "filings_not_configured", "rate_limited", "filings_unavailable", "redirect_not_allowed"]
FetchField = Literal["url", "final_url", "redirects", "status", "content_type", "origin_content_type", "headers", "tier", "attempts", "html", "text", "pdf_text_pages", "pdf_page_count", "markdown", "links", "images", "entries", "screenshot", "actions", "archive_url", "structured", "tables", "comments", "extract", "text_truncated", "title", "meta", "sha256", "bytes", "cached", "revalidated", "retrieved_at", "etag", "last_modified", "cost_usd", "llm_cost_usd", "billing_category", "archived_at", "served_from_archive_because", "body_url", "body_kind", "content_kind", "paywall", "paywall_evidence", "alternate_of", "alternate_source", "match_score", "primary_sources", "text_complete", "page_verdict", "error", "error_detail", "premium_routes_tried", "retry_after_s", "debug_url", "warnings", "request_id"]
FetchJobItemErrorName = Literal["invalid_url", "blocked_destination", "robots_disallowed", "too_large", "pdf_not_accepted", "unreadable_document", "selector_not_found", "screenshot_failed", "action_failed", "all_tiers_failed", "domain_unavailable", "domain_dead", "timeout", "no_tier_allowed", "politeness_timeout", "domain_busy", "premium_route_required", "budget_exhausted", "session_not_found", "post_not_repeated", "filings_not_configured", "rate_limited", "filings_unavailable", "redirect_not_allowed", "cancelled", "result_unavailable", "internal_error", "key_quota_exhausted", "key_budget_exhausted"]
FilingDocumentErrorName = Literal["unknown_identifier", "not_registered_filer", "not_found", "invalid_identifier", "rate_limited", "filings_unavailable", "filings_not_configured", "robots_disallowed", "redirect_not_allowed", "blocked_destination", "timeout", "invalid_url", "too_large", "pdf_not_accepted", "unreadable_document", "selector_not_found", "screenshot_failed", "action_failed", "all_tiers_failed", "domain_unavailable", "domain_dead", "no_tier_allowed", "politeness_timeout", "domain_busy", "premium_route_required", "budget_exhausted", "session_not_found", "post_not_repeated"]
FilingsErrorName = Literal["unknown_identifier", "not_registered_filer", "not_found", "invalid_identifier", "rate_limited", "filings_unavailable", "filings_not_configured", "robots_disallowed", "redirect_not_allowed", "blocked_destination", "timeout"]
FilingsJobItemErrorName = Literal["unknown_identifier", "not_registered_filer", "not_found", "invalid_identifier", "rate_limited", "filings_unavailable", "filings_not_configured", "robots_disallowed", "redirect_not_allowed", "blocked_destination", "timeout", "invalid_url", "too_large", "pdf_not_accepted", "unreadable_document", "selector_not_found", "screenshot_failed", "action_failed", "all_tiers_failed", "domain_unavailable", "domain_dead", "no_tier_allowed", "politeness_timeout", "domain_busy", "premium_route_required", "budget_exhausted", "session_not_found", "post_not_repeated", "cancelled", "result_unavailable", "internal_error", "key_quota_exhausted", "key_budget_exhausted"]
MapErrorName = Literal["invalid_url", "blocked_destination", "robots_disallowed", "too_large", "pdf_not_accepted", "unreadable_document", "selector_not_found", "screenshot_failed", "action_failed", "all_tiers_failed", "domain_unavailable", "domain_dead", "timeout", "no_tier_allowed", "politeness_timeout", "domain_busy", "premium_route_required", "budget_exhausted", "session_not_found", "post_not_repeated", "filings_not_configured", "rate_limited", "filings_unavailable", "redirect_not_allowed", "quota_exhausted"]
MapSitemapErrorName = Literal["invalid_url", "blocked_destination", "robots_disallowed", "too_large", "pdf_not_accepted", "unreadable_document", "selector_not_found", "screenshot_failed", "action_failed", "all_tiers_failed", "domain_unavailable", "domain_dead", "timeout", "no_tier_allowed", "politeness_timeout", "domain_busy", "premium_route_required", "budget_exhausted", "session_not_found", "post_not_repeated", "filings_not_configured", "rate_limited", "filings_unavailable", "redirect_not_allowed", "not_a_sitemap", "malformed", "too_slow", "already_read", "too_deep"]
ProfileErrorName = Literal["not_found", "blocked", "rate_limited", "all_tiers_failed", "parse_failed", "invalid_identifier", "paid_tier_required", "budget_exhausted", "robots_disallowed", "timeout", "politeness_timeout", "profiles_not_configured"]
ProfilesJobItemErrorName = Literal["not_found", "blocked", "rate_limited", "all_tiers_failed", "parse_failed", "invalid_identifier", "paid_tier_required", "budget_exhausted", "robots_disallowed", "timeout", "politeness_timeout", "profiles_not_configured", "cancelled", "result_unavailable", "internal_error", "key_quota_exhausted", "key_budget_exhausted"]
RefusalCode = Literal["admin_key_required", "customer_suspended", "domain_busy", "key_budget_exhausted", "key_category_not_allowed", "key_quota_exhausted", "key_rate_limited", "operator_only", "paused_by_operator", "signing_certificate_unusable", "time_stamp_invalid", "time_stamp_refused", "time_stamp_timeout", "time_stamp_unreachable", "timeout", "user_agent_not_allowed"]
SearchErrorName = Literal["metasearch_error", "metasearch_timeout", "no_metasearch_instance", "unresponsive_engines", "captcha_engines", "budget_exhausted", "fallback_timeout", "fallback_unreachable", "fallback_invalid_answer"]
SearchJobItemErrorName = Literal["metasearch_error", "metasearch_timeout", "no_metasearch_instance", "unresponsive_engines", "captcha_engines", "budget_exhausted", "fallback_timeout", "fallback_unreachable", "fallback_invalid_answer", "cancelled", "result_unavailable", "internal_error", "key_quota_exhausted", "key_budget_exhausted"]


class AccountKey(Answer):
    prefix: str = ABSENT
    """The first characters of the key"""
    project: str = ABSENT
    """The name of the project"""
    label: str | None = ABSENT
    """Words for the key"""
    role: Literal["standard", "account_admin", "operator"] | str = ABSENT
    """A standard key sees itself, an account admin its whole customer, an operator uses /v1/ops as well"""
    categories: list[Literal["search", "fetch"] | str] | None = ABSENT
    """What the key may be used for; null: everything"""
    rate_limit_rps: int | None = ABSENT
    """Requests a second; null: no limit of its own"""
    quotas: AccountKeyQuotas = ABSENT
    """Requests a month by category"""
    spend_cap: str | None = ABSENT
    """In the customer's currency; null: no limit"""
    paid_fetches: bool = ABSENT
    """Whether routes that cost money may be taken for the key"""
    debug: bool = ABSENT
    """Whether `X-Service-Debug: 1` gets a debug_url"""
    status: Literal["active", "revoked"] | str = ABSENT
    """Whether the key works"""
    created_at: str = ABSENT
    """When it was created"""
    revoked_at: str | None = ABSENT
    """When it was revoked; null: it was not"""
    expires_at: str | None = ABSENT
    """When it stops working; null: never"""


class AccountKeyCreated(Answer):
    prefix: str = ABSENT
    """The first characters of the key"""
    project: str = ABSENT
    """The name of the project"""
    label: str | None = ABSENT
    """Words for the key"""
    role: Literal["standard", "account_admin", "operator"] | str = ABSENT
    """A standard key sees itself, an account admin its whole customer, an operator uses /v1/ops as well"""
    categories: list[Literal["search", "fetch"] | str] | None = ABSENT
    """What the key may be used for; null: everything"""
    rate_limit_rps: int | None = ABSENT
    """Requests a second; null: no limit of its own"""
    quotas: AccountKeyQuotas = ABSENT
    """Requests a month by category"""
    spend_cap: str | None = ABSENT
    """In the customer's currency; null: no limit"""
    paid_fetches: bool = ABSENT
    """Whether routes that cost money may be taken for the key"""
    debug: bool = ABSENT
    """Whether `X-Service-Debug: 1` gets a debug_url"""
    status: Literal["active", "revoked"] | str = ABSENT
    """Whether the key works"""
    created_at: str = ABSENT
    """When it was created"""
    revoked_at: str | None = ABSENT
    """When it was revoked; null: it was not"""
    expires_at: str | None = ABSENT
    """When it stops working; null: never"""
    key: str = ABSENT
    """The key; it is not shown again"""


class AccountKeyQuotas(Answer):
    search: int | None = ABSENT
    """Searches a month; null: no limit"""
    fetch: int | None = ABSENT
    """Fetches a month; null: no limit"""


class AccountKeys(Answer):
    keys: list[AccountKey] = ABSENT
    """Oldest first"""


class AccountPlan(Answer):
    prices: dict[str, str] | None = ABSENT
    """What a succeeded request costs by billing category, in the customer's currency; null: what providers cost"""
    budget: str | None = ABSENT
    """What all projects together may spend in the month; null: no limit"""
    remaining: str | None = ABSENT
    """What is left; null: no limit, or an external customer"""
    basis: Literal["charge", "provider_cost"] | str = ABSENT
    """What counts against limits of spend: what the customer is charged, where it has prices; else what providers cost"""
    projects: list[AccountPlanProject] = ABSENT
    """The limits of each project"""


class AccountPlanProject(Answer):
    name: str = ABSENT
    """The name of the project"""
    rate_limit_rps: int = ABSENT
    """Requests a second"""
    budget: str | None = ABSENT
    """What it may spend in the month; null: no limit"""


class AccountView(Answer):
    customer: AccountViewCustomer = ABSENT
    """The customer"""
    project: str = ABSENT
    """The name of the project"""
    period: AccountViewPeriod = ABSENT
    """The month that the figures are of"""
    plan: AccountPlan = ABSENT
    """What may be spent"""
    estimate: AccountViewEstimate = ABSENT
    """The whole month, if it goes on as it has so far"""
    usage: list[AccountViewUsage] = ABSENT
    """By billing category"""
    keys: list[AccountViewKey] = ABSENT
    """By key"""
    totals: CategoryUsage = ABSENT
    """All together"""


class AccountViewCustomer(Answer):
    name: str = ABSENT
    """Its name"""
    status: Literal["active", "suspended"] | str = ABSENT
    """Whether its keys work"""
    currency: Literal["USD", "CHF", "EUR"] | str = ABSENT
    """ISO 4217"""
    created_at: str = ABSENT
    """When it was created"""


class AccountViewEstimate(Answer):
    requests: int = ABSENT
    """Requests and items"""
    cost_usd: str | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""


class AccountViewKey(Answer):
    prefix: str = ABSENT
    """The first characters of the key"""
    project: str = ABSENT
    """The name of the project"""
    requests: int = ABSENT
    """Requests and items"""
    succeeded: int = ABSENT
    """Those without an error"""
    bytes: int = ABSENT
    """Bytes of all bodies"""
    bytes_ok: int = ABSENT
    """Bytes of those without an error"""
    paid_bytes: int = ABSENT
    """Bytes by routes that cost money"""
    paid_bytes_ok: int = ABSENT
    """Bytes of those without an error"""
    cost_usd: str | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    cost_ok_usd: str | None = ABSENT
    """What the answers without an error cost"""


class AccountViewPeriod(Answer):
    month: str = ABSENT
    """The month, UTC"""
    since: str = ABSENT
    """Its first moment"""
    resets_at: str = ABSENT
    """The first moment of the next"""


class AccountViewUsage(Answer):
    category: str = ABSENT
    """The billing category"""
    requests: int = ABSENT
    """Requests and items"""
    succeeded: int = ABSENT
    """Those without an error"""
    bytes: int = ABSENT
    """Bytes of all bodies"""
    bytes_ok: int = ABSENT
    """Bytes of those without an error"""
    paid_bytes: int = ABSENT
    """Bytes by routes that cost money"""
    paid_bytes_ok: int = ABSENT
    """Bytes of those without an error"""
    cost_usd: str | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    cost_ok_usd: str | None = ABSENT
    """What the answers without an error cost"""


class Action(Answer):
    type: Literal["click", "type", "press", "select", "scroll", "wait", "screenshot", "evaluate", "pdf"] | str = ABSENT
    """`click`, `type` (into a field), `press` (a key), `select` (an option), `scroll` (to the end), `wait`, `screenshot`, `evaluate` (a script), `pdf`"""
    selector: str | None = None
    """click, type, select: the first visible element that matches. press: the element that gets the key (default: the focused one). scroll: the element to scroll (default: the page). wait: until an element that matches is visible"""
    text: str | None = None
    """type: what the field has then"""
    secret: str | None = None
    """type: instead of `text` the name of a secret of the session, which is typed into pages of its origin only"""
    key: str | None = None
    """press: a key as in KeyboardEvent.key, with modifiers before it"""
    value: str | None = None
    """select: the value of the option, or its words"""
    idle: Literal[True] | None = None
    """wait: until no request has been in flight for half a second"""
    ms: int | None = None
    """wait: so many milliseconds"""
    max_scrolls: int | None = None
    """scroll: the most turns of the wheel, each of 0.8 windows. It ends before where the page does not grow any more"""
    full_page: bool | None = None
    """screenshot: from top to bottom, instead of the window"""
    script: str | None = None
    """evaluate: an expression, or the body of an async function with `return`; its value as JSON has at most 262,144 bytes"""
    timeout_ms: int | None = None
    """How long the step may take. Default: 5,000; scroll and pdf 30,000. All steps have 60,000 together"""
    optional: bool | None = None
    """true: the steps after it are taken also when it fails"""


class ActionOutcome(Answer):
    index: int = ABSENT
    """Its place in `actions` of the request"""
    type: Literal["click", "type", "press", "select", "scroll", "wait", "screenshot", "evaluate", "pdf"] | str = ABSENT
    """Its type"""
    ok: bool = ABSENT
    """Whether it did what it should"""
    ms: int = ABSENT
    """How long it took, in milliseconds, with the page that it led to"""
    error: Literal["not_found", "not_visible", "covered", "disabled", "timeout", "script_failed", "too_large", "secret_not_found", "secret_of_another_origin", "failed"] | str | None = ABSENT
    """Why it failed"""
    detail: str | None = None
    """The same as a sentence for people"""
    url: str | None = ABSENT
    """The address of the page after it"""
    value: Any | None = None
    """Of `evaluate`: its value; null where the script led the page away. Of `scroll`: how many turns, and whether the end was reached"""
    page: FailedPage | None = None
    """Of a step that failed"""
    screenshot: ActionScreenshot | None = None
    """Of the step `screenshot`, and of the window when a step failed"""
    pdf: ActionPdf | None = None
    """Of the step `pdf`"""


class ActionPdf(Answer):
    body_url: str = ABSENT
    """Where it is downloaded, for 30 days"""
    sha256: str = ABSENT
    """SHA-256 of the exact bytes"""
    bytes: int = ABSENT
    """Its size"""


class ActionScreenshot(Answer):
    body_url: str = ABSENT
    """Where it is downloaded, for 30 days"""
    sha256: str = ABSENT
    """SHA-256 of the exact bytes"""
    content_type: str = ABSENT
    """Its format"""
    width: int = ABSENT
    """In pixels"""
    height: int = ABSENT
    """In pixels"""


class AlertHook(Answer):
    id: int = ABSENT
    """Its number"""
    url: str | None = ABSENT
    """Where events are told, with passwords and query secrets masked; null: this node cannot read it"""
    scope: Literal["key", "project", "customer", "status"] | str = ABSENT
    """Whose allowances it is about; `status`: incidents and maintenance of the service"""
    key: str | None = ABSENT
    """With scope key: the prefix of the key; with scope status: of the key that made it"""
    project: str | None = ABSENT
    """With scope project: its name"""
    thresholds: list[int] = ABSENT
    """Percent of an allowance; none with scope status"""
    created_at: str = ABSENT
    """When it was created"""
    last_delivery_at: str | None = ABSENT
    """When a delivery was last tried; null: none was"""
    last_status: str | None = ABSENT
    """`delivered_<code>`, `http_<code>`, `error_<class>` or `blocked_destination`; null before the first delivery"""


class AlertHookCreated(Answer):
    id: int = ABSENT
    """Its number"""
    url: str | None = ABSENT
    """Where events are told, with passwords and query secrets masked; null: this node cannot read it"""
    scope: Literal["key", "project", "customer", "status"] | str = ABSENT
    """Whose allowances it is about; `status`: incidents and maintenance of the service"""
    key: str | None = ABSENT
    """With scope key: the prefix of the key; with scope status: of the key that made it"""
    project: str | None = ABSENT
    """With scope project: its name"""
    thresholds: list[int] = ABSENT
    """Percent of an allowance; none with scope status"""
    created_at: str = ABSENT
    """When it was created"""
    last_delivery_at: str | None = ABSENT
    """When a delivery was last tried; null: none was"""
    last_status: str | None = ABSENT
    """`delivered_<code>`, `http_<code>`, `error_<class>` or `blocked_destination`; null before the first delivery"""
    secret: str = ABSENT
    """Signs deliveries; it is not shown again"""


class ArchiveImport(Answer):
    id: str = ABSENT
    """The id of the import: the same for the same file"""
    name: str = ABSENT
    """The name that the client gave"""
    shared: bool = ABSENT
    """Whether it serves every project"""
    state: Literal["uploading", "importing", "done", "failed"] | str = ABSENT
    """`uploading` until every byte has arrived, then `importing`; at the end `done`, or `failed` with a `problem`"""
    problem: str | None = ABSENT
    """Why the import has failed; captures that were read before stay"""
    bytes: int = ABSENT
    """Bytes of the file"""
    received_bytes: int = ABSENT
    """Bytes that have arrived: where the upload goes on"""
    sha256: str = ABSENT
    """Of the file"""
    records: int = ABSENT
    """Records that were read"""
    captures: int = ABSENT
    """Captures that the import has brought"""
    known: int = ABSENT
    """Captures that another file of the same owner has brought before"""
    indexed: int = ABSENT
    """Pages that were put into the search index"""
    skipped: dict[str, int] = ABSENT
    """Records that bring no capture, by kind: their type (`warcinfo`, `metadata`, `conversion`, `request` …), `not_http`, `too_large`, `revisit_without_original`, `revisit_not_modified`"""
    bad: dict[str, int] = ABSENT
    """What could not be read, or only in part: `broken_gzip`, `gzip_checksum`, `bad_record`, `wrong_length`, `truncated_record`, `no_http_response`, `broken_coding`, `digest_mismatch`, `broken_zip_entry`"""
    created_at: str = ABSENT
    """When the upload began"""
    ended_at: str | None = ABSENT
    """When the file was read"""


class ArticleMeta(Answer):
    author: str | None = ABSENT
    """Several are separated by `; `"""
    published_at: str | None = ABSENT
    """ISO 8601: with a time in UTC or without a zone, or only a date, a month or a year"""
    modified_at: str | None = ABSENT
    """In the same forms"""
    language: str | None = ABSENT
    """BCP 47"""
    canonical_url: str | None = ABSENT
    """The page's own address"""
    publisher: str | None = ABSENT
    """The publisher"""
    site_name: str | None = ABSENT
    """The name of the site"""
    description: str | None = ABSENT
    """The page's description of itself"""
    section: str | None = ABSENT
    """The section of the site"""
    word_count: int | None = ABSENT
    """Words of the text"""
    next_url: str | None = None
    """The page that follows in a series, by `rel=next`; only if `links` were requested"""
    alternates: list[PageAlternate] | None = None
    """The same content in other languages or forms, 200 at most; only if `links` were requested"""
    robots: list[str] | None = None
    """What its robots elements ask, in the form of X-Robots-Tag, 20 at most; only if `links` were requested"""


class Attempt(Answer):
    tier: str = ABSENT
    """A route, `source`, or a step before: robots, dns, cache, request_timeout, politeness"""
    status: int | None = ABSENT
    """The origin's status; null: no answer"""
    reason: AttemptReasonName | str = ABSENT
    """`ok`, or why it was not good enough"""
    ms: int = ABSENT
    """How long it took, in milliseconds"""
    detail: str | None = ABSENT
    """More about the reason"""


class BatchCompletedEvent(Answer):
    id: str = ABSENT
    """The same in every attempt, also `webhook-id` in the header"""
    job_id: str = ABSENT
    """The id of the job"""
    status: Literal["completed", "cancelled"] | str = ABSENT
    """How the job ended"""
    counts: JobCounts = ABSENT
    """Its items by status"""
    finished_at: str = ABSENT
    """When the last item finished"""
    job_url: str = ABSENT
    """The job"""
    type: Literal["batch.completed"]
    """The kind of event: the last one of a batch"""


class BatchPageEvent(Answer):
    id: str = ABSENT
    """The same in every attempt, also `webhook-id` in the header"""
    job_id: str = ABSENT
    """The id of the job"""
    index: int = ABSENT
    """The number of its item in the job"""
    url: str = ABSENT
    """The page"""
    type: Literal["batch.page"]
    """The kind of event"""
    error: FetchJobItemErrorName | str | None = ABSENT
    """Why there is no page; null: there is one"""
    final_url: str | None = ABSENT
    """The address after redirects"""
    status: int | None = ABSENT
    """The HTTP status of the site's answer"""
    title: str | None = ABSENT
    """The title of the page"""
    content_type: str | None = ABSENT
    """What the body is"""
    sha256: str | None = ABSENT
    """Of the body: `/v1/bodies/{sha256}` has it"""
    retrieved_at: str | None = ABSENT
    """When the site answered"""
    item_url: str = ABSENT
    """The item with its whole result"""


class CategoryUsage(Answer):
    requests: int = ABSENT
    """Requests and items"""
    succeeded: int = ABSENT
    """Those without an error"""
    bytes: int = ABSENT
    """Bytes of all bodies"""
    bytes_ok: int = ABSENT
    """Bytes of those without an error"""
    paid_bytes: int = ABSENT
    """Bytes by routes that cost money"""
    paid_bytes_ok: int = ABSENT
    """Bytes of those without an error"""
    cost_usd: str | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    cost_ok_usd: str | None = ABSENT
    """What the answers without an error cost"""


class CompanyActivity(Answer):
    scheme: Literal["isic4", "nace2", "nace21", "noga2008", "wz2008", "naf2", "uksic2007", "sic_us", "naics", "other"] | str = ABSENT
    """The classification"""
    code: str = ABSENT
    """Its code"""
    label: str | None = None
    """In words"""
    primary: bool = ABSENT
    """Whether it is the main activity"""


class CompanyAddress(Answer):
    type: Literal["registered", "headquarters", "business", "service", "mailing", "alternative"] | str = ABSENT
    """What the address is for"""
    care_of: str | None = None
    """To whom it is sent"""
    lines: list[str] | None = None
    """Its lines, without postal code and city"""
    street: str | None = None
    """The street"""
    house_number: str | None = None
    """The number"""
    po_box: str | None = None
    """The post office box"""
    postal_code: str | None = None
    """The postal code"""
    city: str | None = None
    """The town"""
    region: str | None = None
    """ISO 3166-2"""
    country: str | None = None
    """ISO 3166-1 alpha-2"""
    language: str | None = None
    """BCP 47"""
    formatted: str = ABSENT
    """In one line"""
    geo: CompanyAddressGeo | None = None
    """Where it lies"""
    current: bool = ABSENT
    """Whether it holds now"""
    valid_from: str | None = None
    """Since when it holds"""
    valid_to: str | None = None
    """Until when it held; null: it holds, or that is not known"""


class CompanyAddressGeo(Answer):
    lat: float = ABSENT
    """Latitude, WGS 84"""
    lon: float = ABSENT
    """Longitude, WGS 84"""


class CompanyBaseline(Answer):
    source: str = ABSENT
    """Whose file it was"""
    kind: str = ABSENT
    """The kind of the file"""
    rows: int = ABSENT
    """Rows of the file that the register has"""
    published_at: str = ABSENT
    """When the source published the file"""
    changed_at: str = ABSENT
    """When it came into the register"""


class CompanyBaselineItem(Answer):
    company_id: str = ABSENT
    """The company"""
    name: str | None = ABSENT
    """Its legal name; null: not known"""
    country: str | None = ABSENT
    """ISO 3166-1 alpha-2; null: not known"""
    status: str = ABSENT
    """Whether it exists and trades"""
    identifiers: list[str] = ABSENT
    """Its numbers now, `scheme:value`"""


class CompanyCapital(Answer):
    type: Literal["share", "nominal", "authorised", "issued", "paid_up", "liability", "other"] | str = ABSENT
    """What kind of capital"""
    amount: str = ABSENT
    """decimal as text"""
    currency: str = ABSENT
    """ISO 4217"""
    as_of: str | None = None
    """The day that the figure is of"""
    shares: list[CompanyCapitalSharesItem] | None = None
    """The classes of shares"""


class CompanyCapitalSharesItem(Answer):
    class_: str | None = Field(None, alias="class")
    """The class"""
    count: int | None = None
    """How many"""
    nominal: str | None = None
    """The nominal value of one, decimal"""


class CompanyChange(Answer):
    id: str = ABSENT
    """The id of the change"""
    company_id: CompanyId = ABSENT
    """The id of a company"""
    type: Literal["created", "updated", "merged", "split", "deleted"] | str = ABSENT
    """What happened to the record"""
    fields_: list[str] = Field(ABSENT, alias="fields")
    """Top-level fields that changed"""
    merged_into: CompanyId | None = None
    """With merged: the company that remains"""
    version: int = ABSENT
    """The version of the record"""
    changed_at: str = ABSENT
    """When it changed"""


class CompanyChangedEvent(Answer):
    id: str = ABSENT
    """The id of the event, the same in every attempt"""
    type: Literal["company.changed"]
    """The kind of event"""
    created_at: str = ABSENT
    """When the company changed"""
    watch_id: str = ABSENT
    """The id of a watch"""
    company_id: str = ABSENT
    """The id of a company"""
    fields_: list[str] = Field(ABSENT, alias="fields")
    """Top-level fields that changed"""
    change_cursor: str = ABSENT
    """For GET /v1/companies/changes: what changed after this"""
    record_url: str = ABSENT
    """The record"""


class CompanyClaim(Answer):
    id: CompanyClaimId = ABSENT
    """The id of the claim"""
    company_id: CompanyId = ABSENT
    """The id of a company"""
    field: str = ABSENT
    """field path, e.g. names.legal"""
    key: str | None = None
    """Which entry of a list it is"""
    value: Any = ABSENT
    """The value as the record has it"""
    raw_value: Any | None = None
    """as the source states it"""
    language: str | None = None
    """BCP 47"""
    source: CompanySourceName = ABSENT
    """The source that says so"""
    native_id: str | None = None
    """The source's own id of the company"""
    raw_sha256: str = ABSENT
    """SHA-256 of the source's document"""
    body_url: str | None = None
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    observed_at: str = ABSENT
    """When the source first said so"""
    confirmed: str = ABSENT
    """When it last said so"""
    effective_from: str | None = None
    """Since when it holds, as the source says"""
    valid_to: str | None = ABSENT
    """When the source no longer said so; null: it does"""
    current: bool = ABSENT
    """Whether it holds now"""
    accepted: bool | None = None
    """Whether it may stand in the record"""
    rejected_because: str | None = None
    """Why not; null: it may"""


class CompanyConflict(Answer):
    field: str = ABSENT
    """The field"""
    values: list[CompanyConflictValuesItem] = ABSENT
    """What the sources say"""
    resolved_by: Literal["precedence", "recency", "agreement", "specificity", "manual"] | str = ABSENT
    """Why one value was chosen"""


class CompanyConflictValuesItem(Answer):
    value: Any = ABSENT
    """The value"""
    source: CompanySourceName = ABSENT
    """The source that says so"""
    claim: CompanyClaimId = ABSENT
    """The claim behind it"""
    confirmed: str | None = None
    """When the source last said so"""
    chosen: bool = ABSENT
    """Whether it is the record's"""


class CompanyDates(Answer):
    incorporation: str | None = None
    """When it was founded"""
    registration: str | None = None
    """When it was entered in its register"""
    deregistration: str | None = None
    """When it was struck off"""


class CompanyEvent(Answer):
    id: str = ABSENT
    """The id of the event"""
    type: Literal["registration", "name_change", "address_change", "seat_change", "legal_form_change", "purpose_change", "capital_change", "articles_change", "management_change", "auditor_change", "ownership_change", "merger", "acquisition", "spin_off", "liquidation", "insolvency", "deregistration", "reinstatement", "identifier_change", "filing", "other"] | str = ABSENT
    """What happened"""
    date: str = ABSENT
    """YYYY, YYYY-MM or YYYY-MM-DD"""
    published_on: str | None = None
    """When it was made public"""
    title: str | None = None
    """Its title"""
    text: str | None = None
    """The publication's text"""
    language: str | None = None
    """BCP 47"""
    url: str | None = None
    """The publication"""
    publication: CompanyEventPublication | None = None
    """Where it was made public"""
    source: CompanySourceName = ABSENT
    """The source that says so"""
    claim: CompanyClaimId | None = None
    """The claim behind it"""


class CompanyEventPublication(Answer):
    journal: str = ABSENT
    """SHAB/SOGC, Bundesanzeiger, Gazette ..."""
    id: str | None = None
    """Its id there"""
    number: str | None = None
    """Its number"""


class CompanyFiling(Answer):
    id: str = ABSENT
    """The id of the filing"""
    source: CompanySourceName = ABSENT
    """The source that says so"""
    type: str = ABSENT
    """form or filing category"""
    title: str | None = None
    """Its title"""
    date: str = ABSENT
    """YYYY, YYYY-MM or YYYY-MM-DD"""
    period_end: str | None = None
    """The end of the period it reports on"""
    language: str | None = None
    """BCP 47"""
    url: str | None = None
    """Its address"""
    body_url: str | None = None
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    accession: str | None = None
    """Its number in the filing system"""
    amendment: bool = ABSENT
    """Whether it amends another"""


class CompanyFinancials(Answer):
    period_start: str | None = None
    """The beginning of the period"""
    period_end: str = ABSENT
    """YYYY, YYYY-MM or YYYY-MM-DD"""
    fiscal_year: int | None = None
    """The fiscal year"""
    kind: Literal["annual", "interim"] | str = ABSENT
    """A year, or a part of one"""
    consolidated: bool | None = None
    """Whether the group is consolidated"""
    standard: str | None = None
    """The accounting standard"""
    currency: str | None = None
    """ISO 4217"""
    items: list[CompanyFinancialsItemsItem] = ABSENT
    """The figures"""
    filing_id: str | None = None
    """The filing they are from"""
    source: CompanySourceName = ABSENT
    """The source that says so"""


class CompanyFinancialsItemsItem(Answer):
    concept: str = ABSENT
    """us-gaap:/ifrs-full: or local"""
    label: str | None = None
    """In words"""
    value: str = ABSENT
    """decimal as text"""
    unit: str = ABSENT
    """Its unit"""


class CompanyFreshness(Answer):
    source: CompanySourceName = ABSENT
    """The source that says so"""
    group: CompanyFieldGroup = ABSENT
    """The part of a record that is fetched and kept fresh on its own"""
    class_: str = Field(ABSENT, alias="class")
    """name of the freshness class"""
    max_age_s: int = ABSENT
    """How long it is fresh, in seconds"""
    retrieved_at: str | None = None
    """When it was fetched"""
    confirmed_at: str = ABSENT
    """When the source last said so"""
    expires_at: str | None = None
    """Until when it is fresh"""
    stale: bool = ABSENT
    """Whether that is over"""


class CompanyIdentifier(Answer):
    scheme: str = ABSENT
    """code of x-identifier-schemes"""
    value: str = ABSENT
    """canonical form"""
    display: str | None = None
    """As people write it"""
    kind: Literal["registration", "lei", "tax", "vat", "filer", "security", "listing", "open", "vendor"] | str = ABSENT
    """What it identifies"""
    country: str | None = None
    """ISO 3166-1 alpha-2"""
    status: Literal["active", "inactive", "unknown"] | str = ABSENT
    """Whether it is in use"""
    valid: bool | None = None
    """Whether its check digits hold; null where the scheme has none"""
    issuer: CompanyIdentifierIssuer | None = None
    """Who gave it out"""
    valid_from: str | None = None
    """Since when it holds"""
    valid_to: str | None = None
    """Until when it held; null: it holds, or that is not known"""


class CompanyIdentifierIssuer(Answer):
    name: str | None = None
    """Its name"""
    ra_code: str | None = None
    """GLEIF registration authority code"""
    org_id: str | None = None
    """org-id.guide list code"""


class CompanyInterest(Answer):
    type: Literal["shareholding", "votingRights", "appointmentOfBoard", "otherInfluenceOrControl", "seniorManagingOfficial", "settlor", "trustee", "protector", "beneficiaryOfLegalArrangement", "rightsToSurplusAssetsOnDissolution", "rightsToProfitOrIncome", "rightsGrantedByContract", "conditionalRightsGrantedByContract", "controlViaCompanyRulesOrArticles", "controlByLegalFramework", "boardMember", "boardChair", "unknownInterest", "unpublishedInterest", "enjoymentAndUseOfAssets", "rightToProfitOrIncomeFromAssets", "nominee", "nominator"] | str = ABSENT
    """The kind of interest"""
    direct_or_indirect: Literal["direct", "indirect", "unknown"] | str = ABSENT
    """Held directly or through others"""
    beneficial: bool | None = None
    """Whether it is a beneficial interest; null: the source does not say"""
    share: CompanyInterestShare | None = None
    """How large it is, in percent"""
    start_date: str | None = None
    """Since when"""
    end_date: str | None = None
    """Until when"""
    details: str | None = None
    """The source's words"""


class CompanyInterestShare(Answer):
    exact: float | None = None
    """Exactly so many percent"""
    minimum: float | None = None
    """At least"""
    maximum: float | None = None
    """At most"""
    exclusive_minimum: float | None = None
    """More than"""
    exclusive_maximum: float | None = None
    """Less than"""


class CompanyJobItem(Answer):
    index: int = ABSENT
    """Its place among the submitted items, from 0"""
    kind: Literal["company"]
    """What the items of the job are"""
    status: Literal["pending", "queued", "done", "failed", "cancelled"] | str = ABSENT
    """What has become of it"""
    input: CompanyJobItemInput = ABSENT
    """As it was submitted, without defaults and unknown fields"""
    result: CompanyJobRecord | CompanyResolveAnswer | None = ABSENT
    """The answer of the single endpoint; null while unfinished or unavailable"""
    error: CompanyJobItemErrorName | str | None = ABSENT
    """The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now"""


class CompanyJobItemInput(Answer):
    ref: str | None = None
    """cmp_ id or scheme:value"""
    name: str | None = None
    """With resolve: the name"""
    country: str | None = None
    """ISO 3166-1 alpha-2"""
    city: str | None = None
    """The town"""
    postcode: str | None = None
    """The postcode of the company's registered address"""
    live: bool | None = None
    """Whether sources are asked by the name; default: only where the register has nothing near"""
    identifiers: list[str] | None = None
    """Identifiers, each as scheme:value"""
    limit: int | None = None
    """With resolve: the most candidates"""
    sources: list[str] | None = None
    """Only these sources; default all"""
    project_ref: str | None = None
    """A word of the client's own, which the ledger of requests shows again"""
    action: Literal["get", "refresh", "resolve"] | str | None = None
    """What is done with each item; default get"""
    include: list[Literal["people", "ownership", "filings", "financials", "events"] | str] | None = None
    """With get and refresh: further parts of the record"""
    max_age: int | None = None
    """Seconds; older data is fetched again first"""


class CompanyJobRecord(Answer):
    record: CompanyRecord | None = ABSENT
    """The record; null: no source knows the company"""


class CompanyLegalForm(Answer):
    elf: str | None = None
    """ISO 20275 ELF code"""
    local: CompanyLegalFormLocal | None = None
    """The register's own code"""
    label: str | None = None
    """In words"""
    abbreviation: str | None = None
    """Its abbreviation"""
    category: Literal["public_limited", "private_limited", "general_partnership", "limited_partnership", "cooperative", "foundation", "association", "sole_proprietor", "branch", "fund", "trust", "government", "european_company", "other", "unknown"] | str = ABSENT
    """What kind of form it is"""


class CompanyLegalFormLocal(Answer):
    scheme: str = ABSENT
    """Whose code it is"""
    code: str = ABSENT
    """The code"""


class CompanyLiveSource(Answer):
    source: str = ABSENT
    """The name of the source"""
    result: Literal["ok", "timeout", "failed", "no_slot"] | str = ABSENT
    """How it answered. `no_slot`: it was not asked in time, as other requests had all its slots; the same request may find more later"""
    hits: int = ABSENT
    """Companies that it found"""
    ms: int = ABSENT
    """How long it took, in milliseconds"""


class CompanyMoney(Answer):
    amount: str = ABSENT
    """decimal as text"""
    currency: str = ABSENT
    """ISO 4217"""


class CompanyName(Answer):
    name: str = ABSENT
    """The name"""
    language: str | None = None
    """BCP 47"""
    type: Literal["trading", "translation", "transliteration", "alternative", "short", "former"] | str = ABSENT
    """What kind of name it is"""
    valid_from: str | None = None
    """Since when it holds"""
    valid_to: str | None = None
    """Until when it held; null: it holds, or that is not known"""


class CompanyNames(Answer):
    legal: str = ABSENT
    """current legal name"""
    language: str | None = None
    """BCP 47"""
    transliterated: str | None = None
    """In Latin script; null where the name is"""
    trading: list[CompanyName] = ABSENT
    """Other names, each with its kind"""
    translations: list[CompanyName] = ABSENT
    """Other names, each with its kind"""
    former: list[CompanyName] = ABSENT
    """Earlier names"""
    other: list[CompanyName] = ABSENT
    """Other names, each with its kind"""


class CompanyOwnership(Answer):
    interested_parties: list[CompanyOwnershipInterestedPartiesItem] = ABSENT
    """Who has an interest in the company"""
    direct_parent: CompanyParty | None = None
    """The company that consolidates it directly"""
    ultimate_parent: CompanyParty | None = None
    """The company at the top"""
    exceptions: list[CompanyOwnershipExceptionsItem] | None = None
    """Why a parent is not reported"""


class CompanyOwnershipExceptionsItem(Answer):
    category: str = ABSENT
    """GLEIF: DIRECT_/ULTIMATE_ACCOUNTING_CONSOLIDATION_PARENT"""
    reason: str = ABSENT
    """Why"""
    reference: str | None = None
    """What the reason refers to"""


class CompanyOwnershipInterestedPartiesItem(Answer):
    party: CompanyParty = ABSENT
    """Who"""
    interests: list[CompanyInterest] = ABSENT
    """What the interests are"""
    current: bool = ABSENT
    """Whether it holds now"""
    claim: CompanyClaimId | None = None
    """The claim behind it"""


class CompanyParty(Answer):
    kind: Literal["entity", "person", "arrangement", "anonymous", "unknown"] | str = ABSENT
    """What it is"""
    name: str | None = None
    """Its name"""
    company_id: CompanyId | None = None
    """The id of a company"""
    ref: str | None = None
    """How to ask for it, scheme:value"""
    identifiers: list[CompanyIdentifier] | None = None
    """Its identifiers"""
    country: str | None = None
    """ISO 3166-1 alpha-2"""
    unspecified_reason: str | None = None
    """Why it is not named"""


class CompanyPerson(Answer):
    id: str = ABSENT
    """The id of the person in this company"""
    party: CompanyParty = ABSENT
    """Who it is"""
    given_name: str | None = None
    """Given names"""
    family_name: str | None = None
    """Family name"""
    title: str | None = None
    """Title"""
    role: CompanyPersonRole = ABSENT
    """What the person does in the company"""
    signature: CompanyPersonSignature | None = None
    """Whether and how the person signs for it"""
    appointed_on: str | None = None
    """Since when"""
    resigned_on: str | None = None
    """Until when"""
    birth: CompanyPersonBirth | None = None
    """Year and month of birth, as far as the register shows them"""
    nationalities: list[str] | None = None
    """ISO 3166-1 alpha-2"""
    residence: CompanyPersonResidence | None = None
    """Where the person lives, as far as the register shows it"""
    current: bool = ABSENT
    """Whether it holds now"""
    claim: CompanyClaimId | None = None
    """The claim behind it"""


class CompanyPersonBirth(Answer):
    year: int | None = None
    """Year"""
    month: int | None = None
    """Month, 1 to 12"""


class CompanyPersonResidence(Answer):
    city: str | None = None
    """The town"""
    country: str | None = None
    """ISO 3166-1 alpha-2"""


class CompanyPersonRole(Answer):
    group: Literal["management", "board", "supervisory", "signatory", "secretary", "auditor", "liquidator", "representative", "partner", "founder", "other"] | str = ABSENT
    """The kind of role"""
    label: str = ABSENT
    """as the source states it"""
    code: str | None = None
    """The register's code"""


class CompanyPersonSignature(Answer):
    type: Literal["sole", "joint_two", "joint", "restricted", "none", "unknown"] | str = ABSENT
    """Alone or with others"""
    label: str | None = None
    """In the register's words"""


class CompanyProvenanceValue(Answer):
    claim: CompanyClaimId = ABSENT
    """The claim behind it"""
    source: CompanySourceName = ABSENT
    """The source that says so"""
    observed_at: str = ABSENT
    """When the source first said so"""
    confirmed: str = ABSENT
    """When it last said so"""


class CompanyQuality(Answer):
    completeness: float = ABSENT
    """The share of the expected fields that have a value, 0 to 1"""
    conflicts: list[CompanyConflict] = ABSENT
    """Fields on which sources disagree"""
    warnings: list[str] | None = None
    """What to be careful about"""


class CompanyQuantity(Answer):
    value: float | None = None
    """The number; null where only a band is known"""
    minimum: float | None = None
    """The least of the band"""
    maximum: float | None = None
    """The most of the band"""
    as_of: str | None = None
    """The day that the figure is of"""
    basis: Literal["headcount", "fte", "estimate", "band"] | str | None = None
    """What was counted"""


class CompanyRecord(Answer):
    schema_version: Literal["company/v1"]
    """The version of this shape"""
    id: CompanyId = ABSENT
    """The id of a company"""
    identifiers: list[CompanyIdentifier] = ABSENT
    """Numbers and codes of registers, tax offices and exchanges"""
    names: CompanyNames = ABSENT
    """Its names"""
    legal_form: CompanyLegalForm | None = None
    """Its legal form; null where no source says"""
    status: Literal["active", "liquidation", "insolvency", "dissolved", "merged", "dormant", "suspended", "unknown"] | str = ABSENT
    """Whether it exists and trades"""
    jurisdiction: str | None = None
    """The law it exists under"""
    addresses: list[CompanyAddress] = ABSENT
    """Where it is"""
    dates: CompanyDates = ABSENT
    """When it was founded and registered"""
    purpose: dict[str, str] = ABSENT
    """language -> text"""
    activities: list[CompanyActivity] = ABSENT
    """What it does, by classifications"""
    capital: list[CompanyCapital] | None = None
    """Its capital"""
    size: CompanySize | None = None
    """Employees, revenue, balance; null where no source says"""
    people: list[CompanyPerson] | None = None
    """Its persons, only with include=people"""
    ownership: CompanyOwnership | None = None
    """Who owns it, only with include=ownership"""
    relationships: list[CompanyRelationship] = ABSENT
    """Companies related to it"""
    filings: list[CompanyFiling] | None = None
    """Its filings, only with include=filings"""
    financials: list[CompanyFinancials] | None = None
    """Its figures, only with include=financials"""
    events: list[CompanyEvent] | None = None
    """What happened to it, only with include=events"""
    securities: list[CompanySecurity] = ABSENT
    """Its securities"""
    web: CompanyWeb | None = None
    """Its website; null where no source says"""
    sources: list[CompanySourceDocument] = ABSENT
    """The raw documents behind the record"""
    freshness: list[CompanyFreshness] = ABSENT
    """How old the data of each source is"""
    quality: CompanyQuality = ABSENT
    """How complete it is, and where sources disagree"""
    provenance: CompanyProvenance = ABSENT
    """The claim behind each value, by the path of the field"""
    claims: list[CompanyClaim] | None = None
    """What the sources said, only with include=claims"""
    redirected_from: str | None = None
    """The id that was asked for, when it was merged into this company"""
    updated_at: str = ABSENT
    """When the record last changed"""
    refresh: list[CompanyRefresh] = ABSENT
    """What became of each source that was asked for this answer"""


class CompanyRefresh(Answer):
    source: CompanySourceName = ABSENT
    """The source that says so"""
    group: CompanyFieldGroup = ABSENT
    """The part of a record that is fetched and kept fresh on its own"""
    result: Literal["refreshed", "fresh", "failed"] | str = ABSENT
    """Fetched, still fresh, or failed"""
    error: str | None = None
    """Why it failed; null: it did not"""
    retry_after_s: int | None = None
    """Seconds after which another try is worth it; null where none is"""
    confirmed_at: str | None = None
    """When the source last said so"""


class CompanyRelationship(Answer):
    type: Literal["is_directly_consolidated_by", "is_ultimately_consolidated_by", "is_international_branch_of", "is_fund_managed_by", "is_subfund_of", "is_feeder_to", "branch_of", "head_office_of", "took_over", "taken_over_by", "merged_into", "merger", "acquisition", "control", "successor_of", "predecessor_of", "audited_by", "related"] | str = ABSENT
    """What kind of relationship"""
    direction: Literal["out", "in"] | str = ABSENT
    """out: from this company to the other"""
    party: CompanyParty = ABSENT
    """The other company"""
    status: Literal["ACTIVE", "INACTIVE"] | str | None = None
    """The source's status"""
    periods: list[CompanyRelationshipPeriodsItem] | None = None
    """When it held"""
    corroboration: str | None = None
    """How the source checked it"""
    current: bool = ABSENT
    """Whether it holds now"""
    claim: CompanyClaimId | None = None
    """The claim behind it"""


class CompanyRelationshipPeriodsItem(Answer):
    type: str = ABSENT
    """GLEIF: RELATIONSHIP_PERIOD, ACCOUNTING_PERIOD, DOCUMENT_FILING_PERIOD"""
    start: str | None = None
    """Its beginning"""
    end: str | None = None
    """Its end"""


class CompanyResolveAnswer(Answer):
    match: CompanySummary | None = ABSENT
    """The company that is meant; null: none is certain"""
    reason: Literal["below_threshold", "ambiguous", "no_candidates"] | str | None = ABSENT
    """Why there is no match; null: there is one"""
    candidates: list[CompanySummary] = ABSENT
    """Best first"""
    explanations: list[CompanyScoreExplanation] = ABSENT
    """Why each candidate has its score, in the order of `candidates`"""
    live_sources: list[CompanyLiveSource] = ABSENT
    """What the sources answered that were asked by the name; empty: none was asked"""


class CompanyReviewDecided(Answer):
    decided: int = ABSENT
    """Decisions that were stored"""


class CompanyReviewItem(Answer):
    index: int = ABSENT
    """The item of the job"""
    name: str = ABSENT
    """The name that was asked for"""
    country: str | None = ABSENT
    """The country that was asked for"""
    city: str | None = ABSENT
    """The city that was asked for"""
    reason: Literal["below_threshold", "ambiguous", "no_candidates"] | str | None = ABSENT
    """Why there is no match"""
    candidates: list[CompanySummary] = ABSENT
    """Best first"""
    explanations: list[CompanyScoreExplanation] = ABSENT
    """Why each candidate has its score, in the order of `candidates`"""


class CompanyReviewPage(Answer):
    items: list[CompanyReviewItem] = ABSENT
    """In the order that they were submitted"""
    next_from: int | None = ABSENT
    """`from` of the next page; null: the list ends here"""


class CompanyScoreExplanation(Answer):
    candidate: str = ABSENT
    """The candidate: its id, or its `ref` if it is not in the register"""
    score: float = ABSENT
    """The score, 0 to 1, not rounded"""
    base: float = ABSENT
    """How alike the names are, before anything else counts"""
    parts: list[CompanyScorePart] = ABSENT
    """What speaks for and against the candidate: the effects add up, with `base`, to `score`. Words add nothing of their own, as they are in `base`; `limit` cuts the score at 0 and 1"""
    matched_on: CompanyScoreExplanationMatchedOn = ABSENT
    """The name, or the identifier, of the candidate that fits best"""
    threshold: float = ABSENT
    """From this score on a candidate can be the match"""
    lead: float | None = ABSENT
    """How far it is ahead of the next candidate, before scores are cut at 1; a match needs 0.08. Null: there is no other"""


class CompanyScoreExplanationMatchedOn(Answer):
    field: str = ABSENT
    """The field of the record"""
    value: str = ABSENT
    """Its value"""


class CompanyScorePart(Answer):
    kind: Literal["word", "form", "number", "city", "country", "identifier", "status", "limit"] | str = ABSENT
    """What was compared"""
    query: str | None = ABSENT
    """What the caller names"""
    candidate: str | None = ABSENT
    """What the candidate has"""
    similarity: float | None = ABSENT
    """Of two words, 0 to 1"""
    effect: float = ABSENT
    """What it adds to the score"""


class CompanySearchAnswer(Answer):
    results: list[CompanySummary] = ABSENT
    """Best first"""
    next_cursor: str | None = ABSENT
    """For the next page; null: there is none"""
    live_sources: list[CompanyLiveSource] = ABSENT
    """With live: what the sources answered"""


class CompanySecurity(Answer):
    isin: str | None = None
    """ISIN"""
    figi: str | None = None
    """FIGI"""
    wkn: str | None = None
    """WKN"""
    ticker: str | None = None
    """Its symbol on the exchange"""
    mic: str | None = None
    """ISO 10383 code of the market segment"""
    operating_mic: str | None = None
    """ISO 10383 code of the exchange"""
    exchange: str | None = None
    """The exchange"""
    name: str | None = None
    """The name of the security"""
    type: Literal["equity", "depositary_receipt", "debt", "fund", "warrant", "other"] | str | None = None
    """What kind of security"""
    currency: str | None = None
    """ISO 4217"""
    primary: bool | None = None
    """Whether it is the company's main listing"""
    status: Literal["listed", "delisted", "unknown"] | str = ABSENT
    """Whether it is listed"""


class CompanySize(Answer):
    employees: CompanyQuantity | None = None
    """People who work there"""
    revenue: CompanyMoney | None = None
    """Revenue of a year"""
    balance_total: CompanyMoney | None = None
    """The balance total"""
    as_of: str | None = None
    """The day that the figure is of"""
    category: Literal["micro", "small", "medium", "large"] | str | None = None
    """Its size by the law"""
    filer_category: str | None = None
    """The filing system's category"""


class CompanySource(Answer):
    name: str = ABSENT
    """Its name"""
    title: str = ABSENT
    """Its name for people"""
    active: bool = ABSENT
    """Whether it is asked"""
    inactive_because: str | None = ABSENT
    """Why it is not; null: it is"""
    countries: list[str] = ABSENT
    """The countries it covers, empty: all"""
    schemes: CompanySourceSchemes = ABSENT
    """The identifiers it is asked by and those it answers"""
    capabilities: list[str] = ABSENT
    """What it can do"""
    groups: dict[str, CompanySourceGroupsValue] = ABSENT
    """By field group: how far it is believed and how long its data is fresh"""
    licence: CompanySourceLicence = ABSENT
    """The licence of its data"""
    terms_url: str | None = ABSENT
    """Its terms of use"""
    parser_version: str = ABSENT
    """Of the program that reads its documents"""
    health: CompanySourceHealth = ABSENT
    """How its last requests went"""


class CompanySourceCanary(Answer):
    at: str = ABSENT
    """When the source was asked for the companies that it must know"""
    problem: str | None = ABSENT
    """What was wrong; null: nothing"""


class CompanySourceDocument(Answer):
    source: CompanySourceName = ABSENT
    """The source that says so"""
    group: CompanyFieldGroup | None = None
    """The part of a record that is fetched and kept fresh on its own"""
    native_id: str | None = None
    """The source's own id of the company"""
    url: str = ABSENT
    """Where it was fetched"""
    retrieved_at: str = ABSENT
    """When it was fetched"""
    sha256: str = ABSENT
    """SHA-256 of the exact bytes"""
    bytes: int | None = None
    """Bytes of the body"""
    content_type: str | None = None
    """The media type of the body"""
    body_url: str | None = None
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    licence: str | None = None
    """The licence of the data"""
    status: Literal["ok", "not_found", "error"] | str = ABSENT
    """What the source answered"""


class CompanySourceGroupsValue(Answer):
    precedence: int = ABSENT
    """Whose value wins: the larger number"""
    freshness: str = ABSENT
    """Its freshness class"""
    max_age_s: int = ABSENT
    """How long its data is fresh, in seconds"""


class CompanySourceHealth(Answer):
    state: Literal["operational", "degraded", "partial", "major"] | str = ABSENT
    """Summed up"""
    success_rate: float | None = ABSENT
    """Of the last requests, 0 to 1; null: there were none"""
    requests: int = ABSENT
    """How many those were"""
    last_success_at: str | None = ABSENT
    """When it last answered"""
    last_error: str | None = ABSENT
    """Its last error"""
    last_error_at: str | None = ABSENT
    """When that was"""
    canary: CompanySourceCanary | None = ABSENT
    """The last request for a company that the source must know; null: there was none"""
    drift: list[str] = ABSENT
    """Fields of its documents that are new or gone"""


class CompanySourceLicence(Answer):
    id: str = ABSENT
    """Its SPDX name or another"""
    url: str = ABSENT
    """Its text"""
    attribution: str | None = ABSENT
    """What to write where the data is shown; null: nothing is asked for"""
    redistribution: Literal["open", "display", "internal"] | str = ABSENT
    """Whether the data may be passed on, shown, or only used"""


class CompanySourceSchemes(Answer):
    lookup: list[str] = ABSENT
    """Schemes it can be asked by"""
    yields: list[str] = ABSENT
    """Schemes of its answers"""


class CompanySummary(Answer):
    id: CompanyId | None = ABSENT
    """Its id; null: it is not in the register"""
    ref: str | None = ABSENT
    """For GET /v1/companies/{company_ref}"""
    in_register: bool = ABSENT
    """Whether the register has it"""
    match_score: float = ABSENT
    """How well it fits, 0 to 1"""
    matched_on: CompanySummaryMatchedOn | None = None
    """What fits"""
    identifiers: list[CompanyIdentifier] = ABSENT
    """Its identifiers"""
    names: CompanySummaryNames = ABSENT
    """Its names"""
    legal_form: CompanyLegalForm | None = None
    """Its legal form"""
    status: Literal["active", "liquidation", "insolvency", "dissolved", "merged", "dormant", "suspended", "unknown"] | str = ABSENT
    """Whether it exists and trades"""
    jurisdiction: str | None = None
    """The law it exists under"""
    addresses: list[CompanyAddress] | None = None
    """Where it is"""
    dates: CompanyDates | None = None
    """When it was founded and registered"""
    sources: list[CompanySourceName] | None = None
    """Which sources know it"""
    updated_at: str | None = None
    """When the record last changed"""


class CompanySummaryMatchedOn(Answer):
    field: str | None = None
    """Which field"""
    value: str | None = None
    """Its value"""


class CompanySummaryNames(Answer):
    legal: str = ABSENT
    """Its legal name"""
    former: list[CompanyName] | None = None
    """Earlier names"""


class CompanyWatch(Answer):
    id: str = ABSENT
    """The id of the watch"""
    url: str | None = ABSENT
    """Where changes are delivered, passwords and query secrets masked; null: it cannot be read"""
    companies: list[str] = ABSENT
    """Ids of companies"""
    created_at: str = ABSENT
    """When it was created"""
    last_delivery_at: str | None = ABSENT
    """When a delivery was last tried; null: none was"""
    last_status: str | None = ABSENT
    """`delivered`, `http_<code>` or the class of an error; null before the first delivery"""
    secret: str | None = ABSENT
    """Signs deliveries; only in the answer that creates the watch, null later"""


class CompanyWeb(Answer):
    homepage: str | None = None
    """Its website"""
    domains: list[str] | None = None
    """Its domains"""
    emails: list[str] | None = None
    """Its mail addresses"""
    phones: list[str] | None = None
    """Its phone numbers"""
    profiles: list[CompanyWebProfilesItem] | None = None
    """Its profiles on other sites"""


class CompanyWebProfilesItem(Answer):
    site: str = ABSENT
    """The site"""
    url: str = ABSENT
    """The profile"""


class ContentRefusal(Answer):
    url: str = ABSENT
    """The address of the result"""
    error: ContentRefusalCode = ABSENT
    """`timeout`: the time for all pages was over. Else the code of the refusal"""
    error_detail: str = ABSENT
    """A sentence for people"""


class CrawlCompletedEvent(Answer):
    id: str = ABSENT
    """The same in every attempt, also `webhook-id` in the header"""
    job_id: str = ABSENT
    """The id of the job"""
    status: Literal["completed", "cancelled"] | str = ABSENT
    """How the job ended"""
    counts: JobCounts = ABSENT
    """Its items by status"""
    finished_at: str = ABSENT
    """When the last item finished"""
    job_url: str = ABSENT
    """The job"""
    type: Literal["crawl.completed"]
    """The kind of event: the last one of a crawl"""


class CrawlJobItem(Answer):
    index: int = ABSENT
    """Its place among the submitted items, from 0"""
    kind: Literal["crawl"]
    """What the items of the job are"""
    status: Literal["pending", "queued", "done", "failed", "cancelled"] | str = ABSENT
    """What has become of it"""
    input: CrawlJobItemInput = ABSENT
    """As it was submitted, without defaults and unknown fields"""
    result: CrawledPage | None = ABSENT
    """The answer of the single endpoint; null while unfinished or unavailable"""
    error: CrawlJobItemErrorName | str | None = ABSENT
    """The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now"""


class CrawlJobItemInput(Answer):
    url: str | None = None
    """The page"""
    depth: int | None = None
    """Links from a seed to it; of a sitemap, files from robots.txt to it"""
    found_on: str | None = None
    """The page that named it first; null: a seed"""
    sitemap: Literal[True] | None = None
    """It is a robots.txt or a sitemap; absent: a page"""
    render: Literal["auto", "never", "always"] | str | None = None
    """Whether a browser runs the page's scripts: when a plain request finds no text, never, or always"""
    max_bytes: int | None = None
    """The largest body that is accepted"""
    accept_pdf: bool | None = None
    """Whether PDFs are read"""
    cache_ttl_s: int | None = None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    min_text_chars: int | None = None
    """With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two"""
    allow_archive: bool | None = None
    """Whether an archived copy may be served when the page is gone"""
    allow_alternates: bool | None = None
    """Whether an open copy of the same text may be served when the page is a teaser or gone"""
    allow_paid: bool | None = None
    """Whether routes that cost money may be used"""
    allow_premium: bool | None = None
    """Another name of `allow_paid`: false in either of them forbids these routes"""
    tiers: list[Literal["direct", "browser", "archive", "proxy", "proxy_render"] | str] | None = None
    """The routes that may be used; null: all"""
    timeout_s: float | None = None
    """How long to wait at most, in seconds; what is then known is the answer"""
    country: str | None = None
    """The country of the exit on premium routes, ISO 3166-1 alpha-2"""
    user_agent: str | None = None
    """The User-Agent to send; the project needs permission"""
    accept_language: str | None = None
    """The Accept-Language to send"""
    include_html: bool | None = None
    """Whether the answer has `html`. Default true for a fetch, false for an item of a batch"""
    formats: list[Literal["markdown", "links", "images", "entries", "screenshot", "structured", "tables", "comments"] | str] | None = None
    """Further forms of the page that the answer shall have; a screenshot takes the route browser only"""
    fields_: list[FetchField] | None = Field(None, alias="fields")
    """The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all"""
    wait_for: WaitFor | None = None
    """What a browser waits for before it reads the page; takes the route browser only"""
    screenshot_options: ScreenshotOptions | None = None
    """How the screenshot in `formats` is taken"""
    archive: bool | None = None
    """Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project"""
    headers: dict[str, str] | None = None
    """Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only"""
    cookies: list[GivenCookie] | None = None
    """Cookies for the origin of `url`. The routes direct and browser only"""
    cache_private: bool | None = None
    """Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept"""
    actions: list[Action] | None = None
    """Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed"""
    session_id: str | None = None
    """A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies`"""
    only_main_content: bool | None = None
    """false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page"""
    include_comments: bool | None = None
    """Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one"""
    include_selectors: list[str] | None = None
    """CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not"""
    exclude_selectors: list[str] | None = None
    """CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included"""
    extract: ExtractOptions | None = None
    """Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there"""
    block_resources: list[Literal["image", "font", "media", "stylesheet", "ads"] | str] | None = None
    """What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page"""
    device: Literal["desktop", "mobile"] | str | None = None
    """`mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only"""
    viewport: Viewport | None = None
    """The window of the browser; takes the route browser only. Default: 1280 × 720"""


class CrawlPageEvent(Answer):
    id: str = ABSENT
    """The same in every attempt, also `webhook-id` in the header"""
    job_id: str = ABSENT
    """The id of the job"""
    index: int = ABSENT
    """The number of its item in the job"""
    url: str = ABSENT
    """The page"""
    type: Literal["crawl.page"]
    """The kind of event"""
    depth: int = ABSENT
    """Links from a seed to it"""
    error: CrawlJobItemErrorName | str | None = ABSENT
    """Why there is no page; null: there is one"""
    final_url: str | None = ABSENT
    """The address after redirects"""
    status: int | None = ABSENT
    """The HTTP status of the site's answer"""
    title: str | None = ABSENT
    """The title of the page"""
    content_type: str | None = ABSENT
    """What the body is"""
    sha256: str | None = ABSENT
    """Of the body: `/v1/bodies/{sha256}` has it"""
    retrieved_at: str | None = ABSENT
    """When the site answered"""
    item_url: str = ABSENT
    """The item with its whole result"""
    duplicate_of: DuplicateOf | None = None
    """Only of a page that repeats one which the crawl fetched before: that page"""
    change: Literal["new", "changed", "unchanged"] | str | None = None
    """Only of a crawl with `since_job`: whether the text of the page is what it was. `new`: the earlier crawl did not have the page"""


class CrawlUrl(Answer):
    url: str = ABSENT
    """The address as it was found first"""
    state: Literal["waiting", "in_flight", "done", "failed", "excluded", "gone"] | str = ABSENT
    """What has become of it. `gone`: a page of the crawl that `since_job` named, which no page of this one names; such pages are behind all others, and `counts` leaves them out"""
    depth: int = ABSENT
    """Links from a seed to it; of a sitemap, files from robots.txt to it"""
    found_on: str | None = ABSENT
    """The page that named it first; null: a seed"""
    reason: str | None = ABSENT
    """Why it is excluded, or the error of its item; null: nothing is wrong. `out_of_scope`, `excluded_by_pattern`, `not_included`, `too_deep`, `over_limit`, `duplicate_address` (another address led to it by a redirect, so its page was fetched), `duplicate_of_canonical` (no link leads to it, a page that was fetched names it as its own address), `nofollow`, `trap_<shape>`, `cancelled`, or an error of a fetch such as `robots_disallowed`. Of a page that was fetched and repeats another (`duplicate_of`): `duplicate_address`, `duplicate_of_canonical`, `near_duplicate`. Of a sitemap that was fetched and could not be read to its end: `not_a_sitemap`, `malformed`, `too_large`, `too_slow`; of one that was not fetched, `too_deep` is behind five others and `over_limit` beyond half of the crawl's limit or its host's part of that"""
    index: int | None = ABSENT
    """Its item's number in the job; null: it is none"""
    redirected_to: str | None = ABSENT
    """Where it led by redirects, which counts as fetched then; null: nowhere"""
    duplicate_of: str | None = ABSENT
    """The page of the crawl that it repeats, as `reason` says; null: none is known"""
    change: Literal["new", "changed", "unchanged", "gone"] | str | None = ABSENT
    """Of a crawl with `since_job`: whether the text of the page is what it was. `gone`, once this crawl has ended: the earlier one had the page, and the site answers 404 or 410 for it now, or no page names it any more (said only where no limit left an address out, and where the page that named it could be read). null: not known"""


class CrawlUrlPage(Answer):
    items: list[CrawlUrl] = ABSENT
    """In the order in which they were found"""
    next_cursor: int | None = ABSENT
    """The `from` of the next page; null: there is none"""


class CrawledPage(Answer):
    url: str = ABSENT
    """As it was asked, a user name and a password masked"""
    final_url: str | None = ABSENT
    """The address after redirects; for an archived copy the copy's; null: there is no page"""
    redirects: list[Redirect] = ABSENT
    """In their order"""
    status: int | None = ABSENT
    """The origin's HTTP status; null: it did not answer"""
    content_type: str | None = ABSENT
    """What the body is"""
    origin_content_type: str | None = ABSENT
    """What the origin said"""
    headers: dict[str, str] = ABSENT
    """Header fields of the origin's answer, names in lower case"""
    tier: Literal["direct", "browser", "archive", "proxy", "proxy_render", "source"] | str | None = ABSENT
    """The route that got the page; `source`: a copy of another site"""
    attempts: list[Attempt] = ABSENT
    """Every route that was tried, in order"""
    html: str | None = None
    """The page as text; for the route browser after its scripts have run"""
    text: str = ABSENT
    """The text of the page, without menus and advertisements"""
    pdf_text_pages: list[PdfPage] | None = ABSENT
    """The text of a PDF by page; null for what is no PDF"""
    pdf_page_count: int | None = ABSENT
    """Pages of a PDF"""
    markdown: str | None = None
    """With formats=markdown: the text as Markdown; null where there is none"""
    links: list[PageLink] | None = None
    """With formats=links: the links of the page, in its order"""
    images: list[PageImage] | None = None
    """With formats=images: the images of the page, in its order"""
    entries: list[FeedEntry] | None = None
    """With formats=entries: the items of a feed or the addresses of a sitemap, in its order, at most 5,000"""
    screenshot: Screenshot | None = None
    """With formats=screenshot: a picture of the page; null: none was taken, and `error` says why"""
    actions: list[ActionOutcome] | None = None
    """With `actions` in the request: what came of each step that was taken"""
    archive_url: str | None = None
    """With archive: where the exchanges are downloaded as WARC, for 30 days; null: none were kept"""
    structured: StructuredData | None = None
    """With formats=structured: data that the page marks up, in the forms of extruct; null for what is no HTML"""
    tables: list[PageTable] | None = None
    """With formats=tables: the tables of the page, in its order, without those that only lay it out"""
    comments: list[PageComment] | None = None
    """With formats=comments: readers' comments below the article, in the page's order, at most 1,000; empty for the posts of a thread"""
    extract: Extraction | None = None
    """With extract: what its rules, or its schema, found"""
    text_truncated: bool = ABSENT
    """The text goes on beyond its limit"""
    title: str | None = ABSENT
    """The title of the page"""
    meta: ArticleMeta | None = ABSENT
    """What the page says of itself; null where there is no page"""
    sha256: str | None = ABSENT
    """SHA-256 of the exact bytes"""
    bytes: int = ABSENT
    """Bytes of the body"""
    cached: bool = ABSENT
    """The answer came from the cache"""
    revalidated: bool = ABSENT
    """The origin said that the cached page is still current"""
    retrieved_at: str | None = ABSENT
    """When the bytes came from the origin"""
    etag: str | None = ABSENT
    """The origin's ETag"""
    last_modified: str | None = ABSENT
    """The origin's Last-Modified, as it was sent"""
    cost_usd: float | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    llm_cost_usd: float | None = None
    """With extract.schema: what of cost_usd is the language model's; null for external customers"""
    billing_category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached"] | str = ABSENT
    """How the answer is billed"""
    archived_at: str | None = ABSENT
    """When the archived copy was made"""
    served_from_archive_because: Literal["domain_dead", "not_found"] | str | None = ABSENT
    """Why an archived copy is served"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    body_kind: Literal["origin", "rendered_dom"] | str | None = ABSENT
    """Whether the stored bytes are the origin's or the page after its scripts have run"""
    content_kind: Literal["html", "pdf", "text", "json", "xml", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "rtf", "binary"] | str | None = ABSENT
    """What the bytes were read as; `binary` (archives, pictures, other containers) is stored and not read"""
    paywall: Literal["none", "metered", "hard", "unknown"] | str | None = ABSENT
    """Whether the page is behind a paywall"""
    paywall_evidence: list[str] = ABSENT
    """What showed it"""
    alternate_of: str | None = ABSENT
    """The page that this is an open copy of"""
    alternate_source: Literal["publisher_feed", "guardian_api", "open_access", "syndication", "common_crawl"] | str | None = ABSENT
    """Where the open copy came from"""
    match_score: float | None = ABSENT
    """How much of the text the copy shares with the page, 0 to 1"""
    primary_sources: list[PrimarySource] = ABSENT
    """Sources that the page names: rulings, releases, papers"""
    text_complete: bool | None = ABSENT
    """Whether the text is the whole article; null: not known"""
    page_verdict: Literal["page", "soft_404", "parked_domain", "login_wall", "consent_wall", "javascript_required", "maintenance", "empty_shell"] | str | None = None
    """What the page is: `page`, or what was served in its place with a good status; null for what is no HTML, and for an error's status"""
    error: FetchErrorName | str | None = ABSENT
    """Null: there is a page. A code that does not change: `domain_dead`, `http_404`, `robots_disallowed` …"""
    error_detail: str | None = None
    """The error as a sentence for people"""
    premium_routes_tried: bool | None = None
    """Whether a route that costs money was tried"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    debug_url: str | None = None
    """Only with `X-Service-Debug: 1` and a key that may: a page with what was done for the request. The link holds for an hour, a key of the project opens it for seven days"""
    warnings: list[str] | None = None
    """Only if there are any: what could not be done as it was asked, or is not known, as sentences"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""
    duplicate_of: DuplicateOf | None = None
    """Only of a page that repeats one which the crawl fetched before: that page"""
    change: Literal["new", "changed", "unchanged"] | str | None = None
    """Only of a crawl with `since_job`: whether the text of the page is what it was. `new`: the earlier crawl did not have the page"""


class DiscoverAnswer(Answer):
    op: Literal["discover"]
    """The operation"""
    url: str | None = ABSENT
    """The address of the profile; null: none was found"""
    query: str | None = ABSENT
    """What found it"""
    score: float | None = ABSENT
    """0 to 1"""
    name_similarity: float | None = ABSENT
    """0 to 100; null where it was searched"""
    discovery_method: Literal["suggest", "search"] | str | None = ABSENT
    """How it was found"""
    candidates: list[ProfileCandidate] = ABSENT
    """At most ten, the best first"""
    suggest_fetch: ProfileFetch | None = ABSENT
    """Where the suggestions come from"""
    error: ProfileErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    error_detail: str | None = ABSENT
    """A sentence for people"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cost_usd: float | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    billing_category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached"] | str = ABSENT
    """How the answer is billed"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class Discovery(Answer):
    url: str | None = ABSENT
    """The address of the profile; null: none was found"""
    query: str | None = ABSENT
    """What found it"""
    score: float | None = ABSENT
    """0 to 1"""
    name_similarity: float | None = ABSENT
    """0 to 100; null where it was searched"""
    discovery_method: Literal["suggest", "search"] | str | None = ABSENT
    """How it was found"""
    candidates: list[ProfileCandidate] = ABSENT
    """At most ten, the best first"""


class DublinCore(Answer):
    namespaces: dict[str, str] = ABSENT
    """The address of each prefix"""
    elements: list[dict[str, str]] = ABSENT
    """Elements: the attributes of each, and its `URI`"""
    terms: list[dict[str, str]] = ABSENT
    """Terms, in the same form"""


class DuplicateOf(Answer):
    url: str = ABSENT
    """The page of the crawl that it repeats"""
    reason: Literal["duplicate_address", "duplicate_of_canonical", "near_duplicate"] | str = ABSENT
    """`duplicate_address`: the same bytes, or the same address after redirects; `duplicate_of_canonical`: both name the same address as their own (`rel=canonical`); `near_duplicate`: almost the same text"""


class ErrorBody(Answer):
    detail: str | Refusal | list[Mistake] = ABSENT
    """A sentence; a code with what belongs to it; or all mistakes of the request"""
    request_id: str | None = None
    """Names this request in the logs of the service"""


class ExtractOptions(Answer):
    fields_: dict[str, ExtractRule] | None = Field(None, alias="fields")
    """A rule for each name; 100 rules at most, with those in rules. Either this or schema"""
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    """A JSON Schema of an object: a language model of the operator's takes its values out of the page's text. Each value has a quote of the page in `evidence`; what the page does not say is null"""
    prompt: str | None = None
    """With schema: what is wanted, in words"""
    model: str | None = None
    """With schema: the model that is to answer; a service that has another one refuses. Default: the service's"""


class ExtractRule(Answer):
    selector: str | None = None
    """A CSS selector: which element below that of the rule around it; default: that element itself"""
    attribute: str | None = None
    """The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has"""
    type: Literal["text", "number", "date", "url", "html", "markdown", "boolean"] | str | None = None
    """What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0"""
    many: bool | None = None
    """All elements that match, as an array; default: the first"""
    required: bool | None = None
    """Whether its absence is an error, `missing`; the value is null all the same"""
    fields_: dict[str, ExtractRuleLevel2] | None = Field(None, alias="fields")
    """Makes the value an object of these; rules stand in one another 4 levels deep at most"""


class ExtractRuleLevel2(Answer):
    selector: str | None = None
    """A CSS selector: which element below that of the rule around it; default: that element itself"""
    attribute: str | None = None
    """The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has"""
    type: Literal["text", "number", "date", "url", "html", "markdown", "boolean"] | str | None = None
    """What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0"""
    many: bool | None = None
    """All elements that match, as an array; default: the first"""
    required: bool | None = None
    """Whether its absence is an error, `missing`; the value is null all the same"""
    fields_: dict[str, ExtractRuleLevel3] | None = Field(None, alias="fields")
    """Makes the value an object of these; rules stand in one another 4 levels deep at most"""


class ExtractRuleLevel3(Answer):
    selector: str | None = None
    """A CSS selector: which element below that of the rule around it; default: that element itself"""
    attribute: str | None = None
    """The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has"""
    type: Literal["text", "number", "date", "url", "html", "markdown", "boolean"] | str | None = None
    """What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0"""
    many: bool | None = None
    """All elements that match, as an array; default: the first"""
    required: bool | None = None
    """Whether its absence is an error, `missing`; the value is null all the same"""
    fields_: dict[str, ExtractRuleLevel4] | None = Field(None, alias="fields")
    """Makes the value an object of these; rules stand in one another 4 levels deep at most"""


class ExtractRuleLevel4(Answer):
    selector: str | None = None
    """A CSS selector: which element below that of the rule around it; default: that element itself"""
    attribute: str | None = None
    """The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has"""
    type: Literal["text", "number", "date", "url", "html", "markdown", "boolean"] | str | None = None
    """What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0"""
    many: bool | None = None
    """All elements that match, as an array; default: the first"""
    required: bool | None = None
    """Whether its absence is an error, `missing`; the value is null all the same"""


class Extraction(Answer):
    data: dict[str, Any] | None = ABSENT
    """The values under the names of the rules or of the schema; null for what is no HTML, and where the model gave no answer"""
    errors: list[ExtractionError] = ABSENT
    """Values that are null although they should not be, the first 100"""
    evidence: list[ExtractionEvidence] | None = None
    """With schema: where each value comes from"""
    model: str | None = None
    """With schema: the language model of this service, by its name in the operator's API"""
    usage: ExtractionUsage | None = None
    """With schema: what the model took; null: it was not asked"""


class ExtractionError(Answer):
    path: str = ABSENT
    """The value in `data`, as a JSON Pointer (RFC 6901)"""
    reason: Literal["missing", "not_a_number", "not_a_date", "not_a_url", "no_elements", "no_evidence", "page_empty", "paid_not_allowed", "budget_exhausted", "model_timeout", "model_unavailable", "model_refused", "model_answer_cut", "model_answer_invalid", "prompt_truncated"] | str = ABSENT
    """`missing`: a required value is not there; `not_a_…`: what is there is none; `no_elements`: the document is no HTML; `no_evidence`: the model gave a value that the page does not bear out. Of the whole extraction by a model: `page_empty`, `paid_not_allowed`, `budget_exhausted` (it was not asked); `model_timeout`, `model_unavailable`, `model_refused`, `model_answer_cut` (too long), `model_answer_invalid` (twice no answer by the schema), `prompt_truncated` (its server cut the page)"""


class ExtractionEvidence(Answer):
    path: str = ABSENT
    """The value in `data`, as a JSON Pointer (RFC 6901)"""
    quote: str = ABSENT
    """The words of the page that it came from; of an address: empty"""


class ExtractionUsage(Answer):
    requests: int = ABSENT
    """How often it was asked: a second time when its answer did not fit"""
    prompt_tokens: int = ABSENT
    """Tokens that it read"""
    completion_tokens: int = ABSENT
    """Tokens that it wrote"""
    ms: float = ABSENT
    """How long it took, in milliseconds"""
    estimated: bool = ABSENT
    """Its server did not say all tokens: they are estimated from above"""


class FactsAnswer(Answer):
    cik: int | None = ABSENT
    """The number of the filer"""
    cik_padded: str | None = ABSENT
    """The same with ten digits"""
    name: str | None = ABSENT
    """The filer's name"""
    taxonomies: dict[str, int] = ABSENT
    """Concepts by taxonomy"""
    concepts: int | None = ABSENT
    """All concepts"""
    bytes: int | None = ABSENT
    """Bytes of the whole document, which is at `body_url`"""
    error: FilingsErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    message: str | None = ABSENT
    """A sentence for people; null where there is no error"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cached: bool = ABSENT
    """Every document of this answer came from the cache"""
    retrieved_at: str | None = ABSENT
    """When the oldest of them came from the filing system"""
    source_url: str | None = ABSENT
    """The address of the main document in the filing system"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    sha256: str | None = ABSENT
    """Of the exact bytes of the main document"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class FailedPage(Answer):
    title: str = ABSENT
    """Its title"""
    text: str = ABSENT
    """Its first 2,000 characters as they are shown"""
    matches: int | None = ABSENT
    """Elements that match the selector of the step"""
    visible: int | None = ABSENT
    """Of these, the visible ones"""
    covered_by: str | None = ABSENT
    """The element that lies over the first visible one"""


class FeedEntry(Answer):
    url: str | None = ABSENT
    """Where the item leads, or the address that the sitemap lists"""
    title: str | None = ABSENT
    """Its title"""
    published_at: str | None = ABSENT
    """When it was published, or last changed"""
    summary: str | None = ABSENT
    """Its summary, without markup"""


class FetchJobItem(Answer):
    index: int = ABSENT
    """Its place among the submitted items, from 0"""
    kind: Literal["fetch"]
    """What the items of the job are"""
    status: Literal["pending", "queued", "done", "failed", "cancelled"] | str = ABSENT
    """What has become of it"""
    input: FetchJobItemInput = ABSENT
    """As it was submitted, without defaults and unknown fields"""
    result: FetchResponse | None = ABSENT
    """The answer of the single endpoint; null while unfinished or unavailable"""
    error: FetchJobItemErrorName | str | None = ABSENT
    """The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now"""


class FetchJobItemInput(Answer):
    url: str | None = None
    """The page; what is no http(s) address is answered with the error `invalid_url`. A user name and a password in it are sent to its origin only (Basic)"""
    render: Literal["auto", "never", "always"] | str | None = None
    """Whether a browser runs the page's scripts: when a plain request finds no text, never, or always"""
    max_bytes: int | None = None
    """The largest body that is accepted"""
    accept_pdf: bool | None = None
    """Whether PDFs are read"""
    cache_ttl_s: int | None = None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    min_text_chars: int | None = None
    """With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two"""
    project_ref: str | None = None
    """A word of the client's own, which the ledger of requests shows again"""
    allow_archive: bool | None = None
    """Whether an archived copy may be served when the page is gone"""
    allow_alternates: bool | None = None
    """Whether an open copy of the same text may be served when the page is a teaser or gone"""
    allow_paid: bool | None = None
    """Whether routes that cost money may be used"""
    allow_premium: bool | None = None
    """Another name of `allow_paid`: false in either of them forbids these routes"""
    tiers: list[Literal["direct", "browser", "archive", "proxy", "proxy_render"] | str] | None = None
    """The routes that may be used; null: all"""
    timeout_s: float | None = None
    """How long to wait at most, in seconds; what is then known is the answer"""
    country: str | None = None
    """The country of the exit on premium routes, ISO 3166-1 alpha-2"""
    user_agent: str | None = None
    """The User-Agent to send; the project needs permission"""
    accept_language: str | None = None
    """The Accept-Language to send"""
    include_html: bool | None = None
    """Whether the answer has `html`. Default true for a fetch, false for an item of a batch"""
    formats: list[Literal["markdown", "links", "images", "entries", "screenshot", "structured", "tables", "comments"] | str] | None = None
    """Further forms of the page that the answer shall have; a screenshot takes the route browser only"""
    fields_: list[FetchField] | None = Field(None, alias="fields")
    """The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all"""
    wait_for: WaitFor | None = None
    """What a browser waits for before it reads the page; takes the route browser only"""
    screenshot_options: ScreenshotOptions | None = None
    """How the screenshot in `formats` is taken"""
    archive: bool | None = None
    """Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project"""
    headers: dict[str, str] | None = None
    """Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only"""
    cookies: list[GivenCookie] | None = None
    """Cookies for the origin of `url`. The routes direct and browser only"""
    method: Literal["GET", "POST"] | str | None = None
    """POST sends `body`; it is never sent twice, so no further route is tried once it may have reached the site"""
    body: str | None = None
    """The body of a POST, 65,536 bytes at most. Without a Content-Type in `headers` it is a form (application/x-www-form-urlencoded)"""
    cache_private: bool | None = None
    """Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept"""
    actions: list[Action] | None = None
    """Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed"""
    session_id: str | None = None
    """A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies`"""
    only_main_content: bool | None = None
    """false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page"""
    include_comments: bool | None = None
    """Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one"""
    include_selectors: list[str] | None = None
    """CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not"""
    exclude_selectors: list[str] | None = None
    """CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included"""
    extract: ExtractOptions | None = None
    """Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there"""
    block_resources: list[Literal["image", "font", "media", "stylesheet", "ads"] | str] | None = None
    """What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page"""
    device: Literal["desktop", "mobile"] | str | None = None
    """`mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only"""
    viewport: Viewport | None = None
    """The window of the browser; takes the route browser only. Default: 1280 × 720"""


class FetchResponse(Answer):
    url: str = ABSENT
    """As it was asked, a user name and a password masked"""
    final_url: str | None = ABSENT
    """The address after redirects; for an archived copy the copy's; null: there is no page"""
    redirects: list[Redirect] = ABSENT
    """In their order"""
    status: int | None = ABSENT
    """The origin's HTTP status; null: it did not answer"""
    content_type: str | None = ABSENT
    """What the body is"""
    origin_content_type: str | None = ABSENT
    """What the origin said"""
    headers: dict[str, str] = ABSENT
    """Header fields of the origin's answer, names in lower case"""
    tier: Literal["direct", "browser", "archive", "proxy", "proxy_render", "source"] | str | None = ABSENT
    """The route that got the page; `source`: a copy of another site"""
    attempts: list[Attempt] = ABSENT
    """Every route that was tried, in order"""
    html: str | None = None
    """The page as text; for the route browser after its scripts have run"""
    text: str = ABSENT
    """The text of the page, without menus and advertisements"""
    pdf_text_pages: list[PdfPage] | None = ABSENT
    """The text of a PDF by page; null for what is no PDF"""
    pdf_page_count: int | None = ABSENT
    """Pages of a PDF"""
    markdown: str | None = None
    """With formats=markdown: the text as Markdown; null where there is none"""
    links: list[PageLink] | None = None
    """With formats=links: the links of the page, in its order"""
    images: list[PageImage] | None = None
    """With formats=images: the images of the page, in its order"""
    entries: list[FeedEntry] | None = None
    """With formats=entries: the items of a feed or the addresses of a sitemap, in its order, at most 5,000"""
    screenshot: Screenshot | None = None
    """With formats=screenshot: a picture of the page; null: none was taken, and `error` says why"""
    actions: list[ActionOutcome] | None = None
    """With `actions` in the request: what came of each step that was taken"""
    archive_url: str | None = None
    """With archive: where the exchanges are downloaded as WARC, for 30 days; null: none were kept"""
    structured: StructuredData | None = None
    """With formats=structured: data that the page marks up, in the forms of extruct; null for what is no HTML"""
    tables: list[PageTable] | None = None
    """With formats=tables: the tables of the page, in its order, without those that only lay it out"""
    comments: list[PageComment] | None = None
    """With formats=comments: readers' comments below the article, in the page's order, at most 1,000; empty for the posts of a thread"""
    extract: Extraction | None = None
    """With extract: what its rules, or its schema, found"""
    text_truncated: bool = ABSENT
    """The text goes on beyond its limit"""
    title: str | None = ABSENT
    """The title of the page"""
    meta: ArticleMeta | None = ABSENT
    """What the page says of itself; null where there is no page"""
    sha256: str | None = ABSENT
    """SHA-256 of the exact bytes"""
    bytes: int = ABSENT
    """Bytes of the body"""
    cached: bool = ABSENT
    """The answer came from the cache"""
    revalidated: bool = ABSENT
    """The origin said that the cached page is still current"""
    retrieved_at: str | None = ABSENT
    """When the bytes came from the origin"""
    etag: str | None = ABSENT
    """The origin's ETag"""
    last_modified: str | None = ABSENT
    """The origin's Last-Modified, as it was sent"""
    cost_usd: float | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    llm_cost_usd: float | None = None
    """With extract.schema: what of cost_usd is the language model's; null for external customers"""
    billing_category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached"] | str = ABSENT
    """How the answer is billed"""
    archived_at: str | None = ABSENT
    """When the archived copy was made"""
    served_from_archive_because: Literal["domain_dead", "not_found"] | str | None = ABSENT
    """Why an archived copy is served"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    body_kind: Literal["origin", "rendered_dom"] | str | None = ABSENT
    """Whether the stored bytes are the origin's or the page after its scripts have run"""
    content_kind: Literal["html", "pdf", "text", "json", "xml", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "rtf", "binary"] | str | None = ABSENT
    """What the bytes were read as; `binary` (archives, pictures, other containers) is stored and not read"""
    paywall: Literal["none", "metered", "hard", "unknown"] | str | None = ABSENT
    """Whether the page is behind a paywall"""
    paywall_evidence: list[str] = ABSENT
    """What showed it"""
    alternate_of: str | None = ABSENT
    """The page that this is an open copy of"""
    alternate_source: Literal["publisher_feed", "guardian_api", "open_access", "syndication", "common_crawl"] | str | None = ABSENT
    """Where the open copy came from"""
    match_score: float | None = ABSENT
    """How much of the text the copy shares with the page, 0 to 1"""
    primary_sources: list[PrimarySource] = ABSENT
    """Sources that the page names: rulings, releases, papers"""
    text_complete: bool | None = ABSENT
    """Whether the text is the whole article; null: not known"""
    page_verdict: Literal["page", "soft_404", "parked_domain", "login_wall", "consent_wall", "javascript_required", "maintenance", "empty_shell"] | str | None = None
    """What the page is: `page`, or what was served in its place with a good status; null for what is no HTML, and for an error's status"""
    error: FetchErrorName | str | None = ABSENT
    """Null: there is a page. A code that does not change: `domain_dead`, `http_404`, `robots_disallowed` …"""
    error_detail: str | None = None
    """The error as a sentence for people"""
    premium_routes_tried: bool | None = None
    """Whether a route that costs money was tried"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    debug_url: str | None = None
    """Only with `X-Service-Debug: 1` and a key that may: a page with what was done for the request. The link holds for an hour, a key of the project opens it for seven days"""
    warnings: list[str] | None = None
    """Only if there are any: what could not be done as it was asked, or is not known, as sentences"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class FilerAddress(Answer):
    street1: str | None = ABSENT
    """Street"""
    street2: str | None = ABSENT
    """Street, second line"""
    city: str | None = ABSENT
    """City"""
    state_or_country: str | None = ABSENT
    """Code of a state or country"""
    zip_code: str | None = ABSENT
    """Postal code"""
    state_or_country_description: str | None = ABSENT
    """The same in words"""


class FilerCompany(Answer):
    cik: int | None = ABSENT
    """The number of the filer"""
    cik_padded: str | None = ABSENT
    """The same with ten digits"""
    title: str | None = ABSENT
    """Its name in the list of filers"""
    tickers: list[str] = ABSENT
    """The primary one first"""
    exchanges: list[str | None] = ABSENT
    """Parallel to tickers; null where the list does not say"""


class FilerHint(Answer):
    company: HintedCompany = ABSENT
    """The company of the register"""
    listing: str | None = ABSENT
    """The listing that was asked for"""
    filer_candidates: list[FilerCompany] = ABSENT
    """Filers with a similar name"""


class Filing(Answer):
    accession: str = ABSENT
    """The number of the filing"""
    form: str = ABSENT
    """The form type"""
    filing_date: str = ABSENT
    """The day it was filed"""
    report_date: str | None = ABSENT
    """The end of the period it reports on"""
    acceptance_datetime: str | None = ABSENT
    """As the filing system sends it: it ends in Z, but is Eastern time in most rows and UTC in some"""
    act: str | None = ABSENT
    """The act it is filed under"""
    file_number: str | None = ABSENT
    """The file number of the registrant"""
    film_number: str | None = ABSENT
    """The film number"""
    items: str | None = ABSENT
    """The items of a current report"""
    core_type: str | None = ABSENT
    """The core type of the form"""
    size: int | None = ABSENT
    """Bytes of the filing"""
    is_xbrl: bool = ABSENT
    """Whether it has XBRL"""
    is_inline_xbrl: bool = ABSENT
    """Whether the XBRL is inline"""
    primary_document: str | None = ABSENT
    """The file name of the main document"""
    primary_document_description: str | None = ABSENT
    """What it is, in the filer's words"""
    primary_document_url: str | None = ABSENT
    """Null when the document lies in a sub-folder, as ownership forms do"""
    index_url: str | None = ABSENT
    """The index page of the filing"""
    is_amendment: bool = ABSENT
    """Whether the form amends another"""


class FilingDocument(Answer):
    sequence: str | None = ABSENT
    """Its place in the filing"""
    description: str | None = ABSENT
    """What it is, in the filer's words"""
    document: str | None = ABSENT
    """Its file name; null where the index names none, as in filings before 2001"""
    type: str | None = ABSENT
    """Its type"""
    size: int | None = ABSENT
    """Bytes"""
    url: str | None = ABSENT
    """Its address"""


class FilingDocumentResponse(Answer):
    url: str = ABSENT
    """As it was asked, a user name and a password masked"""
    final_url: str | None = ABSENT
    """The address after redirects; for an archived copy the copy's; null: there is no page"""
    redirects: list[Redirect] = ABSENT
    """In their order"""
    status: int | None = ABSENT
    """The origin's HTTP status; null: it did not answer"""
    content_type: str | None = ABSENT
    """What the body is"""
    origin_content_type: str | None = ABSENT
    """What the origin said"""
    headers: dict[str, str] = ABSENT
    """Header fields of the origin's answer, names in lower case"""
    tier: Literal["direct", "browser", "archive", "proxy", "proxy_render", "source"] | str | None = ABSENT
    """The route that got the page; `source`: a copy of another site"""
    attempts: list[Attempt] = ABSENT
    """Every route that was tried, in order"""
    html: str | None = None
    """The page as text; for the route browser after its scripts have run"""
    text: str = ABSENT
    """The text of the page, without menus and advertisements"""
    pdf_text_pages: list[PdfPage] | None = ABSENT
    """The text of a PDF by page; null for what is no PDF"""
    pdf_page_count: int | None = ABSENT
    """Pages of a PDF"""
    markdown: str | None = None
    """With formats=markdown: the text as Markdown; null where there is none"""
    links: list[PageLink] | None = None
    """With formats=links: the links of the page, in its order"""
    images: list[PageImage] | None = None
    """With formats=images: the images of the page, in its order"""
    entries: list[FeedEntry] | None = None
    """With formats=entries: the items of a feed or the addresses of a sitemap, in its order, at most 5,000"""
    screenshot: Screenshot | None = None
    """With formats=screenshot: a picture of the page; null: none was taken, and `error` says why"""
    actions: list[ActionOutcome] | None = None
    """With `actions` in the request: what came of each step that was taken"""
    archive_url: str | None = None
    """With archive: where the exchanges are downloaded as WARC, for 30 days; null: none were kept"""
    structured: StructuredData | None = None
    """With formats=structured: data that the page marks up, in the forms of extruct; null for what is no HTML"""
    tables: list[PageTable] | None = None
    """With formats=tables: the tables of the page, in its order, without those that only lay it out"""
    comments: list[PageComment] | None = None
    """With formats=comments: readers' comments below the article, in the page's order, at most 1,000; empty for the posts of a thread"""
    extract: Extraction | None = None
    """With extract: what its rules, or its schema, found"""
    text_truncated: bool = ABSENT
    """The text goes on beyond its limit"""
    title: str | None = ABSENT
    """The title of the page"""
    meta: ArticleMeta | None = ABSENT
    """What the page says of itself; null where there is no page"""
    sha256: str | None = ABSENT
    """SHA-256 of the exact bytes"""
    bytes: int = ABSENT
    """Bytes of the body"""
    cached: bool = ABSENT
    """The answer came from the cache"""
    revalidated: bool = ABSENT
    """The origin said that the cached page is still current"""
    retrieved_at: str | None = ABSENT
    """When the bytes came from the origin"""
    etag: str | None = ABSENT
    """The origin's ETag"""
    last_modified: str | None = ABSENT
    """The origin's Last-Modified, as it was sent"""
    cost_usd: float | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    llm_cost_usd: float | None = None
    """With extract.schema: what of cost_usd is the language model's; null for external customers"""
    billing_category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached"] | str = ABSENT
    """How the answer is billed"""
    archived_at: str | None = ABSENT
    """When the archived copy was made"""
    served_from_archive_because: Literal["domain_dead", "not_found"] | str | None = ABSENT
    """Why an archived copy is served"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    body_kind: Literal["origin", "rendered_dom"] | str | None = ABSENT
    """Whether the stored bytes are the origin's or the page after its scripts have run"""
    content_kind: Literal["html", "pdf", "text", "json", "xml", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "rtf", "binary"] | str | None = ABSENT
    """What the bytes were read as; `binary` (archives, pictures, other containers) is stored and not read"""
    paywall: Literal["none", "metered", "hard", "unknown"] | str | None = ABSENT
    """Whether the page is behind a paywall"""
    paywall_evidence: list[str] = ABSENT
    """What showed it"""
    alternate_of: str | None = ABSENT
    """The page that this is an open copy of"""
    alternate_source: Literal["publisher_feed", "guardian_api", "open_access", "syndication", "common_crawl"] | str | None = ABSENT
    """Where the open copy came from"""
    match_score: float | None = ABSENT
    """How much of the text the copy shares with the page, 0 to 1"""
    primary_sources: list[PrimarySource] = ABSENT
    """Sources that the page names: rulings, releases, papers"""
    text_complete: bool | None = ABSENT
    """Whether the text is the whole article; null: not known"""
    page_verdict: Literal["page", "soft_404", "parked_domain", "login_wall", "consent_wall", "javascript_required", "maintenance", "empty_shell"] | str | None = None
    """What the page is: `page`, or what was served in its place with a good status; null for what is no HTML, and for an error's status"""
    error: FilingDocumentErrorName | str | None = ABSENT
    """Null: there is a document"""
    error_detail: str | None = None
    """The error as a sentence for people"""
    premium_routes_tried: bool | None = None
    """Whether a route that costs money was tried"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    debug_url: str | None = None
    """Only with `X-Service-Debug: 1` and a key that may: a page with what was done for the request. The link holds for an hour, a key of the project opens it for seven days"""
    warnings: list[str] | None = None
    """Only if there are any: what could not be done as it was asked, or is not known, as sentences"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class FilingHit(Answer):
    accession: str | None = ABSENT
    """The number of the filing"""
    ciks: list[int] = ABSENT
    """The filers"""
    display_names: list[str] = ABSENT
    """Their names"""
    form: str | None = ABSENT
    """The form type"""
    root_forms: list[str] = ABSENT
    """The form without its amendment"""
    file_type: str | None = ABSENT
    """The type of the document"""
    file_description: str | None = ABSENT
    """What it is, in the filer's words"""
    file_date: str | None = ABSENT
    """The day it was filed"""
    period_ending: str | None = ABSENT
    """The end of the period it reports on"""
    document: str | None = ABSENT
    """Its file name"""
    url: str | None = ABSENT
    """Its address"""
    index_url: str | None = ABSENT
    """The index page of the filing"""
    score: float | None = ABSENT
    """How well it fits"""


class FilingSearchAnswer(Answer):
    query: str | None = ABSENT
    """As it was asked"""
    total: int | None = ABSENT
    """All hits"""
    total_relation: str | None = ABSENT
    """`eq`, or `gte` when there are more than 10000"""
    hits: list[FilingHit] = ABSENT
    """At most 100"""
    error: FilingsErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    message: str | None = ABSENT
    """A sentence for people; null where there is no error"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cached: bool = ABSENT
    """Every document of this answer came from the cache"""
    retrieved_at: str | None = ABSENT
    """When the oldest of them came from the filing system"""
    source_url: str | None = ABSENT
    """The address of the main document in the filing system"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    sha256: str | None = ABSENT
    """Of the exact bytes of the main document"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class FilingsDocumentResult(Answer):
    op: Literal["document"]
    """The operation"""
    url: str = ABSENT
    """As it was asked, a user name and a password masked"""
    final_url: str | None = ABSENT
    """The address after redirects; for an archived copy the copy's; null: there is no page"""
    redirects: list[Redirect] = ABSENT
    """In their order"""
    status: int | None = ABSENT
    """The origin's HTTP status; null: it did not answer"""
    content_type: str | None = ABSENT
    """What the body is"""
    origin_content_type: str | None = ABSENT
    """What the origin said"""
    headers: dict[str, str] = ABSENT
    """Header fields of the origin's answer, names in lower case"""
    tier: Literal["direct", "browser", "archive", "proxy", "proxy_render", "source"] | str | None = ABSENT
    """The route that got the page; `source`: a copy of another site"""
    attempts: list[Attempt] = ABSENT
    """Every route that was tried, in order"""
    html: str | None = None
    """The page as text; for the route browser after its scripts have run"""
    text: str = ABSENT
    """The text of the page, without menus and advertisements"""
    pdf_text_pages: list[PdfPage] | None = ABSENT
    """The text of a PDF by page; null for what is no PDF"""
    pdf_page_count: int | None = ABSENT
    """Pages of a PDF"""
    markdown: str | None = None
    """With formats=markdown: the text as Markdown; null where there is none"""
    links: list[PageLink] | None = None
    """With formats=links: the links of the page, in its order"""
    images: list[PageImage] | None = None
    """With formats=images: the images of the page, in its order"""
    entries: list[FeedEntry] | None = None
    """With formats=entries: the items of a feed or the addresses of a sitemap, in its order, at most 5,000"""
    screenshot: Screenshot | None = None
    """With formats=screenshot: a picture of the page; null: none was taken, and `error` says why"""
    actions: list[ActionOutcome] | None = None
    """With `actions` in the request: what came of each step that was taken"""
    archive_url: str | None = None
    """With archive: where the exchanges are downloaded as WARC, for 30 days; null: none were kept"""
    structured: StructuredData | None = None
    """With formats=structured: data that the page marks up, in the forms of extruct; null for what is no HTML"""
    tables: list[PageTable] | None = None
    """With formats=tables: the tables of the page, in its order, without those that only lay it out"""
    comments: list[PageComment] | None = None
    """With formats=comments: readers' comments below the article, in the page's order, at most 1,000; empty for the posts of a thread"""
    extract: Extraction | None = None
    """With extract: what its rules, or its schema, found"""
    text_truncated: bool = ABSENT
    """The text goes on beyond its limit"""
    title: str | None = ABSENT
    """The title of the page"""
    meta: ArticleMeta | None = ABSENT
    """What the page says of itself; null where there is no page"""
    sha256: str | None = ABSENT
    """SHA-256 of the exact bytes"""
    bytes: int = ABSENT
    """Bytes of the body"""
    cached: bool = ABSENT
    """The answer came from the cache"""
    revalidated: bool = ABSENT
    """The origin said that the cached page is still current"""
    retrieved_at: str | None = ABSENT
    """When the bytes came from the origin"""
    etag: str | None = ABSENT
    """The origin's ETag"""
    last_modified: str | None = ABSENT
    """The origin's Last-Modified, as it was sent"""
    cost_usd: float | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    llm_cost_usd: float | None = None
    """With extract.schema: what of cost_usd is the language model's; null for external customers"""
    billing_category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached"] | str = ABSENT
    """How the answer is billed"""
    archived_at: str | None = ABSENT
    """When the archived copy was made"""
    served_from_archive_because: Literal["domain_dead", "not_found"] | str | None = ABSENT
    """Why an archived copy is served"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    body_kind: Literal["origin", "rendered_dom"] | str | None = ABSENT
    """Whether the stored bytes are the origin's or the page after its scripts have run"""
    content_kind: Literal["html", "pdf", "text", "json", "xml", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "rtf", "binary"] | str | None = ABSENT
    """What the bytes were read as; `binary` (archives, pictures, other containers) is stored and not read"""
    paywall: Literal["none", "metered", "hard", "unknown"] | str | None = ABSENT
    """Whether the page is behind a paywall"""
    paywall_evidence: list[str] = ABSENT
    """What showed it"""
    alternate_of: str | None = ABSENT
    """The page that this is an open copy of"""
    alternate_source: Literal["publisher_feed", "guardian_api", "open_access", "syndication", "common_crawl"] | str | None = ABSENT
    """Where the open copy came from"""
    match_score: float | None = ABSENT
    """How much of the text the copy shares with the page, 0 to 1"""
    primary_sources: list[PrimarySource] = ABSENT
    """Sources that the page names: rulings, releases, papers"""
    text_complete: bool | None = ABSENT
    """Whether the text is the whole article; null: not known"""
    page_verdict: Literal["page", "soft_404", "parked_domain", "login_wall", "consent_wall", "javascript_required", "maintenance", "empty_shell"] | str | None = None
    """What the page is: `page`, or what was served in its place with a good status; null for what is no HTML, and for an error's status"""
    error: FilingDocumentErrorName | str | None = ABSENT
    """Null: there is a document"""
    error_detail: str | None = None
    """The error as a sentence for people"""
    premium_routes_tried: bool | None = None
    """Whether a route that costs money was tried"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    debug_url: str | None = None
    """Only with `X-Service-Debug: 1` and a key that may: a page with what was done for the request. The link holds for an hour, a key of the project opens it for seven days"""
    warnings: list[str] | None = None
    """Only if there are any: what could not be done as it was asked, or is not known, as sentences"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class FilingsFactsResult(Answer):
    op: Literal["facts"]
    """The operation"""
    cik: int | None = ABSENT
    """The number of the filer"""
    cik_padded: str | None = ABSENT
    """The same with ten digits"""
    name: str | None = ABSENT
    """The filer's name"""
    taxonomies: dict[str, int] = ABSENT
    """Concepts by taxonomy"""
    concepts: int | None = ABSENT
    """All concepts"""
    bytes: int | None = ABSENT
    """Bytes of the whole document, which is at `body_url`"""
    error: FilingsErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    message: str | None = ABSENT
    """A sentence for people; null where there is no error"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cached: bool = ABSENT
    """Every document of this answer came from the cache"""
    retrieved_at: str | None = ABSENT
    """When the oldest of them came from the filing system"""
    source_url: str | None = ABSENT
    """The address of the main document in the filing system"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    sha256: str | None = ABSENT
    """Of the exact bytes of the main document"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class FilingsFilingResult(Answer):
    op: Literal["filing"]
    """The operation"""
    form: str | None = ABSENT
    """The form type"""
    filing_date: str | None = ABSENT
    """The day it was filed"""
    report_date: str | None = ABSENT
    """The end of the period it reports on"""
    accepted: str | None = ABSENT
    """In UTC"""
    company: str | None = ABSENT
    """The filer's name"""
    is_amendment: bool | None = ABSENT
    """Whether the form amends another"""
    index_url: str | None = ABSENT
    """The index page of the filing"""
    folder_url: str | None = ABSENT
    """The folder of the filing"""
    accession: str | None = ABSENT
    """The number of the filing"""
    accession_nodash: str | None = ABSENT
    """The number without dashes"""
    index_source: Literal["index_htm", "index_json"] | str | None = ABSENT
    """What the list was read from: the index page, or the folder's listing"""
    documents: list[FilingDocument] = ABSENT
    """In the order of the index"""
    error: FilingsErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    message: str | None = ABSENT
    """A sentence for people; null where there is no error"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cached: bool = ABSENT
    """Every document of this answer came from the cache"""
    retrieved_at: str | None = ABSENT
    """When the oldest of them came from the filing system"""
    source_url: str | None = ABSENT
    """The address of the main document in the filing system"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    sha256: str | None = ABSENT
    """Of the exact bytes of the main document"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class FilingsJobItem(Answer):
    index: int = ABSENT
    """Its place among the submitted items, from 0"""
    kind: Literal["filings"]
    """What the items of the job are"""
    status: Literal["pending", "queued", "done", "failed", "cancelled"] | str = ABSENT
    """What has become of it"""
    input: FilingsJobItemInput = ABSENT
    """As it was submitted, without defaults and unknown fields"""
    result: FilingsResult | None = ABSENT
    """The answer of the single endpoint; null while unfinished or unavailable"""
    error: FilingsJobItemErrorName | str | None = ABSENT
    """The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now"""


class FilingsJobItemInput(Answer):
    op: str | None = None
    """One of resolve, submissions, latest, facts, filing, document"""
    ticker: str | None = None
    """A ticker symbol"""
    cik: int | str | None = None
    """The number of the filer"""
    name: str | None = None
    """With op resolve: a name or a part of one"""
    isin: str | None = None
    """ISIN of a security of the company"""
    forms: str | None = None
    """Comma-separated form types, each whole: 10-K is neither 10-K/A nor 10-K405"""
    since: str | None = None
    """First filing date, YYYY-MM-DD"""
    until: str | None = None
    """Last filing date, YYYY-MM-DD"""
    limit: int | None = None
    """With op submissions: the most filings"""
    history: bool | None = None
    """false: the recent list only"""
    accession: str | None = None
    """With op filing and document: the number of the filing"""
    document: str | None = None
    """With op document: a file name in the filing's own folder"""
    max_bytes: int | None = None
    """The largest body that is accepted"""
    accept_pdf: bool | None = None
    """Whether PDFs are read"""
    include_html: bool | None = None
    """With op document: whether the result has `html`; default false in a batch"""
    cache_ttl_s: int | None = None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    project_ref: str | None = None
    """A word of the client's own, which the ledger of requests shows again"""


class FilingsLatestResult(Answer):
    op: Literal["latest"]
    """The operation"""
    accession: str | None = ABSENT
    """The number of the filing"""
    form: str | None = ABSENT
    """The form type"""
    filing_date: str | None = ABSENT
    """The day it was filed"""
    report_date: str | None = ABSENT
    """The end of the period it reports on"""
    acceptance_datetime: str | None = ABSENT
    """As the filing system sends it: it ends in Z, but is Eastern time in most rows and UTC in some"""
    act: str | None = ABSENT
    """The act it is filed under"""
    file_number: str | None = ABSENT
    """The file number of the registrant"""
    film_number: str | None = ABSENT
    """The film number"""
    items: str | None = ABSENT
    """The items of a current report"""
    core_type: str | None = ABSENT
    """The core type of the form"""
    size: int | None = ABSENT
    """Bytes of the filing"""
    is_xbrl: bool | None = ABSENT
    """Whether it has XBRL"""
    is_inline_xbrl: bool | None = ABSENT
    """Whether the XBRL is inline"""
    primary_document: str | None = ABSENT
    """The file name of the main document"""
    primary_document_description: str | None = ABSENT
    """What it is, in the filer's words"""
    primary_document_url: str | None = ABSENT
    """Null when the document lies in a sub-folder, as ownership forms do"""
    index_url: str | None = ABSENT
    """The index page of the filing"""
    is_amendment: bool | None = ABSENT
    """Whether the form amends another"""
    cik: int | None = ABSENT
    """The number of the filer"""
    cik_padded: str | None = ABSENT
    """The same with ten digits"""
    name: str | None = ABSENT
    """The filer's name"""
    tickers: list[str] = ABSENT
    """The primary one first"""
    exchanges: list[str | None] = ABSENT
    """Parallel to tickers; null where the list does not say"""
    error: FilingsErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    message: str | None = ABSENT
    """A sentence for people; null where there is no error"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cached: bool = ABSENT
    """Every document of this answer came from the cache"""
    retrieved_at: str | None = ABSENT
    """When the oldest of them came from the filing system"""
    source_url: str | None = ABSENT
    """The address of the main document in the filing system"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    sha256: str | None = ABSENT
    """Of the exact bytes of the main document"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class FilingsResolveResult(Answer):
    op: Literal["resolve"]
    """The operation"""
    cik: int | None = ABSENT
    """The number of the filer"""
    cik_padded: str | None = ABSENT
    """The same with ten digits"""
    title: str | None = ABSENT
    """Its name in the list of filers"""
    tickers: list[str] = ABSENT
    """The primary one first"""
    exchanges: list[str | None] = ABSENT
    """Parallel to tickers; null where the list does not say"""
    ambiguous: bool = ABSENT
    """Whether several filers match"""
    candidates: list[FilerCompany] = ABSENT
    """The filers that match, at most ten"""
    hint: FilerHint | None = None
    """What the company register knows; absent where it was not asked"""
    error: FilingsErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    message: str | None = ABSENT
    """A sentence for people; null where there is no error"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cached: bool = ABSENT
    """Every document of this answer came from the cache"""
    retrieved_at: str | None = ABSENT
    """When the oldest of them came from the filing system"""
    source_url: str | None = ABSENT
    """The address of the main document in the filing system"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    sha256: str | None = ABSENT
    """Of the exact bytes of the main document"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class FilingsSubmissionsResult(Answer):
    op: Literal["submissions"]
    """The operation"""
    cik: int | None = ABSENT
    """The number of the filer"""
    cik_padded: str | None = ABSENT
    """The same with ten digits"""
    name: str | None = ABSENT
    """Its name as the filing system has it"""
    title: str | None = ABSENT
    """Its name in the list of filers"""
    tickers: list[str] = ABSENT
    """The primary one first"""
    exchanges: list[str | None] = ABSENT
    """Parallel to tickers; null where the list does not say"""
    entity_type: str | None = ABSENT
    """The kind of entity"""
    sic: str | None = ABSENT
    """Standard industrial classification"""
    sic_description: str | None = ABSENT
    """The same in words"""
    category: str | None = ABSENT
    """The filer category"""
    fiscal_year_end: str | None = ABSENT
    """MMDD"""
    state_of_incorporation: str | None = ABSENT
    """Code of a state or country"""
    ein: str | None = ABSENT
    """Employer identification number"""
    lei: str | None = ABSENT
    """LEI"""
    website: str | None = ABSENT
    """Its website"""
    phone: str | None = ABSENT
    """Its phone number"""
    business_address: FilerAddress | None = ABSENT
    """Where it is; null where the filing system does not say"""
    former_names: list[FormerName] = ABSENT
    """Earlier names"""
    filings: list[Filing] = ABSENT
    """Newest first"""
    filings_total: int | None = ABSENT
    """All that match, before the limit"""
    truncated: bool = ABSENT
    """More filings match than the limit"""
    files: list[OlderPage] = ABSENT
    """The older pages of the filer's list"""
    error: FilingsErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    message: str | None = ABSENT
    """A sentence for people; null where there is no error"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cached: bool = ABSENT
    """Every document of this answer came from the cache"""
    retrieved_at: str | None = ABSENT
    """When the oldest of them came from the filing system"""
    source_url: str | None = ABSENT
    """The address of the main document in the filing system"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    sha256: str | None = ABSENT
    """Of the exact bytes of the main document"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class FormerName(Answer):
    name: str | None = ABSENT
    """The name"""
    from_: str | None = Field(ABSENT, alias="from")
    """Since when"""
    to: str | None = ABSENT
    """Until when"""


class GetCompanyEventsResponse(Answer):
    company_id: str = ABSENT
    """The id of a company"""
    items: list[CompanyEvent] = ABSENT
    """The entries of the page"""
    next_cursor: str | None = ABSENT
    """For the next page; null: there is none"""
    refresh: list[CompanyRefresh] = ABSENT
    """What became of each source that was asked for this answer"""


class GetCompanyFilingsResponse(Answer):
    company_id: str = ABSENT
    """The id of a company"""
    items: list[CompanyFiling] = ABSENT
    """The entries of the page"""
    next_cursor: str | None = ABSENT
    """For the next page; null: there is none"""
    refresh: list[CompanyRefresh] = ABSENT
    """What became of each source that was asked for this answer"""


class GetCompanyFinancialsResponse(Answer):
    company_id: str = ABSENT
    """The id of a company"""
    items: list[CompanyFinancials] = ABSENT
    """The entries of the page"""
    next_cursor: str | None = ABSENT
    """For the next page; null: there is none"""
    refresh: list[CompanyRefresh] = ABSENT
    """What became of each source that was asked for this answer"""


class GetCompanyHistoryResponse(Answer):
    company_id: str = ABSENT
    """The id of a company"""
    items: list[CompanyClaim] = ABSENT
    """The entries of the page"""
    next_cursor: str | None = ABSENT
    """For the next page; null: there is none"""
    refresh: list[CompanyRefresh] = ABSENT
    """What became of each source that was asked for this answer"""


class GetCompanyOwnershipResponse(Answer):
    company_id: str = ABSENT
    """The id of a company"""
    items: list[GetCompanyOwnershipResponseItemsItem] = ABSENT
    """The entries of the page"""
    next_cursor: str | None = ABSENT
    """For the next page; null: there is none"""
    refresh: list[CompanyRefresh] = ABSENT
    """What became of each source that was asked for this answer"""


class GetCompanyOwnershipResponseItemsItem(Answer):
    relation: Literal["interested_party", "direct_parent", "ultimate_parent", "exception"] | str = ABSENT
    """What the entry says"""
    party: CompanyParty | None = None
    """Who owns or controls the company"""
    category: str | None = None
    """Of an exception"""
    reason: str | None = None
    """Of an exception"""


class GetCompanyPeopleResponse(Answer):
    company_id: str = ABSENT
    """The id of a company"""
    items: list[CompanyPerson] = ABSENT
    """The entries of the page"""
    next_cursor: str | None = ABSENT
    """For the next page; null: there is none"""
    refresh: list[CompanyRefresh] = ABSENT
    """What became of each source that was asked for this answer"""


class GetCompanyRelationshipsResponse(Answer):
    company_id: str = ABSENT
    """The id of a company"""
    items: list[CompanyRelationship] = ABSENT
    """The entries of the page"""
    next_cursor: str | None = ABSENT
    """For the next page; null: there is none"""
    refresh: list[CompanyRefresh] = ABSENT
    """What became of each source that was asked for this answer"""


class GetCompanySourcesResponse(Answer):
    company_id: str = ABSENT
    """The id of a company"""
    items: list[CompanySourceDocument] = ABSENT
    """The entries of the page"""
    next_cursor: str | None = ABSENT
    """For the next page; null: there is none"""
    refresh: list[CompanyRefresh] = ABSENT
    """What became of each source that was asked for this answer"""


class GivenCookie(Answer):
    name: str = ABSENT
    """Its name"""
    value: str = ABSENT
    """Its value"""
    domain: str | None = None
    """The host of `url` or a domain above it: the cookie then goes to all hosts of that domain. Default: to the origin of `url` only"""
    path: str | None = None
    """The paths that it goes to begin with this one. Default: /"""


class GraphAnswer(Answer):
    op: Literal["graph"]
    """The operation"""
    entity_id: str = ABSENT
    """The company's id on the site; it may change"""
    company_connections: list[ProfileConnection] = ABSENT
    """Connected companies"""
    person_connections: list[ProfileConnection] = ABSENT
    """Connected persons"""
    other_connections: list[ProfileConnection] = ABSENT
    """Other connections, as addresses"""
    fetch: ProfileFetch | None = ABSENT
    """Where the graph comes from"""
    error: ProfileErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    error_detail: str | None = ABSENT
    """A sentence for people"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cost_usd: float | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    billing_category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached"] | str = ABSENT
    """How the answer is billed"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class HintedCompany(Answer):
    id: str | None = ABSENT
    """Its id in the register"""
    name: str | None = ABSENT
    """Its name"""
    country: str | None = ABSENT
    """ISO 3166-1 alpha-2"""
    listings: list[str] = ABSENT
    """Where its shares are listed, as MIC:symbol"""
    lei: str | None = ABSENT
    """Its LEI"""
    isins: list[str] = ABSENT
    """Its ISINs"""


class IndexAnswer(Answer):
    form: str | None = ABSENT
    """The form type"""
    filing_date: str | None = ABSENT
    """The day it was filed"""
    report_date: str | None = ABSENT
    """The end of the period it reports on"""
    accepted: str | None = ABSENT
    """In UTC"""
    company: str | None = ABSENT
    """The filer's name"""
    is_amendment: bool | None = ABSENT
    """Whether the form amends another"""
    index_url: str | None = ABSENT
    """The index page of the filing"""
    folder_url: str | None = ABSENT
    """The folder of the filing"""
    accession: str | None = ABSENT
    """The number of the filing"""
    accession_nodash: str | None = ABSENT
    """The number without dashes"""
    index_source: Literal["index_htm", "index_json"] | str | None = ABSENT
    """What the list was read from: the index page, or the folder's listing"""
    documents: list[FilingDocument] = ABSENT
    """In the order of the index"""
    error: FilingsErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    message: str | None = ABSENT
    """A sentence for people; null where there is no error"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cached: bool = ABSENT
    """Every document of this answer came from the cache"""
    retrieved_at: str | None = ABSENT
    """When the oldest of them came from the filing system"""
    source_url: str | None = ABSENT
    """The address of the main document in the filing system"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    sha256: str | None = ABSENT
    """Of the exact bytes of the main document"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class Invoice(Answer):
    id: str = ABSENT
    """The number of the invoice"""
    customer: str = ABSENT
    """The customer"""
    period: str = ABSENT
    """The month"""
    status: Literal["issued", "paid", "void"] | str = ABSENT
    """Whether it is paid"""
    currency: Literal["USD", "CHF", "EUR"] | str = ABSENT
    """ISO 4217"""
    total: str = ABSENT
    """The sum of the lines, six decimals"""
    payable: str = ABSENT
    """What is to be paid, two decimals: the net amount with the tax"""
    issued_at: str = ABSENT
    """When it was drawn up"""
    due_at: str | None = ABSENT
    """When it is to be paid; null: invoices of version 0.2.0 and earlier say no date"""
    paid_at: str | None = ABSENT
    """When it was paid; null: it is not"""
    voided_at: str | None = ABSENT
    """When it was made void; null: it is not"""
    since: str = ABSENT
    """The first moment of the month"""
    until: str = ABSENT
    """The first moment of the next"""
    exchange_rate: str | None = ABSENT
    """The currency for one US dollar, where provider cost was converted; else null"""
    seller: InvoiceParty | None = ABSENT
    """As the operator's settings were at its issue; null: they named none"""
    buyer: InvoiceParty = ABSENT
    """As the customer was at its issue"""
    payment: str | None = ABSENT
    """How to pay, in the operator's words; null: not said"""
    net: str = ABSENT
    """The total rounded half up to two decimals"""
    rounding: str = ABSENT
    """What the rounding adds to the total or, with a minus, takes from it"""
    tax: InvoiceTax | None = ABSENT
    """The line of tax; null: none is charged"""
    lines: list[InvoiceLine] = ABSENT
    """One for each billing category"""


class InvoiceLine(Answer):
    period: str = ABSENT
    """The month of the requests: an earlier one for rows that were written after its invoice"""
    category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached"] | str = ABSENT
    """The billing category"""
    requests: int = ABSENT
    """Requests and items"""
    succeeded: int = ABSENT
    """Requests without an error: the only ones that a price is charged for"""
    unit_price: str | None = ABSENT
    """In the invoice's currency; null: the customer pays what providers cost"""
    cost_usd: str | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    amount: str = ABSENT
    """The amount of the line"""


class InvoiceParty(Answer):
    name: str = ABSENT
    """The name of the company or person"""
    address: list[str] = ABSENT
    """The lines of the address"""
    tax_id: str | None = ABSENT
    """The number for tax; null: none is known"""


class InvoiceSummary(Answer):
    id: str = ABSENT
    """The number of the invoice"""
    customer: str = ABSENT
    """The customer"""
    period: str = ABSENT
    """The month"""
    status: Literal["issued", "paid", "void"] | str = ABSENT
    """Whether it is paid"""
    currency: Literal["USD", "CHF", "EUR"] | str = ABSENT
    """ISO 4217"""
    total: str = ABSENT
    """The sum of the lines, six decimals"""
    payable: str = ABSENT
    """What is to be paid, two decimals: the net amount with the tax"""
    issued_at: str = ABSENT
    """When it was drawn up"""
    due_at: str | None = ABSENT
    """When it is to be paid; null: invoices of version 0.2.0 and earlier say no date"""
    paid_at: str | None = ABSENT
    """When it was paid; null: it is not"""
    voided_at: str | None = ABSENT
    """When it was made void; null: it is not"""


class InvoiceTax(Answer):
    name: str = ABSENT
    """What the tax is called"""
    percent: str = ABSENT
    """Of the net amount"""
    amount: str = ABSENT
    """Rounded half up to two decimals"""


class JobCompletion(Answer):
    job_id: str = ABSENT
    """The id of the job"""
    kind: Literal["search", "fetch", "filings", "profiles", "company", "crawl"] | str = ABSENT
    """What its items are"""
    status: Literal["completed", "cancelled"] | str = ABSENT
    """How the job ended"""
    total: int = ABSENT
    """All items"""
    succeeded: int = ABSENT
    """Items without an error"""
    failed: int = ABSENT
    """Items with an error"""
    finished_at: str = ABSENT
    """When the last item finished"""


class JobCounts(Answer):
    total: int = ABSENT
    """All items; of a crawl that runs, those that there are so far"""
    pending: int = ABSENT
    """Waiting to be admitted, also for another attempt"""
    queued: int = ABSENT
    """Admitted, or running"""
    done: int = ABSENT
    """Finished"""
    failed: int = ABSENT
    """Finished with an error"""
    cancelled: int = ABSENT
    """Cancelled before they finished"""
    discovered: int | None = None
    """Of a crawl: the different addresses that were found, those of its items among them"""
    excluded: int | None = None
    """Of a crawl: addresses that are not fetched, each with a reason (`/v1/jobs/{job_id}/urls`)"""


class JobCreated(Answer):
    job_id: str = ABSENT
    """The id of the job"""
    created: bool = ABSENT
    """False: the idempotency key already named this job"""
    webhook_secret: str | None = None
    """Only of a job with `webhook`: signs its events"""
    warnings: list[str] | None = None
    """Only if there are any: what could not be done as it was asked, or is not known, as sentences"""


class JobPage(Answer):
    items: list[JobStatus] = ABSENT
    """Newest first"""
    next_cursor: str | None = ABSENT
    """For the next page; null: there is none"""


class JobProgress(Answer):
    items_per_s: float = ABSENT
    """Items that ended per second, over the last minute or since the first of them ended; counted anew where another node takes the job over"""
    in_flight: int = ABSENT
    """Items in flight"""
    waits_for: Literal["items_stored", "items_loaded", "items_stopped", "paused_by_client", "paused_by_operator", "customer_suspended", "key_read", "share", "sites", "quota"] | str | None = ABSENT
    """Why no further item starts: its items are stored (`items_stored`) or loaded (`items_loaded`) first, or its last ones stop (`items_stopped`); it is paused; its customer is suspended; its key is not read yet (`key_read`); other jobs have the cluster (`share`); its sites are busy, or items wait for another attempt (`sites`); others hold the rest of the key's quota (`quota`). Null: items start or run"""
    waits_until: str | None = ABSENT
    """When the next item of a job that waits for `sites` may start; null for all other reasons"""
    waits_for_sites: list[str] = ABSENT
    """Sites that asked to be left alone for a while, at most five; items of other sites go on"""


class JobResultsEvent(Answer):
    id: str = ABSENT
    """The same in every attempt, also `webhook-id` in the header"""
    type: Literal["job.results", "job.results.complete"] | str = ABSENT
    """Items that have ended, or, after all of them, that there are no more"""
    job_id: str = ABSENT
    """The id of the job"""
    sink_id: str = ABSENT
    """The sink"""
    part: int = ABSENT
    """Parts are numbered from 1"""
    items: list[JobItem] = ABSENT
    """Each item of the job is in one part"""


class JobStatus(Answer):
    job_id: str = ABSENT
    """The id of the job"""
    kind: Literal["search", "fetch", "filings", "profiles", "company", "crawl"] | str = ABSENT
    """What its items are"""
    monitor_id: str | None = None
    """Only of a visit of a monitor, which stays listed for a day: that monitor"""
    status: Literal["queued", "running", "completed", "cancelled"] | str = ABSENT
    """Queued until the first item runs"""
    paused: Literal["client", "operator"] | str | None = ABSENT
    """Who paused the job, so that no further item starts; an operator's pause is lifted by the operator only. null: it is not paused, or has ended"""
    counts: JobCounts = ABSENT
    """Its items by status"""
    created_at: str = ABSENT
    """When it was created"""
    updated_at: str = ABSENT
    """When an item last changed"""
    finished_at: str | None = ABSENT
    """When its last item finished; null: it has not"""
    callback_url: str | None = ABSENT
    """Where the job's end is told; null: nowhere"""
    callback_status: CallbackOutcome | str | None = ABSENT
    """Of the last attempt: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it"""
    webhook: JobWebhook | None = None
    """Only of a job with `webhook`: how the delivery of its events stands"""
    max_cost_usd: float | None = None
    """Only of a job with a limit of its own: what it may cost, in US dollars"""
    max_cost_reached: bool | None = None
    """Only of a job with `max_cost_usd`: whether an attempt was not made because of it. Then items go on by what costs nothing"""
    progress: JobProgress | None = None
    """With include=progress: how it gets on. null: it has ended, or its node does not answer now"""
    items_url: str = ABSENT
    """Where its items are"""
    items: list[JobItem] | None = None
    """With include=items: one page of items"""
    next_after: int | None = None
    """With include=items: `after` of the next page where this one ended for its size; null where it did not"""


class JobWebhook(Answer):
    is_off: bool = ABSENT
    """No other event is delivered: the receiver answered 410, an attempt was refused by the guard of outgoing requests, or an event was given up"""
    last_status: str | None = ABSENT
    """Of the last attempt: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it"""


class KeyEvent(Answer):
    at: str = ABSENT
    """When it was done"""
    action: Literal["created", "changed", "rotated", "revoked"] | str = ABSENT
    """What was done"""
    key: str = ABSENT
    """The first characters of the key"""
    by: str = ABSENT
    """The prefix of the key that asked for it"""
    fields_: list[str] = Field(ABSENT, alias="fields")
    """What was set"""
    replaced_by: str | None = ABSENT
    """With rotated: the prefix of the new key"""


class KeyEvents(Answer):
    events: list[KeyEvent] = ABSENT
    """Newest first"""


class LatestAnswer(Answer):
    accession: str | None = ABSENT
    """The number of the filing"""
    form: str | None = ABSENT
    """The form type"""
    filing_date: str | None = ABSENT
    """The day it was filed"""
    report_date: str | None = ABSENT
    """The end of the period it reports on"""
    acceptance_datetime: str | None = ABSENT
    """As the filing system sends it: it ends in Z, but is Eastern time in most rows and UTC in some"""
    act: str | None = ABSENT
    """The act it is filed under"""
    file_number: str | None = ABSENT
    """The file number of the registrant"""
    film_number: str | None = ABSENT
    """The film number"""
    items: str | None = ABSENT
    """The items of a current report"""
    core_type: str | None = ABSENT
    """The core type of the form"""
    size: int | None = ABSENT
    """Bytes of the filing"""
    is_xbrl: bool | None = ABSENT
    """Whether it has XBRL"""
    is_inline_xbrl: bool | None = ABSENT
    """Whether the XBRL is inline"""
    primary_document: str | None = ABSENT
    """The file name of the main document"""
    primary_document_description: str | None = ABSENT
    """What it is, in the filer's words"""
    primary_document_url: str | None = ABSENT
    """Null when the document lies in a sub-folder, as ownership forms do"""
    index_url: str | None = ABSENT
    """The index page of the filing"""
    is_amendment: bool | None = ABSENT
    """Whether the form amends another"""
    cik: int | None = ABSENT
    """The number of the filer"""
    cik_padded: str | None = ABSENT
    """The same with ten digits"""
    name: str | None = ABSENT
    """The filer's name"""
    tickers: list[str] = ABSENT
    """The primary one first"""
    exchanges: list[str | None] = ABSENT
    """Parallel to tickers; null where the list does not say"""
    error: FilingsErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    message: str | None = ABSENT
    """A sentence for people; null where there is no error"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cached: bool = ABSENT
    """Every document of this answer came from the cache"""
    retrieved_at: str | None = ABSENT
    """When the oldest of them came from the filing system"""
    source_url: str | None = ABSENT
    """The address of the main document in the filing system"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    sha256: str | None = ABSENT
    """Of the exact bytes of the main document"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class LedgerAttempt(Answer):
    tier: str = ABSENT
    """The route"""
    status: int | None = ABSENT
    """The origin's status; null: no answer"""
    reason: str = ABSENT
    """`ok`, or why it was not good enough"""
    ms: int = ABSENT
    """How long it took, in milliseconds"""


class ListAlertsResponse(Answer):
    alerts: list[AlertHook] = ABSENT
    """The webhooks that the key sees"""


class ListArchiveImportsResponse(Answer):
    archives: list[ArchiveImport] = ABSENT
    """Sorted by id"""


class ListCompanyBaselineResponse(Answer):
    items: list[CompanyBaselineItem] = ABSENT
    """In no order that means anything"""
    next_cursor: str | None = ABSENT
    """For the next page; null: this is the last one"""
    changes_cursor: str = ABSENT
    """`cursor` of GET /v1/companies/changes with the same country; the same on every page"""


class ListCompanyChangesResponse(Answer):
    items: list[CompanyChange] = ABSENT
    """Oldest first"""
    baselines: list[CompanyBaseline] = ABSENT
    """Whole files that came into the register for the first time, oldest first, whatever the country"""
    next_cursor: str = ABSENT
    """For the next page; also after the last change so far"""


class ListCompanySourcesResponse(Answer):
    sources: list[CompanySource] = ABSENT
    """The sources, also inactive ones"""


class ListCompanyWatchesResponse(Answer):
    watches: list[CompanyWatch] = ABSENT
    """The watches, without secrets"""


class ListInvoicesResponse(Answer):
    invoices: list[InvoiceSummary] = ABSENT
    """Newest first"""


class ListJobSinksResponse(Answer):
    sinks: list[Sink] = ABSENT
    """The sinks, without secrets"""


class ListMonitorChangesResponse(Answer):
    items: list[MonitorChange] = ABSENT
    """Oldest first"""
    next_cursor: str = ABSENT
    """For the next page; also after the last change so far"""


class ListMonitorsResponse(Answer):
    monitors: list[Monitor] = ABSENT
    """The monitors, without secrets"""


class ListSessionsResponse(Answer):
    sessions: list[Session] = ABSENT
    """The sessions of the project"""


class MapLink(Answer):
    url: str = ABSENT
    """The address"""
    title: str | None = ABSENT
    """Its title: of a feed, a news sitemap, a stored page, or the words of the link"""
    lastmod: str | None = ABSENT
    """When it changed last, as a sitemap or feed says: a date, or a moment in UTC"""
    found_in: Literal["sitemap", "page", "robots", "feed", "stored"] | str = ABSENT
    """Where it was found first: a sitemap, a feed, the page at `url`, robots.txt (the address itself), what the project has stored"""


class MapResponse(Answer):
    url: str = ABSENT
    """As it was asked, a user name and a password masked"""
    links: list[MapLink] = ABSENT
    """With `search`, best first; else in the order in which they were found"""
    total: int = ABSENT
    """Different addresses that were found, also beyond `limit`"""
    truncated: bool = ABSENT
    """There are more than `links` has: beyond `limit`, or in what was not read for time or limits"""
    sitemaps: list[MapSitemap] = ABSENT
    """The sitemaps and feeds that were tried, in order; the first 1,000"""
    cached: bool = ABSENT
    """Everything was read from the cache"""
    error: MapErrorName | str | None = ABSENT
    """Null: something was found. Else an error of a fetch: why nothing could be read; `timeout` and `quota_exhausted` (nothing is left of the quota or of a limit of spend) beside what was found before"""
    warnings: list[str] | None = None
    """Only if there are any: what could not be done as it was asked, or is not known, as sentences"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class MapSitemap(Answer):
    url: str = ABSENT
    """Its address"""
    status: int | None = ABSENT
    """The origin's status; null: no answer"""
    entries: int = ABSENT
    """The entries that were read"""
    error: MapSitemapErrorName | str | None = ABSENT
    """Null: it was read to its end. An error of a fetch, or `not_a_sitemap`, `malformed`, `too_large`, `too_slow`, `already_read`, `too_deep`"""
    warnings: list[str] | None = None
    """What is wrong with it although it could be read"""


class MicrodataItem(Answer):
    type: str | list[str] | None = None
    """Its type; several as an array"""
    id: str | None = None
    """Its `itemid`"""
    properties: dict[str, Any] | None = None
    """By name: a text, an item, or an array of them"""
    value: str | None = None
    """The text of an item without properties"""


class Mistake(Answer):
    loc: list[str | int] = ABSENT
    """Where: body, query, path or header, then names and positions"""
    msg: str = ABSENT
    """What is wrong, in words"""
    type: str = ABSENT
    """A code of the mistake, as pydantic names it"""


class Monitor(Answer):
    id: str = ABSENT
    """The id of the monitor"""
    url: str = ABSENT
    """The page, a user name and a password masked"""
    label: str | None = ABSENT
    """The client's name for it"""
    every_s: int | None = ABSENT
    """Seconds between visits; null: `cron` says when"""
    cron: str | None = ABSENT
    """When the page is visited; null: every `every_s` seconds"""
    timezone: str = ABSENT
    """Of `cron`"""
    watch: Literal["text", "markdown", "status", "links"] | str = ABSENT
    """What counts as a change"""
    fetch: MonitorFetch | None = ABSENT
    """How the page is fetched; null: it cannot be read"""
    webhook: MonitorWebhookView | None = ABSENT
    """Where changes are delivered; null: nowhere"""
    paused: Literal["client", "key_revoked"] | str | None = ABSENT
    """Why no visit is made: a client paused it, or the key that paid is revoked; null: visits are made"""
    created_at: str = ABSENT
    """When it was created"""
    next_check_at: str | None = ABSENT
    """When the next visit is due, in the past while it is under way; null: none is"""
    last_check: MonitorCheck | None = ABSENT
    """The last visit; null: there was none"""
    failures: int = ABSENT
    """Visits that failed since the last one that did not; a failed visit is no change"""
    checks: int = ABSENT
    """All visits"""
    changes: int = ABSENT
    """Visits that found a change"""
    current: MonitoredState | None = ABSENT
    """What the last visit that did not fail found; null: there was none"""
    secret: str | None = ABSENT
    """Signs deliveries; only in the answer to the request that gives the monitor its first webhook"""


class MonitorChange(Answer):
    id: str = ABSENT
    """The id of the change, the same in every delivery"""
    monitor_id: str = ABSENT
    """The monitor"""
    url: str = ABSENT
    """The page, a user name and a password masked"""
    checked_at: str = ABSENT
    """When the visit ended"""
    previous: MonitoredState = ABSENT
    """What the visit before found"""
    current: MonitoredState = ABSENT
    """What this visit found"""
    diff: str | None = ABSENT
    """Unified diff of the Markdown, of the status, or of the addresses; null: the page is too long or too different"""
    diff_truncated: bool = ABSENT
    """The diff has not everything that changed: it ends at 64 KB, or is null"""
    delivery: MonitorDelivery | None = ABSENT
    """How it was delivered; null: the monitor had no webhook"""


class MonitorCheck(Answer):
    at: str = ABSENT
    """When it ended"""
    outcome: Literal["first", "unchanged", "changed", "failed"] | str = ABSENT
    """`first`: there was nothing to compare with"""
    error: FetchJobItemErrorName | str | None = ABSENT
    """Why it failed, an error of a fetch or of the key; null: it did not"""
    job_id: str | None = ABSENT
    """The job of the visit, listed for a day; null: none was begun"""


class MonitorDelivery(Answer):
    attempts: int = ABSENT
    """Attempts so far, 8 within 24 hours at most"""
    status: str | None = ABSENT
    """How the last attempt ended; null: none has"""
    is_over: bool = ABSENT
    """Whether no further attempt is made"""


class MonitorFetch(Answer):
    render: Literal["auto", "never", "always"] | str | None = None
    """Whether a browser runs the page's scripts: when a plain request finds no text, never, or always"""
    max_bytes: int | None = None
    """The largest body that is accepted"""
    accept_pdf: bool | None = None
    """Whether PDFs are read"""
    min_text_chars: int | None = None
    """With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two"""
    project_ref: str | None = None
    """A word of the client's own, which the ledger of requests shows again"""
    allow_paid: bool | None = None
    """Whether routes that cost money may be used"""
    allow_premium: bool | None = None
    """Another name of `allow_paid`: false in either of them forbids these routes"""
    tiers: list[Literal["direct", "browser", "archive", "proxy", "proxy_render"] | str] | None = None
    """The routes that may be used; null: all"""
    timeout_s: float | None = None
    """How long to wait at most, in seconds; what is then known is the answer"""
    country: str | None = None
    """The country of the exit on premium routes, ISO 3166-1 alpha-2"""
    user_agent: str | None = None
    """The User-Agent to send; the project needs permission"""
    accept_language: str | None = None
    """The Accept-Language to send"""
    fields_: list[FetchField] | None = Field(None, alias="fields")
    """The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all"""
    wait_for: WaitFor | None = None
    """What a browser waits for before it reads the page; takes the route browser only"""
    archive: bool | None = None
    """Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project"""
    headers: dict[str, str] | None = None
    """Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only"""
    cookies: list[GivenCookie] | None = None
    """Cookies for the origin of `url`. The routes direct and browser only"""
    cache_private: bool | None = None
    """Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept"""
    actions: list[Action] | None = None
    """Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed"""
    session_id: str | None = None
    """A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies`"""
    only_main_content: bool | None = None
    """false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page"""
    include_comments: bool | None = None
    """Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one"""
    include_selectors: list[str] | None = None
    """CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not"""
    exclude_selectors: list[str] | None = None
    """CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included"""
    extract: ExtractOptions | None = None
    """Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there"""
    block_resources: list[Literal["image", "font", "media", "stylesheet", "ads"] | str] | None = None
    """What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page"""
    device: Literal["desktop", "mobile"] | str | None = None
    """`mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only"""
    viewport: Viewport | None = None
    """The window of the browser; takes the route browser only. Default: 1280 × 720"""


class MonitorWebhookView(Answer):
    url: str | None = ABSENT
    """The address, passwords and query secrets masked; null: it cannot be read"""
    last_status: str | None = ABSENT
    """Of the last delivery: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it"""
    is_off: bool = ABSENT
    """The receiver answered 410, so nothing is delivered until `webhook` is given again"""


class MonitoredState(Answer):
    sha256: str = ABSENT
    """SHA-256 of what is watched: text, Markdown, status, or addresses one a line"""
    retrieved_at: str = ABSENT
    """When the page was retrieved"""
    status: int | None = ABSENT
    """Its status"""


class NamedSecret(Answer):
    name: str = ABSENT
    """Its name, for `secret` of a step"""
    origin: str | None = ABSENT
    """The only origin into whose pages it is typed; null: that of the `url` of each fetch"""


class NetworkGraph(Answer):
    company_connections: list[ProfileConnection] = ABSENT
    """Connected companies"""
    person_connections: list[ProfileConnection] = ABSENT
    """Connected persons"""
    other_connections: list[ProfileConnection] = ABSENT
    """Other connections, as addresses"""
    source: Literal["data.json", "page"] | str = ABSENT
    """`page` where the graph could not be fetched"""


class OlderPage(Answer):
    name: str = ABSENT
    """Its file name"""
    filing_count: int | None = ABSENT
    """Filings on it"""
    filing_from: str | None = ABSENT
    """The first filing date on it"""
    filing_to: str | None = ABSENT
    """The last filing date on it"""
    url: str = ABSENT
    """Its address"""
    fetched: bool = ABSENT
    """Whether it was read for this answer"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""


class OpenGraph(Answer):
    namespace: dict[str, str] = ABSENT
    """The address of each prefix"""
    properties: list[list[str]] = ABSENT
    """Names and values in the page's order; a name may come again"""


class PageAlternate(Answer):
    url: str = ABSENT
    """Its address"""
    language: str | None = ABSENT
    """The language, as the page says"""
    type: str | None = ABSENT
    """The media type, as the page says"""


class PageChangedEvent(Answer):
    id: str = ABSENT
    """The id of the change, the same in every delivery"""
    monitor_id: str = ABSENT
    """The monitor"""
    url: str = ABSENT
    """The page, a user name and a password masked"""
    checked_at: str = ABSENT
    """When the visit ended"""
    previous: MonitoredState = ABSENT
    """What the visit before found"""
    current: MonitoredState = ABSENT
    """What this visit found"""
    diff: str | None = ABSENT
    """Unified diff of the Markdown, of the status, or of the addresses; null: the page is too long or too different"""
    diff_truncated: bool = ABSENT
    """The diff has not everything that changed: it ends at 64 KB, or is null"""
    type: Literal["page.changed"]
    """The kind of event"""
    changes_url: str = ABSENT
    """The changes of the monitor"""


class PageComment(Answer):
    author: str | None = ABSENT
    """The name it stands under; null: none"""
    published_at: str | None = ABSENT
    """ISO 8601: with a time in UTC or without a zone, or only a date, a month or a year; null: none, or one that counts from now"""
    text: str = ABSENT
    """What it says, a paragraph a line"""


class PageImage(Answer):
    url: str = ABSENT
    """Its address"""
    alt: str | None = ABSENT
    """The text that stands for it"""
    width: int | None = ABSENT
    """In CSS pixels, as its element says"""
    height: int | None = ABSENT
    """In CSS pixels, as its element says"""


class PageLink(Answer):
    url: str = ABSENT
    """Where it leads"""
    text: str = ABSENT
    """Its words"""
    rel: str | None = ABSENT
    """Its relation to the page, as its element says"""


class PageTable(Answer):
    parent: int | None = ABSENT
    """The table it stands in, as its place in `tables`, from 0"""
    caption: str | None = ABSENT
    """Its caption"""
    headers: list[str] = ABSENT
    """The name of each column; several rows of headers are joined by ` / `, a name that comes again ends in ` (2)`; empty: it has no headers"""
    rows: list[list[str]] = ABSENT
    """The texts of its cells, rows of equal length; a cell that covers several places is in each of them"""
    spans: list[TableSpan] = ABSENT
    """Cells of `rows` that cover several places"""
    truncated: bool = ABSENT
    """It goes on beyond a limit, which `warnings` names"""


class PdfPage(Answer):
    page: int = ABSENT
    """Its number, from 1"""
    text: str = ABSENT
    """Its text"""
    needs_ocr: bool | None = None
    """true: the page is a picture without text, as scanned pages are; absent for others, and where its text was recognised"""
    ocr: bool | None = None
    """true: the page is a picture, and its text was recognised by optical character recognition, which makes mistakes"""


class PrimarySource(Answer):
    url: str = ABSENT
    """Its address"""
    kind: Literal["court", "government", "press_release", "doi", "pdf"] | str = ABSENT
    """What it is"""
    text: str | None = ABSENT
    """The words of the link"""


class Profile(Answer):
    name: str | None = ABSENT
    """Its name"""
    register_id: str | None = ABSENT
    """Its number in the register, or the register's text"""
    court: str | None = ABSENT
    """The register's court"""
    status: str | None = ABSENT
    """Active, Terminated, Liquidation, or another word of the site"""
    identifiers: list[ProfileIdentifier] = ABSENT
    """All its numbers"""
    address: str | None = ABSENT
    """As the site writes it"""
    city: str | None = ABSENT
    """Its city"""
    country: str | None = ABSENT
    """As the site writes it"""
    path_country: str | None = ABSENT
    """The country that the page's address shows, ISO 3166-1 alpha-2"""
    entity_id: str | None = ABSENT
    """The company's id on the site; it may change"""
    lei: str | None = ABSENT
    """Its LEI"""
    industry: str | None = ABSENT
    """Its industry"""
    former_names: list[str] = ABSENT
    """Earlier names"""
    former_addresses: list[str] = ABSENT
    """Earlier addresses"""
    corporate_purpose: str | None = ABSENT
    """What the register says it does"""
    additional_info: str | None = ABSENT
    """More that the site says, by lines"""
    history: list[ProfileEvent] = ABSENT
    """The timeline, the oldest first"""
    publications: list[ProfilePublication] = ABSENT
    """What the company published"""
    mentions: list[ProfilePublication] = ABSENT
    """Publications that mention it"""
    officers: list[ProfileOfficer] = ABSENT
    """Persons of the page, then of the graph; not complete"""
    related: list[ProfileRelation] = ABSENT
    """Partners of mergers, acquisitions and control, then companies of the graph"""
    legal_form: str | None = ABSENT
    """As the name writes it; null where it shows none"""
    network_graph: NetworkGraph = ABSENT
    """Its connections"""
    shareholders: list[ProfileRelation] = ABSENT
    """Empty: the site's pages do not list them"""
    subsidiaries: list[ProfileRelation] = ABSENT
    """Empty: they are not concluded from the graph"""
    parent_companies: list[ProfileRelation] = ABSENT
    """Empty: they are not concluded from the graph"""
    financials: str | None = ABSENT
    """Always null: the site's charts are not read"""
    source_url: str = ABSENT
    """The page that was read"""
    discovery_query: str | None = ABSENT
    """What found it"""
    discovery_score: float | None = ABSENT
    """0 to 1"""
    discovery_method: Literal["suggest", "search"] | str | None = ABSENT
    """How it was found"""
    name_similarity: float | None = ABSENT
    """0 to 100"""
    scraped_at: str = ABSENT
    """When the page came from the site"""
    fetch_tier: Literal["proxy", "web_render"] | str = ABSENT
    """The route that brought it"""
    parser_version: str = ABSENT
    """The parser that read it"""
    provider: str = ABSENT
    """The site"""


class ProfileAnswer(Answer):
    op: Literal["profile"]
    """The operation"""
    profile: Profile | None = ABSENT
    """The profile; null where there is an error"""
    fetch: ProfileFetch | None = ABSENT
    """Where the page comes from"""
    discovery: Discovery | None = ABSENT
    """How it was found; null where its url was given"""
    graph_fetch: ProfileFetch | None = ABSENT
    """Where the graph comes from; null where it was not asked for"""
    graph_error: str | None = ABSENT
    """Why there is no graph: an error, or no_entity_id"""
    error: ProfileErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    error_detail: str | None = ABSENT
    """A sentence for people"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cost_usd: float | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    billing_category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached"] | str = ABSENT
    """How the answer is billed"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class ProfileCandidate(Answer):
    url: str = ABSENT
    """Its address"""
    name: str | None = ABSENT
    """Its name; null where it was searched"""
    score: float = ABSENT
    """Similarity of names, 0 to 100, of a suggestion; score of the address, 0 to 1, of a search result"""
    query: str = ABSENT
    """What found it"""
    title: str | None = ABSENT
    """The title of the search result"""


class ProfileConnection(Answer):
    id: str | None = ABSENT
    """The site's id"""
    name: str = ABSENT
    """The company or person"""
    kind: Literal["company", "person", "other"] | str = ABSENT
    """What it is"""
    relation: str | None = ABSENT
    """In the site's words"""
    direction: Literal["in", "out"] | str | None = ABSENT
    """in: it has the relation to the company; out: the company has it; null: no direct link"""
    since: str | None = ABSENT
    """YYYY-MM-DD"""
    until: str | None = ABSENT
    """YYYY-MM-DD"""
    current: bool = ABSENT
    """Whether it holds"""
    url: str | None = ABSENT
    """Its address as the site writes it"""
    absolute_url: str | None = ABSENT
    """The same, absolute"""


class ProfileEvent(Answer):
    category: str | None = ABSENT
    """event, person, merger, acquisition or control; null where the site has another kind"""
    date: str | None = ABSENT
    """YYYY-MM-DD, where the site gives a whole date"""
    description: str | None = ABSENT
    """In the site's words"""
    text: str | None = ABSENT
    """Abbreviated"""
    url: str | None = ABSENT
    """Absolute"""


class ProfileFetch(Answer):
    url: str = ABSENT
    """The address that was requested"""
    final_url: str | None = ABSENT
    """After redirects"""
    status: int | None = ABSENT
    """HTTP status"""
    tier: Literal["proxy", "proxy_render"] | str | None = ABSENT
    """The route that brought it"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    sha256: str | None = ABSENT
    """SHA-256 of the exact bytes"""
    body_kind: Literal["origin", "rendered_dom"] | str | None = ABSENT
    """What the bytes are"""
    retrieved_at: str | None = ABSENT
    """When it came from the site"""
    cached: bool = ABSENT
    """The answer came from the cache"""
    revalidated: bool = ABSENT
    """The site confirmed the cached page"""
    attempts: list[Attempt] = ABSENT
    """Every route that was tried, in order"""
    cost_usd: float | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    parser_version: str | None = ABSENT
    """The parser that read it"""


class ProfileIdentifier(Answer):
    label: str | None = ABSENT
    """As the site names it"""
    source: str | None = ABSENT
    """Who gives it"""
    value: str = ABSENT
    """The number"""
    current: bool = ABSENT
    """false: the site marks it as former"""


class ProfileOfficer(Answer):
    name: str = ABSENT
    """The person"""
    role: str | None = ABSENT
    """In the site's words; person where only the graph has it"""
    since: str | None = ABSENT
    """YYYY-MM-DD"""
    until: str | None = ABSENT
    """YYYY-MM-DD"""
    url: str | None = ABSENT
    """Its address as the site writes it"""
    absolute_url: str | None = ABSENT
    """The same, absolute"""
    current: bool = ABSENT
    """false: the site says that it has ended, also where it does not say when"""


class ProfilePublication(Answer):
    date: str | None = ABSENT
    """YYYY-MM-DD"""
    summary: str | None = ABSENT
    """What was published"""
    company_name: str | None = ABSENT
    """The company that it is about, of mentions"""


class ProfileRelation(Answer):
    name: str = ABSENT
    """The company"""
    relation: str | None = ABSENT
    """merger, acquisition, control, or related where only the graph has it"""
    url: str | None = ABSENT
    """Its address as the site writes it"""
    absolute_url: str | None = ABSENT
    """The same, absolute"""


class ProfilesJobItem(Answer):
    index: int = ABSENT
    """Its place among the submitted items, from 0"""
    kind: Literal["profiles"]
    """What the items of the job are"""
    status: Literal["pending", "queued", "done", "failed", "cancelled"] | str = ABSENT
    """What has become of it"""
    input: ProfilesJobItemInput = ABSENT
    """As it was submitted, without defaults and unknown fields"""
    result: ProfilesResult | None = ABSENT
    """The answer of the single endpoint; null while unfinished or unavailable"""
    error: ProfilesJobItemErrorName | str | None = ABSENT
    """The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now"""


class ProfilesJobItemInput(Answer):
    op: Literal["suggest", "discover", "profile", "graph"] | str | None = None
    """The operation"""
    query: str | None = None
    """With op suggest: the beginning of a company's name"""
    entity_id: str | None = None
    """With op graph: the company's id on the site"""
    url: str | None = None
    """With op profile: the address of a profile page"""
    company_name: str | None = None
    """The company that is looked for, where there is no url"""
    include_graph: bool | None = None
    """With op profile: whether the network graph is fetched"""
    headquarters: str | None = None
    """Its city"""
    min_similarity: float | None = None
    """From this similarity of names, 0 to 100, a suggestion is the company"""
    search_fallback: bool | None = None
    """Whether the web is searched where no suggestion is similar enough"""
    country: str | None = None
    """ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored"""
    session_key: str | None = None
    """Requests with the same key leave by the same exit"""
    cache_ttl_s: int | None = None
    """The oldest acceptable answer from the cache, in seconds; 0 asks anew"""
    allow_paid: bool | None = None
    """false: nothing is requested, only the cache is read"""
    project_ref: str | None = None
    """A word of the client's own, which the ledger of requests shows again"""


class Quota(Answer):
    key: str = ABSENT
    """The prefix of the calling key"""
    role: Literal["standard", "account_admin", "operator"] | str = ABSENT
    """A standard key sees itself, an account admin its whole customer, an operator uses /v1/ops as well"""
    period: str = ABSENT
    """The month, UTC"""
    resets_at: str = ABSENT
    """When the month ends"""
    as_of: str = ABSENT
    """When this was answered"""
    usage_refreshed_at: str | None = ABSENT
    """Requests whose rows were stored before this moment are in `used`; null: unknown, usage cannot be added up at present"""
    keys: list[QuotaKey] = ABSENT
    """The calling key; for an admin key every active key of the customer"""
    project: QuotaProject = ABSENT
    """The project of the calling key"""
    customer: QuotaCustomer | None = ABSENT
    """For admin keys: the customer; null for others"""
    events: list[QuotaEvent] = ABSENT
    """Thresholds that were crossed this month, newest first"""


class QuotaAllowance(Answer):
    used: int = ABSENT
    """Requests since the quota was set, at most of this month"""
    limit: int | None = ABSENT
    """Requests a month; null: no quota"""
    remaining: int | None = ABSENT
    """What is left; null: no quota"""


class QuotaCustomer(Answer):
    name: str = ABSENT
    """The name of the customer"""
    status: Literal["active", "suspended"] | str = ABSENT
    """Whether its keys work"""
    currency: Literal["USD", "CHF", "EUR"] | str = ABSENT
    """ISO 4217"""
    projects: list[QuotaProject] = ABSENT
    """Its projects"""


class QuotaEvent(Answer):
    scope: Literal["key", "project", "customer"] | str = ABSENT
    """What crossed it"""
    key: str | None = ABSENT
    """With scope key: its prefix"""
    project: str | None = ABSENT
    """With scope key and project: the project"""
    allowance: Literal["search", "fetch", "spend"] | str = ABSENT
    """Which allowance: the requests of a category, or spend"""
    threshold: int = ABSENT
    """Percent of the allowance"""
    crossed_at: str = ABSENT
    """When it was crossed"""


class QuotaKey(Answer):
    prefix: str = ABSENT
    """The first characters of the key"""
    label: str | None = ABSENT
    """Words for the key"""
    role: Literal["standard", "account_admin", "operator"] | str = ABSENT
    """A standard key sees itself, an account admin its whole customer, an operator uses /v1/ops as well"""
    project: str = ABSENT
    """The name of the project"""
    status: Literal["active", "revoked"] | str = ABSENT
    """Whether the key works"""
    categories: list[Literal["search", "fetch"] | str] | None = ABSENT
    """What the key may be used for; null: everything"""
    rate_limit_rps: int | None = ABSENT
    """Requests a second; null: no limit of its own"""
    requests: QuotaRequests = ABSENT
    """Requests of this month by category"""
    spend: QuotaSpend = ABSENT
    """Money spent this month"""


class QuotaProject(Answer):
    name: str = ABSENT
    """The name of the project"""
    rate_limit_rps: int = ABSENT
    """Requests a second of all keys together"""
    requests: QuotaRequests = ABSENT
    """The sums of its keys; limits are always null, because quotas belong to keys"""
    spend: QuotaSpend = ABSENT
    """Its limit is the project's budget"""


class QuotaRequests(Answer):
    search: QuotaAllowance = ABSENT
    """Searches"""
    fetch: QuotaAllowance = ABSENT
    """Fetches, filings and companies"""


class QuotaSpend(Answer):
    used: str | None = ABSENT
    """Decimal of six places; null for external customers"""
    limit: str | None = ABSENT
    """In the customer's currency; null: no limit"""
    remaining: str | None = ABSENT
    """What is left; null: no limit, or an external customer"""
    currency: Literal["USD", "CHF", "EUR"] | str = ABSENT
    """ISO 4217"""
    basis: Literal["charge", "provider_cost"] | str = ABSENT
    """What counts against limits of spend: what the customer is charged, where it has prices; else what providers cost"""


class Redirect(Answer):
    url: str = ABSENT
    """The address that redirected"""
    status: int = ABSENT
    """Its status"""
    location: str = ABSENT
    """Where to"""


class Refusal(Answer):
    error: RefusalCode = ABSENT
    """A code that does not change"""
    message: str | None = None
    """A sentence for people; null where there is no error"""
    hint: str | None = None
    """What to do instead"""
    category: str | None = None
    """Of a quota: its category"""
    limit: int | str | None = None
    """The quota, or the spend cap as a decimal"""
    currency: str | None = None
    """The currency of a spend cap"""
    request_id: str | None = None
    """Names this request in the logs of the service"""


class RequestList(Answer):
    items: list[RequestRecord] = ABSENT
    """Newest first"""
    next_cursor: str | None = ABSENT
    """For the next page; null: there is none"""


class RequestRecord(Answer):
    request_id: str = ABSENT
    """Names this request in the logs of the service"""
    at: str = ABSENT
    """When it was answered"""
    project: str = ABSENT
    """The name of the project"""
    key: str = ABSENT
    """The first characters of the key"""
    category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached"] | str = ABSENT
    """The billing category"""
    status: int | None = ABSENT
    """The status of the page; null for searches and where no origin answered"""
    ok: bool = ABSENT
    """Whether there was an answer without an error"""
    error: str | None = ABSENT
    """A code that does not change; null where there is no error"""
    reason: str | None = ABSENT
    """The last attempt's reason, or why the fallback was asked"""
    latency_ms: int = ABSENT
    """From request to answer, in milliseconds"""
    cached: bool = ABSENT
    """The answer came from the cache"""
    bytes: int = ABSENT
    """Bytes of the body"""
    paid: bool = ABSENT
    """Whether the page came by a route that costs money"""
    charge: str | None = ABSENT
    """What the customer is charged; null: the operator has set no price"""
    cost_usd: str | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    attempts: list[LedgerAttempt] = ABSENT
    """The routes that were tried; empty for an answer from the cache"""
    project_ref: str | None = ABSENT
    """A word of the client's own, which the ledger of requests shows again"""


class ResolveAnswer(Answer):
    cik: int | None = ABSENT
    """The number of the filer"""
    cik_padded: str | None = ABSENT
    """The same with ten digits"""
    title: str | None = ABSENT
    """Its name in the list of filers"""
    tickers: list[str] = ABSENT
    """The primary one first"""
    exchanges: list[str | None] = ABSENT
    """Parallel to tickers; null where the list does not say"""
    ambiguous: bool = ABSENT
    """Whether several filers match"""
    candidates: list[FilerCompany] = ABSENT
    """The filers that match, at most ten"""
    hint: FilerHint | None = None
    """What the company register knows; absent where it was not asked"""
    error: FilingsErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    message: str | None = ABSENT
    """A sentence for people; null where there is no error"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cached: bool = ABSENT
    """Every document of this answer came from the cache"""
    retrieved_at: str | None = ABSENT
    """When the oldest of them came from the filing system"""
    source_url: str | None = ABSENT
    """The address of the main document in the filing system"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    sha256: str | None = ABSENT
    """Of the exact bytes of the main document"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class Screenshot(Answer):
    body_url: str = ABSENT
    """Where the picture is downloaded, for 30 days"""
    sha256: str = ABSENT
    """SHA-256 of the exact bytes"""
    content_type: Literal["image/png", "image/webp"] | str = ABSENT
    """Its format"""
    width: int = ABSENT
    """In pixels"""
    height: int = ABSENT
    """In pixels"""
    truncated: bool = ABSENT
    """The page goes on below what the picture shows"""


class ScreenshotOptions(Answer):
    type: Literal["png", "webp"] | str | None = None
    """The format of the picture"""
    full_page: bool | None = None
    """Whether the picture shows the page from top to bottom, 20,000 pixels (WebP: 16,383) at most, instead of the window (1280 × 720, or `viewport`)"""


class SearchJobItem(Answer):
    index: int = ABSENT
    """Its place among the submitted items, from 0"""
    kind: Literal["search"]
    """What the items of the job are"""
    status: Literal["pending", "queued", "done", "failed", "cancelled"] | str = ABSENT
    """What has become of it"""
    input: SearchJobItemInput = ABSENT
    """As it was submitted, without defaults and unknown fields"""
    result: SearchResponse | None = ABSENT
    """The answer of the single endpoint; null while unfinished or unavailable"""
    error: SearchJobItemErrorName | str | None = ABSENT
    """The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now"""


class SearchJobItemInput(Answer):
    query: str | None = None
    """What to search for"""
    language: str | None = None
    """ISO 639-1, optionally with a region"""
    country: str | None = None
    """ISO 3166-1 alpha-2, in either case"""
    max_results: int | None = None
    """The most results"""
    freshness: Literal["day", "week", "month", "year", "pd", "pw", "pm", "py"] | str | None = None
    """Only pages of this period; `pd`, `pw`, `pm` and `py` mean day, week, month and year"""
    cache_ttl_s: int | None = None
    """The oldest acceptable answer from the cache, in seconds, at most 7 days; 0 searches anew"""
    include_domains: list[str] | None = None
    """Only results of these hosts and their subdomains"""
    exclude_domains: list[str] | None = None
    """No results of these hosts and their subdomains"""
    page: int | None = None
    """Which `max_results` of the results: 2 has those after the first page. Both together reach to the 200th result"""
    project_ref: str | None = None
    """A word of the client's own, which the ledger of requests shows again"""


class SearchResponse(Answer):
    query: str = ABSENT
    """As it was asked"""
    results: list[SearchResult] = ABSENT
    """Best first. Results that differ only in tracking parameters are one"""
    provider: Literal["metasearch", "fallback"] | str | None = ABSENT
    """Who answered: the metasearch instances or the fallback API; null: nobody"""
    fallback_reason: Literal["metasearch_error", "metasearch_timeout", "no_metasearch_instance", "unresponsive_engines", "captcha_engines", "too_few_results"] | str | None = ABSENT
    """Why the answer of the metasearch was not good enough; null: it was"""
    unresponsive_engines: list[str] = ABSENT
    """Search engines that did not answer the metasearch"""
    cached: bool = ABSENT
    """The answer came from the cache"""
    cost_usd: float | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    billing_category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached"] | str = ABSENT
    """How the answer is billed"""
    error: SearchErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    warnings: list[str] | None = None
    """Only if there are any: what could not be done as it was asked, or is not known, as sentences"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class SearchResult(Answer):
    url: str = ABSENT
    """The address of the page"""
    title: str | None = ABSENT
    """The title as the engine gives it"""
    snippets: list[str] = ABSENT
    """Passages of the page, without markup"""
    engines: list[str] = ABSENT
    """Which search engines found it"""
    published_at: str | None = ABSENT
    """When the page was published, as far as an engine knows"""
    rank: int = ABSENT
    """Its place, from 1"""
    content: FetchResponse | ContentRefusal | None = None
    """With `contents`: the answer of its fetch; why it was not fetched; null behind the results that get their pages"""


class Session(Answer):
    session_id: str = ABSENT
    """Its id, for `session_id` of a fetch"""
    label: str | None = ABSENT
    """The name that it was given"""
    created_at: str = ABSENT
    """When it was made"""
    expires_at: str = ABSENT
    """When its time is over"""
    last_used_at: str | None = ABSENT
    """When a fetch with it last ended; null: none has"""
    user_agent: str | None = ABSENT
    """The User-Agent of its requests"""
    accept_language: str | None = ABSENT
    """The Accept-Language of its requests"""
    country: str | None = ABSENT
    """The country of its exit; null: it has none"""
    cookies: int = ABSENT
    """How many cookies it holds"""
    secrets: list[NamedSecret] = ABSENT
    """Its secrets, without their values"""


class Sink(Answer):
    sink_id: str = ABSENT
    """The id of the sink"""
    job_id: str = ABSENT
    """The id of the job"""
    type: Literal["s3", "webhook"] | str = ABSENT
    """Where results go"""
    url: str | None = ABSENT
    """As it was given, passwords masked; null: this node cannot read it"""
    format: Literal["ndjson", "parquet"] | str = ABSENT
    """What a part is; items of a webhook are JSON"""
    state: Literal["running", "complete", "failed"] | str = ABSENT
    """`complete`: all items of a job that has ended are delivered. `failed`: it was given up, and `last_status` says why"""
    rows: int = ABSENT
    """Items delivered"""
    bytes: int = ABSENT
    """Bytes of the parts"""
    parts: int = ABSENT
    """Parts delivered"""
    folder: str | None = ABSENT
    """S3 only: where its parts and `manifest.json` are"""
    last_status: CallbackOutcome | str | None = ABSENT
    """Of the last attempt: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it"""
    attempts: int = ABSENT
    """Attempts of the part that is under way"""
    created_at: str = ABSENT
    """When it was created"""
    secret: str | None = None
    """Only in the answer that makes a webhook: what its deliveries are signed with"""


class StatusIncident(Answer):
    id: str = ABSENT
    """Its id"""
    title: str = ABSENT
    """What it is, in a few words"""
    status: Literal["investigating", "identified", "monitoring", "resolved"] | str = ABSENT
    """How far it is"""
    impact: Literal["none", "degraded", "partial_outage", "major_outage"] | str = ABSENT
    """The least that its components are shown as while it is unresolved"""
    components: list[str] = ABSENT
    """The components it concerns"""
    created_at: str = ABSENT
    """When it was announced"""
    updated_at: str = ABSENT
    """When it last changed"""
    resolved_at: str | None = ABSENT
    """When it was resolved; null: it is not"""
    updates: list[StatusUpdate] = ABSENT
    """What was said about it, newest first"""


class StatusMaintenance(Answer):
    id: str = ABSENT
    """Its id"""
    title: str = ABSENT
    """What it is, in a few words"""
    status: Literal["scheduled", "in_progress", "completed"] | str = ABSENT
    """Whether it has begun"""
    components: list[str] = ABSENT
    """The components it concerns; empty: the whole service"""
    starts_at: str = ABSENT
    """When it begins"""
    ends_at: str = ABSENT
    """When it ends"""
    created_at: str = ABSENT
    """When it was announced"""
    updated_at: str = ABSENT
    """When it last changed"""
    completed_at: str | None = ABSENT
    """When it was completed; null: it is not"""
    updates: list[StatusUpdate] = ABSENT
    """What was said about it, newest first"""


class StatusNoticeEvent(Answer):
    id: str = ABSENT
    """The id of the event, the same in every attempt"""
    type: Literal["status.incident", "status.maintenance"] | str = ABSENT
    """The kind of event"""
    created_at: str = ABSENT
    """When it was seen"""
    incident: StatusIncident | None = ABSENT
    """The incident as it is now; null: it is about maintenance"""
    maintenance: StatusMaintenance | None = ABSENT
    """The window as it is now; null: it is about an incident"""


class StatusUpdate(Answer):
    at: str = ABSENT
    """When"""
    status: str = ABSENT
    """The status from then on"""
    message: str = ABSENT
    """What was said"""


class StructuredData(Answer):
    json_ld: list[Any] = Field(ABSENT, alias="json-ld")
    """JSON-LD: each object of each block, as the page has it"""
    microdata: list[MicrodataItem] = ABSENT
    """Microdata: the items that are in no other item"""
    opengraph: list[OpenGraph] = ABSENT
    """Open Graph: one entry, or none"""
    rdfa: list[dict[str, Any]] = ABSENT
    """RDFa: the nodes of its statements, as expanded JSON-LD"""
    dublincore: list[DublinCore] = ABSENT
    """Dublin Core: one entry, or none"""


class SubmissionsAnswer(Answer):
    cik: int | None = ABSENT
    """The number of the filer"""
    cik_padded: str | None = ABSENT
    """The same with ten digits"""
    name: str | None = ABSENT
    """Its name as the filing system has it"""
    title: str | None = ABSENT
    """Its name in the list of filers"""
    tickers: list[str] = ABSENT
    """The primary one first"""
    exchanges: list[str | None] = ABSENT
    """Parallel to tickers; null where the list does not say"""
    entity_type: str | None = ABSENT
    """The kind of entity"""
    sic: str | None = ABSENT
    """Standard industrial classification"""
    sic_description: str | None = ABSENT
    """The same in words"""
    category: str | None = ABSENT
    """The filer category"""
    fiscal_year_end: str | None = ABSENT
    """MMDD"""
    state_of_incorporation: str | None = ABSENT
    """Code of a state or country"""
    ein: str | None = ABSENT
    """Employer identification number"""
    lei: str | None = ABSENT
    """LEI"""
    website: str | None = ABSENT
    """Its website"""
    phone: str | None = ABSENT
    """Its phone number"""
    business_address: FilerAddress | None = ABSENT
    """Where it is; null where the filing system does not say"""
    former_names: list[FormerName] = ABSENT
    """Earlier names"""
    filings: list[Filing] = ABSENT
    """Newest first"""
    filings_total: int | None = ABSENT
    """All that match, before the limit"""
    truncated: bool = ABSENT
    """More filings match than the limit"""
    files: list[OlderPage] = ABSENT
    """The older pages of the filer's list"""
    error: FilingsErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    message: str | None = ABSENT
    """A sentence for people; null where there is no error"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cached: bool = ABSENT
    """Every document of this answer came from the cache"""
    retrieved_at: str | None = ABSENT
    """When the oldest of them came from the filing system"""
    source_url: str | None = ABSENT
    """The address of the main document in the filing system"""
    body_url: str | None = ABSENT
    """Where the exact bytes can be downloaded, relative to the service; null where there are none"""
    sha256: str | None = ABSENT
    """Of the exact bytes of the main document"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class SuggestAnswer(Answer):
    op: Literal["suggest"]
    """The operation"""
    query: str = ABSENT
    """As it was sent"""
    country: str | None = ABSENT
    """The country that was understood, ISO 3166-1 alpha-2"""
    items: list[SuggestItem] = ABSENT
    """The companies"""
    fetch: ProfileFetch | None = ABSENT
    """Where they come from"""
    error: ProfileErrorName | str | None = ABSENT
    """A code that does not change; null where there is no error"""
    error_detail: str | None = ABSENT
    """A sentence for people"""
    retry_after_s: int | None = ABSENT
    """Seconds after which another try is worth it; null where none is"""
    cost_usd: float | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    billing_category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached"] | str = ABSENT
    """How the answer is billed"""
    request_id: str = ABSENT
    """Names this request in the logs of the service"""


class SuggestItem(Answer):
    name: str = ABSENT
    """The company's name"""
    url: str = ABSENT
    """Its profile page, absolute"""
    type: Literal["company"]
    """Persons are left out"""


class TableSpan(Answer):
    row: int = ABSENT
    """Its first row in `rows`, from 0"""
    column: int = ABSENT
    """Its first column, from 0"""
    rows: int = ABSENT
    """How many rows it covers"""
    columns: int = ABSENT
    """How many columns it covers"""


class UsagePeriod(Answer):
    since: str = ABSENT
    """The first day, UTC"""
    until: str = ABSENT
    """The day after the last"""


class UsageReport(Answer):
    period: UsagePeriod = ABSENT
    """The days of the report"""
    rows: list[UsageRow] = ABSENT
    """One for each group that has any use"""
    totals: CategoryUsage = ABSENT
    """All rows together"""


class UsageRow(Answer):
    category: Literal["search", "search_fallback", "search_cached", "fetch_own", "fetch_paid", "fetch_cached", "company", "company_cached", "filings", "filings_cached", "profiles", "profiles_cached"] | str | None = None
    """The billing category"""
    project: str | None = None
    """The name of the project"""
    day: str | None = None
    """The day, UTC"""
    key: str | None = None
    """The first characters of the key"""
    requests: int = ABSENT
    """Requests and items"""
    succeeded: int = ABSENT
    """Those without an error"""
    bytes: int = ABSENT
    """Bytes of all bodies"""
    bytes_ok: int = ABSENT
    """Bytes of those without an error"""
    paid_bytes: int = ABSENT
    """Bytes by routes that cost money"""
    paid_bytes_ok: int = ABSENT
    """Bytes of those without an error"""
    cost_usd: str | None = ABSENT
    """What providers cost, in US dollars; null for external customers"""
    cost_ok_usd: str | None = ABSENT
    """What the answers without an error cost"""


class UsageThresholdEvent(Answer):
    id: str = ABSENT
    """The id of the crossing, the same in every attempt"""
    type: Literal["usage.threshold"]
    """The kind of event"""
    created_at: str = ABSENT
    """When it was crossed"""
    scope: Literal["key", "project", "customer"] | str = ABSENT
    """Whose allowance it is"""
    key: str | None = ABSENT
    """The prefix of the key; null for other scopes"""
    project: str | None = ABSENT
    """The project; null for scope customer"""
    threshold: int = ABSENT
    """Percent of the allowance"""
    period: str = ABSENT
    """The month, UTC"""
    used: int | str | None = ABSENT
    """Requests, or an amount; null where it would tell an external customer what providers cost"""
    limit: int | str = ABSENT
    """The allowance, in the same unit"""
    unit: str = ABSENT
    """`search_requests`, `fetch_requests` or a currency"""
    resets_at: str = ABSENT
    """When the month ends"""


class ViewCaptureResponse(Answer):
    url: str = ABSENT
    """The address that was archived"""
    captured_at: str = ABSENT
    """When it was captured"""
    view_url: str = ABSENT
    """The path that shows it"""
    expires_at: str = ABSENT
    """Until when"""


class Viewport(Answer):
    width: int = ABSENT
    """Its width"""
    height: int = ABSENT
    """Its height"""


class WaitFor(Answer):
    selector: str | None = None
    """A CSS selector: until the main document has an element that matches, 15 s at most"""
    ms: int | None = None
    """Until so many milliseconds have passed since the document was parsed"""

CompanyClaimId = str
CompanyId = str
CompanyProvenance = dict[str, CompanyProvenanceValue]
CompanySourceName = str
FilingsResult = Annotated[FilingsResolveResult | FilingsSubmissionsResult | FilingsLatestResult | FilingsFactsResult | FilingsFilingResult | FilingsDocumentResult, Field(discriminator="op")]
JobItem = Annotated[FilingsJobItem | SearchJobItem | ProfilesJobItem | CompanyJobItem | FetchJobItem | CrawlJobItem, Field(discriminator="kind")]
ProfilesResult = Annotated[SuggestAnswer | DiscoverAnswer | ProfileAnswer | GraphAnswer, Field(discriminator="op")]
