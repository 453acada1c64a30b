/** Made of the API document by `npm run clients`, which writes it anew: changes are lost. */

export interface AccountKey {
  /** The first characters of the key */
  prefix: string;
  /** The name of the project */
  project: string;
  /** Words for the key */
  label: string | null;
  /** A standard key sees itself, an account admin its whole customer, an operator uses /v1/ops as well */
  role: "standard" | "account_admin" | "operator";
  /** What the key may be used for; null: everything */
  categories: ("search" | "fetch")[] | null;
  /** Requests a second; null: no limit of its own */
  rate_limit_rps: number | null;
  /** Requests a month by category */
  quotas: AccountKeyQuotas;
  /** In the customer's currency; null: no limit */
  spend_cap: string | null;
  /** Whether routes that cost money may be taken for the key */
  paid_fetches: boolean;
  /** Whether `X-Service-Debug: 1` gets a debug_url */
  debug: boolean;
  /** Whether the key works */
  status: "active" | "revoked";
  /** When it was created */
  created_at: string;
  /** When it was revoked; null: it was not */
  revoked_at: string | null;
  /** When it stops working; null: never */
  expires_at: string | null;
}

export interface AccountKeyCreated {
  /** The first characters of the key */
  prefix: string;
  /** The name of the project */
  project: string;
  /** Words for the key */
  label: string | null;
  /** A standard key sees itself, an account admin its whole customer, an operator uses /v1/ops as well */
  role: "standard" | "account_admin" | "operator";
  /** What the key may be used for; null: everything */
  categories: ("search" | "fetch")[] | null;
  /** Requests a second; null: no limit of its own */
  rate_limit_rps: number | null;
  /** Requests a month by category */
  quotas: AccountKeyQuotas;
  /** In the customer's currency; null: no limit */
  spend_cap: string | null;
  /** Whether routes that cost money may be taken for the key */
  paid_fetches: boolean;
  /** Whether `X-Service-Debug: 1` gets a debug_url */
  debug: boolean;
  /** Whether the key works */
  status: "active" | "revoked";
  /** When it was created */
  created_at: string;
  /** When it was revoked; null: it was not */
  revoked_at: string | null;
  /** When it stops working; null: never */
  expires_at: string | null;
  /** The key; it is not shown again */
  key: string;
}

export interface AccountKeyQuotas {
  /** Searches a month; null: no limit */
  search: number | null;
  /** Fetches a month; null: no limit */
  fetch: number | null;
}

export interface AccountKeys {
  /** Oldest first */
  keys: AccountKey[];
}

export interface AccountPlan {
  /** What a succeeded request costs by billing category, in the customer's currency; null: what providers cost */
  prices: Record<string, string> | null;
  /** What all projects together may spend in the month; null: no limit */
  budget: string | null;
  /** What is left; null: no limit, or an external customer */
  remaining: string | null;
  /** What counts against limits of spend: what the customer is charged, where it has prices; else what providers cost */
  basis: "charge" | "provider_cost";
  /** The limits of each project */
  projects: AccountPlanProject[];
}

export interface AccountPlanProject {
  /** The name of the project */
  name: string;
  /** Requests a second */
  rate_limit_rps: number;
  /** What it may spend in the month; null: no limit */
  budget: string | null;
}

export interface AccountView {
  /** The customer */
  customer: AccountViewCustomer;
  /** The name of the project */
  project: string;
  /** The month that the figures are of */
  period: AccountViewPeriod;
  /** What may be spent */
  plan: AccountPlan;
  /** The whole month, if it goes on as it has so far */
  estimate: AccountViewEstimate;
  /** By billing category */
  usage: AccountViewUsage[];
  /** By key */
  keys: AccountViewKey[];
  /** All together */
  totals: CategoryUsage;
}

export interface AccountViewCustomer {
  /** Its name */
  name: string;
  /** Whether its keys work */
  status: "active" | "suspended";
  /** ISO 4217 */
  currency: "USD" | "CHF" | "EUR";
  /** When it was created */
  created_at: string;
}

export interface AccountViewEstimate {
  /** Requests and items */
  requests: number;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: string | null;
}

export interface AccountViewKey {
  /** The first characters of the key */
  prefix: string;
  /** The name of the project */
  project: string;
  /** Requests and items */
  requests: number;
  /** Those without an error */
  succeeded: number;
  /** Bytes of all bodies */
  bytes: number;
  /** Bytes of those without an error */
  bytes_ok: number;
  /** Bytes by routes that cost money */
  paid_bytes: number;
  /** Bytes of those without an error */
  paid_bytes_ok: number;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: string | null;
  /** What the answers without an error cost */
  cost_ok_usd: string | null;
}

export interface AccountViewPeriod {
  /** The month, UTC */
  month: string;
  /** Its first moment */
  since: string;
  /** The first moment of the next */
  resets_at: string;
}

export interface AccountViewUsage {
  /** The billing category */
  category: string;
  /** Requests and items */
  requests: number;
  /** Those without an error */
  succeeded: number;
  /** Bytes of all bodies */
  bytes: number;
  /** Bytes of those without an error */
  bytes_ok: number;
  /** Bytes by routes that cost money */
  paid_bytes: number;
  /** Bytes of those without an error */
  paid_bytes_ok: number;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: string | null;
  /** What the answers without an error cost */
  cost_ok_usd: string | null;
}

export interface Action {
  /** `click`, `type` (into a field), `press` (a key), `select` (an option), `scroll` (to the end), `wait`, `screenshot`, `evaluate` (a script), `pdf` */
  type: "click" | "type" | "press" | "select" | "scroll" | "wait" | "screenshot" | "evaluate" | "pdf";
  /** click, type, select: the first visible element that matches. press: the element that gets the key (default: the focused one). scroll: the element to scroll (default: the page). wait: until an element that matches is visible */
  selector?: string;
  /** type: what the field has then */
  text?: string;
  /** type: instead of `text` the name of a secret of the session, which is typed into pages of its origin only */
  secret?: string;
  /** press: a key as in KeyboardEvent.key, with modifiers before it */
  key?: string;
  /** select: the value of the option, or its words */
  value?: string;
  /** wait: until no request has been in flight for half a second */
  idle?: true;
  /** wait: so many milliseconds */
  ms?: number;
  /** scroll: the most turns of the wheel, each of 0.8 windows. It ends before where the page does not grow any more */
  max_scrolls?: number;
  /** screenshot: from top to bottom, instead of the window */
  full_page?: boolean;
  /** evaluate: an expression, or the body of an async function with `return`; its value as JSON has at most 262,144 bytes */
  script?: string;
  /** How long the step may take. Default: 5,000; scroll and pdf 30,000. All steps have 60,000 together */
  timeout_ms?: number;
  /** true: the steps after it are taken also when it fails */
  optional?: boolean;
}

export interface ActionOutcome {
  /** Its place in `actions` of the request */
  index: number;
  /** Its type */
  type: "click" | "type" | "press" | "select" | "scroll" | "wait" | "screenshot" | "evaluate" | "pdf";
  /** Whether it did what it should */
  ok: boolean;
  /** How long it took, in milliseconds, with the page that it led to */
  ms: number;
  /** Why it failed */
  error: "not_found" | "not_visible" | "covered" | "disabled" | "timeout" | "script_failed" | "too_large" | "secret_not_found" | "secret_of_another_origin" | "failed" | null;
  /** The same as a sentence for people */
  detail?: string;
  /** The address of the page after it */
  url: string | null;
  /** Of `evaluate`: its value; null where the script led the page away. Of `scroll`: how many turns, and whether the end was reached */
  value?: unknown;
  /** Of a step that failed */
  page?: FailedPage;
  /** Of the step `screenshot`, and of the window when a step failed */
  screenshot?: ActionScreenshot;
  /** Of the step `pdf` */
  pdf?: ActionPdf;
}

export interface ActionPdf {
  /** Where it is downloaded, for 30 days */
  body_url: string;
  /** SHA-256 of the exact bytes */
  sha256: string;
  /** Its size */
  bytes: number;
}

export interface ActionScreenshot {
  /** Where it is downloaded, for 30 days */
  body_url: string;
  /** SHA-256 of the exact bytes */
  sha256: string;
  /** Its format */
  content_type: string;
  /** In pixels */
  width: number;
  /** In pixels */
  height: number;
}

export interface AlertBody {
  /** A public https address */
  url: string;
  /** Whose allowances it is about; `status`: incidents and maintenance of the service */
  scope: "key" | "project" | "customer" | "status";
  /** With scope key: the prefix of the key; default the calling key */
  key?: string | null;
  /** With scope project: its name; default the calling key's project */
  project?: string | null;
  /** Percent of an allowance; default all. Not with scope status */
  thresholds?: (50 | 80 | 100)[];
}

export interface AlertHook {
  /** Its number */
  id: number;
  /** Where events are told, with passwords and query secrets masked; null: this node cannot read it */
  url: string | null;
  /** Whose allowances it is about; `status`: incidents and maintenance of the service */
  scope: "key" | "project" | "customer" | "status";
  /** With scope key: the prefix of the key; with scope status: of the key that made it */
  key: string | null;
  /** With scope project: its name */
  project: string | null;
  /** Percent of an allowance; none with scope status */
  thresholds: number[];
  /** When it was created */
  created_at: string;
  /** When a delivery was last tried; null: none was */
  last_delivery_at: string | null;
  /** `delivered_<code>`, `http_<code>`, `error_<class>` or `blocked_destination`; null before the first delivery */
  last_status: string | null;
}

export interface AlertHookCreated {
  /** Its number */
  id: number;
  /** Where events are told, with passwords and query secrets masked; null: this node cannot read it */
  url: string | null;
  /** Whose allowances it is about; `status`: incidents and maintenance of the service */
  scope: "key" | "project" | "customer" | "status";
  /** With scope key: the prefix of the key; with scope status: of the key that made it */
  key: string | null;
  /** With scope project: its name */
  project: string | null;
  /** Percent of an allowance; none with scope status */
  thresholds: number[];
  /** When it was created */
  created_at: string;
  /** When a delivery was last tried; null: none was */
  last_delivery_at: string | null;
  /** `delivered_<code>`, `http_<code>`, `error_<class>` or `blocked_destination`; null before the first delivery */
  last_status: string | null;
  /** Signs deliveries; it is not shown again */
  secret: string;
}

export interface AppendArchiveImportQuery {
  /** Where the bytes stand in the file */
  offset: number;
}

export interface ArchiveImport {
  /** The id of the import: the same for the same file */
  id: string;
  /** The name that the client gave */
  name: string;
  /** Whether it serves every project */
  shared: boolean;
  /** `uploading` until every byte has arrived, then `importing`; at the end `done`, or `failed` with a `problem` */
  state: "uploading" | "importing" | "done" | "failed";
  /** Why the import has failed; captures that were read before stay */
  problem: string | null;
  /** Bytes of the file */
  bytes: number;
  /** Bytes that have arrived: where the upload goes on */
  received_bytes: number;
  /** Of the file */
  sha256: string;
  /** Records that were read */
  records: number;
  /** Captures that the import has brought */
  captures: number;
  /** Captures that another file of the same owner has brought before */
  known: number;
  /** Pages that were put into the search index */
  indexed: number;
  /** Records that bring no capture, by kind: their type (`warcinfo`, `metadata`, `conversion`, `request` …), `not_http`, `too_large`, `revisit_without_original`, `revisit_not_modified` */
  skipped: Record<string, number>;
  /** What could not be read, or only in part: `broken_gzip`, `gzip_checksum`, `bad_record`, `wrong_length`, `truncated_record`, `no_http_response`, `broken_coding`, `digest_mismatch`, `broken_zip_entry` */
  bad: Record<string, number>;
  /** When the upload began */
  created_at: string;
  /** When the file was read */
  ended_at: string | null;
}

export interface ArticleMeta {
  /** Several are separated by `; ` */
  author: string | null;
  /** ISO 8601: with a time in UTC or without a zone, or only a date, a month or a year */
  published_at: string | null;
  /** In the same forms */
  modified_at: string | null;
  /** BCP 47 */
  language: string | null;
  /** The page's own address */
  canonical_url: string | null;
  /** The publisher */
  publisher: string | null;
  /** The name of the site */
  site_name: string | null;
  /** The page's description of itself */
  description: string | null;
  /** The section of the site */
  section: string | null;
  /** Words of the text */
  word_count: number | null;
  /** The page that follows in a series, by `rel=next`; only if `links` were requested */
  next_url?: string | null;
  /** The same content in other languages or forms, 200 at most; only if `links` were requested */
  alternates?: PageAlternate[];
  /** What its robots elements ask, in the form of X-Robots-Tag, 20 at most; only if `links` were requested */
  robots?: string[];
}

export interface Attempt {
  /** A route, `source`, or a step before: robots, dns, cache, request_timeout, politeness */
  tier: string;
  /** The origin's status; null: no answer */
  status: number | null;
  /** `ok`, or why it was not good enough */
  reason: AttemptReasonName | (string & {});
  /** How long it took, in milliseconds */
  ms: number;
  /** More about the reason */
  detail: string | null;
}

export type AttemptReasonName = "ok" | "not_modified" | "thin_content" | "not_configured" | "no_room" | "invalid_url" | "blocked_destination" | "robots_disallowed" | "too_large" | "pdf_not_accepted" | "unreadable_document" | "selector_not_found" | "screenshot_failed" | "action_failed" | "all_tiers_failed" | "domain_unavailable" | "domain_dead" | "timeout" | "no_tier_allowed" | "politeness_timeout" | "domain_busy" | "premium_route_required" | "budget_exhausted" | "session_not_found" | "post_not_repeated" | "filings_not_configured" | "rate_limited" | "filings_unavailable" | "redirect_not_allowed";

export interface BatchCompaniesBody {
  /** The items of the job */
  items: CompanyBatchItem[];
  /** What is done with each item; default get */
  action?: "get" | "refresh" | "resolve" | null;
  /** With get and refresh: further parts of the record */
  include?: ("people" | "ownership" | "filings" | "financials" | "events")[] | null;
  /** Seconds; older data is fetched again first */
  max_age?: number | null;
  /** Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it. */
  idempotency_key: string;
  /** Where the job's end is told; null: nowhere */
  callback_url?: string | null;
  /** The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own */
  max_cost_usd?: number | null;
}

export interface BatchCompaniesFromCsvBody {
  /** The CSV file */
  file: string;
}

export interface BatchCompaniesFromCsvQuery {
  /** Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it. */
  idempotency_key?: string;
  /** What is done with each item; default get */
  action?: "get" | "refresh" | "resolve" | null;
  /** With get and refresh: further parts of the record, with commas between */
  include?: string | null;
  /** Seconds; older data is fetched again first */
  max_age?: number | null;
  /** Where the job's end is told; null: nowhere */
  callback_url?: string | null;
}

export interface BatchCompletedEvent {
  /** The same in every attempt, also `webhook-id` in the header */
  id: string;
  /** The id of the job */
  job_id: string;
  /** How the job ended */
  status: "completed" | "cancelled";
  /** Its items by status */
  counts: JobCounts;
  /** When the last item finished */
  finished_at: string;
  /** The job */
  job_url: string;
  /** The kind of event: the last one of a batch */
  type: "batch.completed";
}

export interface BatchFetchBody {
  /** The items of the job */
  items: FetchBody[];
  /** Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it. */
  idempotency_key: string;
  /** Where the job's end is told; null: nowhere */
  callback_url?: string | null;
  /** The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own */
  max_cost_usd?: number | null;
  /** Where each page and the end of the job are told, signed, one event after the other in the order of items; null: nowhere */
  webhook?: JobWebhookBody | null;
}

export interface BatchFilingsBody {
  /** The items of the job */
  items: FilingsItem[];
  /** Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it. */
  idempotency_key: string;
  /** Where the job's end is told; null: nowhere */
  callback_url?: string | null;
  /** The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own */
  max_cost_usd?: number | null;
}

export interface BatchPageEvent {
  /** The same in every attempt, also `webhook-id` in the header */
  id: string;
  /** The id of the job */
  job_id: string;
  /** The number of its item in the job */
  index: number;
  /** The page */
  url: string;
  /** The kind of event */
  type: "batch.page";
  /** Why there is no page; null: there is one */
  error: FetchJobItemErrorName | (string & {}) | null;
  /** The address after redirects */
  final_url: string | null;
  /** The HTTP status of the site's answer */
  status: number | null;
  /** The title of the page */
  title: string | null;
  /** What the body is */
  content_type: string | null;
  /** Of the body: `/v1/bodies/{sha256}` has it */
  sha256: string | null;
  /** When the site answered */
  retrieved_at: string | null;
  /** The item with its whole result */
  item_url: string;
}

export interface BatchProfilesBody {
  /** The items of the job */
  items: ProfilesItem[];
  /** Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it. */
  idempotency_key: string;
  /** Where the job's end is told; null: nowhere */
  callback_url?: string | null;
  /** The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own */
  max_cost_usd?: number | null;
}

export interface BatchSearchBody {
  /** The items of the job */
  items: SearchItem[];
  /** Scoped to the project: the same key, kind and number of items is the same job. May be left out when the header Idempotency-Key has it. */
  idempotency_key: string;
  /** Where the job's end is told; null: nowhere */
  callback_url?: string | null;
  /** The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own */
  max_cost_usd?: number | null;
}

export type CallbackOutcome = "blocked_destination" | "error_interrupted" | "error_secret_unreadable";

export interface CategoryUsage {
  /** Requests and items */
  requests: number;
  /** Those without an error */
  succeeded: number;
  /** Bytes of all bodies */
  bytes: number;
  /** Bytes of those without an error */
  bytes_ok: number;
  /** Bytes by routes that cost money */
  paid_bytes: number;
  /** Bytes of those without an error */
  paid_bytes_ok: number;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: string | null;
  /** What the answers without an error cost */
  cost_ok_usd: string | null;
}

export interface ChangeKeyQuery {
  /** Do it although no other account admin key of the account works */
  last_admin?: boolean;
}

export interface CompanyActivity {
  /** The classification */
  scheme: "isic4" | "nace2" | "nace21" | "noga2008" | "wz2008" | "naf2" | "uksic2007" | "sic_us" | "naics" | "other";
  /** Its code */
  code: string;
  /** In words */
  label?: string | null;
  /** Whether it is the main activity */
  primary: boolean;
}

export interface CompanyAddress {
  /** What the address is for */
  type: "registered" | "headquarters" | "business" | "service" | "mailing" | "alternative";
  /** To whom it is sent */
  care_of?: string | null;
  /** Its lines, without postal code and city */
  lines?: string[];
  /** The street */
  street?: string | null;
  /** The number */
  house_number?: string | null;
  /** The post office box */
  po_box?: string | null;
  /** The postal code */
  postal_code?: string | null;
  /** The town */
  city?: string | null;
  /** ISO 3166-2 */
  region?: string | null;
  /** ISO 3166-1 alpha-2 */
  country?: string | null;
  /** BCP 47 */
  language?: string | null;
  /** In one line */
  formatted: string;
  /** Where it lies */
  geo?: CompanyAddressGeo | null;
  /** Whether it holds now */
  current: boolean;
  /** Since when it holds */
  valid_from?: string | null;
  /** Until when it held; null: it holds, or that is not known */
  valid_to?: string | null;
}

export interface CompanyAddressGeo {
  /** Latitude, WGS 84 */
  lat: number;
  /** Longitude, WGS 84 */
  lon: number;
}

export interface CompanyBaseline {
  /** Whose file it was */
  source: string;
  /** The kind of the file */
  kind: string;
  /** Rows of the file that the register has */
  rows: number;
  /** When the source published the file */
  published_at: string;
  /** When it came into the register */
  changed_at: string;
}

export interface CompanyBaselineItem {
  /** The company */
  company_id: string;
  /** Its legal name; null: not known */
  name: string | null;
  /** ISO 3166-1 alpha-2; null: not known */
  country: string | null;
  /** Whether it exists and trades */
  status: string;
  /** Its numbers now, `scheme:value` */
  identifiers: string[];
}

export interface CompanyBatchItem {
  /** cmp_ id or scheme:value */
  ref?: string | null;
  /** With resolve: the name */
  name?: string | null;
  /** ISO 3166-1 alpha-2 */
  country?: string | null;
  /** The town */
  city?: string | null;
  /** The postcode of the company's registered address */
  postcode?: string | null;
  /** Whether sources are asked by the name; default: only where the register has nothing near */
  live?: boolean | null;
  /** Identifiers, each as scheme:value */
  identifiers?: string[] | null;
  /** With resolve: the most candidates */
  limit?: number | null;
  /** Only these sources; default all */
  sources?: string[] | null;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
}

export interface CompanyCapital {
  /** What kind of capital */
  type: "share" | "nominal" | "authorised" | "issued" | "paid_up" | "liability" | "other";
  /** decimal as text */
  amount: string;
  /** ISO 4217 */
  currency: string;
  /** The day that the figure is of */
  as_of?: string | null;
  /** The classes of shares */
  shares?: CompanyCapitalSharesItem[];
}

export interface CompanyCapitalSharesItem {
  /** The class */
  class?: string | null;
  /** How many */
  count?: number | null;
  /** The nominal value of one, decimal */
  nominal?: string | null;
}

export interface CompanyChange {
  /** The id of the change */
  id: string;
  /** The id of a company */
  company_id: CompanyId;
  /** What happened to the record */
  type: "created" | "updated" | "merged" | "split" | "deleted";
  /** Top-level fields that changed */
  fields: string[];
  /** With merged: the company that remains */
  merged_into?: CompanyId | null;
  /** The version of the record */
  version: number;
  /** When it changed */
  changed_at: string;
}

export interface CompanyChangedEvent {
  /** The id of the event, the same in every attempt */
  id: string;
  /** The kind of event */
  type: "company.changed";
  /** When the company changed */
  created_at: string;
  /** The id of a watch */
  watch_id: string;
  /** The id of a company */
  company_id: string;
  /** Top-level fields that changed */
  fields: string[];
  /** For GET /v1/companies/changes: what changed after this */
  change_cursor: string;
  /** The record */
  record_url: string;
}

export interface CompanyClaim {
  /** The id of the claim */
  id: CompanyClaimId;
  /** The id of a company */
  company_id: CompanyId;
  /** field path, e.g. names.legal */
  field: string;
  /** Which entry of a list it is */
  key?: string | null;
  /** The value as the record has it */
  value: unknown;
  /** as the source states it */
  raw_value?: unknown;
  /** BCP 47 */
  language?: string | null;
  /** The source that says so */
  source: CompanySourceName;
  /** The source's own id of the company */
  native_id?: string | null;
  /** SHA-256 of the source's document */
  raw_sha256: string;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url?: string | null;
  /** When the source first said so */
  observed_at: string;
  /** When it last said so */
  confirmed: string;
  /** Since when it holds, as the source says */
  effective_from?: string | null;
  /** When the source no longer said so; null: it does */
  valid_to: string | null;
  /** Whether it holds now */
  current: boolean;
  /** Whether it may stand in the record */
  accepted?: boolean;
  /** Why not; null: it may */
  rejected_because?: string | null;
}

export type CompanyClaimId = string;

export interface CompanyConflict {
  /** The field */
  field: string;
  /** What the sources say */
  values: CompanyConflictValuesItem[];
  /** Why one value was chosen */
  resolved_by: "precedence" | "recency" | "agreement" | "specificity" | "manual";
}

export interface CompanyConflictValuesItem {
  /** The value */
  value: unknown;
  /** The source that says so */
  source: CompanySourceName;
  /** The claim behind it */
  claim: CompanyClaimId;
  /** When the source last said so */
  confirmed?: string;
  /** Whether it is the record's */
  chosen: boolean;
}

export interface CompanyDates {
  /** When it was founded */
  incorporation?: string | null;
  /** When it was entered in its register */
  registration?: string | null;
  /** When it was struck off */
  deregistration?: string | null;
}

export interface CompanyEvent {
  /** The id of the event */
  id: string;
  /** What happened */
  type: "registration" | "name_change" | "address_change" | "seat_change" | "legal_form_change" | "purpose_change" | "capital_change" | "articles_change" | "management_change" | "auditor_change" | "ownership_change" | "merger" | "acquisition" | "spin_off" | "liquidation" | "insolvency" | "deregistration" | "reinstatement" | "identifier_change" | "filing" | "other";
  /** YYYY, YYYY-MM or YYYY-MM-DD */
  date: string;
  /** When it was made public */
  published_on?: string | null;
  /** Its title */
  title?: string | null;
  /** The publication's text */
  text?: string | null;
  /** BCP 47 */
  language?: string | null;
  /** The publication */
  url?: string | null;
  /** Where it was made public */
  publication?: CompanyEventPublication | null;
  /** The source that says so */
  source: CompanySourceName;
  /** The claim behind it */
  claim?: CompanyClaimId;
}

export interface CompanyEventPublication {
  /** SHAB/SOGC, Bundesanzeiger, Gazette ... */
  journal: string;
  /** Its id there */
  id?: string | null;
  /** Its number */
  number?: string | null;
}

export type CompanyFieldGroup = "core" | "identifiers" | "people" | "ownership" | "relationships" | "filings" | "financials" | "events" | "securities" | "web";

export interface CompanyFiling {
  /** The id of the filing */
  id: string;
  /** The source that says so */
  source: CompanySourceName;
  /** form or filing category */
  type: string;
  /** Its title */
  title?: string | null;
  /** YYYY, YYYY-MM or YYYY-MM-DD */
  date: string;
  /** The end of the period it reports on */
  period_end?: string | null;
  /** BCP 47 */
  language?: string | null;
  /** Its address */
  url?: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url?: string | null;
  /** Its number in the filing system */
  accession?: string | null;
  /** Whether it amends another */
  amendment: boolean;
}

export interface CompanyFinancials {
  /** The beginning of the period */
  period_start?: string | null;
  /** YYYY, YYYY-MM or YYYY-MM-DD */
  period_end: string;
  /** The fiscal year */
  fiscal_year?: number | null;
  /** A year, or a part of one */
  kind: "annual" | "interim";
  /** Whether the group is consolidated */
  consolidated?: boolean | null;
  /** The accounting standard */
  standard?: string | null;
  /** ISO 4217 */
  currency?: string | null;
  /** The figures */
  items: CompanyFinancialsItemsItem[];
  /** The filing they are from */
  filing_id?: string | null;
  /** The source that says so */
  source: CompanySourceName;
}

export interface CompanyFinancialsItemsItem {
  /** us-gaap:/ifrs-full: or local */
  concept: string;
  /** In words */
  label?: string | null;
  /** decimal as text */
  value: string;
  /** Its unit */
  unit: string;
}

export interface CompanyFreshness {
  /** The source that says so */
  source: CompanySourceName;
  /** The part of a record that is fetched and kept fresh on its own */
  group: CompanyFieldGroup;
  /** name of the freshness class */
  class: string;
  /** How long it is fresh, in seconds */
  max_age_s: number;
  /** When it was fetched */
  retrieved_at?: string;
  /** When the source last said so */
  confirmed_at: string;
  /** Until when it is fresh */
  expires_at?: string;
  /** Whether that is over */
  stale: boolean;
}

export type CompanyId = string;

export interface CompanyIdentifier {
  /** code of x-identifier-schemes */
  scheme: string;
  /** canonical form */
  value: string;
  /** As people write it */
  display?: string;
  /** What it identifies */
  kind: "registration" | "lei" | "tax" | "vat" | "filer" | "security" | "listing" | "open" | "vendor";
  /** ISO 3166-1 alpha-2 */
  country?: string | null;
  /** Whether it is in use */
  status: "active" | "inactive" | "unknown";
  /** Whether its check digits hold; null where the scheme has none */
  valid?: boolean | null;
  /** Who gave it out */
  issuer?: CompanyIdentifierIssuer | null;
  /** Since when it holds */
  valid_from?: string | null;
  /** Until when it held; null: it holds, or that is not known */
  valid_to?: string | null;
}

export interface CompanyIdentifierIssuer {
  /** Its name */
  name?: string | null;
  /** GLEIF registration authority code */
  ra_code?: string | null;
  /** org-id.guide list code */
  org_id?: string | null;
}

export interface CompanyInterest {
  /** The kind of interest */
  type: "shareholding" | "votingRights" | "appointmentOfBoard" | "otherInfluenceOrControl" | "seniorManagingOfficial" | "settlor" | "trustee" | "protector" | "beneficiaryOfLegalArrangement" | "rightsToSurplusAssetsOnDissolution" | "rightsToProfitOrIncome" | "rightsGrantedByContract" | "conditionalRightsGrantedByContract" | "controlViaCompanyRulesOrArticles" | "controlByLegalFramework" | "boardMember" | "boardChair" | "unknownInterest" | "unpublishedInterest" | "enjoymentAndUseOfAssets" | "rightToProfitOrIncomeFromAssets" | "nominee" | "nominator";
  /** Held directly or through others */
  direct_or_indirect: "direct" | "indirect" | "unknown";
  /** Whether it is a beneficial interest; null: the source does not say */
  beneficial?: boolean | null;
  /** How large it is, in percent */
  share?: CompanyInterestShare | null;
  /** Since when */
  start_date?: string | null;
  /** Until when */
  end_date?: string | null;
  /** The source's words */
  details?: string | null;
}

export interface CompanyInterestShare {
  /** Exactly so many percent */
  exact?: number | null;
  /** At least */
  minimum?: number | null;
  /** At most */
  maximum?: number | null;
  /** More than */
  exclusive_minimum?: number | null;
  /** Less than */
  exclusive_maximum?: number | null;
}

export interface CompanyJobItem {
  /** Its place among the submitted items, from 0 */
  index: number;
  /** What the items of the job are */
  kind: "company";
  /** What has become of it */
  status: "pending" | "queued" | "done" | "failed" | "cancelled";
  /** As it was submitted, without defaults and unknown fields */
  input: CompanyJobItemInput;
  /** The answer of the single endpoint; null while unfinished or unavailable */
  result: CompanyJobRecord | CompanyResolveAnswer | null;
  /** The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now */
  error: CompanyJobItemErrorName | null;
}

export type CompanyJobItemErrorName = "not_found" | "source_unavailable" | "cancelled" | "result_unavailable" | "internal_error" | "key_quota_exhausted" | "key_budget_exhausted";

export interface CompanyJobItemInput {
  /** cmp_ id or scheme:value */
  ref?: string | null;
  /** With resolve: the name */
  name?: string | null;
  /** ISO 3166-1 alpha-2 */
  country?: string | null;
  /** The town */
  city?: string | null;
  /** The postcode of the company's registered address */
  postcode?: string | null;
  /** Whether sources are asked by the name; default: only where the register has nothing near */
  live?: boolean | null;
  /** Identifiers, each as scheme:value */
  identifiers?: string[] | null;
  /** With resolve: the most candidates */
  limit?: number | null;
  /** Only these sources; default all */
  sources?: string[] | null;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** What is done with each item; default get */
  action?: "get" | "refresh" | "resolve" | null;
  /** With get and refresh: further parts of the record */
  include?: ("people" | "ownership" | "filings" | "financials" | "events")[] | null;
  /** Seconds; older data is fetched again first */
  max_age?: number | null;
}

export interface CompanyJobRecord {
  /** The record; null: no source knows the company */
  record: CompanyRecord | null;
}

export interface CompanyLegalForm {
  /** ISO 20275 ELF code */
  elf?: string | null;
  /** The register's own code */
  local?: CompanyLegalFormLocal | null;
  /** In words */
  label?: string | null;
  /** Its abbreviation */
  abbreviation?: string | null;
  /** What kind of form it is */
  category: "public_limited" | "private_limited" | "general_partnership" | "limited_partnership" | "cooperative" | "foundation" | "association" | "sole_proprietor" | "branch" | "fund" | "trust" | "government" | "european_company" | "other" | "unknown";
}

export interface CompanyLegalFormLocal {
  /** Whose code it is */
  scheme: string;
  /** The code */
  code: string;
}

export interface CompanyLiveSource {
  /** The name of the source */
  source: string;
  /** How it answered. `no_slot`: it was not asked in time, as other requests had all its slots; the same request may find more later */
  result: "ok" | "timeout" | "failed" | "no_slot";
  /** Companies that it found */
  hits: number;
  /** How long it took, in milliseconds */
  ms: number;
}

export interface CompanyMoney {
  /** decimal as text */
  amount: string;
  /** ISO 4217 */
  currency: string;
}

export interface CompanyName {
  /** The name */
  name: string;
  /** BCP 47 */
  language?: string | null;
  /** What kind of name it is */
  type: "trading" | "translation" | "transliteration" | "alternative" | "short" | "former";
  /** Since when it holds */
  valid_from?: string | null;
  /** Until when it held; null: it holds, or that is not known */
  valid_to?: string | null;
}

export interface CompanyNames {
  /** current legal name */
  legal: string;
  /** BCP 47 */
  language?: string | null;
  /** In Latin script; null where the name is */
  transliterated?: string | null;
  /** Other names, each with its kind */
  trading: CompanyName[];
  /** Other names, each with its kind */
  translations: CompanyName[];
  /** Earlier names */
  former: CompanyName[];
  /** Other names, each with its kind */
  other: CompanyName[];
}

export interface CompanyOwnership {
  /** Who has an interest in the company */
  interested_parties: CompanyOwnershipInterestedPartiesItem[];
  /** The company that consolidates it directly */
  direct_parent?: CompanyParty | null;
  /** The company at the top */
  ultimate_parent?: CompanyParty | null;
  /** Why a parent is not reported */
  exceptions?: CompanyOwnershipExceptionsItem[];
}

export interface CompanyOwnershipExceptionsItem {
  /** GLEIF: DIRECT_/ULTIMATE_ACCOUNTING_CONSOLIDATION_PARENT */
  category: string;
  /** Why */
  reason: string;
  /** What the reason refers to */
  reference?: string | null;
}

export interface CompanyOwnershipInterestedPartiesItem {
  /** Who */
  party: CompanyParty;
  /** What the interests are */
  interests: CompanyInterest[];
  /** Whether it holds now */
  current: boolean;
  /** The claim behind it */
  claim?: CompanyClaimId;
}

export interface CompanyParty {
  /** What it is */
  kind: "entity" | "person" | "arrangement" | "anonymous" | "unknown";
  /** Its name */
  name?: string | null;
  /** The id of a company */
  company_id?: CompanyId | null;
  /** How to ask for it, scheme:value */
  ref?: string | null;
  /** Its identifiers */
  identifiers?: CompanyIdentifier[];
  /** ISO 3166-1 alpha-2 */
  country?: string | null;
  /** Why it is not named */
  unspecified_reason?: string | null;
}

export interface CompanyPerson {
  /** The id of the person in this company */
  id: string;
  /** Who it is */
  party: CompanyParty;
  /** Given names */
  given_name?: string | null;
  /** Family name */
  family_name?: string | null;
  /** Title */
  title?: string | null;
  /** What the person does in the company */
  role: CompanyPersonRole;
  /** Whether and how the person signs for it */
  signature?: CompanyPersonSignature | null;
  /** Since when */
  appointed_on?: string | null;
  /** Until when */
  resigned_on?: string | null;
  /** Year and month of birth, as far as the register shows them */
  birth?: CompanyPersonBirth | null;
  /** ISO 3166-1 alpha-2 */
  nationalities?: string[];
  /** Where the person lives, as far as the register shows it */
  residence?: CompanyPersonResidence | null;
  /** Whether it holds now */
  current: boolean;
  /** The claim behind it */
  claim?: CompanyClaimId;
}

export interface CompanyPersonBirth {
  /** Year */
  year?: number | null;
  /** Month, 1 to 12 */
  month?: number | null;
}

export interface CompanyPersonResidence {
  /** The town */
  city?: string | null;
  /** ISO 3166-1 alpha-2 */
  country?: string | null;
}

export interface CompanyPersonRole {
  /** The kind of role */
  group: "management" | "board" | "supervisory" | "signatory" | "secretary" | "auditor" | "liquidator" | "representative" | "partner" | "founder" | "other";
  /** as the source states it */
  label: string;
  /** The register's code */
  code?: string | null;
}

export interface CompanyPersonSignature {
  /** Alone or with others */
  type: "sole" | "joint_two" | "joint" | "restricted" | "none" | "unknown";
  /** In the register's words */
  label?: string | null;
}

/** field path -> claim behind the resolved value */
export type CompanyProvenance = Record<string, CompanyProvenanceValue>;

export interface CompanyProvenanceValue {
  /** The claim behind it */
  claim: CompanyClaimId;
  /** The source that says so */
  source: CompanySourceName;
  /** When the source first said so */
  observed_at: string;
  /** When it last said so */
  confirmed: string;
}

export interface CompanyQuality {
  /** The share of the expected fields that have a value, 0 to 1 */
  completeness: number;
  /** Fields on which sources disagree */
  conflicts: CompanyConflict[];
  /** What to be careful about */
  warnings?: string[];
}

export interface CompanyQuantity {
  /** The number; null where only a band is known */
  value?: number | null;
  /** The least of the band */
  minimum?: number | null;
  /** The most of the band */
  maximum?: number | null;
  /** The day that the figure is of */
  as_of?: string | null;
  /** What was counted */
  basis?: "headcount" | "fte" | "estimate" | "band" | null;
}

export interface CompanyRecord {
  /** The version of this shape */
  schema_version: "company/v1";
  /** The id of a company */
  id: CompanyId;
  /** Numbers and codes of registers, tax offices and exchanges */
  identifiers: CompanyIdentifier[];
  /** Its names */
  names: CompanyNames;
  /** Its legal form; null where no source says */
  legal_form?: CompanyLegalForm | null;
  /** Whether it exists and trades */
  status: "active" | "liquidation" | "insolvency" | "dissolved" | "merged" | "dormant" | "suspended" | "unknown";
  /** The law it exists under */
  jurisdiction?: string | null;
  /** Where it is */
  addresses: CompanyAddress[];
  /** When it was founded and registered */
  dates: CompanyDates;
  /** language -> text */
  purpose: Record<string, string>;
  /** What it does, by classifications */
  activities: CompanyActivity[];
  /** Its capital */
  capital?: CompanyCapital[];
  /** Employees, revenue, balance; null where no source says */
  size?: CompanySize | null;
  /** Its persons, only with include=people */
  people?: CompanyPerson[];
  /** Who owns it, only with include=ownership */
  ownership?: CompanyOwnership;
  /** Companies related to it */
  relationships: CompanyRelationship[];
  /** Its filings, only with include=filings */
  filings?: CompanyFiling[];
  /** Its figures, only with include=financials */
  financials?: CompanyFinancials[];
  /** What happened to it, only with include=events */
  events?: CompanyEvent[];
  /** Its securities */
  securities: CompanySecurity[];
  /** Its website; null where no source says */
  web?: CompanyWeb | null;
  /** The raw documents behind the record */
  sources: CompanySourceDocument[];
  /** How old the data of each source is */
  freshness: CompanyFreshness[];
  /** How complete it is, and where sources disagree */
  quality: CompanyQuality;
  /** The claim behind each value, by the path of the field */
  provenance: CompanyProvenance;
  /** What the sources said, only with include=claims */
  claims?: CompanyClaim[];
  /** The id that was asked for, when it was merged into this company */
  redirected_from?: string | null;
  /** When the record last changed */
  updated_at: string;
  /** What became of each source that was asked for this answer */
  refresh: CompanyRefresh[];
}

export interface CompanyRefresh {
  /** The source that says so */
  source: CompanySourceName;
  /** The part of a record that is fetched and kept fresh on its own */
  group: CompanyFieldGroup;
  /** Fetched, still fresh, or failed */
  result: "refreshed" | "fresh" | "failed";
  /** Why it failed; null: it did not */
  error?: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s?: number | null;
  /** When the source last said so */
  confirmed_at?: string | null;
}

export interface CompanyRelationship {
  /** What kind of relationship */
  type: "is_directly_consolidated_by" | "is_ultimately_consolidated_by" | "is_international_branch_of" | "is_fund_managed_by" | "is_subfund_of" | "is_feeder_to" | "branch_of" | "head_office_of" | "took_over" | "taken_over_by" | "merged_into" | "merger" | "acquisition" | "control" | "successor_of" | "predecessor_of" | "audited_by" | "related";
  /** out: from this company to the other */
  direction: "out" | "in";
  /** The other company */
  party: CompanyParty;
  /** The source's status */
  status?: "ACTIVE" | "INACTIVE" | null;
  /** When it held */
  periods?: CompanyRelationshipPeriodsItem[];
  /** How the source checked it */
  corroboration?: string | null;
  /** Whether it holds now */
  current: boolean;
  /** The claim behind it */
  claim?: CompanyClaimId;
}

export interface CompanyRelationshipPeriodsItem {
  /** GLEIF: RELATIONSHIP_PERIOD, ACCOUNTING_PERIOD, DOCUMENT_FILING_PERIOD */
  type: string;
  /** Its beginning */
  start?: string | null;
  /** Its end */
  end?: string | null;
}

export interface CompanyResolveAnswer {
  /** The company that is meant; null: none is certain */
  match: CompanySummary | null;
  /** Why there is no match; null: there is one */
  reason: "below_threshold" | "ambiguous" | "no_candidates" | null;
  /** Best first */
  candidates: CompanySummary[];
  /** Why each candidate has its score, in the order of `candidates` */
  explanations: CompanyScoreExplanation[];
  /** What the sources answered that were asked by the name; empty: none was asked */
  live_sources: CompanyLiveSource[];
}

export interface CompanyResolveBody {
  /** The name of the company */
  name?: string | null;
  /** ISO 3166-1 alpha-2 */
  country?: string | null;
  /** The town */
  city?: string | null;
  /** The postcode of the company's registered address */
  postcode?: string | null;
  /** Identifiers, each as scheme:value */
  identifiers?: string[] | null;
  /** Default: 5 */
  limit?: number | null;
  /** Whether sources are asked by the name; default: only where the register has nothing near */
  live?: boolean | null;
}

export interface CompanyReviewDecided {
  /** Decisions that were stored */
  decided: number;
}

export interface CompanyReviewDecision {
  /** The item of the job */
  index: number;
  /** The company that is meant: its id, or `scheme:value`. Null: none of the candidates */
  company: string | null;
}

export interface CompanyReviewItem {
  /** The item of the job */
  index: number;
  /** The name that was asked for */
  name: string;
  /** The country that was asked for */
  country: string | null;
  /** The city that was asked for */
  city: string | null;
  /** Why there is no match */
  reason: "below_threshold" | "ambiguous" | "no_candidates" | null;
  /** Best first */
  candidates: CompanySummary[];
  /** Why each candidate has its score, in the order of `candidates` */
  explanations: CompanyScoreExplanation[];
}

export interface CompanyReviewPage {
  /** In the order that they were submitted */
  items: CompanyReviewItem[];
  /** `from` of the next page; null: the list ends here */
  next_from: number | null;
}

export interface CompanyScoreExplanation {
  /** The candidate: its id, or its `ref` if it is not in the register */
  candidate: string;
  /** The score, 0 to 1, not rounded */
  score: number;
  /** How alike the names are, before anything else counts */
  base: number;
  /** What speaks for and against the candidate: the effects add up, with `base`, to `score`. Words add nothing of their own, as they are in `base`; `limit` cuts the score at 0 and 1 */
  parts: CompanyScorePart[];
  /** The name, or the identifier, of the candidate that fits best */
  matched_on: CompanyScoreExplanationMatchedOn;
  /** From this score on a candidate can be the match */
  threshold: number;
  /** How far it is ahead of the next candidate, before scores are cut at 1; a match needs 0.08. Null: there is no other */
  lead: number | null;
}

export interface CompanyScoreExplanationMatchedOn {
  /** The field of the record */
  field: string;
  /** Its value */
  value: string;
}

export interface CompanyScorePart {
  /** What was compared */
  kind: "word" | "form" | "number" | "city" | "country" | "identifier" | "status" | "limit";
  /** What the caller names */
  query: string | null;
  /** What the candidate has */
  candidate: string | null;
  /** Of two words, 0 to 1 */
  similarity: number | null;
  /** What it adds to the score */
  effect: number;
}

export interface CompanySearchAnswer {
  /** Best first */
  results: CompanySummary[];
  /** For the next page; null: there is none */
  next_cursor: string | null;
  /** With live: what the sources answered */
  live_sources: CompanyLiveSource[];
}

export interface CompanySecurity {
  /** ISIN */
  isin?: string | null;
  /** FIGI */
  figi?: string | null;
  /** WKN */
  wkn?: string | null;
  /** Its symbol on the exchange */
  ticker?: string | null;
  /** ISO 10383 code of the market segment */
  mic?: string | null;
  /** ISO 10383 code of the exchange */
  operating_mic?: string | null;
  /** The exchange */
  exchange?: string | null;
  /** The name of the security */
  name?: string | null;
  /** What kind of security */
  type?: "equity" | "depositary_receipt" | "debt" | "fund" | "warrant" | "other" | null;
  /** ISO 4217 */
  currency?: string | null;
  /** Whether it is the company's main listing */
  primary?: boolean | null;
  /** Whether it is listed */
  status: "listed" | "delisted" | "unknown";
}

export interface CompanySize {
  /** People who work there */
  employees?: CompanyQuantity | null;
  /** Revenue of a year */
  revenue?: CompanyMoney | null;
  /** The balance total */
  balance_total?: CompanyMoney | null;
  /** The day that the figure is of */
  as_of?: string | null;
  /** Its size by the law */
  category?: "micro" | "small" | "medium" | "large" | null;
  /** The filing system's category */
  filer_category?: string | null;
}

export interface CompanySource {
  /** Its name */
  name: string;
  /** Its name for people */
  title: string;
  /** Whether it is asked */
  active: boolean;
  /** Why it is not; null: it is */
  inactive_because: string | null;
  /** The countries it covers, empty: all */
  countries: string[];
  /** The identifiers it is asked by and those it answers */
  schemes: CompanySourceSchemes;
  /** What it can do */
  capabilities: string[];
  /** By field group: how far it is believed and how long its data is fresh */
  groups: Record<string, CompanySourceGroupsValue>;
  /** The licence of its data */
  licence: CompanySourceLicence;
  /** Its terms of use */
  terms_url: string | null;
  /** Of the program that reads its documents */
  parser_version: string;
  /** How its last requests went */
  health: CompanySourceHealth;
}

export interface CompanySourceCanary {
  /** When the source was asked for the companies that it must know */
  at: string;
  /** What was wrong; null: nothing */
  problem: string | null;
}

export interface CompanySourceDocument {
  /** The source that says so */
  source: CompanySourceName;
  /** The part of a record that is fetched and kept fresh on its own */
  group?: CompanyFieldGroup | null;
  /** The source's own id of the company */
  native_id?: string | null;
  /** Where it was fetched */
  url: string;
  /** When it was fetched */
  retrieved_at: string;
  /** SHA-256 of the exact bytes */
  sha256: string;
  /** Bytes of the body */
  bytes?: number;
  /** The media type of the body */
  content_type?: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url?: string | null;
  /** The licence of the data */
  licence?: string | null;
  /** What the source answered */
  status: "ok" | "not_found" | "error";
}

export interface CompanySourceGroupsValue {
  /** Whose value wins: the larger number */
  precedence: number;
  /** Its freshness class */
  freshness: string;
  /** How long its data is fresh, in seconds */
  max_age_s: number;
}

export interface CompanySourceHealth {
  /** Summed up */
  state: "operational" | "degraded" | "partial" | "major";
  /** Of the last requests, 0 to 1; null: there were none */
  success_rate: number | null;
  /** How many those were */
  requests: number;
  /** When it last answered */
  last_success_at: string | null;
  /** Its last error */
  last_error: string | null;
  /** When that was */
  last_error_at: string | null;
  /** The last request for a company that the source must know; null: there was none */
  canary: CompanySourceCanary | null;
  /** Fields of its documents that are new or gone */
  drift: string[];
}

export interface CompanySourceLicence {
  /** Its SPDX name or another */
  id: string;
  /** Its text */
  url: string;
  /** What to write where the data is shown; null: nothing is asked for */
  attribution: string | null;
  /** Whether the data may be passed on, shown, or only used */
  redistribution: "open" | "display" | "internal";
}

/** source name of GET /v1/companies/sources */
export type CompanySourceName = string;

export interface CompanySourceSchemes {
  /** Schemes it can be asked by */
  lookup: string[];
  /** Schemes of its answers */
  yields: string[];
}

export interface CompanySummary {
  /** Its id; null: it is not in the register */
  id: CompanyId | null;
  /** For GET /v1/companies/{company_ref} */
  ref: string | null;
  /** Whether the register has it */
  in_register: boolean;
  /** How well it fits, 0 to 1 */
  match_score: number;
  /** What fits */
  matched_on?: CompanySummaryMatchedOn | null;
  /** Its identifiers */
  identifiers: CompanyIdentifier[];
  /** Its names */
  names: CompanySummaryNames;
  /** Its legal form */
  legal_form?: CompanyLegalForm | null;
  /** Whether it exists and trades */
  status: "active" | "liquidation" | "insolvency" | "dissolved" | "merged" | "dormant" | "suspended" | "unknown";
  /** The law it exists under */
  jurisdiction?: string | null;
  /** Where it is */
  addresses?: CompanyAddress[];
  /** When it was founded and registered */
  dates?: CompanyDates;
  /** Which sources know it */
  sources?: CompanySourceName[];
  /** When the record last changed */
  updated_at?: string | null;
}

export interface CompanySummaryMatchedOn {
  /** Which field */
  field?: string;
  /** Its value */
  value?: string;
}

export interface CompanySummaryNames {
  /** Its legal name */
  legal: string;
  /** Earlier names */
  former?: CompanyName[];
}

export interface CompanyWatch {
  /** The id of the watch */
  id: string;
  /** Where changes are delivered, passwords and query secrets masked; null: it cannot be read */
  url: string | null;
  /** Ids of companies */
  companies: string[];
  /** When it was created */
  created_at: string;
  /** When a delivery was last tried; null: none was */
  last_delivery_at: string | null;
  /** `delivered`, `http_<code>` or the class of an error; null before the first delivery */
  last_status: string | null;
  /** Signs deliveries; only in the answer that creates the watch, null later */
  secret: string | null;
}

export interface CompanyWeb {
  /** Its website */
  homepage?: string | null;
  /** Its domains */
  domains?: string[];
  /** Its mail addresses */
  emails?: string[];
  /** Its phone numbers */
  phones?: string[];
  /** Its profiles on other sites */
  profiles?: CompanyWebProfilesItem[];
}

export interface CompanyWebProfilesItem {
  /** The site */
  site: string;
  /** The profile */
  url: string;
}

export interface ContentRefusal {
  /** The address of the result */
  url: string;
  /** `timeout`: the time for all pages was over. Else the code of the refusal */
  error: ContentRefusalCode;
  /** A sentence for people */
  error_detail: string;
}

export type ContentRefusalCode = "timeout" | "key_quota_exhausted" | "key_budget_exhausted" | "key_rate_limited" | "key_category_not_allowed" | "user_agent_not_allowed" | "unavailable" | "refused";

export interface ContentsFetch {
  /** Whether a browser runs the page's scripts: when a plain request finds no text, never, or always */
  render?: "auto" | "never" | "always";
  /** The largest body that is accepted */
  max_bytes?: number;
  /** Whether PDFs are read */
  accept_pdf?: boolean;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two */
  min_text_chars?: number;
  /** Whether an archived copy may be served when the page is gone */
  allow_archive?: boolean;
  /** Whether an open copy of the same text may be served when the page is a teaser or gone */
  allow_alternates?: boolean;
  /** Whether routes that cost money may be used */
  allow_paid?: boolean;
  /** Another name of `allow_paid`: false in either of them forbids these routes */
  allow_premium?: boolean;
  /** The routes that may be used; null: all */
  tiers?: ("direct" | "browser" | "archive" | "proxy" | "proxy_render")[] | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
  /** The country of the exit on premium routes, ISO 3166-1 alpha-2 */
  country?: string | null;
  /** The User-Agent to send; the project needs permission */
  user_agent?: string | null;
  /** The Accept-Language to send */
  accept_language?: string | null;
  /** Whether the answer has `html`. Default true for a fetch, false for an item of a batch */
  include_html?: boolean | null;
  /** Further forms of the page that the answer shall have; a screenshot takes the route browser only */
  formats?: ("markdown" | "links" | "images" | "entries" | "screenshot" | "structured" | "tables" | "comments")[] | null;
  /** The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all */
  fields?: FetchField[] | null;
  /** What a browser waits for before it reads the page; takes the route browser only */
  wait_for?: WaitFor | null;
  /** How the screenshot in `formats` is taken */
  screenshot_options?: ScreenshotOptions | null;
  /** Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project */
  archive?: boolean;
  /** false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page */
  only_main_content?: boolean | null;
  /** Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one */
  include_comments?: boolean;
  /** CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not */
  include_selectors?: string[] | null;
  /** CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included */
  exclude_selectors?: string[] | null;
  /** Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there */
  extract?: ExtractOptions | null;
  /** What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page */
  block_resources?: ("image" | "font" | "media" | "stylesheet" | "ads")[] | null;
  /** `mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only */
  device?: "desktop" | "mobile";
  /** The window of the browser; takes the route browser only. Default: 1280 × 720 */
  viewport?: Viewport | null;
}

export interface CrawlBody {
  /** Where the crawl begins; or `seeds` */
  url?: string | null;
  /** Several addresses where it begins, of one or more sites, instead of `url` */
  seeds?: string[] | null;
  /** What belongs to it: addresses in the folder of a seed, on its host (with and without `www.` is one), also on the host's subdomains, or on the whole registrable domain */
  scope?: "path" | "host" | "subdomains" | "domain";
  /** Only addresses that one of these fits, the seeds aside: globs over path and query (`*` within a segment, `**` across them), or `/regular expressions/` (RE2) */
  include?: string[] | null;
  /** No address that one of these fits, in the same forms */
  exclude?: string[] | null;
  /** The most links from a seed to a page; 0: the seeds alone; null: any number */
  max_depth?: number | null;
  /** The most pages that are fetched, at most what the operator allows (100,000 unless set otherwise); the addresses beyond it are listed with the reason `over_limit` */
  limit?: number;
  /** Whether the addresses that the site's sitemaps list are pages of the crawl: `include`: beside those that pages link to; `only`: no link is followed. Each file that is read (robots.txt, the sitemaps that it names or else /sitemap.xml, those that an index lists) is an item as a page is, with `sitemap` in its `input`, and counts to `limit` */
  sitemap?: "include" | "only" | "skip";
  /** Whether addresses that differ in their query only are one page: the one that is found first is fetched */
  ignore_query?: boolean;
  /** Whether links with `rel=nofollow` are followed */
  follow_nofollow?: boolean;
  /** How its pages are fetched: the options of `POST /v1/fetch` but for `method` and `body`. `headers`, and `cookies` without a domain, go to the origin of the seeds only, which must be one. Unlike there, archived and other copies take `allow_archive` and `allow_alternates` */
  fetch?: CrawlFetch | null;
  /** The same key and limit within the project is the same crawl; null: each request begins one. Also as the header Idempotency-Key */
  idempotency_key?: string | null;
  /** Where the crawl's end is told; null: nowhere */
  callback_url?: string | null;
  /** The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own */
  max_cost_usd?: number | null;
  /** An earlier crawl of the project: each page says in `change` whether its text is new, changed or unchanged since then; null: none */
  since_job?: string | null;
  /** Where each page and the end of the job are told, signed, one event after the other in the order of items; null: nowhere */
  webhook?: JobWebhookBody | null;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
}

export interface CrawlCompletedEvent {
  /** The same in every attempt, also `webhook-id` in the header */
  id: string;
  /** The id of the job */
  job_id: string;
  /** How the job ended */
  status: "completed" | "cancelled";
  /** Its items by status */
  counts: JobCounts;
  /** When the last item finished */
  finished_at: string;
  /** The job */
  job_url: string;
  /** The kind of event: the last one of a crawl */
  type: "crawl.completed";
}

export interface CrawlFetch {
  /** Whether a browser runs the page's scripts: when a plain request finds no text, never, or always */
  render?: "auto" | "never" | "always";
  /** The largest body that is accepted */
  max_bytes?: number;
  /** Whether PDFs are read */
  accept_pdf?: boolean;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two */
  min_text_chars?: number;
  /** Whether an archived copy may be served when the page is gone */
  allow_archive?: boolean;
  /** Whether an open copy of the same text may be served when the page is a teaser or gone */
  allow_alternates?: boolean;
  /** Whether routes that cost money may be used */
  allow_paid?: boolean;
  /** Another name of `allow_paid`: false in either of them forbids these routes */
  allow_premium?: boolean;
  /** The routes that may be used; null: all */
  tiers?: ("direct" | "browser" | "archive" | "proxy" | "proxy_render")[] | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
  /** The country of the exit on premium routes, ISO 3166-1 alpha-2 */
  country?: string | null;
  /** The User-Agent to send; the project needs permission */
  user_agent?: string | null;
  /** The Accept-Language to send */
  accept_language?: string | null;
  /** Whether the answer has `html`. Default true for a fetch, false for an item of a batch */
  include_html?: boolean | null;
  /** Further forms of the page that the answer shall have; a screenshot takes the route browser only */
  formats?: ("markdown" | "links" | "images" | "entries" | "screenshot" | "structured" | "tables" | "comments")[] | null;
  /** The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all */
  fields?: FetchField[] | null;
  /** What a browser waits for before it reads the page; takes the route browser only */
  wait_for?: WaitFor | null;
  /** How the screenshot in `formats` is taken */
  screenshot_options?: ScreenshotOptions | null;
  /** Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project */
  archive?: boolean;
  /** Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only */
  headers?: Record<string, string> | null;
  /** Cookies for the origin of `url`. The routes direct and browser only */
  cookies?: GivenCookie[] | null;
  /** Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept */
  cache_private?: boolean;
  /** Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed */
  actions?: Action[] | null;
  /** A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies` */
  session_id?: string | null;
  /** false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page */
  only_main_content?: boolean | null;
  /** Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one */
  include_comments?: boolean;
  /** CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not */
  include_selectors?: string[] | null;
  /** CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included */
  exclude_selectors?: string[] | null;
  /** Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there */
  extract?: ExtractOptions | null;
  /** What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page */
  block_resources?: ("image" | "font" | "media" | "stylesheet" | "ads")[] | null;
  /** `mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only */
  device?: "desktop" | "mobile";
  /** The window of the browser; takes the route browser only. Default: 1280 × 720 */
  viewport?: Viewport | null;
}

export interface CrawlJobItem {
  /** Its place among the submitted items, from 0 */
  index: number;
  /** What the items of the job are */
  kind: "crawl";
  /** What has become of it */
  status: "pending" | "queued" | "done" | "failed" | "cancelled";
  /** As it was submitted, without defaults and unknown fields */
  input: CrawlJobItemInput;
  /** The answer of the single endpoint; null while unfinished or unavailable */
  result: CrawledPage | null;
  /** The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now */
  error: CrawlJobItemErrorName | (string & {}) | null;
}

export type CrawlJobItemErrorName = "invalid_url" | "blocked_destination" | "robots_disallowed" | "too_large" | "pdf_not_accepted" | "unreadable_document" | "selector_not_found" | "screenshot_failed" | "action_failed" | "all_tiers_failed" | "domain_unavailable" | "domain_dead" | "timeout" | "no_tier_allowed" | "politeness_timeout" | "domain_busy" | "premium_route_required" | "budget_exhausted" | "session_not_found" | "post_not_repeated" | "filings_not_configured" | "rate_limited" | "filings_unavailable" | "redirect_not_allowed" | "out_of_scope" | "cancelled" | "result_unavailable" | "internal_error" | "key_quota_exhausted" | "key_budget_exhausted";

export interface CrawlJobItemInput {
  /** The page */
  url?: string;
  /** Links from a seed to it; of a sitemap, files from robots.txt to it */
  depth?: number;
  /** The page that named it first; null: a seed */
  found_on?: string | null;
  /** It is a robots.txt or a sitemap; absent: a page */
  sitemap?: true;
  /** Whether a browser runs the page's scripts: when a plain request finds no text, never, or always */
  render?: "auto" | "never" | "always";
  /** The largest body that is accepted */
  max_bytes?: number;
  /** Whether PDFs are read */
  accept_pdf?: boolean;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two */
  min_text_chars?: number;
  /** Whether an archived copy may be served when the page is gone */
  allow_archive?: boolean;
  /** Whether an open copy of the same text may be served when the page is a teaser or gone */
  allow_alternates?: boolean;
  /** Whether routes that cost money may be used */
  allow_paid?: boolean;
  /** Another name of `allow_paid`: false in either of them forbids these routes */
  allow_premium?: boolean;
  /** The routes that may be used; null: all */
  tiers?: ("direct" | "browser" | "archive" | "proxy" | "proxy_render")[] | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
  /** The country of the exit on premium routes, ISO 3166-1 alpha-2 */
  country?: string | null;
  /** The User-Agent to send; the project needs permission */
  user_agent?: string | null;
  /** The Accept-Language to send */
  accept_language?: string | null;
  /** Whether the answer has `html`. Default true for a fetch, false for an item of a batch */
  include_html?: boolean | null;
  /** Further forms of the page that the answer shall have; a screenshot takes the route browser only */
  formats?: ("markdown" | "links" | "images" | "entries" | "screenshot" | "structured" | "tables" | "comments")[] | null;
  /** The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all */
  fields?: FetchField[] | null;
  /** What a browser waits for before it reads the page; takes the route browser only */
  wait_for?: WaitFor | null;
  /** How the screenshot in `formats` is taken */
  screenshot_options?: ScreenshotOptions | null;
  /** Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project */
  archive?: boolean;
  /** Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only */
  headers?: Record<string, string> | null;
  /** Cookies for the origin of `url`. The routes direct and browser only */
  cookies?: GivenCookie[] | null;
  /** Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept */
  cache_private?: boolean;
  /** Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed */
  actions?: Action[] | null;
  /** A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies` */
  session_id?: string | null;
  /** false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page */
  only_main_content?: boolean | null;
  /** Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one */
  include_comments?: boolean;
  /** CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not */
  include_selectors?: string[] | null;
  /** CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included */
  exclude_selectors?: string[] | null;
  /** Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there */
  extract?: ExtractOptions | null;
  /** What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page */
  block_resources?: ("image" | "font" | "media" | "stylesheet" | "ads")[] | null;
  /** `mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only */
  device?: "desktop" | "mobile";
  /** The window of the browser; takes the route browser only. Default: 1280 × 720 */
  viewport?: Viewport | null;
}

export interface CrawlPageEvent {
  /** The same in every attempt, also `webhook-id` in the header */
  id: string;
  /** The id of the job */
  job_id: string;
  /** The number of its item in the job */
  index: number;
  /** The page */
  url: string;
  /** The kind of event */
  type: "crawl.page";
  /** Links from a seed to it */
  depth: number;
  /** Why there is no page; null: there is one */
  error: CrawlJobItemErrorName | (string & {}) | null;
  /** The address after redirects */
  final_url: string | null;
  /** The HTTP status of the site's answer */
  status: number | null;
  /** The title of the page */
  title: string | null;
  /** What the body is */
  content_type: string | null;
  /** Of the body: `/v1/bodies/{sha256}` has it */
  sha256: string | null;
  /** When the site answered */
  retrieved_at: string | null;
  /** The item with its whole result */
  item_url: string;
  /** Only of a page that repeats one which the crawl fetched before: that page */
  duplicate_of?: DuplicateOf;
  /** Only of a crawl with `since_job`: whether the text of the page is what it was. `new`: the earlier crawl did not have the page */
  change?: "new" | "changed" | "unchanged";
}

export interface CrawlUrl {
  /** The address as it was found first */
  url: string;
  /** What has become of it. `gone`: a page of the crawl that `since_job` named, which no page of this one names; such pages are behind all others, and `counts` leaves them out */
  state: "waiting" | "in_flight" | "done" | "failed" | "excluded" | "gone";
  /** Links from a seed to it; of a sitemap, files from robots.txt to it */
  depth: number;
  /** The page that named it first; null: a seed */
  found_on: string | null;
  /** Why it is excluded, or the error of its item; null: nothing is wrong. `out_of_scope`, `excluded_by_pattern`, `not_included`, `too_deep`, `over_limit`, `duplicate_address` (another address led to it by a redirect, so its page was fetched), `duplicate_of_canonical` (no link leads to it, a page that was fetched names it as its own address), `nofollow`, `trap_<shape>`, `cancelled`, or an error of a fetch such as `robots_disallowed`. Of a page that was fetched and repeats another (`duplicate_of`): `duplicate_address`, `duplicate_of_canonical`, `near_duplicate`. Of a sitemap that was fetched and could not be read to its end: `not_a_sitemap`, `malformed`, `too_large`, `too_slow`; of one that was not fetched, `too_deep` is behind five others and `over_limit` beyond half of the crawl's limit or its host's part of that */
  reason: string | null;
  /** Its item's number in the job; null: it is none */
  index: number | null;
  /** Where it led by redirects, which counts as fetched then; null: nowhere */
  redirected_to: string | null;
  /** The page of the crawl that it repeats, as `reason` says; null: none is known */
  duplicate_of: string | null;
  /** Of a crawl with `since_job`: whether the text of the page is what it was. `gone`, once this crawl has ended: the earlier one had the page, and the site answers 404 or 410 for it now, or no page names it any more (said only where no limit left an address out, and where the page that named it could be read). null: not known */
  change: "new" | "changed" | "unchanged" | "gone" | null;
}

export interface CrawlUrlPage {
  /** In the order in which they were found */
  items: CrawlUrl[];
  /** The `from` of the next page; null: there is none */
  next_cursor: number | null;
}

export interface CrawledPage {
  /** As it was asked, a user name and a password masked */
  url: string;
  /** The address after redirects; for an archived copy the copy's; null: there is no page */
  final_url: string | null;
  /** In their order */
  redirects: Redirect[];
  /** The origin's HTTP status; null: it did not answer */
  status: number | null;
  /** What the body is */
  content_type: string | null;
  /** What the origin said */
  origin_content_type: string | null;
  /** Header fields of the origin's answer, names in lower case */
  headers: Record<string, string>;
  /** The route that got the page; `source`: a copy of another site */
  tier: "direct" | "browser" | "archive" | "proxy" | "proxy_render" | "source" | null;
  /** Every route that was tried, in order */
  attempts: Attempt[];
  /** The page as text; for the route browser after its scripts have run */
  html?: string | null;
  /** The text of the page, without menus and advertisements */
  text: string;
  /** The text of a PDF by page; null for what is no PDF */
  pdf_text_pages: PdfPage[] | null;
  /** Pages of a PDF */
  pdf_page_count: number | null;
  /** With formats=markdown: the text as Markdown; null where there is none */
  markdown?: string | null;
  /** With formats=links: the links of the page, in its order */
  links?: PageLink[];
  /** With formats=images: the images of the page, in its order */
  images?: PageImage[];
  /** With formats=entries: the items of a feed or the addresses of a sitemap, in its order, at most 5,000 */
  entries?: FeedEntry[];
  /** With formats=screenshot: a picture of the page; null: none was taken, and `error` says why */
  screenshot?: Screenshot | null;
  /** With `actions` in the request: what came of each step that was taken */
  actions?: ActionOutcome[];
  /** With archive: where the exchanges are downloaded as WARC, for 30 days; null: none were kept */
  archive_url?: string | null;
  /** With formats=structured: data that the page marks up, in the forms of extruct; null for what is no HTML */
  structured?: StructuredData | null;
  /** With formats=tables: the tables of the page, in its order, without those that only lay it out */
  tables?: PageTable[];
  /** With formats=comments: readers' comments below the article, in the page's order, at most 1,000; empty for the posts of a thread */
  comments?: PageComment[];
  /** With extract: what its rules, or its schema, found */
  extract?: Extraction;
  /** The text goes on beyond its limit */
  text_truncated: boolean;
  /** The title of the page */
  title: string | null;
  /** What the page says of itself; null where there is no page */
  meta: ArticleMeta | null;
  /** SHA-256 of the exact bytes */
  sha256: string | null;
  /** Bytes of the body */
  bytes: number;
  /** The answer came from the cache */
  cached: boolean;
  /** The origin said that the cached page is still current */
  revalidated: boolean;
  /** When the bytes came from the origin */
  retrieved_at: string | null;
  /** The origin's ETag */
  etag: string | null;
  /** The origin's Last-Modified, as it was sent */
  last_modified: string | null;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: number | null;
  /** With extract.schema: what of cost_usd is the language model's; null for external customers */
  llm_cost_usd?: number | null;
  /** How the answer is billed */
  billing_category: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached";
  /** When the archived copy was made */
  archived_at: string | null;
  /** Why an archived copy is served */
  served_from_archive_because: "domain_dead" | "not_found" | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Whether the stored bytes are the origin's or the page after its scripts have run */
  body_kind: "origin" | "rendered_dom" | null;
  /** What the bytes were read as; `binary` (archives, pictures, other containers) is stored and not read */
  content_kind: "html" | "pdf" | "text" | "json" | "xml" | "docx" | "xlsx" | "pptx" | "odt" | "ods" | "odp" | "epub" | "rtf" | "binary" | null;
  /** Whether the page is behind a paywall */
  paywall: "none" | "metered" | "hard" | "unknown" | null;
  /** What showed it */
  paywall_evidence: string[];
  /** The page that this is an open copy of */
  alternate_of: string | null;
  /** Where the open copy came from */
  alternate_source: "publisher_feed" | "guardian_api" | "open_access" | "syndication" | "common_crawl" | null;
  /** How much of the text the copy shares with the page, 0 to 1 */
  match_score: number | null;
  /** Sources that the page names: rulings, releases, papers */
  primary_sources: PrimarySource[];
  /** Whether the text is the whole article; null: not known */
  text_complete: boolean | null;
  /** What the page is: `page`, or what was served in its place with a good status; null for what is no HTML, and for an error's status */
  page_verdict?: "page" | "soft_404" | "parked_domain" | "login_wall" | "consent_wall" | "javascript_required" | "maintenance" | "empty_shell" | null;
  /** Null: there is a page. A code that does not change: `domain_dead`, `http_404`, `robots_disallowed` … */
  error: FetchErrorName | (string & {}) | null;
  /** The error as a sentence for people */
  error_detail?: string;
  /** Whether a route that costs money was tried */
  premium_routes_tried?: boolean;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Only with `X-Service-Debug: 1` and a key that may: a page with what was done for the request. The link holds for an hour, a key of the project opens it for seven days */
  debug_url?: string;
  /** Only if there are any: what could not be done as it was asked, or is not known, as sentences */
  warnings?: string[];
  /** Names this request in the logs of the service */
  request_id: string;
  /** Only of a page that repeats one which the crawl fetched before: that page */
  duplicate_of?: DuplicateOf;
  /** Only of a crawl with `since_job`: whether the text of the page is what it was. `new`: the earlier crawl did not have the page */
  change?: "new" | "changed" | "unchanged";
}

export interface CreateArchiveImportBody {
  /** The name of the file: attempts that it serves say it */
  name: string;
  /** Bytes of the file */
  bytes: number;
  /** Of the file */
  sha256: string;
  /** It serves every project; for operator keys only. Default: this project alone */
  shared?: boolean | null;
}

export interface CreateCompanyWatchBody {
  /** Ids of companies, or scheme:value */
  companies: string[];
  /** An https address that changes are delivered to */
  url: string;
}

export interface DecideCompanyReviewBody {
  /** One for each item; all are stored, or none */
  decisions: CompanyReviewDecision[];
}

export interface DiscoverAnswer {
  /** The operation */
  op: "discover";
  /** The address of the profile; null: none was found */
  url: string | null;
  /** What found it */
  query: string | null;
  /** 0 to 1 */
  score: number | null;
  /** 0 to 100; null where it was searched */
  name_similarity: number | null;
  /** How it was found */
  discovery_method: "suggest" | "search" | null;
  /** At most ten, the best first */
  candidates: ProfileCandidate[];
  /** Where the suggestions come from */
  suggest_fetch: ProfileFetch | null;
  /** A code that does not change; null where there is no error */
  error: ProfileErrorName | null;
  /** A sentence for people */
  error_detail: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: number | null;
  /** How the answer is billed */
  billing_category: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached";
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface DiscoverBody {
  /** The company that is looked for */
  company_name: string;
  /** Its city */
  headquarters?: string | null;
  /** From this similarity of names, 0 to 100, a suggestion is the company */
  min_similarity?: number;
  /** Whether the web is searched where no suggestion is similar enough */
  search_fallback?: boolean;
  /** ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored */
  country?: string | null;
  /** Requests with the same key leave by the same exit */
  session_key?: string | null;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** false: nothing is requested, only the cache is read */
  allow_paid?: boolean;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
}

export interface Discovery {
  /** The address of the profile; null: none was found */
  url: string | null;
  /** What found it */
  query: string | null;
  /** 0 to 1 */
  score: number | null;
  /** 0 to 100; null where it was searched */
  name_similarity: number | null;
  /** How it was found */
  discovery_method: "suggest" | "search" | null;
  /** At most ten, the best first */
  candidates: ProfileCandidate[];
}

export interface DocumentBody {
  /** The number of the filer */
  cik: number | string;
  /** The number of the filing, with or without dashes */
  accession: string;
  /** A file name in the filing's own folder */
  document: string;
  /** The largest body that is accepted */
  max_bytes?: number;
  /** Whether the answer has `html` */
  include_html?: boolean | null;
  /** Whether PDFs are read */
  accept_pdf?: boolean;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
}

export interface DublinCore {
  /** The address of each prefix */
  namespaces: Record<string, string>;
  /** Elements: the attributes of each, and its `URI` */
  elements: (Record<string, string>)[];
  /** Terms, in the same form */
  terms: (Record<string, string>)[];
}

export interface DuplicateOf {
  /** The page of the crawl that it repeats */
  url: string;
  /** `duplicate_address`: the same bytes, or the same address after redirects; `duplicate_of_canonical`: both name the same address as their own (`rel=canonical`); `near_duplicate`: almost the same text */
  reason: "duplicate_address" | "duplicate_of_canonical" | "near_duplicate";
}

export interface ErrorBody {
  /** A sentence; a code with what belongs to it; or all mistakes of the request */
  detail: Refusal | Mistake[] | (string & {});
  /** Names this request in the logs of the service */
  request_id?: string;
}

export interface ExtractOptions {
  /** A rule for each name; 100 rules at most, with those in rules. Either this or schema */
  fields?: Record<string, ExtractRule> | null;
  /** A JSON Schema of an object: a language model of the operator's takes its values out of the page's text. Each value has a quote of the page in `evidence`; what the page does not say is null */
  schema?: Record<string, unknown> | null;
  /** With schema: what is wanted, in words */
  prompt?: string | null;
  /** With schema: the model that is to answer; a service that has another one refuses. Default: the service's */
  model?: string | null;
}

export interface ExtractRule {
  /** A CSS selector: which element below that of the rule around it; default: that element itself */
  selector?: string | null;
  /** The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has */
  attribute?: string | null;
  /** What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0 */
  type?: "text" | "number" | "date" | "url" | "html" | "markdown" | "boolean";
  /** All elements that match, as an array; default: the first */
  many?: boolean;
  /** Whether its absence is an error, `missing`; the value is null all the same */
  required?: boolean;
  /** Makes the value an object of these; rules stand in one another 4 levels deep at most */
  fields?: Record<string, ExtractRuleLevel2> | null;
}

export interface ExtractRuleLevel2 {
  /** A CSS selector: which element below that of the rule around it; default: that element itself */
  selector?: string | null;
  /** The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has */
  attribute?: string | null;
  /** What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0 */
  type?: "text" | "number" | "date" | "url" | "html" | "markdown" | "boolean";
  /** All elements that match, as an array; default: the first */
  many?: boolean;
  /** Whether its absence is an error, `missing`; the value is null all the same */
  required?: boolean;
  /** Makes the value an object of these; rules stand in one another 4 levels deep at most */
  fields?: Record<string, ExtractRuleLevel3> | null;
}

export interface ExtractRuleLevel3 {
  /** A CSS selector: which element below that of the rule around it; default: that element itself */
  selector?: string | null;
  /** The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has */
  attribute?: string | null;
  /** What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0 */
  type?: "text" | "number" | "date" | "url" | "html" | "markdown" | "boolean";
  /** All elements that match, as an array; default: the first */
  many?: boolean;
  /** Whether its absence is an error, `missing`; the value is null all the same */
  required?: boolean;
  /** Makes the value an object of these; rules stand in one another 4 levels deep at most */
  fields?: Record<string, ExtractRuleLevel4> | null;
}

export interface ExtractRuleLevel4 {
  /** A CSS selector: which element below that of the rule around it; default: that element itself */
  selector?: string | null;
  /** The attribute that has the value; default: the element's text, for `url` and `date` the attribute that its kind of element has */
  attribute?: string | null;
  /** What the value is. `number` reads signs of decimals and thousands as the language of the page has them, `date` answers ISO 8601, `url` an absolute http(s) address, `html` the element, `boolean` whether there is such an element (or attribute) that does not say no, false, off or 0 */
  type?: "text" | "number" | "date" | "url" | "html" | "markdown" | "boolean";
  /** All elements that match, as an array; default: the first */
  many?: boolean;
  /** Whether its absence is an error, `missing`; the value is null all the same */
  required?: boolean;
}

export interface Extraction {
  /** The values under the names of the rules or of the schema; null for what is no HTML, and where the model gave no answer */
  data: Record<string, unknown> | null;
  /** Values that are null although they should not be, the first 100 */
  errors: ExtractionError[];
  /** With schema: where each value comes from */
  evidence?: ExtractionEvidence[];
  /** With schema: the language model of this service, by its name in the operator's API */
  model?: string | null;
  /** With schema: what the model took; null: it was not asked */
  usage?: ExtractionUsage | null;
}

export interface ExtractionError {
  /** The value in `data`, as a JSON Pointer (RFC 6901) */
  path: string;
  /** `missing`: a required value is not there; `not_a_…`: what is there is none; `no_elements`: the document is no HTML; `no_evidence`: the model gave a value that the page does not bear out. Of the whole extraction by a model: `page_empty`, `paid_not_allowed`, `budget_exhausted` (it was not asked); `model_timeout`, `model_unavailable`, `model_refused`, `model_answer_cut` (too long), `model_answer_invalid` (twice no answer by the schema), `prompt_truncated` (its server cut the page) */
  reason: "missing" | "not_a_number" | "not_a_date" | "not_a_url" | "no_elements" | "no_evidence" | "page_empty" | "paid_not_allowed" | "budget_exhausted" | "model_timeout" | "model_unavailable" | "model_refused" | "model_answer_cut" | "model_answer_invalid" | "prompt_truncated";
}

export interface ExtractionEvidence {
  /** The value in `data`, as a JSON Pointer (RFC 6901) */
  path: string;
  /** The words of the page that it came from; of an address: empty */
  quote: string;
}

export interface ExtractionUsage {
  /** How often it was asked: a second time when its answer did not fit */
  requests: number;
  /** Tokens that it read */
  prompt_tokens: number;
  /** Tokens that it wrote */
  completion_tokens: number;
  /** How long it took, in milliseconds */
  ms: number;
  /** Its server did not say all tokens: they are estimated from above */
  estimated: boolean;
}

export interface FactsAnswer {
  /** The number of the filer */
  cik: number | null;
  /** The same with ten digits */
  cik_padded: string | null;
  /** The filer's name */
  name: string | null;
  /** Concepts by taxonomy */
  taxonomies: Record<string, number>;
  /** All concepts */
  concepts: number | null;
  /** Bytes of the whole document, which is at `body_url` */
  bytes: number | null;
  /** A code that does not change; null where there is no error */
  error: FilingsErrorName | (string & {}) | null;
  /** A sentence for people; null where there is no error */
  message: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Every document of this answer came from the cache */
  cached: boolean;
  /** When the oldest of them came from the filing system */
  retrieved_at: string | null;
  /** The address of the main document in the filing system */
  source_url: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Of the exact bytes of the main document */
  sha256: string | null;
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface FailedPage {
  /** Its title */
  title: string;
  /** Its first 2,000 characters as they are shown */
  text: string;
  /** Elements that match the selector of the step */
  matches: number | null;
  /** Of these, the visible ones */
  visible: number | null;
  /** The element that lies over the first visible one */
  covered_by: string | null;
}

export interface FeedEntry {
  /** Where the item leads, or the address that the sitemap lists */
  url: string | null;
  /** Its title */
  title: string | null;
  /** When it was published, or last changed */
  published_at: string | null;
  /** Its summary, without markup */
  summary: string | null;
}

export interface FetchBody {
  /** The page; what is no http(s) address is answered with the error `invalid_url`. A user name and a password in it are sent to its origin only (Basic) */
  url: string;
  /** Whether a browser runs the page's scripts: when a plain request finds no text, never, or always */
  render?: "auto" | "never" | "always";
  /** The largest body that is accepted */
  max_bytes?: number;
  /** Whether PDFs are read */
  accept_pdf?: boolean;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two */
  min_text_chars?: number;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** Whether an archived copy may be served when the page is gone */
  allow_archive?: boolean;
  /** Whether an open copy of the same text may be served when the page is a teaser or gone */
  allow_alternates?: boolean;
  /** Whether routes that cost money may be used */
  allow_paid?: boolean;
  /** Another name of `allow_paid`: false in either of them forbids these routes */
  allow_premium?: boolean;
  /** The routes that may be used; null: all */
  tiers?: ("direct" | "browser" | "archive" | "proxy" | "proxy_render")[] | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
  /** The country of the exit on premium routes, ISO 3166-1 alpha-2 */
  country?: string | null;
  /** The User-Agent to send; the project needs permission */
  user_agent?: string | null;
  /** The Accept-Language to send */
  accept_language?: string | null;
  /** Whether the answer has `html`. Default true for a fetch, false for an item of a batch */
  include_html?: boolean | null;
  /** Further forms of the page that the answer shall have; a screenshot takes the route browser only */
  formats?: ("markdown" | "links" | "images" | "entries" | "screenshot" | "structured" | "tables" | "comments")[] | null;
  /** The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all */
  fields?: FetchField[] | null;
  /** What a browser waits for before it reads the page; takes the route browser only */
  wait_for?: WaitFor | null;
  /** How the screenshot in `formats` is taken */
  screenshot_options?: ScreenshotOptions | null;
  /** Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project */
  archive?: boolean;
  /** Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only */
  headers?: Record<string, string> | null;
  /** Cookies for the origin of `url`. The routes direct and browser only */
  cookies?: GivenCookie[] | null;
  /** POST sends `body`; it is never sent twice, so no further route is tried once it may have reached the site */
  method?: "GET" | "POST";
  /** The body of a POST, 65,536 bytes at most. Without a Content-Type in `headers` it is a form (application/x-www-form-urlencoded) */
  body?: string | null;
  /** Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept */
  cache_private?: boolean;
  /** Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed */
  actions?: Action[] | null;
  /** A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies` */
  session_id?: string | null;
  /** false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page */
  only_main_content?: boolean | null;
  /** Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one */
  include_comments?: boolean;
  /** CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not */
  include_selectors?: string[] | null;
  /** CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included */
  exclude_selectors?: string[] | null;
  /** Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there */
  extract?: ExtractOptions | null;
  /** What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page */
  block_resources?: ("image" | "font" | "media" | "stylesheet" | "ads")[] | null;
  /** `mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only */
  device?: "desktop" | "mobile";
  /** The window of the browser; takes the route browser only. Default: 1280 × 720 */
  viewport?: Viewport | null;
}

export type FetchErrorName = "invalid_url" | "blocked_destination" | "robots_disallowed" | "too_large" | "pdf_not_accepted" | "unreadable_document" | "selector_not_found" | "screenshot_failed" | "action_failed" | "all_tiers_failed" | "domain_unavailable" | "domain_dead" | "timeout" | "no_tier_allowed" | "politeness_timeout" | "domain_busy" | "premium_route_required" | "budget_exhausted" | "session_not_found" | "post_not_repeated" | "filings_not_configured" | "rate_limited" | "filings_unavailable" | "redirect_not_allowed";

export type FetchField = "url" | "final_url" | "redirects" | "status" | "content_type" | "origin_content_type" | "headers" | "tier" | "attempts" | "html" | "text" | "pdf_text_pages" | "pdf_page_count" | "markdown" | "links" | "images" | "entries" | "screenshot" | "actions" | "archive_url" | "structured" | "tables" | "comments" | "extract" | "text_truncated" | "title" | "meta" | "sha256" | "bytes" | "cached" | "revalidated" | "retrieved_at" | "etag" | "last_modified" | "cost_usd" | "llm_cost_usd" | "billing_category" | "archived_at" | "served_from_archive_because" | "body_url" | "body_kind" | "content_kind" | "paywall" | "paywall_evidence" | "alternate_of" | "alternate_source" | "match_score" | "primary_sources" | "text_complete" | "page_verdict" | "error" | "error_detail" | "premium_routes_tried" | "retry_after_s" | "debug_url" | "warnings" | "request_id";

export interface FetchJobItem {
  /** Its place among the submitted items, from 0 */
  index: number;
  /** What the items of the job are */
  kind: "fetch";
  /** What has become of it */
  status: "pending" | "queued" | "done" | "failed" | "cancelled";
  /** As it was submitted, without defaults and unknown fields */
  input: FetchJobItemInput;
  /** The answer of the single endpoint; null while unfinished or unavailable */
  result: FetchResponse | null;
  /** The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now */
  error: FetchJobItemErrorName | (string & {}) | null;
}

export type FetchJobItemErrorName = "invalid_url" | "blocked_destination" | "robots_disallowed" | "too_large" | "pdf_not_accepted" | "unreadable_document" | "selector_not_found" | "screenshot_failed" | "action_failed" | "all_tiers_failed" | "domain_unavailable" | "domain_dead" | "timeout" | "no_tier_allowed" | "politeness_timeout" | "domain_busy" | "premium_route_required" | "budget_exhausted" | "session_not_found" | "post_not_repeated" | "filings_not_configured" | "rate_limited" | "filings_unavailable" | "redirect_not_allowed" | "cancelled" | "result_unavailable" | "internal_error" | "key_quota_exhausted" | "key_budget_exhausted";

export interface FetchJobItemInput {
  /** The page; what is no http(s) address is answered with the error `invalid_url`. A user name and a password in it are sent to its origin only (Basic) */
  url?: string;
  /** Whether a browser runs the page's scripts: when a plain request finds no text, never, or always */
  render?: "auto" | "never" | "always";
  /** The largest body that is accepted */
  max_bytes?: number;
  /** Whether PDFs are read */
  accept_pdf?: boolean;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two */
  min_text_chars?: number;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** Whether an archived copy may be served when the page is gone */
  allow_archive?: boolean;
  /** Whether an open copy of the same text may be served when the page is a teaser or gone */
  allow_alternates?: boolean;
  /** Whether routes that cost money may be used */
  allow_paid?: boolean;
  /** Another name of `allow_paid`: false in either of them forbids these routes */
  allow_premium?: boolean;
  /** The routes that may be used; null: all */
  tiers?: ("direct" | "browser" | "archive" | "proxy" | "proxy_render")[] | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
  /** The country of the exit on premium routes, ISO 3166-1 alpha-2 */
  country?: string | null;
  /** The User-Agent to send; the project needs permission */
  user_agent?: string | null;
  /** The Accept-Language to send */
  accept_language?: string | null;
  /** Whether the answer has `html`. Default true for a fetch, false for an item of a batch */
  include_html?: boolean | null;
  /** Further forms of the page that the answer shall have; a screenshot takes the route browser only */
  formats?: ("markdown" | "links" | "images" | "entries" | "screenshot" | "structured" | "tables" | "comments")[] | null;
  /** The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all */
  fields?: FetchField[] | null;
  /** What a browser waits for before it reads the page; takes the route browser only */
  wait_for?: WaitFor | null;
  /** How the screenshot in `formats` is taken */
  screenshot_options?: ScreenshotOptions | null;
  /** Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project */
  archive?: boolean;
  /** Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only */
  headers?: Record<string, string> | null;
  /** Cookies for the origin of `url`. The routes direct and browser only */
  cookies?: GivenCookie[] | null;
  /** POST sends `body`; it is never sent twice, so no further route is tried once it may have reached the site */
  method?: "GET" | "POST";
  /** The body of a POST, 65,536 bytes at most. Without a Content-Type in `headers` it is a form (application/x-www-form-urlencoded) */
  body?: string | null;
  /** Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept */
  cache_private?: boolean;
  /** Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed */
  actions?: Action[] | null;
  /** A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies` */
  session_id?: string | null;
  /** false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page */
  only_main_content?: boolean | null;
  /** Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one */
  include_comments?: boolean;
  /** CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not */
  include_selectors?: string[] | null;
  /** CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included */
  exclude_selectors?: string[] | null;
  /** Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there */
  extract?: ExtractOptions | null;
  /** What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page */
  block_resources?: ("image" | "font" | "media" | "stylesheet" | "ads")[] | null;
  /** `mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only */
  device?: "desktop" | "mobile";
  /** The window of the browser; takes the route browser only. Default: 1280 × 720 */
  viewport?: Viewport | null;
}

export interface FetchResponse {
  /** As it was asked, a user name and a password masked */
  url: string;
  /** The address after redirects; for an archived copy the copy's; null: there is no page */
  final_url: string | null;
  /** In their order */
  redirects: Redirect[];
  /** The origin's HTTP status; null: it did not answer */
  status: number | null;
  /** What the body is */
  content_type: string | null;
  /** What the origin said */
  origin_content_type: string | null;
  /** Header fields of the origin's answer, names in lower case */
  headers: Record<string, string>;
  /** The route that got the page; `source`: a copy of another site */
  tier: "direct" | "browser" | "archive" | "proxy" | "proxy_render" | "source" | null;
  /** Every route that was tried, in order */
  attempts: Attempt[];
  /** The page as text; for the route browser after its scripts have run */
  html?: string | null;
  /** The text of the page, without menus and advertisements */
  text: string;
  /** The text of a PDF by page; null for what is no PDF */
  pdf_text_pages: PdfPage[] | null;
  /** Pages of a PDF */
  pdf_page_count: number | null;
  /** With formats=markdown: the text as Markdown; null where there is none */
  markdown?: string | null;
  /** With formats=links: the links of the page, in its order */
  links?: PageLink[];
  /** With formats=images: the images of the page, in its order */
  images?: PageImage[];
  /** With formats=entries: the items of a feed or the addresses of a sitemap, in its order, at most 5,000 */
  entries?: FeedEntry[];
  /** With formats=screenshot: a picture of the page; null: none was taken, and `error` says why */
  screenshot?: Screenshot | null;
  /** With `actions` in the request: what came of each step that was taken */
  actions?: ActionOutcome[];
  /** With archive: where the exchanges are downloaded as WARC, for 30 days; null: none were kept */
  archive_url?: string | null;
  /** With formats=structured: data that the page marks up, in the forms of extruct; null for what is no HTML */
  structured?: StructuredData | null;
  /** With formats=tables: the tables of the page, in its order, without those that only lay it out */
  tables?: PageTable[];
  /** With formats=comments: readers' comments below the article, in the page's order, at most 1,000; empty for the posts of a thread */
  comments?: PageComment[];
  /** With extract: what its rules, or its schema, found */
  extract?: Extraction;
  /** The text goes on beyond its limit */
  text_truncated: boolean;
  /** The title of the page */
  title: string | null;
  /** What the page says of itself; null where there is no page */
  meta: ArticleMeta | null;
  /** SHA-256 of the exact bytes */
  sha256: string | null;
  /** Bytes of the body */
  bytes: number;
  /** The answer came from the cache */
  cached: boolean;
  /** The origin said that the cached page is still current */
  revalidated: boolean;
  /** When the bytes came from the origin */
  retrieved_at: string | null;
  /** The origin's ETag */
  etag: string | null;
  /** The origin's Last-Modified, as it was sent */
  last_modified: string | null;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: number | null;
  /** With extract.schema: what of cost_usd is the language model's; null for external customers */
  llm_cost_usd?: number | null;
  /** How the answer is billed */
  billing_category: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached";
  /** When the archived copy was made */
  archived_at: string | null;
  /** Why an archived copy is served */
  served_from_archive_because: "domain_dead" | "not_found" | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Whether the stored bytes are the origin's or the page after its scripts have run */
  body_kind: "origin" | "rendered_dom" | null;
  /** What the bytes were read as; `binary` (archives, pictures, other containers) is stored and not read */
  content_kind: "html" | "pdf" | "text" | "json" | "xml" | "docx" | "xlsx" | "pptx" | "odt" | "ods" | "odp" | "epub" | "rtf" | "binary" | null;
  /** Whether the page is behind a paywall */
  paywall: "none" | "metered" | "hard" | "unknown" | null;
  /** What showed it */
  paywall_evidence: string[];
  /** The page that this is an open copy of */
  alternate_of: string | null;
  /** Where the open copy came from */
  alternate_source: "publisher_feed" | "guardian_api" | "open_access" | "syndication" | "common_crawl" | null;
  /** How much of the text the copy shares with the page, 0 to 1 */
  match_score: number | null;
  /** Sources that the page names: rulings, releases, papers */
  primary_sources: PrimarySource[];
  /** Whether the text is the whole article; null: not known */
  text_complete: boolean | null;
  /** What the page is: `page`, or what was served in its place with a good status; null for what is no HTML, and for an error's status */
  page_verdict?: "page" | "soft_404" | "parked_domain" | "login_wall" | "consent_wall" | "javascript_required" | "maintenance" | "empty_shell" | null;
  /** Null: there is a page. A code that does not change: `domain_dead`, `http_404`, `robots_disallowed` … */
  error: FetchErrorName | (string & {}) | null;
  /** The error as a sentence for people */
  error_detail?: string;
  /** Whether a route that costs money was tried */
  premium_routes_tried?: boolean;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Only with `X-Service-Debug: 1` and a key that may: a page with what was done for the request. The link holds for an hour, a key of the project opens it for seven days */
  debug_url?: string;
  /** Only if there are any: what could not be done as it was asked, or is not known, as sentences */
  warnings?: string[];
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface FilerAddress {
  /** Street */
  street1: string | null;
  /** Street, second line */
  street2: string | null;
  /** City */
  city: string | null;
  /** Code of a state or country */
  state_or_country: string | null;
  /** Postal code */
  zip_code: string | null;
  /** The same in words */
  state_or_country_description: string | null;
}

export interface FilerCompany {
  /** The number of the filer */
  cik: number | null;
  /** The same with ten digits */
  cik_padded: string | null;
  /** Its name in the list of filers */
  title: string | null;
  /** The primary one first */
  tickers: string[];
  /** Parallel to tickers; null where the list does not say */
  exchanges: (string | null)[];
}

export interface FilerHint {
  /** The company of the register */
  company: HintedCompany;
  /** The listing that was asked for */
  listing: string | null;
  /** Filers with a similar name */
  filer_candidates: FilerCompany[];
}

export interface Filing {
  /** The number of the filing */
  accession: string;
  /** The form type */
  form: string;
  /** The day it was filed */
  filing_date: string;
  /** The end of the period it reports on */
  report_date: string | null;
  /** As the filing system sends it: it ends in Z, but is Eastern time in most rows and UTC in some */
  acceptance_datetime: string | null;
  /** The act it is filed under */
  act: string | null;
  /** The file number of the registrant */
  file_number: string | null;
  /** The film number */
  film_number: string | null;
  /** The items of a current report */
  items: string | null;
  /** The core type of the form */
  core_type: string | null;
  /** Bytes of the filing */
  size: number | null;
  /** Whether it has XBRL */
  is_xbrl: boolean;
  /** Whether the XBRL is inline */
  is_inline_xbrl: boolean;
  /** The file name of the main document */
  primary_document: string | null;
  /** What it is, in the filer's words */
  primary_document_description: string | null;
  /** Null when the document lies in a sub-folder, as ownership forms do */
  primary_document_url: string | null;
  /** The index page of the filing */
  index_url: string | null;
  /** Whether the form amends another */
  is_amendment: boolean;
}

export interface FilingDocument {
  /** Its place in the filing */
  sequence: string | null;
  /** What it is, in the filer's words */
  description: string | null;
  /** Its file name; null where the index names none, as in filings before 2001 */
  document: string | null;
  /** Its type */
  type: string | null;
  /** Bytes */
  size: number | null;
  /** Its address */
  url: string | null;
}

export type FilingDocumentErrorName = "unknown_identifier" | "not_registered_filer" | "not_found" | "invalid_identifier" | "rate_limited" | "filings_unavailable" | "filings_not_configured" | "robots_disallowed" | "redirect_not_allowed" | "blocked_destination" | "timeout" | "invalid_url" | "too_large" | "pdf_not_accepted" | "unreadable_document" | "selector_not_found" | "screenshot_failed" | "action_failed" | "all_tiers_failed" | "domain_unavailable" | "domain_dead" | "no_tier_allowed" | "politeness_timeout" | "domain_busy" | "premium_route_required" | "budget_exhausted" | "session_not_found" | "post_not_repeated";

export interface FilingDocumentResponse {
  /** As it was asked, a user name and a password masked */
  url: string;
  /** The address after redirects; for an archived copy the copy's; null: there is no page */
  final_url: string | null;
  /** In their order */
  redirects: Redirect[];
  /** The origin's HTTP status; null: it did not answer */
  status: number | null;
  /** What the body is */
  content_type: string | null;
  /** What the origin said */
  origin_content_type: string | null;
  /** Header fields of the origin's answer, names in lower case */
  headers: Record<string, string>;
  /** The route that got the page; `source`: a copy of another site */
  tier: "direct" | "browser" | "archive" | "proxy" | "proxy_render" | "source" | null;
  /** Every route that was tried, in order */
  attempts: Attempt[];
  /** The page as text; for the route browser after its scripts have run */
  html?: string | null;
  /** The text of the page, without menus and advertisements */
  text: string;
  /** The text of a PDF by page; null for what is no PDF */
  pdf_text_pages: PdfPage[] | null;
  /** Pages of a PDF */
  pdf_page_count: number | null;
  /** With formats=markdown: the text as Markdown; null where there is none */
  markdown?: string | null;
  /** With formats=links: the links of the page, in its order */
  links?: PageLink[];
  /** With formats=images: the images of the page, in its order */
  images?: PageImage[];
  /** With formats=entries: the items of a feed or the addresses of a sitemap, in its order, at most 5,000 */
  entries?: FeedEntry[];
  /** With formats=screenshot: a picture of the page; null: none was taken, and `error` says why */
  screenshot?: Screenshot | null;
  /** With `actions` in the request: what came of each step that was taken */
  actions?: ActionOutcome[];
  /** With archive: where the exchanges are downloaded as WARC, for 30 days; null: none were kept */
  archive_url?: string | null;
  /** With formats=structured: data that the page marks up, in the forms of extruct; null for what is no HTML */
  structured?: StructuredData | null;
  /** With formats=tables: the tables of the page, in its order, without those that only lay it out */
  tables?: PageTable[];
  /** With formats=comments: readers' comments below the article, in the page's order, at most 1,000; empty for the posts of a thread */
  comments?: PageComment[];
  /** With extract: what its rules, or its schema, found */
  extract?: Extraction;
  /** The text goes on beyond its limit */
  text_truncated: boolean;
  /** The title of the page */
  title: string | null;
  /** What the page says of itself; null where there is no page */
  meta: ArticleMeta | null;
  /** SHA-256 of the exact bytes */
  sha256: string | null;
  /** Bytes of the body */
  bytes: number;
  /** The answer came from the cache */
  cached: boolean;
  /** The origin said that the cached page is still current */
  revalidated: boolean;
  /** When the bytes came from the origin */
  retrieved_at: string | null;
  /** The origin's ETag */
  etag: string | null;
  /** The origin's Last-Modified, as it was sent */
  last_modified: string | null;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: number | null;
  /** With extract.schema: what of cost_usd is the language model's; null for external customers */
  llm_cost_usd?: number | null;
  /** How the answer is billed */
  billing_category: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached";
  /** When the archived copy was made */
  archived_at: string | null;
  /** Why an archived copy is served */
  served_from_archive_because: "domain_dead" | "not_found" | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Whether the stored bytes are the origin's or the page after its scripts have run */
  body_kind: "origin" | "rendered_dom" | null;
  /** What the bytes were read as; `binary` (archives, pictures, other containers) is stored and not read */
  content_kind: "html" | "pdf" | "text" | "json" | "xml" | "docx" | "xlsx" | "pptx" | "odt" | "ods" | "odp" | "epub" | "rtf" | "binary" | null;
  /** Whether the page is behind a paywall */
  paywall: "none" | "metered" | "hard" | "unknown" | null;
  /** What showed it */
  paywall_evidence: string[];
  /** The page that this is an open copy of */
  alternate_of: string | null;
  /** Where the open copy came from */
  alternate_source: "publisher_feed" | "guardian_api" | "open_access" | "syndication" | "common_crawl" | null;
  /** How much of the text the copy shares with the page, 0 to 1 */
  match_score: number | null;
  /** Sources that the page names: rulings, releases, papers */
  primary_sources: PrimarySource[];
  /** Whether the text is the whole article; null: not known */
  text_complete: boolean | null;
  /** What the page is: `page`, or what was served in its place with a good status; null for what is no HTML, and for an error's status */
  page_verdict?: "page" | "soft_404" | "parked_domain" | "login_wall" | "consent_wall" | "javascript_required" | "maintenance" | "empty_shell" | null;
  /** Null: there is a document */
  error: FilingDocumentErrorName | (string & {}) | null;
  /** The error as a sentence for people */
  error_detail?: string;
  /** Whether a route that costs money was tried */
  premium_routes_tried?: boolean;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Only with `X-Service-Debug: 1` and a key that may: a page with what was done for the request. The link holds for an hour, a key of the project opens it for seven days */
  debug_url?: string;
  /** Only if there are any: what could not be done as it was asked, or is not known, as sentences */
  warnings?: string[];
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface FilingHit {
  /** The number of the filing */
  accession: string | null;
  /** The filers */
  ciks: number[];
  /** Their names */
  display_names: string[];
  /** The form type */
  form: string | null;
  /** The form without its amendment */
  root_forms: string[];
  /** The type of the document */
  file_type: string | null;
  /** What it is, in the filer's words */
  file_description: string | null;
  /** The day it was filed */
  file_date: string | null;
  /** The end of the period it reports on */
  period_ending: string | null;
  /** Its file name */
  document: string | null;
  /** Its address */
  url: string | null;
  /** The index page of the filing */
  index_url: string | null;
  /** How well it fits */
  score: number | null;
}

export interface FilingSearchAnswer {
  /** As it was asked */
  query: string | null;
  /** All hits */
  total: number | null;
  /** `eq`, or `gte` when there are more than 10000 */
  total_relation: string | null;
  /** At most 100 */
  hits: FilingHit[];
  /** A code that does not change; null where there is no error */
  error: FilingsErrorName | (string & {}) | null;
  /** A sentence for people; null where there is no error */
  message: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Every document of this answer came from the cache */
  cached: boolean;
  /** When the oldest of them came from the filing system */
  retrieved_at: string | null;
  /** The address of the main document in the filing system */
  source_url: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Of the exact bytes of the main document */
  sha256: string | null;
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface FilingsDocumentResult {
  /** The operation */
  op: "document";
  /** As it was asked, a user name and a password masked */
  url: string;
  /** The address after redirects; for an archived copy the copy's; null: there is no page */
  final_url: string | null;
  /** In their order */
  redirects: Redirect[];
  /** The origin's HTTP status; null: it did not answer */
  status: number | null;
  /** What the body is */
  content_type: string | null;
  /** What the origin said */
  origin_content_type: string | null;
  /** Header fields of the origin's answer, names in lower case */
  headers: Record<string, string>;
  /** The route that got the page; `source`: a copy of another site */
  tier: "direct" | "browser" | "archive" | "proxy" | "proxy_render" | "source" | null;
  /** Every route that was tried, in order */
  attempts: Attempt[];
  /** The page as text; for the route browser after its scripts have run */
  html?: string | null;
  /** The text of the page, without menus and advertisements */
  text: string;
  /** The text of a PDF by page; null for what is no PDF */
  pdf_text_pages: PdfPage[] | null;
  /** Pages of a PDF */
  pdf_page_count: number | null;
  /** With formats=markdown: the text as Markdown; null where there is none */
  markdown?: string | null;
  /** With formats=links: the links of the page, in its order */
  links?: PageLink[];
  /** With formats=images: the images of the page, in its order */
  images?: PageImage[];
  /** With formats=entries: the items of a feed or the addresses of a sitemap, in its order, at most 5,000 */
  entries?: FeedEntry[];
  /** With formats=screenshot: a picture of the page; null: none was taken, and `error` says why */
  screenshot?: Screenshot | null;
  /** With `actions` in the request: what came of each step that was taken */
  actions?: ActionOutcome[];
  /** With archive: where the exchanges are downloaded as WARC, for 30 days; null: none were kept */
  archive_url?: string | null;
  /** With formats=structured: data that the page marks up, in the forms of extruct; null for what is no HTML */
  structured?: StructuredData | null;
  /** With formats=tables: the tables of the page, in its order, without those that only lay it out */
  tables?: PageTable[];
  /** With formats=comments: readers' comments below the article, in the page's order, at most 1,000; empty for the posts of a thread */
  comments?: PageComment[];
  /** With extract: what its rules, or its schema, found */
  extract?: Extraction;
  /** The text goes on beyond its limit */
  text_truncated: boolean;
  /** The title of the page */
  title: string | null;
  /** What the page says of itself; null where there is no page */
  meta: ArticleMeta | null;
  /** SHA-256 of the exact bytes */
  sha256: string | null;
  /** Bytes of the body */
  bytes: number;
  /** The answer came from the cache */
  cached: boolean;
  /** The origin said that the cached page is still current */
  revalidated: boolean;
  /** When the bytes came from the origin */
  retrieved_at: string | null;
  /** The origin's ETag */
  etag: string | null;
  /** The origin's Last-Modified, as it was sent */
  last_modified: string | null;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: number | null;
  /** With extract.schema: what of cost_usd is the language model's; null for external customers */
  llm_cost_usd?: number | null;
  /** How the answer is billed */
  billing_category: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached";
  /** When the archived copy was made */
  archived_at: string | null;
  /** Why an archived copy is served */
  served_from_archive_because: "domain_dead" | "not_found" | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Whether the stored bytes are the origin's or the page after its scripts have run */
  body_kind: "origin" | "rendered_dom" | null;
  /** What the bytes were read as; `binary` (archives, pictures, other containers) is stored and not read */
  content_kind: "html" | "pdf" | "text" | "json" | "xml" | "docx" | "xlsx" | "pptx" | "odt" | "ods" | "odp" | "epub" | "rtf" | "binary" | null;
  /** Whether the page is behind a paywall */
  paywall: "none" | "metered" | "hard" | "unknown" | null;
  /** What showed it */
  paywall_evidence: string[];
  /** The page that this is an open copy of */
  alternate_of: string | null;
  /** Where the open copy came from */
  alternate_source: "publisher_feed" | "guardian_api" | "open_access" | "syndication" | "common_crawl" | null;
  /** How much of the text the copy shares with the page, 0 to 1 */
  match_score: number | null;
  /** Sources that the page names: rulings, releases, papers */
  primary_sources: PrimarySource[];
  /** Whether the text is the whole article; null: not known */
  text_complete: boolean | null;
  /** What the page is: `page`, or what was served in its place with a good status; null for what is no HTML, and for an error's status */
  page_verdict?: "page" | "soft_404" | "parked_domain" | "login_wall" | "consent_wall" | "javascript_required" | "maintenance" | "empty_shell" | null;
  /** Null: there is a document */
  error: FilingDocumentErrorName | (string & {}) | null;
  /** The error as a sentence for people */
  error_detail?: string;
  /** Whether a route that costs money was tried */
  premium_routes_tried?: boolean;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Only with `X-Service-Debug: 1` and a key that may: a page with what was done for the request. The link holds for an hour, a key of the project opens it for seven days */
  debug_url?: string;
  /** Only if there are any: what could not be done as it was asked, or is not known, as sentences */
  warnings?: string[];
  /** Names this request in the logs of the service */
  request_id: string;
}

export type FilingsErrorName = "unknown_identifier" | "not_registered_filer" | "not_found" | "invalid_identifier" | "rate_limited" | "filings_unavailable" | "filings_not_configured" | "robots_disallowed" | "redirect_not_allowed" | "blocked_destination" | "timeout";

export interface FilingsFactsResult {
  /** The operation */
  op: "facts";
  /** The number of the filer */
  cik: number | null;
  /** The same with ten digits */
  cik_padded: string | null;
  /** The filer's name */
  name: string | null;
  /** Concepts by taxonomy */
  taxonomies: Record<string, number>;
  /** All concepts */
  concepts: number | null;
  /** Bytes of the whole document, which is at `body_url` */
  bytes: number | null;
  /** A code that does not change; null where there is no error */
  error: FilingsErrorName | (string & {}) | null;
  /** A sentence for people; null where there is no error */
  message: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Every document of this answer came from the cache */
  cached: boolean;
  /** When the oldest of them came from the filing system */
  retrieved_at: string | null;
  /** The address of the main document in the filing system */
  source_url: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Of the exact bytes of the main document */
  sha256: string | null;
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface FilingsFilingResult {
  /** The operation */
  op: "filing";
  /** The form type */
  form: string | null;
  /** The day it was filed */
  filing_date: string | null;
  /** The end of the period it reports on */
  report_date: string | null;
  /** In UTC */
  accepted: string | null;
  /** The filer's name */
  company: string | null;
  /** Whether the form amends another */
  is_amendment: boolean | null;
  /** The index page of the filing */
  index_url: string | null;
  /** The folder of the filing */
  folder_url: string | null;
  /** The number of the filing */
  accession: string | null;
  /** The number without dashes */
  accession_nodash: string | null;
  /** What the list was read from: the index page, or the folder's listing */
  index_source: "index_htm" | "index_json" | null;
  /** In the order of the index */
  documents: FilingDocument[];
  /** A code that does not change; null where there is no error */
  error: FilingsErrorName | (string & {}) | null;
  /** A sentence for people; null where there is no error */
  message: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Every document of this answer came from the cache */
  cached: boolean;
  /** When the oldest of them came from the filing system */
  retrieved_at: string | null;
  /** The address of the main document in the filing system */
  source_url: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Of the exact bytes of the main document */
  sha256: string | null;
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface FilingsItem {
  /** One of resolve, submissions, latest, facts, filing, document */
  op: string;
  /** A ticker symbol */
  ticker?: string | null;
  /** The number of the filer */
  cik?: number | string | null;
  /** With op resolve: a name or a part of one */
  name?: string | null;
  /** ISIN of a security of the company */
  isin?: string | null;
  /** Comma-separated form types, each whole: 10-K is neither 10-K/A nor 10-K405 */
  forms?: string | null;
  /** First filing date, YYYY-MM-DD */
  since?: string | null;
  /** Last filing date, YYYY-MM-DD */
  until?: string | null;
  /** With op submissions: the most filings */
  limit?: number | null;
  /** false: the recent list only */
  history?: boolean | null;
  /** With op filing and document: the number of the filing */
  accession?: string | null;
  /** With op document: a file name in the filing's own folder */
  document?: string | null;
  /** The largest body that is accepted */
  max_bytes?: number | null;
  /** Whether PDFs are read */
  accept_pdf?: boolean | null;
  /** With op document: whether the result has `html`; default false in a batch */
  include_html?: boolean | null;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
}

export interface FilingsJobItem {
  /** Its place among the submitted items, from 0 */
  index: number;
  /** What the items of the job are */
  kind: "filings";
  /** What has become of it */
  status: "pending" | "queued" | "done" | "failed" | "cancelled";
  /** As it was submitted, without defaults and unknown fields */
  input: FilingsJobItemInput;
  /** The answer of the single endpoint; null while unfinished or unavailable */
  result: FilingsResult | null;
  /** The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now */
  error: FilingsJobItemErrorName | (string & {}) | null;
}

export type FilingsJobItemErrorName = "unknown_identifier" | "not_registered_filer" | "not_found" | "invalid_identifier" | "rate_limited" | "filings_unavailable" | "filings_not_configured" | "robots_disallowed" | "redirect_not_allowed" | "blocked_destination" | "timeout" | "invalid_url" | "too_large" | "pdf_not_accepted" | "unreadable_document" | "selector_not_found" | "screenshot_failed" | "action_failed" | "all_tiers_failed" | "domain_unavailable" | "domain_dead" | "no_tier_allowed" | "politeness_timeout" | "domain_busy" | "premium_route_required" | "budget_exhausted" | "session_not_found" | "post_not_repeated" | "cancelled" | "result_unavailable" | "internal_error" | "key_quota_exhausted" | "key_budget_exhausted";

export interface FilingsJobItemInput {
  /** One of resolve, submissions, latest, facts, filing, document */
  op?: string;
  /** A ticker symbol */
  ticker?: string | null;
  /** The number of the filer */
  cik?: number | string | null;
  /** With op resolve: a name or a part of one */
  name?: string | null;
  /** ISIN of a security of the company */
  isin?: string | null;
  /** Comma-separated form types, each whole: 10-K is neither 10-K/A nor 10-K405 */
  forms?: string | null;
  /** First filing date, YYYY-MM-DD */
  since?: string | null;
  /** Last filing date, YYYY-MM-DD */
  until?: string | null;
  /** With op submissions: the most filings */
  limit?: number | null;
  /** false: the recent list only */
  history?: boolean | null;
  /** With op filing and document: the number of the filing */
  accession?: string | null;
  /** With op document: a file name in the filing's own folder */
  document?: string | null;
  /** The largest body that is accepted */
  max_bytes?: number | null;
  /** Whether PDFs are read */
  accept_pdf?: boolean | null;
  /** With op document: whether the result has `html`; default false in a batch */
  include_html?: boolean | null;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
}

export interface FilingsLatestResult {
  /** The operation */
  op: "latest";
  /** The number of the filing */
  accession: string | null;
  /** The form type */
  form: string | null;
  /** The day it was filed */
  filing_date: string | null;
  /** The end of the period it reports on */
  report_date: string | null;
  /** As the filing system sends it: it ends in Z, but is Eastern time in most rows and UTC in some */
  acceptance_datetime: string | null;
  /** The act it is filed under */
  act: string | null;
  /** The file number of the registrant */
  file_number: string | null;
  /** The film number */
  film_number: string | null;
  /** The items of a current report */
  items: string | null;
  /** The core type of the form */
  core_type: string | null;
  /** Bytes of the filing */
  size: number | null;
  /** Whether it has XBRL */
  is_xbrl: boolean | null;
  /** Whether the XBRL is inline */
  is_inline_xbrl: boolean | null;
  /** The file name of the main document */
  primary_document: string | null;
  /** What it is, in the filer's words */
  primary_document_description: string | null;
  /** Null when the document lies in a sub-folder, as ownership forms do */
  primary_document_url: string | null;
  /** The index page of the filing */
  index_url: string | null;
  /** Whether the form amends another */
  is_amendment: boolean | null;
  /** The number of the filer */
  cik: number | null;
  /** The same with ten digits */
  cik_padded: string | null;
  /** The filer's name */
  name: string | null;
  /** The primary one first */
  tickers: string[];
  /** Parallel to tickers; null where the list does not say */
  exchanges: (string | null)[];
  /** A code that does not change; null where there is no error */
  error: FilingsErrorName | (string & {}) | null;
  /** A sentence for people; null where there is no error */
  message: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Every document of this answer came from the cache */
  cached: boolean;
  /** When the oldest of them came from the filing system */
  retrieved_at: string | null;
  /** The address of the main document in the filing system */
  source_url: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Of the exact bytes of the main document */
  sha256: string | null;
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface FilingsResolveResult {
  /** The operation */
  op: "resolve";
  /** The number of the filer */
  cik: number | null;
  /** The same with ten digits */
  cik_padded: string | null;
  /** Its name in the list of filers */
  title: string | null;
  /** The primary one first */
  tickers: string[];
  /** Parallel to tickers; null where the list does not say */
  exchanges: (string | null)[];
  /** Whether several filers match */
  ambiguous: boolean;
  /** The filers that match, at most ten */
  candidates: FilerCompany[];
  /** What the company register knows; absent where it was not asked */
  hint?: FilerHint;
  /** A code that does not change; null where there is no error */
  error: FilingsErrorName | (string & {}) | null;
  /** A sentence for people; null where there is no error */
  message: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Every document of this answer came from the cache */
  cached: boolean;
  /** When the oldest of them came from the filing system */
  retrieved_at: string | null;
  /** The address of the main document in the filing system */
  source_url: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Of the exact bytes of the main document */
  sha256: string | null;
  /** Names this request in the logs of the service */
  request_id: string;
}

export type FilingsResult = FilingsResolveResult | FilingsSubmissionsResult | FilingsLatestResult | FilingsFactsResult | FilingsFilingResult | FilingsDocumentResult;

export interface FilingsSubmissionsResult {
  /** The operation */
  op: "submissions";
  /** The number of the filer */
  cik: number | null;
  /** The same with ten digits */
  cik_padded: string | null;
  /** Its name as the filing system has it */
  name: string | null;
  /** Its name in the list of filers */
  title: string | null;
  /** The primary one first */
  tickers: string[];
  /** Parallel to tickers; null where the list does not say */
  exchanges: (string | null)[];
  /** The kind of entity */
  entity_type: string | null;
  /** Standard industrial classification */
  sic: string | null;
  /** The same in words */
  sic_description: string | null;
  /** The filer category */
  category: string | null;
  /** MMDD */
  fiscal_year_end: string | null;
  /** Code of a state or country */
  state_of_incorporation: string | null;
  /** Employer identification number */
  ein: string | null;
  /** LEI */
  lei: string | null;
  /** Its website */
  website: string | null;
  /** Its phone number */
  phone: string | null;
  /** Where it is; null where the filing system does not say */
  business_address: FilerAddress | null;
  /** Earlier names */
  former_names: FormerName[];
  /** Newest first */
  filings: Filing[];
  /** All that match, before the limit */
  filings_total: number | null;
  /** More filings match than the limit */
  truncated: boolean;
  /** The older pages of the filer's list */
  files: OlderPage[];
  /** A code that does not change; null where there is no error */
  error: FilingsErrorName | (string & {}) | null;
  /** A sentence for people; null where there is no error */
  message: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Every document of this answer came from the cache */
  cached: boolean;
  /** When the oldest of them came from the filing system */
  retrieved_at: string | null;
  /** The address of the main document in the filing system */
  source_url: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Of the exact bytes of the main document */
  sha256: string | null;
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface FormerName {
  /** The name */
  name: string | null;
  /** Since when */
  from: string | null;
  /** Until when */
  to: string | null;
}

export interface GetCompanyEventsQuery {
  /** Seconds; older data is fetched again first */
  max_age?: number | null;
  /** Fetches from every source now */
  refresh?: boolean;
  /** Of people: also those who have left */
  include_former?: boolean;
  /** The most items of the answer */
  limit?: number;
  /** `next_cursor` of the page before */
  cursor?: string | null;
}

export interface GetCompanyEventsResponse {
  /** The id of a company */
  company_id: string;
  /** The entries of the page */
  items: CompanyEvent[];
  /** For the next page; null: there is none */
  next_cursor: string | null;
  /** What became of each source that was asked for this answer */
  refresh: CompanyRefresh[];
}

export interface GetCompanyFilingsQuery {
  /** Seconds; older data is fetched again first */
  max_age?: number | null;
  /** Fetches from every source now */
  refresh?: boolean;
  /** Of people: also those who have left */
  include_former?: boolean;
  /** The most items of the answer */
  limit?: number;
  /** `next_cursor` of the page before */
  cursor?: string | null;
}

export interface GetCompanyFilingsResponse {
  /** The id of a company */
  company_id: string;
  /** The entries of the page */
  items: CompanyFiling[];
  /** For the next page; null: there is none */
  next_cursor: string | null;
  /** What became of each source that was asked for this answer */
  refresh: CompanyRefresh[];
}

export interface GetCompanyFinancialsQuery {
  /** Seconds; older data is fetched again first */
  max_age?: number | null;
  /** Fetches from every source now */
  refresh?: boolean;
  /** Of people: also those who have left */
  include_former?: boolean;
  /** The most items of the answer */
  limit?: number;
  /** `next_cursor` of the page before */
  cursor?: string | null;
}

export interface GetCompanyFinancialsResponse {
  /** The id of a company */
  company_id: string;
  /** The entries of the page */
  items: CompanyFinancials[];
  /** For the next page; null: there is none */
  next_cursor: string | null;
  /** What became of each source that was asked for this answer */
  refresh: CompanyRefresh[];
}

export interface GetCompanyHistoryQuery {
  /** A field, or all below it */
  field?: string | null;
  /** The most items of the answer */
  limit?: number;
  /** `next_cursor` of the page before */
  cursor?: string | null;
}

export interface GetCompanyHistoryResponse {
  /** The id of a company */
  company_id: string;
  /** The entries of the page */
  items: CompanyClaim[];
  /** For the next page; null: there is none */
  next_cursor: string | null;
  /** What became of each source that was asked for this answer */
  refresh: CompanyRefresh[];
}

export interface GetCompanyOwnershipQuery {
  /** Seconds; older data is fetched again first */
  max_age?: number | null;
  /** Fetches from every source now */
  refresh?: boolean;
  /** Of people: also those who have left */
  include_former?: boolean;
  /** The most items of the answer */
  limit?: number;
  /** `next_cursor` of the page before */
  cursor?: string | null;
}

export interface GetCompanyOwnershipResponse {
  /** The id of a company */
  company_id: string;
  /** The entries of the page */
  items: GetCompanyOwnershipResponseItemsItem[];
  /** For the next page; null: there is none */
  next_cursor: string | null;
  /** What became of each source that was asked for this answer */
  refresh: CompanyRefresh[];
}

export interface GetCompanyOwnershipResponseItemsItem {
  /** What the entry says */
  relation: "interested_party" | "direct_parent" | "ultimate_parent" | "exception";
  /** Who owns or controls the company */
  party?: CompanyParty;
  /** Of an exception */
  category?: string;
  /** Of an exception */
  reason?: string;
}

export interface GetCompanyPeopleQuery {
  /** Seconds; older data is fetched again first */
  max_age?: number | null;
  /** Fetches from every source now */
  refresh?: boolean;
  /** Of people: also those who have left */
  include_former?: boolean;
  /** The most items of the answer */
  limit?: number;
  /** `next_cursor` of the page before */
  cursor?: string | null;
}

export interface GetCompanyPeopleResponse {
  /** The id of a company */
  company_id: string;
  /** The entries of the page */
  items: CompanyPerson[];
  /** For the next page; null: there is none */
  next_cursor: string | null;
  /** What became of each source that was asked for this answer */
  refresh: CompanyRefresh[];
}

export interface GetCompanyQuery {
  /** Seconds; older data is fetched again first */
  max_age?: number | null;
  /** Fetches from every source now */
  refresh?: boolean;
  /** With commas between: people, ownership, filings, financials, events, claims */
  include?: string | null;
  /** Names of sources, with commas between */
  sources?: string | null;
}

export interface GetCompanyRelationshipsQuery {
  /** Seconds; older data is fetched again first */
  max_age?: number | null;
  /** Fetches from every source now */
  refresh?: boolean;
  /** Of people: also those who have left */
  include_former?: boolean;
  /** The most items of the answer */
  limit?: number;
  /** `next_cursor` of the page before */
  cursor?: string | null;
}

export interface GetCompanyRelationshipsResponse {
  /** The id of a company */
  company_id: string;
  /** The entries of the page */
  items: CompanyRelationship[];
  /** For the next page; null: there is none */
  next_cursor: string | null;
  /** What became of each source that was asked for this answer */
  refresh: CompanyRefresh[];
}

export interface GetCompanySourcesQuery {
  /** Seconds; older data is fetched again first */
  max_age?: number | null;
  /** Fetches from every source now */
  refresh?: boolean;
  /** Of people: also those who have left */
  include_former?: boolean;
  /** The most items of the answer */
  limit?: number;
  /** `next_cursor` of the page before */
  cursor?: string | null;
}

export interface GetCompanySourcesResponse {
  /** The id of a company */
  company_id: string;
  /** The entries of the page */
  items: CompanySourceDocument[];
  /** For the next page; null: there is none */
  next_cursor: string | null;
  /** What became of each source that was asked for this answer */
  refresh: CompanyRefresh[];
}

export interface GetInvoiceQuery {
  /** html: a page to print; pdf: the same as a file; default by the header Accept */
  format?: "json" | "html" | "pdf";
}

export interface GetJobQuery {
  /** `items`: adds a page of items; `progress`: how it gets on; or both: `items,progress` */
  include?: string | null;
  /** How many of the selected items to skip */
  offset?: number;
  /** The most items of the page */
  limit?: number;
  /** Only items with a larger `index` */
  after?: number | null;
  /** Only items of this status */
  status?: "pending" | "queued" | "done" | "failed" | "cancelled" | null;
}

export interface GetJobResultsQuery {
  /** The first item */
  from?: number;
  /** Wait for unfinished items */
  follow?: boolean;
}

export interface GetJobUrlsCsvQuery {
  /** Only addresses of this state */
  state?: "waiting" | "in_flight" | "done" | "failed" | "excluded" | "gone" | null;
  /** Only pages of which a crawl with `since_job` says so */
  change?: "new" | "changed" | "unchanged" | "gone" | null;
  /** Only addresses with this reason */
  reason?: string | null;
}

export interface GetJobUrlsQuery {
  /** Only addresses of this state */
  state?: "waiting" | "in_flight" | "done" | "failed" | "excluded" | "gone" | null;
  /** Only pages of which a crawl with `since_job` says so */
  change?: "new" | "changed" | "unchanged" | "gone" | null;
  /** Only addresses with this reason */
  reason?: string | null;
  /** The first address: `next_cursor` of the page before */
  from?: number;
  /** The most addresses of the page */
  limit?: number;
}

export interface GivenCookie {
  /** Its name */
  name: string;
  /** Its value */
  value: string;
  /** The host of `url` or a domain above it: the cookie then goes to all hosts of that domain. Default: to the origin of `url` only */
  domain?: string | null;
  /** The paths that it goes to begin with this one. Default: / */
  path?: string | null;
}

export interface GraphAnswer {
  /** The operation */
  op: "graph";
  /** The company's id on the site; it may change */
  entity_id: string;
  /** Connected companies */
  company_connections: ProfileConnection[];
  /** Connected persons */
  person_connections: ProfileConnection[];
  /** Other connections, as addresses */
  other_connections: ProfileConnection[];
  /** Where the graph comes from */
  fetch: ProfileFetch | null;
  /** A code that does not change; null where there is no error */
  error: ProfileErrorName | null;
  /** A sentence for people */
  error_detail: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: number | null;
  /** How the answer is billed */
  billing_category: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached";
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface GraphBody {
  /** The company's id on the site; it may change */
  entity_id: string;
  /** ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored */
  country?: string | null;
  /** Requests with the same key leave by the same exit */
  session_key?: string | null;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** false: nothing is requested, only the cache is read */
  allow_paid?: boolean;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
}

export interface HintedCompany {
  /** Its id in the register */
  id: string | null;
  /** Its name */
  name: string | null;
  /** ISO 3166-1 alpha-2 */
  country: string | null;
  /** Where its shares are listed, as MIC:symbol */
  listings: string[];
  /** Its LEI */
  lei: string | null;
  /** Its ISINs */
  isins: string[];
}

export interface IndexAnswer {
  /** The form type */
  form: string | null;
  /** The day it was filed */
  filing_date: string | null;
  /** The end of the period it reports on */
  report_date: string | null;
  /** In UTC */
  accepted: string | null;
  /** The filer's name */
  company: string | null;
  /** Whether the form amends another */
  is_amendment: boolean | null;
  /** The index page of the filing */
  index_url: string | null;
  /** The folder of the filing */
  folder_url: string | null;
  /** The number of the filing */
  accession: string | null;
  /** The number without dashes */
  accession_nodash: string | null;
  /** What the list was read from: the index page, or the folder's listing */
  index_source: "index_htm" | "index_json" | null;
  /** In the order of the index */
  documents: FilingDocument[];
  /** A code that does not change; null where there is no error */
  error: FilingsErrorName | (string & {}) | null;
  /** A sentence for people; null where there is no error */
  message: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Every document of this answer came from the cache */
  cached: boolean;
  /** When the oldest of them came from the filing system */
  retrieved_at: string | null;
  /** The address of the main document in the filing system */
  source_url: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Of the exact bytes of the main document */
  sha256: string | null;
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface Invoice {
  /** The number of the invoice */
  id: string;
  /** The customer */
  customer: string;
  /** The month */
  period: string;
  /** Whether it is paid */
  status: "issued" | "paid" | "void";
  /** ISO 4217 */
  currency: "USD" | "CHF" | "EUR";
  /** The sum of the lines, six decimals */
  total: string;
  /** What is to be paid, two decimals: the net amount with the tax */
  payable: string;
  /** When it was drawn up */
  issued_at: string;
  /** When it is to be paid; null: invoices of version 0.2.0 and earlier say no date */
  due_at: string | null;
  /** When it was paid; null: it is not */
  paid_at: string | null;
  /** When it was made void; null: it is not */
  voided_at: string | null;
  /** The first moment of the month */
  since: string;
  /** The first moment of the next */
  until: string;
  /** The currency for one US dollar, where provider cost was converted; else null */
  exchange_rate: string | null;
  /** As the operator's settings were at its issue; null: they named none */
  seller: InvoiceParty | null;
  /** As the customer was at its issue */
  buyer: InvoiceParty;
  /** How to pay, in the operator's words; null: not said */
  payment: string | null;
  /** The total rounded half up to two decimals */
  net: string;
  /** What the rounding adds to the total or, with a minus, takes from it */
  rounding: string;
  /** The line of tax; null: none is charged */
  tax: InvoiceTax | null;
  /** One for each billing category */
  lines: InvoiceLine[];
}

export interface InvoiceLine {
  /** The month of the requests: an earlier one for rows that were written after its invoice */
  period: string;
  /** The billing category */
  category: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached";
  /** Requests and items */
  requests: number;
  /** Requests without an error: the only ones that a price is charged for */
  succeeded: number;
  /** In the invoice's currency; null: the customer pays what providers cost */
  unit_price: string | null;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: string | null;
  /** The amount of the line */
  amount: string;
}

export interface InvoiceParty {
  /** The name of the company or person */
  name: string;
  /** The lines of the address */
  address: string[];
  /** The number for tax; null: none is known */
  tax_id: string | null;
}

export interface InvoiceSummary {
  /** The number of the invoice */
  id: string;
  /** The customer */
  customer: string;
  /** The month */
  period: string;
  /** Whether it is paid */
  status: "issued" | "paid" | "void";
  /** ISO 4217 */
  currency: "USD" | "CHF" | "EUR";
  /** The sum of the lines, six decimals */
  total: string;
  /** What is to be paid, two decimals: the net amount with the tax */
  payable: string;
  /** When it was drawn up */
  issued_at: string;
  /** When it is to be paid; null: invoices of version 0.2.0 and earlier say no date */
  due_at: string | null;
  /** When it was paid; null: it is not */
  paid_at: string | null;
  /** When it was made void; null: it is not */
  voided_at: string | null;
}

export interface InvoiceTax {
  /** What the tax is called */
  name: string;
  /** Of the net amount */
  percent: string;
  /** Rounded half up to two decimals */
  amount: string;
}

export interface JobCompletion {
  /** The id of the job */
  job_id: string;
  /** What its items are */
  kind: "search" | "fetch" | "filings" | "profiles" | "company" | "crawl";
  /** How the job ended */
  status: "completed" | "cancelled";
  /** All items */
  total: number;
  /** Items without an error */
  succeeded: number;
  /** Items with an error */
  failed: number;
  /** When the last item finished */
  finished_at: string;
}

export interface JobCounts {
  /** All items; of a crawl that runs, those that there are so far */
  total: number;
  /** Waiting to be admitted, also for another attempt */
  pending: number;
  /** Admitted, or running */
  queued: number;
  /** Finished */
  done: number;
  /** Finished with an error */
  failed: number;
  /** Cancelled before they finished */
  cancelled: number;
  /** Of a crawl: the different addresses that were found, those of its items among them */
  discovered?: number;
  /** Of a crawl: addresses that are not fetched, each with a reason (`/v1/jobs/{job_id}/urls`) */
  excluded?: number;
}

export interface JobCreated {
  /** The id of the job */
  job_id: string;
  /** False: the idempotency key already named this job */
  created: boolean;
  /** Only of a job with `webhook`: signs its events */
  webhook_secret?: string;
  /** Only if there are any: what could not be done as it was asked, or is not known, as sentences */
  warnings?: string[];
}

export type JobItem = FilingsJobItem | SearchJobItem | ProfilesJobItem | CompanyJobItem | FetchJobItem | CrawlJobItem;

export interface JobPage {
  /** Newest first */
  items: JobStatus[];
  /** For the next page; null: there is none */
  next_cursor: string | null;
}

export interface JobPause {
  /** Whether the job starts no further item */
  paused: boolean;
}

export interface JobProgress {
  /** Items that ended per second, over the last minute or since the first of them ended; counted anew where another node takes the job over */
  items_per_s: number;
  /** Items in flight */
  in_flight: number;
  /** Why no further item starts: its items are stored (`items_stored`) or loaded (`items_loaded`) first, or its last ones stop (`items_stopped`); it is paused; its customer is suspended; its key is not read yet (`key_read`); other jobs have the cluster (`share`); its sites are busy, or items wait for another attempt (`sites`); others hold the rest of the key's quota (`quota`). Null: items start or run */
  waits_for: "items_stored" | "items_loaded" | "items_stopped" | "paused_by_client" | "paused_by_operator" | "customer_suspended" | "key_read" | "share" | "sites" | "quota" | null;
  /** When the next item of a job that waits for `sites` may start; null for all other reasons */
  waits_until: string | null;
  /** Sites that asked to be left alone for a while, at most five; items of other sites go on */
  waits_for_sites: string[];
}

export interface JobResultsEvent {
  /** The same in every attempt, also `webhook-id` in the header */
  id: string;
  /** Items that have ended, or, after all of them, that there are no more */
  type: "job.results" | "job.results.complete";
  /** The id of the job */
  job_id: string;
  /** The sink */
  sink_id: string;
  /** Parts are numbered from 1 */
  part: number;
  /** Each item of the job is in one part */
  items: JobItem[];
}

export interface JobStatus {
  /** The id of the job */
  job_id: string;
  /** What its items are */
  kind: "search" | "fetch" | "filings" | "profiles" | "company" | "crawl";
  /** Only of a visit of a monitor, which stays listed for a day: that monitor */
  monitor_id?: string;
  /** Queued until the first item runs */
  status: "queued" | "running" | "completed" | "cancelled";
  /** Who paused the job, so that no further item starts; an operator's pause is lifted by the operator only. null: it is not paused, or has ended */
  paused: "client" | "operator" | null;
  /** Its items by status */
  counts: JobCounts;
  /** When it was created */
  created_at: string;
  /** When an item last changed */
  updated_at: string;
  /** When its last item finished; null: it has not */
  finished_at: string | null;
  /** Where the job's end is told; null: nowhere */
  callback_url: string | null;
  /** Of the last attempt: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it */
  callback_status: CallbackOutcome | (string & {}) | null;
  /** Only of a job with `webhook`: how the delivery of its events stands */
  webhook?: JobWebhook;
  /** Only of a job with a limit of its own: what it may cost, in US dollars */
  max_cost_usd?: number;
  /** Only of a job with `max_cost_usd`: whether an attempt was not made because of it. Then items go on by what costs nothing */
  max_cost_reached?: boolean;
  /** With include=progress: how it gets on. null: it has ended, or its node does not answer now */
  progress?: JobProgress | null;
  /** Where its items are */
  items_url: string;
  /** With include=items: one page of items */
  items?: JobItem[];
  /** With include=items: `after` of the next page where this one ended for its size; null where it did not */
  next_after?: number | null;
}

export interface JobWebhook {
  /** No other event is delivered: the receiver answered 410, an attempt was refused by the guard of outgoing requests, or an event was given up */
  is_off: boolean;
  /** Of the last attempt: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it */
  last_status: string | null;
}

export interface JobWebhookBody {
  /** An https address that events are delivered to */
  url: string;
  /** `page`: each page that was fetched or failed; `completed`: the end of the job. Only with the form `firecrawl`: `started`, and `failed`, the end of a job that was cancelled. Default: all of the form */
  events?: ("started" | "page" | "completed" | "failed")[];
  /** How events are written: `firecrawl` as Firecrawl's API, version 2, has them, signed in `X-Firecrawl-Signature`, too */
  form?: "trawl" | "firecrawl";
  /** Only with the form `firecrawl`: what each event gives back */
  metadata?: Record<string, string> | null;
}

export interface KeyBody {
  /** Words for the key */
  label?: string | null;
  /** What the key may be used for; null: everything */
  categories?: ("search" | "fetch")[] | null;
  /** Requests a second; null: no limit of its own */
  rate_limit_rps?: number | null;
  /** Requests a month by category */
  quotas?: KeyBodyQuotas;
  /** In the customer's currency; null: no limit */
  spend_cap?: string | null;
  /** Whether routes that cost money may be taken for the key */
  paid_fetches?: boolean;
  /** Whether `X-Service-Debug: 1` gets a debug_url */
  debug?: boolean;
  /** When the key stops working, a moment in the future; null: never */
  expires_at?: string | null;
  /** The project of the key; default: that of the calling key */
  project?: string;
  /** A standard key sees itself, an account admin its whole customer; default standard */
  role?: "standard" | "account_admin";
}

export interface KeyBodyQuotas {
  /** Searches a month; null: no limit */
  search?: number | null;
  /** Fetches a month; null: no limit */
  fetch?: number | null;
}

export interface KeyChange {
  /** Words for the key */
  label?: string | null;
  /** What the key may be used for; null: everything */
  categories?: ("search" | "fetch")[] | null;
  /** Requests a second; null: no limit of its own */
  rate_limit_rps?: number | null;
  /** Requests a month by category */
  quotas?: KeyBodyQuotas;
  /** In the customer's currency; null: no limit */
  spend_cap?: string | null;
  /** Whether routes that cost money may be taken for the key */
  paid_fetches?: boolean;
  /** Whether `X-Service-Debug: 1` gets a debug_url */
  debug?: boolean;
  /** When the key stops working, a moment in the future; null: never */
  expires_at?: string | null;
}

export interface KeyEvent {
  /** When it was done */
  at: string;
  /** What was done */
  action: "created" | "changed" | "rotated" | "revoked";
  /** The first characters of the key */
  key: string;
  /** The prefix of the key that asked for it */
  by: string;
  /** What was set */
  fields: string[];
  /** With rotated: the prefix of the new key */
  replaced_by: string | null;
}

export interface KeyEvents {
  /** Newest first */
  events: KeyEvent[];
}

export interface KeyRotation {
  /** How long the old key still works, in seconds; 0: it is revoked at once */
  grace_s?: number;
  /** When the key stops working, a moment in the future; null: never */
  expires_at?: string | null;
}

export interface LatestAnswer {
  /** The number of the filing */
  accession: string | null;
  /** The form type */
  form: string | null;
  /** The day it was filed */
  filing_date: string | null;
  /** The end of the period it reports on */
  report_date: string | null;
  /** As the filing system sends it: it ends in Z, but is Eastern time in most rows and UTC in some */
  acceptance_datetime: string | null;
  /** The act it is filed under */
  act: string | null;
  /** The file number of the registrant */
  file_number: string | null;
  /** The film number */
  film_number: string | null;
  /** The items of a current report */
  items: string | null;
  /** The core type of the form */
  core_type: string | null;
  /** Bytes of the filing */
  size: number | null;
  /** Whether it has XBRL */
  is_xbrl: boolean | null;
  /** Whether the XBRL is inline */
  is_inline_xbrl: boolean | null;
  /** The file name of the main document */
  primary_document: string | null;
  /** What it is, in the filer's words */
  primary_document_description: string | null;
  /** Null when the document lies in a sub-folder, as ownership forms do */
  primary_document_url: string | null;
  /** The index page of the filing */
  index_url: string | null;
  /** Whether the form amends another */
  is_amendment: boolean | null;
  /** The number of the filer */
  cik: number | null;
  /** The same with ten digits */
  cik_padded: string | null;
  /** The filer's name */
  name: string | null;
  /** The primary one first */
  tickers: string[];
  /** Parallel to tickers; null where the list does not say */
  exchanges: (string | null)[];
  /** A code that does not change; null where there is no error */
  error: FilingsErrorName | (string & {}) | null;
  /** A sentence for people; null where there is no error */
  message: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Every document of this answer came from the cache */
  cached: boolean;
  /** When the oldest of them came from the filing system */
  retrieved_at: string | null;
  /** The address of the main document in the filing system */
  source_url: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Of the exact bytes of the main document */
  sha256: string | null;
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface LatestFilingQuery {
  /** Comma-separated form types, each whole: 10-K is neither 10-K/A nor 10-K405. Amendments only when they are listed */
  forms?: string;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
}

export interface LedgerAttempt {
  /** The route */
  tier: string;
  /** The origin's status; null: no answer */
  status: number | null;
  /** `ok`, or why it was not good enough */
  reason: string;
  /** How long it took, in milliseconds */
  ms: number;
}

export interface ListAlertsResponse {
  /** The webhooks that the key sees */
  alerts: AlertHook[];
}

export interface ListArchiveImportsResponse {
  /** Sorted by id */
  archives: ArchiveImport[];
}

export interface ListCapturesQuery {
  /** The address; with `*` at its end, everything that begins with it */
  url: string;
  /** Which addresses: this one, those below it, its host's, also of subdomains */
  matchType?: "exact" | "prefix" | "host" | "domain" | null;
  /** The first time: 1 to 14 digits, as 20261125 */
  from?: string | null;
  /** The last time */
  to?: string | null;
  /** The most captures */
  limit?: number;
  /** `column:expression` (RE2, the whole value), with `!` before it: those that it does not fit */
  filter?: string | null;
  /** A table, or a line for each capture with spaces between its columns */
  output?: "json" | "text" | null;
}

export interface ListCompanyBaselineQuery {
  /** Only companies of this country, ISO 3166-1 alpha-2 */
  country?: string | null;
  /** `next_cursor` of the page before */
  cursor?: string | null;
  /** The most items of the answer */
  limit?: number;
}

export interface ListCompanyBaselineResponse {
  /** In no order that means anything */
  items: CompanyBaselineItem[];
  /** For the next page; null: this is the last one */
  next_cursor: string | null;
  /** `cursor` of GET /v1/companies/changes with the same country; the same on every page */
  changes_cursor: string;
}

export interface ListCompanyChangesQuery {
  /** ISO 8601, a day or a moment, UTC where it has no offset; for the first call */
  since?: string | null;
  /** `next_cursor` of the page before */
  cursor?: string | null;
  /** Only companies of this country, ISO 3166-1 alpha-2 */
  country?: string | null;
  /** The most items of the answer */
  limit?: number;
}

export interface ListCompanyChangesResponse {
  /** Oldest first */
  items: CompanyChange[];
  /** Whole files that came into the register for the first time, oldest first, whatever the country */
  baselines: CompanyBaseline[];
  /** For the next page; also after the last change so far */
  next_cursor: string;
}

export interface ListCompanyReviewQuery {
  /** The first item: `next_from` of the page before */
  from?: number;
  /** The most items of the page */
  limit?: number;
}

export interface ListCompanySourcesResponse {
  /** The sources, also inactive ones */
  sources: CompanySource[];
}

export interface ListCompanyWatchesResponse {
  /** The watches, without secrets */
  watches: CompanyWatch[];
}

export interface ListFilingDocumentsQuery {
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
}

export interface ListInvoicesResponse {
  /** Newest first */
  invoices: InvoiceSummary[];
}

export interface ListJobSinksResponse {
  /** The sinks, without secrets */
  sinks: Sink[];
}

export interface ListJobsQuery {
  /** Only jobs of this status */
  status?: "queued" | "running" | "completed" | "cancelled" | null;
  /** Only jobs of this kind */
  kind?: "search" | "fetch" | "filings" | "profiles" | "company" | "crawl" | null;
  /** The most items of the answer */
  limit?: number;
  /** `next_cursor` of the page before */
  cursor?: string | null;
}

export interface ListMonitorChangesQuery {
  /** `next_cursor` of the page before */
  cursor?: string | null;
  /** The most items of the answer */
  limit?: number;
}

export interface ListMonitorChangesResponse {
  /** Oldest first */
  items: MonitorChange[];
  /** For the next page; also after the last change so far */
  next_cursor: string;
}

export interface ListMonitorsResponse {
  /** The monitors, without secrets */
  monitors: Monitor[];
}

export interface ListSessionsResponse {
  /** The sessions of the project */
  sessions: Session[];
}

export interface ListSubmissionsQuery {
  /** Comma-separated form types, each whole: 10-K is neither 10-K/A nor 10-K405 */
  forms?: string;
  /** First filing date, YYYY-MM-DD */
  since?: string;
  /** Last filing date, YYYY-MM-DD */
  until?: string;
  /** The most filings */
  limit?: number;
  /** false: the recent list only, about the last 1000 filings */
  history?: boolean;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
}

export interface MapBody {
  /** An address of the site, usually its home page; what is no http(s) address is answered with the error `invalid_url` */
  url: string;
  /** Words: addresses whose path or title has them come first */
  search?: string | null;
  /** The most addresses of the answer */
  limit?: number;
  /** Whether sitemaps are read beside the page at `url`, instead of it, or not at all */
  sitemap?: "include" | "only" | "skip";
  /** Whether addresses of the host's subdomains belong to the answer; with and without `www.` is one host */
  include_subdomains?: boolean;
  /** Whether addresses are listed without their query, each once */
  ignore_query?: boolean;
  /** The oldest acceptable copies of sitemaps and pages, in seconds; 0 reads everything anew */
  cache_ttl_s?: number | null;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** After so many seconds the answer has what was found until then. Default 120 */
  timeout_s?: number | null;
}

export type MapErrorName = "invalid_url" | "blocked_destination" | "robots_disallowed" | "too_large" | "pdf_not_accepted" | "unreadable_document" | "selector_not_found" | "screenshot_failed" | "action_failed" | "all_tiers_failed" | "domain_unavailable" | "domain_dead" | "timeout" | "no_tier_allowed" | "politeness_timeout" | "domain_busy" | "premium_route_required" | "budget_exhausted" | "session_not_found" | "post_not_repeated" | "filings_not_configured" | "rate_limited" | "filings_unavailable" | "redirect_not_allowed" | "quota_exhausted";

export interface MapLink {
  /** The address */
  url: string;
  /** Its title: of a feed, a news sitemap, a stored page, or the words of the link */
  title: string | null;
  /** When it changed last, as a sitemap or feed says: a date, or a moment in UTC */
  lastmod: string | null;
  /** Where it was found first: a sitemap, a feed, the page at `url`, robots.txt (the address itself), what the project has stored */
  found_in: "sitemap" | "page" | "robots" | "feed" | "stored";
}

export interface MapResponse {
  /** As it was asked, a user name and a password masked */
  url: string;
  /** With `search`, best first; else in the order in which they were found */
  links: MapLink[];
  /** Different addresses that were found, also beyond `limit` */
  total: number;
  /** There are more than `links` has: beyond `limit`, or in what was not read for time or limits */
  truncated: boolean;
  /** The sitemaps and feeds that were tried, in order; the first 1,000 */
  sitemaps: MapSitemap[];
  /** Everything was read from the cache */
  cached: boolean;
  /** Null: something was found. Else an error of a fetch: why nothing could be read; `timeout` and `quota_exhausted` (nothing is left of the quota or of a limit of spend) beside what was found before */
  error: MapErrorName | (string & {}) | null;
  /** Only if there are any: what could not be done as it was asked, or is not known, as sentences */
  warnings?: string[];
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface MapSitemap {
  /** Its address */
  url: string;
  /** The origin's status; null: no answer */
  status: number | null;
  /** The entries that were read */
  entries: number;
  /** Null: it was read to its end. An error of a fetch, or `not_a_sitemap`, `malformed`, `too_large`, `too_slow`, `already_read`, `too_deep` */
  error: MapSitemapErrorName | (string & {}) | null;
  /** What is wrong with it although it could be read */
  warnings?: string[];
}

export type MapSitemapErrorName = "invalid_url" | "blocked_destination" | "robots_disallowed" | "too_large" | "pdf_not_accepted" | "unreadable_document" | "selector_not_found" | "screenshot_failed" | "action_failed" | "all_tiers_failed" | "domain_unavailable" | "domain_dead" | "timeout" | "no_tier_allowed" | "politeness_timeout" | "domain_busy" | "premium_route_required" | "budget_exhausted" | "session_not_found" | "post_not_repeated" | "filings_not_configured" | "rate_limited" | "filings_unavailable" | "redirect_not_allowed" | "not_a_sitemap" | "malformed" | "too_slow" | "already_read" | "too_deep";

export interface MicrodataItem {
  /** Its type; several as an array */
  type?: string | string[];
  /** Its `itemid` */
  id?: string;
  /** By name: a text, an item, or an array of them */
  properties?: Record<string, unknown>;
  /** The text of an item without properties */
  value?: string;
}

export interface Mistake {
  /** Where: body, query, path or header, then names and positions */
  loc: (string | number)[];
  /** What is wrong, in words */
  msg: string;
  /** A code of the mistake, as pydantic names it */
  type: string;
}

export interface Monitor {
  /** The id of the monitor */
  id: string;
  /** The page, a user name and a password masked */
  url: string;
  /** The client's name for it */
  label: string | null;
  /** Seconds between visits; null: `cron` says when */
  every_s: number | null;
  /** When the page is visited; null: every `every_s` seconds */
  cron: string | null;
  /** Of `cron` */
  timezone: string;
  /** What counts as a change */
  watch: "text" | "markdown" | "status" | "links";
  /** How the page is fetched; null: it cannot be read */
  fetch: MonitorFetch | null;
  /** Where changes are delivered; null: nowhere */
  webhook: MonitorWebhookView | null;
  /** Why no visit is made: a client paused it, or the key that paid is revoked; null: visits are made */
  paused: "client" | "key_revoked" | null;
  /** When it was created */
  created_at: string;
  /** When the next visit is due, in the past while it is under way; null: none is */
  next_check_at: string | null;
  /** The last visit; null: there was none */
  last_check: MonitorCheck | null;
  /** Visits that failed since the last one that did not; a failed visit is no change */
  failures: number;
  /** All visits */
  checks: number;
  /** Visits that found a change */
  changes: number;
  /** What the last visit that did not fail found; null: there was none */
  current: MonitoredState | null;
  /** Signs deliveries; only in the answer to the request that gives the monitor its first webhook */
  secret: string | null;
}

export interface MonitorBody {
  /** The page, an http or https address */
  url: string;
  /** Seconds from one visit to the next; this or `cron` */
  every_s?: number | null;
  /** Minute, hour, day of the month, month, day of the week: when the page is visited, at least five minutes apart. What a change of the clock leaves out comes right after it; what it repeats comes once if hour and minute are single numbers */
  cron?: string | null;
  /** The time zone of `cron`, by its IANA name. Default UTC */
  timezone?: string | null;
  /** What counts as a change: of the text, of the Markdown, of the status, or of the addresses that the page links to. With `fetch.include_selectors` only of that part of the page */
  watch?: "text" | "markdown" | "status" | "links";
  /** How the page is fetched; each visit asks anew, and takes no archived copy */
  fetch?: MonitorFetch | null;
  /** Where changes are delivered; null: they are only listed */
  webhook?: MonitorWebhook | null;
  /** A name of the client's own */
  label?: string | null;
}

export interface MonitorChange {
  /** The id of the change, the same in every delivery */
  id: string;
  /** The monitor */
  monitor_id: string;
  /** The page, a user name and a password masked */
  url: string;
  /** When the visit ended */
  checked_at: string;
  /** What the visit before found */
  previous: MonitoredState;
  /** What this visit found */
  current: MonitoredState;
  /** Unified diff of the Markdown, of the status, or of the addresses; null: the page is too long or too different */
  diff: string | null;
  /** The diff has not everything that changed: it ends at 64 KB, or is null */
  diff_truncated: boolean;
  /** How it was delivered; null: the monitor had no webhook */
  delivery: MonitorDelivery | null;
}

export interface MonitorCheck {
  /** When it ended */
  at: string;
  /** `first`: there was nothing to compare with */
  outcome: "first" | "unchanged" | "changed" | "failed";
  /** Why it failed, an error of a fetch or of the key; null: it did not */
  error: FetchJobItemErrorName | (string & {}) | null;
  /** The job of the visit, listed for a day; null: none was begun */
  job_id: string | null;
}

export interface MonitorDelivery {
  /** Attempts so far, 8 within 24 hours at most */
  attempts: number;
  /** How the last attempt ended; null: none has */
  status: string | null;
  /** Whether no further attempt is made */
  is_over: boolean;
}

export interface MonitorFetch {
  /** Whether a browser runs the page's scripts: when a plain request finds no text, never, or always */
  render?: "auto" | "never" | "always";
  /** The largest body that is accepted */
  max_bytes?: number;
  /** Whether PDFs are read */
  accept_pdf?: boolean;
  /** With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two */
  min_text_chars?: number;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** Whether routes that cost money may be used */
  allow_paid?: boolean;
  /** Another name of `allow_paid`: false in either of them forbids these routes */
  allow_premium?: boolean;
  /** The routes that may be used; null: all */
  tiers?: ("direct" | "browser" | "archive" | "proxy" | "proxy_render")[] | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
  /** The country of the exit on premium routes, ISO 3166-1 alpha-2 */
  country?: string | null;
  /** The User-Agent to send; the project needs permission */
  user_agent?: string | null;
  /** The Accept-Language to send */
  accept_language?: string | null;
  /** The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all */
  fields?: FetchField[] | null;
  /** What a browser waits for before it reads the page; takes the route browser only */
  wait_for?: WaitFor | null;
  /** Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project */
  archive?: boolean;
  /** Header fields for the origin of `url` and no other, 50 and 16,384 bytes at most. Fields of the connection, proxy and `Sec-` fields are refused, and those that an option sets (`user_agent`, `accept_language`). The routes direct and browser only */
  headers?: Record<string, string> | null;
  /** Cookies for the origin of `url`. The routes direct and browser only */
  cookies?: GivenCookie[] | null;
  /** Whether an answer to `headers`, `cookies`, `body` or `actions` is kept in the cache, for the same request of the same project only. By default it is not kept */
  cache_private?: boolean;
  /** Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed */
  actions?: Action[] | null;
  /** A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies` */
  session_id?: string | null;
  /** false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page */
  only_main_content?: boolean | null;
  /** Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one */
  include_comments?: boolean;
  /** CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not */
  include_selectors?: string[] | null;
  /** CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included */
  exclude_selectors?: string[] | null;
  /** Values that are taken out of the page, under names of the caller: by CSS selectors (`fields`), or by a language model (`schema`). The answer has `extract`. Elements of `exclude_selectors` are not there */
  extract?: ExtractOptions | null;
  /** What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page */
  block_resources?: ("image" | "font" | "media" | "stylesheet" | "ads")[] | null;
  /** `mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only */
  device?: "desktop" | "mobile";
  /** The window of the browser; takes the route browser only. Default: 1280 × 720 */
  viewport?: Viewport | null;
}

export interface MonitorPatch {
  /** Seconds from one visit to the next; this or `cron` */
  every_s?: number | null;
  /** Minute, hour, day of the month, month, day of the week: when the page is visited, at least five minutes apart. What a change of the clock leaves out comes right after it; what it repeats comes once if hour and minute are single numbers */
  cron?: string | null;
  /** The time zone of `cron`, by its IANA name. Default UTC */
  timezone?: string | null;
  /** Another one begins anew: the next visit only says how the page is */
  watch?: "text" | "markdown" | "status" | "links";
  /** How the page is fetched; each visit asks anew, and takes no archived copy */
  fetch?: MonitorFetch | null;
  /** Where changes are delivered; null: they are only listed */
  webhook?: MonitorWebhook | null;
  /** A name of the client's own */
  label?: string | null;
  /** Whether visits stop */
  paused?: boolean;
}

export interface MonitorWebhook {
  /** An https address that changes are delivered to */
  url: string;
  /** Only with the form `firecrawl`: which of its events are delivered of a visit that found a change. Default: both */
  events?: ("monitor.page" | "monitor.check.completed")[];
  /** How events are written: `firecrawl` as Firecrawl's API, version 2, has them, signed in `X-Firecrawl-Signature`, too */
  form?: "trawl" | "firecrawl";
  /** Only with the form `firecrawl`: what each event gives back */
  metadata?: Record<string, string> | null;
}

export interface MonitorWebhookView {
  /** The address, passwords and query secrets masked; null: it cannot be read */
  url: string | null;
  /** Of the last delivery: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it */
  last_status: string | null;
  /** The receiver answered 410, so nothing is delivered until `webhook` is given again */
  is_off: boolean;
}

export interface MonitoredState {
  /** SHA-256 of what is watched: text, Markdown, status, or addresses one a line */
  sha256: string;
  /** When the page was retrieved */
  retrieved_at: string;
  /** Its status */
  status: number | null;
}

export interface NamedSecret {
  /** Its name, for `secret` of a step */
  name: string;
  /** The only origin into whose pages it is typed; null: that of the `url` of each fetch */
  origin: string | null;
}

export interface NetworkGraph {
  /** Connected companies */
  company_connections: ProfileConnection[];
  /** Connected persons */
  person_connections: ProfileConnection[];
  /** Other connections, as addresses */
  other_connections: ProfileConnection[];
  /** `page` where the graph could not be fetched */
  source: "data.json" | "page";
}

export interface OlderPage {
  /** Its file name */
  name: string;
  /** Filings on it */
  filing_count: number | null;
  /** The first filing date on it */
  filing_from: string | null;
  /** The last filing date on it */
  filing_to: string | null;
  /** Its address */
  url: string;
  /** Whether it was read for this answer */
  fetched: boolean;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
}

export interface OpenGraph {
  /** The address of each prefix */
  namespace: Record<string, string>;
  /** Names and values in the page's order; a name may come again */
  properties: (string[])[];
}

export interface PageAlternate {
  /** Its address */
  url: string;
  /** The language, as the page says */
  language: string | null;
  /** The media type, as the page says */
  type: string | null;
}

export interface PageChangedEvent {
  /** The id of the change, the same in every delivery */
  id: string;
  /** The monitor */
  monitor_id: string;
  /** The page, a user name and a password masked */
  url: string;
  /** When the visit ended */
  checked_at: string;
  /** What the visit before found */
  previous: MonitoredState;
  /** What this visit found */
  current: MonitoredState;
  /** Unified diff of the Markdown, of the status, or of the addresses; null: the page is too long or too different */
  diff: string | null;
  /** The diff has not everything that changed: it ends at 64 KB, or is null */
  diff_truncated: boolean;
  /** The kind of event */
  type: "page.changed";
  /** The changes of the monitor */
  changes_url: string;
}

export interface PageComment {
  /** The name it stands under; null: none */
  author: string | null;
  /** ISO 8601: with a time in UTC or without a zone, or only a date, a month or a year; null: none, or one that counts from now */
  published_at: string | null;
  /** What it says, a paragraph a line */
  text: string;
}

export interface PageImage {
  /** Its address */
  url: string;
  /** The text that stands for it */
  alt: string | null;
  /** In CSS pixels, as its element says */
  width: number | null;
  /** In CSS pixels, as its element says */
  height: number | null;
}

export interface PageLink {
  /** Where it leads */
  url: string;
  /** Its words */
  text: string;
  /** Its relation to the page, as its element says */
  rel: string | null;
}

export interface PageTable {
  /** The table it stands in, as its place in `tables`, from 0 */
  parent: number | null;
  /** Its caption */
  caption: string | null;
  /** The name of each column; several rows of headers are joined by ` / `, a name that comes again ends in ` (2)`; empty: it has no headers */
  headers: string[];
  /** The texts of its cells, rows of equal length; a cell that covers several places is in each of them */
  rows: (string[])[];
  /** Cells of `rows` that cover several places */
  spans: TableSpan[];
  /** It goes on beyond a limit, which `warnings` names */
  truncated: boolean;
}

export interface PdfPage {
  /** Its number, from 1 */
  page: number;
  /** Its text */
  text: string;
  /** true: the page is a picture without text, as scanned pages are; absent for others, and where its text was recognised */
  needs_ocr?: boolean;
  /** true: the page is a picture, and its text was recognised by optical character recognition, which makes mistakes */
  ocr?: boolean;
}

export interface PrimarySource {
  /** Its address */
  url: string;
  /** What it is */
  kind: "court" | "government" | "press_release" | "doi" | "pdf";
  /** The words of the link */
  text: string | null;
}

export interface Profile {
  /** Its name */
  name: string | null;
  /** Its number in the register, or the register's text */
  register_id: string | null;
  /** The register's court */
  court: string | null;
  /** Active, Terminated, Liquidation, or another word of the site */
  status: string | null;
  /** All its numbers */
  identifiers: ProfileIdentifier[];
  /** As the site writes it */
  address: string | null;
  /** Its city */
  city: string | null;
  /** As the site writes it */
  country: string | null;
  /** The country that the page's address shows, ISO 3166-1 alpha-2 */
  path_country: string | null;
  /** The company's id on the site; it may change */
  entity_id: string | null;
  /** Its LEI */
  lei: string | null;
  /** Its industry */
  industry: string | null;
  /** Earlier names */
  former_names: string[];
  /** Earlier addresses */
  former_addresses: string[];
  /** What the register says it does */
  corporate_purpose: string | null;
  /** More that the site says, by lines */
  additional_info: string | null;
  /** The timeline, the oldest first */
  history: ProfileEvent[];
  /** What the company published */
  publications: ProfilePublication[];
  /** Publications that mention it */
  mentions: ProfilePublication[];
  /** Persons of the page, then of the graph; not complete */
  officers: ProfileOfficer[];
  /** Partners of mergers, acquisitions and control, then companies of the graph */
  related: ProfileRelation[];
  /** As the name writes it; null where it shows none */
  legal_form: string | null;
  /** Its connections */
  network_graph: NetworkGraph;
  /** Empty: the site's pages do not list them */
  shareholders: ProfileRelation[];
  /** Empty: they are not concluded from the graph */
  subsidiaries: ProfileRelation[];
  /** Empty: they are not concluded from the graph */
  parent_companies: ProfileRelation[];
  /** Always null: the site's charts are not read */
  financials: string | null;
  /** The page that was read */
  source_url: string;
  /** What found it */
  discovery_query: string | null;
  /** 0 to 1 */
  discovery_score: number | null;
  /** How it was found */
  discovery_method: "suggest" | "search" | null;
  /** 0 to 100 */
  name_similarity: number | null;
  /** When the page came from the site */
  scraped_at: string;
  /** The route that brought it */
  fetch_tier: "proxy" | "web_render";
  /** The parser that read it */
  parser_version: string;
  /** The site */
  provider: string;
}

export interface ProfileAnswer {
  /** The operation */
  op: "profile";
  /** The profile; null where there is an error */
  profile: Profile | null;
  /** Where the page comes from */
  fetch: ProfileFetch | null;
  /** How it was found; null where its url was given */
  discovery: Discovery | null;
  /** Where the graph comes from; null where it was not asked for */
  graph_fetch: ProfileFetch | null;
  /** Why there is no graph: an error, or no_entity_id */
  graph_error: string | null;
  /** A code that does not change; null where there is no error */
  error: ProfileErrorName | null;
  /** A sentence for people */
  error_detail: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: number | null;
  /** How the answer is billed */
  billing_category: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached";
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface ProfileBody {
  /** The address of a profile page; company_name is not used then */
  url?: string | null;
  /** The company that is looked for, where there is no url */
  company_name?: string | null;
  /** Whether the network graph is fetched */
  include_graph?: boolean;
  /** Its city */
  headquarters?: string | null;
  /** From this similarity of names, 0 to 100, a suggestion is the company */
  min_similarity?: number;
  /** Whether the web is searched where no suggestion is similar enough */
  search_fallback?: boolean;
  /** ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored */
  country?: string | null;
  /** Requests with the same key leave by the same exit */
  session_key?: string | null;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** false: nothing is requested, only the cache is read */
  allow_paid?: boolean;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
}

export interface ProfileCandidate {
  /** Its address */
  url: string;
  /** Its name; null where it was searched */
  name: string | null;
  /** Similarity of names, 0 to 100, of a suggestion; score of the address, 0 to 1, of a search result */
  score: number;
  /** What found it */
  query: string;
  /** The title of the search result */
  title: string | null;
}

export interface ProfileConnection {
  /** The site's id */
  id: string | null;
  /** The company or person */
  name: string;
  /** What it is */
  kind: "company" | "person" | "other";
  /** In the site's words */
  relation: string | null;
  /** in: it has the relation to the company; out: the company has it; null: no direct link */
  direction: "in" | "out" | null;
  /** YYYY-MM-DD */
  since: string | null;
  /** YYYY-MM-DD */
  until: string | null;
  /** Whether it holds */
  current: boolean;
  /** Its address as the site writes it */
  url: string | null;
  /** The same, absolute */
  absolute_url: string | null;
}

export type ProfileErrorName = "not_found" | "blocked" | "rate_limited" | "all_tiers_failed" | "parse_failed" | "invalid_identifier" | "paid_tier_required" | "budget_exhausted" | "robots_disallowed" | "timeout" | "politeness_timeout" | "profiles_not_configured";

export interface ProfileEvent {
  /** event, person, merger, acquisition or control; null where the site has another kind */
  category: string | null;
  /** YYYY-MM-DD, where the site gives a whole date */
  date: string | null;
  /** In the site's words */
  description: string | null;
  /** Abbreviated */
  text: string | null;
  /** Absolute */
  url: string | null;
}

export interface ProfileFetch {
  /** The address that was requested */
  url: string;
  /** After redirects */
  final_url: string | null;
  /** HTTP status */
  status: number | null;
  /** The route that brought it */
  tier: "proxy" | "proxy_render" | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** SHA-256 of the exact bytes */
  sha256: string | null;
  /** What the bytes are */
  body_kind: "origin" | "rendered_dom" | null;
  /** When it came from the site */
  retrieved_at: string | null;
  /** The answer came from the cache */
  cached: boolean;
  /** The site confirmed the cached page */
  revalidated: boolean;
  /** Every route that was tried, in order */
  attempts: Attempt[];
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: number | null;
  /** The parser that read it */
  parser_version: string | null;
}

export interface ProfileIdentifier {
  /** As the site names it */
  label: string | null;
  /** Who gives it */
  source: string | null;
  /** The number */
  value: string;
  /** false: the site marks it as former */
  current: boolean;
}

export interface ProfileOfficer {
  /** The person */
  name: string;
  /** In the site's words; person where only the graph has it */
  role: string | null;
  /** YYYY-MM-DD */
  since: string | null;
  /** YYYY-MM-DD */
  until: string | null;
  /** Its address as the site writes it */
  url: string | null;
  /** The same, absolute */
  absolute_url: string | null;
  /** false: the site says that it has ended, also where it does not say when */
  current: boolean;
}

export interface ProfilePublication {
  /** YYYY-MM-DD */
  date: string | null;
  /** What was published */
  summary: string | null;
  /** The company that it is about, of mentions */
  company_name: string | null;
}

export interface ProfileRelation {
  /** The company */
  name: string;
  /** merger, acquisition, control, or related where only the graph has it */
  relation: string | null;
  /** Its address as the site writes it */
  url: string | null;
  /** The same, absolute */
  absolute_url: string | null;
}

export interface ProfilesItem {
  /** The operation */
  op?: "suggest" | "discover" | "profile" | "graph";
  /** With op suggest: the beginning of a company's name */
  query?: string | null;
  /** With op graph: the company's id on the site */
  entity_id?: string | null;
  /** With op profile: the address of a profile page */
  url?: string | null;
  /** The company that is looked for, where there is no url */
  company_name?: string | null;
  /** With op profile: whether the network graph is fetched */
  include_graph?: boolean;
  /** Its city */
  headquarters?: string | null;
  /** From this similarity of names, 0 to 100, a suggestion is the company */
  min_similarity?: number;
  /** Whether the web is searched where no suggestion is similar enough */
  search_fallback?: boolean;
  /** ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored */
  country?: string | null;
  /** Requests with the same key leave by the same exit */
  session_key?: string | null;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** false: nothing is requested, only the cache is read */
  allow_paid?: boolean;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
}

export interface ProfilesJobItem {
  /** Its place among the submitted items, from 0 */
  index: number;
  /** What the items of the job are */
  kind: "profiles";
  /** What has become of it */
  status: "pending" | "queued" | "done" | "failed" | "cancelled";
  /** As it was submitted, without defaults and unknown fields */
  input: ProfilesJobItemInput;
  /** The answer of the single endpoint; null while unfinished or unavailable */
  result: ProfilesResult | null;
  /** The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now */
  error: ProfilesJobItemErrorName | null;
}

export type ProfilesJobItemErrorName = "not_found" | "blocked" | "rate_limited" | "all_tiers_failed" | "parse_failed" | "invalid_identifier" | "paid_tier_required" | "budget_exhausted" | "robots_disallowed" | "timeout" | "politeness_timeout" | "profiles_not_configured" | "cancelled" | "result_unavailable" | "internal_error" | "key_quota_exhausted" | "key_budget_exhausted";

export interface ProfilesJobItemInput {
  /** The operation */
  op?: "suggest" | "discover" | "profile" | "graph";
  /** With op suggest: the beginning of a company's name */
  query?: string | null;
  /** With op graph: the company's id on the site */
  entity_id?: string | null;
  /** With op profile: the address of a profile page */
  url?: string | null;
  /** The company that is looked for, where there is no url */
  company_name?: string | null;
  /** With op profile: whether the network graph is fetched */
  include_graph?: boolean;
  /** Its city */
  headquarters?: string | null;
  /** From this similarity of names, 0 to 100, a suggestion is the company */
  min_similarity?: number;
  /** Whether the web is searched where no suggestion is similar enough */
  search_fallback?: boolean;
  /** ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored */
  country?: string | null;
  /** Requests with the same key leave by the same exit */
  session_key?: string | null;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** false: nothing is requested, only the cache is read */
  allow_paid?: boolean;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
}

export type ProfilesResult = SuggestAnswer | DiscoverAnswer | ProfileAnswer | GraphAnswer;

export interface Quota {
  /** The prefix of the calling key */
  key: string;
  /** A standard key sees itself, an account admin its whole customer, an operator uses /v1/ops as well */
  role: "standard" | "account_admin" | "operator";
  /** The month, UTC */
  period: string;
  /** When the month ends */
  resets_at: string;
  /** When this was answered */
  as_of: string;
  /** Requests whose rows were stored before this moment are in `used`; null: unknown, usage cannot be added up at present */
  usage_refreshed_at: string | null;
  /** The calling key; for an admin key every active key of the customer */
  keys: QuotaKey[];
  /** The project of the calling key */
  project: QuotaProject;
  /** For admin keys: the customer; null for others */
  customer: QuotaCustomer | null;
  /** Thresholds that were crossed this month, newest first */
  events: QuotaEvent[];
}

export interface QuotaAllowance {
  /** Requests since the quota was set, at most of this month */
  used: number;
  /** Requests a month; null: no quota */
  limit: number | null;
  /** What is left; null: no quota */
  remaining: number | null;
}

export interface QuotaCustomer {
  /** The name of the customer */
  name: string;
  /** Whether its keys work */
  status: "active" | "suspended";
  /** ISO 4217 */
  currency: "USD" | "CHF" | "EUR";
  /** Its projects */
  projects: QuotaProject[];
}

export interface QuotaEvent {
  /** What crossed it */
  scope: "key" | "project" | "customer";
  /** With scope key: its prefix */
  key: string | null;
  /** With scope key and project: the project */
  project: string | null;
  /** Which allowance: the requests of a category, or spend */
  allowance: "search" | "fetch" | "spend";
  /** Percent of the allowance */
  threshold: number;
  /** When it was crossed */
  crossed_at: string;
}

export interface QuotaKey {
  /** The first characters of the key */
  prefix: string;
  /** Words for the key */
  label: string | null;
  /** A standard key sees itself, an account admin its whole customer, an operator uses /v1/ops as well */
  role: "standard" | "account_admin" | "operator";
  /** The name of the project */
  project: string;
  /** Whether the key works */
  status: "active" | "revoked";
  /** What the key may be used for; null: everything */
  categories: ("search" | "fetch")[] | null;
  /** Requests a second; null: no limit of its own */
  rate_limit_rps: number | null;
  /** Requests of this month by category */
  requests: QuotaRequests;
  /** Money spent this month */
  spend: QuotaSpend;
}

export interface QuotaProject {
  /** The name of the project */
  name: string;
  /** Requests a second of all keys together */
  rate_limit_rps: number;
  /** The sums of its keys; limits are always null, because quotas belong to keys */
  requests: QuotaRequests;
  /** Its limit is the project's budget */
  spend: QuotaSpend;
}

export interface QuotaRequests {
  /** Searches */
  search: QuotaAllowance;
  /** Fetches, filings and companies */
  fetch: QuotaAllowance;
}

export interface QuotaSpend {
  /** Decimal of six places; null for external customers */
  used: string | null;
  /** In the customer's currency; null: no limit */
  limit: string | null;
  /** What is left; null: no limit, or an external customer */
  remaining: string | null;
  /** ISO 4217 */
  currency: "USD" | "CHF" | "EUR";
  /** What counts against limits of spend: what the customer is charged, where it has prices; else what providers cost */
  basis: "charge" | "provider_cost";
}

export interface ReadQuery {
  /** Whether a browser runs the page's scripts: when a plain request finds no text, never, or always */
  render?: "auto" | "never" | "always";
  /** The largest body that is accepted */
  max_bytes?: number;
  /** Whether PDFs are read */
  accept_pdf?: boolean;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** With fewer characters of text the next route is tried; a Chinese character counts as three, a kana or a Korean syllable as two */
  min_text_chars?: number;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** Whether an archived copy may be served when the page is gone */
  allow_archive?: boolean;
  /** Whether an open copy of the same text may be served when the page is a teaser or gone */
  allow_alternates?: boolean;
  /** Whether routes that cost money may be used */
  allow_paid?: boolean;
  /** Another name of `allow_paid`: false in either of them forbids these routes */
  allow_premium?: boolean;
  /** The routes that may be used; null: all */
  tiers?: ("direct" | "browser" | "archive" | "proxy" | "proxy_render")[] | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
  /** The country of the exit on premium routes, ISO 3166-1 alpha-2 */
  country?: string | null;
  /** The User-Agent to send; the project needs permission */
  user_agent?: string | null;
  /** The Accept-Language to send */
  accept_language?: string | null;
  /** Whether the answer has `html`. Default true for a fetch, false for an item of a batch */
  include_html?: boolean | null;
  /** Further forms of the page that the answer shall have; a screenshot takes the route browser only */
  formats?: ("markdown" | "links" | "images" | "entries" | "screenshot" | "structured" | "tables" | "comments")[] | null;
  /** The fields that the answer shall have where there is a page; `error`, `warnings` and `request_id` it has all the same. One that is a form of the page, as `markdown`, asks for it as `formats` does. Default: all */
  fields?: FetchField[] | null;
  /** Whether the exchanges with the origin are kept, for 30 days, to be downloaded as WARC; the page is then one of this project only. An operator can make true the default of a project */
  archive?: boolean;
  /** A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies` */
  session_id?: string | null;
  /** false: text, Markdown, links and images are of everything that the page shows, menus and footers included. true: of its main content only. Default: text and Markdown of the main content, links and images of the whole page */
  only_main_content?: boolean | null;
  /** Whether readers' comments below an article are text and Markdown, too. The posts of a thread always are. `formats=comments` has them one by one */
  include_comments?: boolean;
  /** CSS selectors: text, Markdown, links, images and tables are of the elements that match one of them, in the page's order, whether main content or not */
  include_selectors?: string[] | null;
  /** CSS selectors: elements that match are taken out of the page before it is read, also out of those that are included */
  exclude_selectors?: string[] | null;
  /** What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page */
  block_resources?: ("image" | "font" | "media" | "stylesheet" | "ads")[] | null;
  /** `mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only */
  device?: "desktop" | "mobile";
}

export interface Redirect {
  /** The address that redirected */
  url: string;
  /** Its status */
  status: number;
  /** Where to */
  location: string;
}

export interface Refusal {
  /** A code that does not change */
  error: RefusalCode;
  /** A sentence for people; null where there is no error */
  message?: string;
  /** What to do instead */
  hint?: string;
  /** Of a quota: its category */
  category?: string;
  /** The quota, or the spend cap as a decimal */
  limit?: number | string;
  /** The currency of a spend cap */
  currency?: string;
  /** Names this request in the logs of the service */
  request_id?: string;
}

export const REFUSAL_CODES = [
  "admin_key_required",
  "customer_suspended",
  "domain_busy",
  "key_budget_exhausted",
  "key_category_not_allowed",
  "key_quota_exhausted",
  "key_rate_limited",
  "operator_only",
  "paused_by_operator",
  "signing_certificate_unusable",
  "time_stamp_invalid",
  "time_stamp_refused",
  "time_stamp_timeout",
  "time_stamp_unreachable",
  "timeout",
  "user_agent_not_allowed",
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

export interface RequestList {
  /** Newest first */
  items: RequestRecord[];
  /** For the next page; null: there is none */
  next_cursor: string | null;
}

export interface RequestRecord {
  /** Names this request in the logs of the service */
  request_id: string;
  /** When it was answered */
  at: string;
  /** The name of the project */
  project: string;
  /** The first characters of the key */
  key: string;
  /** The billing category */
  category: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached";
  /** The status of the page; null for searches and where no origin answered */
  status: number | null;
  /** Whether there was an answer without an error */
  ok: boolean;
  /** A code that does not change; null where there is no error */
  error: string | null;
  /** The last attempt's reason, or why the fallback was asked */
  reason: string | null;
  /** From request to answer, in milliseconds */
  latency_ms: number;
  /** The answer came from the cache */
  cached: boolean;
  /** Bytes of the body */
  bytes: number;
  /** Whether the page came by a route that costs money */
  paid: boolean;
  /** What the customer is charged; null: the operator has set no price */
  charge: string | null;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: string | null;
  /** The routes that were tried; empty for an answer from the cache */
  attempts: LedgerAttempt[];
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref: string | null;
}

export interface RequestsQuery {
  /** The earliest, included */
  since?: string;
  /** The latest, not included */
  until?: string;
  /** Only of a billing category, or of a quota's category */
  category?: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached" | "fetch";
  /** The prefix of a key; a standard key can name only itself */
  key?: string;
  /** Only with an error, or only without */
  ok?: boolean;
  /** The most items of the answer */
  limit?: number;
  /** `next_cursor` of the page before */
  cursor?: string;
}

export interface ResolveAnswer {
  /** The number of the filer */
  cik: number | null;
  /** The same with ten digits */
  cik_padded: string | null;
  /** Its name in the list of filers */
  title: string | null;
  /** The primary one first */
  tickers: string[];
  /** Parallel to tickers; null where the list does not say */
  exchanges: (string | null)[];
  /** Whether several filers match */
  ambiguous: boolean;
  /** The filers that match, at most ten */
  candidates: FilerCompany[];
  /** What the company register knows; absent where it was not asked */
  hint?: FilerHint;
  /** A code that does not change; null where there is no error */
  error: FilingsErrorName | (string & {}) | null;
  /** A sentence for people; null where there is no error */
  message: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Every document of this answer came from the cache */
  cached: boolean;
  /** When the oldest of them came from the filing system */
  retrieved_at: string | null;
  /** The address of the main document in the filing system */
  source_url: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Of the exact bytes of the main document */
  sha256: string | null;
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface ResolveFilerQuery {
  /** `BRK.B` and `BRK-B` are the same. The list of filers wins over other countries' suffixes: `ALB.PA` is a preferred share in it; `XPAR:ALB` asks for Paris */
  ticker?: string;
  /** The number of the filer */
  cik?: string;
  /** A name or a part of one */
  name?: string;
  /** ISIN of a security of the company */
  isin?: string;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
}

export interface RevokeKeyQuery {
  /** Do it although no other account admin key of the account works */
  last_admin?: boolean;
}

export interface Screenshot {
  /** Where the picture is downloaded, for 30 days */
  body_url: string;
  /** SHA-256 of the exact bytes */
  sha256: string;
  /** Its format */
  content_type: "image/png" | "image/webp";
  /** In pixels */
  width: number;
  /** In pixels */
  height: number;
  /** The page goes on below what the picture shows */
  truncated: boolean;
}

export interface ScreenshotOptions {
  /** The format of the picture */
  type?: "png" | "webp";
  /** Whether the picture shows the page from top to bottom, 20,000 pixels (WebP: 16,383) at most, instead of the window (1280 × 720, or `viewport`) */
  full_page?: boolean;
}

export interface SearchBody {
  /** What to search for */
  query: string;
  /** ISO 639-1, optionally with a region */
  language?: string | null;
  /** ISO 3166-1 alpha-2, in either case */
  country?: string | null;
  /** The most results */
  max_results?: number;
  /** Only pages of this period; `pd`, `pw`, `pm` and `py` mean day, week, month and year */
  freshness?: "day" | "week" | "month" | "year" | "pd" | "pw" | "pm" | "py" | null;
  /** The oldest acceptable answer from the cache, in seconds, at most 7 days; 0 searches anew */
  cache_ttl_s?: number | null;
  /** Only results of these hosts and their subdomains */
  include_domains?: string[] | null;
  /** No results of these hosts and their subdomains */
  exclude_domains?: string[] | null;
  /** Which `max_results` of the results: 2 has those after the first page. Both together reach to the 200th result */
  page?: number;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** The pages of the first results, each fetched and billed as by `POST /v1/fetch` */
  contents?: SearchContents | null;
}

export interface SearchCompaniesQuery {
  /** A name or a part of one */
  q?: string | null;
  /** ISO 3166-1 alpha-2 */
  country?: string | null;
  /** scheme:value, exact */
  identifier?: string | null;
  /** Only companies of this status */
  status?: "active" | "liquidation" | "insolvency" | "dissolved" | "merged" | "dormant" | "suspended" | "unknown" | null;
  /** A category */
  legal_form?: "public_limited" | "private_limited" | "general_partnership" | "limited_partnership" | "cooperative" | "foundation" | "association" | "sole_proprietor" | "branch" | "fund" | "trust" | "government" | "european_company" | "other" | "unknown" | null;
  /** The most items of the answer */
  limit?: number;
  /** `next_cursor` of the page before */
  cursor?: string | null;
  /** Whether the sources of the country are asked now */
  live?: boolean;
}

export interface SearchContents {
  /** How many of the first results get their pages */
  results?: number;
  /** How they are fetched: options of `POST /v1/fetch`. `html` is left out unless `include_html` asks for it */
  fetch?: ContentsFetch | null;
}

export type SearchErrorName = "metasearch_error" | "metasearch_timeout" | "no_metasearch_instance" | "unresponsive_engines" | "captcha_engines" | "budget_exhausted" | "fallback_timeout" | "fallback_unreachable" | "fallback_invalid_answer";

export interface SearchFilingsQuery {
  /** Words; a phrase in quotes, OR between words, a minus before what is unwanted */
  q?: string;
  /** Comma-separated; unlike elsewhere `10-K` finds `10-K/A` as well: `form` tells */
  forms?: string;
  /** `all`, `10y`, `5y`, `1y`, `30d` (which win over dates), or `custom` with both dates */
  dateRange?: string;
  /** With dateRange=custom: first filing date, YYYY-MM-DD */
  startdt?: string;
  /** With dateRange=custom: last filing date, YYYY-MM-DD */
  enddt?: string;
  /** How many hits to skip: 0 to 9900, in pages of 100 */
  from?: string;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
}

export interface SearchItem {
  /** What to search for */
  query: string;
  /** ISO 639-1, optionally with a region */
  language?: string | null;
  /** ISO 3166-1 alpha-2, in either case */
  country?: string | null;
  /** The most results */
  max_results?: number;
  /** Only pages of this period; `pd`, `pw`, `pm` and `py` mean day, week, month and year */
  freshness?: "day" | "week" | "month" | "year" | "pd" | "pw" | "pm" | "py" | null;
  /** The oldest acceptable answer from the cache, in seconds, at most 7 days; 0 searches anew */
  cache_ttl_s?: number | null;
  /** Only results of these hosts and their subdomains */
  include_domains?: string[] | null;
  /** No results of these hosts and their subdomains */
  exclude_domains?: string[] | null;
  /** Which `max_results` of the results: 2 has those after the first page. Both together reach to the 200th result */
  page?: number;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
}

export interface SearchJobItem {
  /** Its place among the submitted items, from 0 */
  index: number;
  /** What the items of the job are */
  kind: "search";
  /** What has become of it */
  status: "pending" | "queued" | "done" | "failed" | "cancelled";
  /** As it was submitted, without defaults and unknown fields */
  input: SearchJobItemInput;
  /** The answer of the single endpoint; null while unfinished or unavailable */
  result: SearchResponse | null;
  /** The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now */
  error: SearchJobItemErrorName | (string & {}) | null;
}

export type SearchJobItemErrorName = "metasearch_error" | "metasearch_timeout" | "no_metasearch_instance" | "unresponsive_engines" | "captcha_engines" | "budget_exhausted" | "fallback_timeout" | "fallback_unreachable" | "fallback_invalid_answer" | "cancelled" | "result_unavailable" | "internal_error" | "key_quota_exhausted" | "key_budget_exhausted";

export interface SearchJobItemInput {
  /** What to search for */
  query?: string;
  /** ISO 639-1, optionally with a region */
  language?: string | null;
  /** ISO 3166-1 alpha-2, in either case */
  country?: string | null;
  /** The most results */
  max_results?: number;
  /** Only pages of this period; `pd`, `pw`, `pm` and `py` mean day, week, month and year */
  freshness?: "day" | "week" | "month" | "year" | "pd" | "pw" | "pm" | "py" | null;
  /** The oldest acceptable answer from the cache, in seconds, at most 7 days; 0 searches anew */
  cache_ttl_s?: number | null;
  /** Only results of these hosts and their subdomains */
  include_domains?: string[] | null;
  /** No results of these hosts and their subdomains */
  exclude_domains?: string[] | null;
  /** Which `max_results` of the results: 2 has those after the first page. Both together reach to the 200th result */
  page?: number;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
}

export interface SearchResponse {
  /** As it was asked */
  query: string;
  /** Best first. Results that differ only in tracking parameters are one */
  results: SearchResult[];
  /** Who answered: the metasearch instances or the fallback API; null: nobody */
  provider: "metasearch" | "fallback" | null;
  /** Why the answer of the metasearch was not good enough; null: it was */
  fallback_reason: "metasearch_error" | "metasearch_timeout" | "no_metasearch_instance" | "unresponsive_engines" | "captcha_engines" | "too_few_results" | null;
  /** Search engines that did not answer the metasearch */
  unresponsive_engines: string[];
  /** The answer came from the cache */
  cached: boolean;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: number | null;
  /** How the answer is billed */
  billing_category: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached";
  /** A code that does not change; null where there is no error */
  error: SearchErrorName | (string & {}) | null;
  /** Only if there are any: what could not be done as it was asked, or is not known, as sentences */
  warnings?: string[];
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface SearchResult {
  /** The address of the page */
  url: string;
  /** The title as the engine gives it */
  title: string | null;
  /** Passages of the page, without markup */
  snippets: string[];
  /** Which search engines found it */
  engines: string[];
  /** When the page was published, as far as an engine knows */
  published_at: string | null;
  /** Its place, from 1 */
  rank: number;
  /** With `contents`: the answer of its fetch; why it was not fetched; null behind the results that get their pages */
  content?: FetchResponse | ContentRefusal | null;
}

export interface Session {
  /** Its id, for `session_id` of a fetch */
  session_id: string;
  /** The name that it was given */
  label: string | null;
  /** When it was made */
  created_at: string;
  /** When its time is over */
  expires_at: string;
  /** When a fetch with it last ended; null: none has */
  last_used_at: string | null;
  /** The User-Agent of its requests */
  user_agent: string | null;
  /** The Accept-Language of its requests */
  accept_language: string | null;
  /** The country of its exit; null: it has none */
  country: string | null;
  /** How many cookies it holds */
  cookies: number;
  /** Its secrets, without their values */
  secrets: NamedSecret[];
}

export interface SessionBody {
  /** How long it lives, in seconds, whether it is used or not */
  ttl_s?: number;
  /** The User-Agent of its requests; the project needs permission */
  user_agent?: string | null;
  /** The Accept-Language of its requests */
  accept_language?: string | null;
  /** The country of its exit, ISO 3166-1 alpha-2: its requests take the route proxy and no other, by one exit. Refused where the service has no proxy with exits by country */
  country?: string | null;
  /** Cookies that it begins with, such as those of a browser in which somebody has logged in. They are stored encrypted and shown to nobody */
  cookies?: SessionCookie[] | null;
  /** By name, what a step of the type `type` types with `secret`: passwords, for example. 20 a session at most; a name begins with a letter and has letters, digits, "-" and "_", 64 at most */
  secrets?: Record<string, SessionSecret> | null;
  /** A name for people */
  label?: string | null;
}

export interface SessionCookie {
  /** Its name */
  name: string;
  /** Its value */
  value: string;
  /** The host that it goes to; with a dot before it, the hosts of that domain */
  domain: string;
  /** The paths that it goes to begin with this one */
  path?: string;
  /** When its time is over, in seconds since 1970. Default, or -1: with the session */
  expires?: number | null;
  /** Whether it goes by https alone */
  secure?: boolean;
  /** Whether scripts of a page do not see it */
  http_only?: boolean;
}

export interface SessionPatch {
  /** Secrets to add or replace, by name; null removes one, and the others stay. 20 a session at most; a name begins with a letter and has letters, digits, "-" and "_", 64 at most */
  secrets: Record<string, SessionSecret | null>;
}

export interface SessionSecret {
  /** What is typed, 4 to 1,024 characters. It is stored encrypted and answered nowhere */
  value: string;
  /** The only origin (scheme, host, port) into whose pages it is typed. Default: that of the `url` of each fetch */
  origin?: string | null;
}

export interface Sink {
  /** The id of the sink */
  sink_id: string;
  /** The id of the job */
  job_id: string;
  /** Where results go */
  type: "s3" | "webhook";
  /** As it was given, passwords masked; null: this node cannot read it */
  url: string | null;
  /** What a part is; items of a webhook are JSON */
  format: "ndjson" | "parquet";
  /** `complete`: all items of a job that has ended are delivered. `failed`: it was given up, and `last_status` says why */
  state: "running" | "complete" | "failed";
  /** Items delivered */
  rows: number;
  /** Bytes of the parts */
  bytes: number;
  /** Parts delivered */
  parts: number;
  /** S3 only: where its parts and `manifest.json` are */
  folder: string | null;
  /** Of the last attempt: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it */
  last_status: CallbackOutcome | (string & {}) | null;
  /** Attempts of the part that is under way */
  attempts: number;
  /** When it was created */
  created_at: string;
  /** Only in the answer that makes a webhook: what its deliveries are signed with */
  secret?: string;
}

export interface SinkBody {
  /** Where results go: objects of a bucket, or a webhook */
  type: "s3" | "webhook";
  /** `s3://bucket/prefix` of an S3 sink; an https address of a webhook */
  url: string;
  /** S3 only: the http or https address of another store than Amazon's, whose buckets are parts of the path */
  endpoint?: string | null;
  /** S3 only: its region */
  region?: string;
  /** S3 only, and needed there: who may write to the bucket */
  credentials?: SinkCredentials | null;
  /** S3 only: what a part is */
  format?: "ndjson" | "parquet";
  /** The most items of a part. A part also ends at 16 MiB of results (8 MiB of a webhook), and 30 s after the part before it */
  rows_per_part?: number;
}

export interface SinkCredentials {
  /** The id of the access key */
  access_key_id: string;
  /** Stored encrypted, and never shown */
  secret_access_key: string;
  /** Of temporary credentials */
  session_token?: string | null;
}

export interface StatusIncident {
  /** Its id */
  id: string;
  /** What it is, in a few words */
  title: string;
  /** How far it is */
  status: "investigating" | "identified" | "monitoring" | "resolved";
  /** The least that its components are shown as while it is unresolved */
  impact: "none" | "degraded" | "partial_outage" | "major_outage";
  /** The components it concerns */
  components: string[];
  /** When it was announced */
  created_at: string;
  /** When it last changed */
  updated_at: string;
  /** When it was resolved; null: it is not */
  resolved_at: string | null;
  /** What was said about it, newest first */
  updates: StatusUpdate[];
}

export interface StatusMaintenance {
  /** Its id */
  id: string;
  /** What it is, in a few words */
  title: string;
  /** Whether it has begun */
  status: "scheduled" | "in_progress" | "completed";
  /** The components it concerns; empty: the whole service */
  components: string[];
  /** When it begins */
  starts_at: string;
  /** When it ends */
  ends_at: string;
  /** When it was announced */
  created_at: string;
  /** When it last changed */
  updated_at: string;
  /** When it was completed; null: it is not */
  completed_at: string | null;
  /** What was said about it, newest first */
  updates: StatusUpdate[];
}

export interface StatusNoticeEvent {
  /** The id of the event, the same in every attempt */
  id: string;
  /** The kind of event */
  type: "status.incident" | "status.maintenance";
  /** When it was seen */
  created_at: string;
  /** The incident as it is now; null: it is about maintenance */
  incident: StatusIncident | null;
  /** The window as it is now; null: it is about an incident */
  maintenance: StatusMaintenance | null;
}

export interface StatusUpdate {
  /** When */
  at: string;
  /** The status from then on */
  status: string;
  /** What was said */
  message: string;
}

export interface StructuredData {
  /** JSON-LD: each object of each block, as the page has it */
  "json-ld": unknown[];
  /** Microdata: the items that are in no other item */
  microdata: MicrodataItem[];
  /** Open Graph: one entry, or none */
  opengraph: OpenGraph[];
  /** RDFa: the nodes of its statements, as expanded JSON-LD */
  rdfa: (Record<string, unknown>)[];
  /** Dublin Core: one entry, or none */
  dublincore: DublinCore[];
}

export interface SubmissionsAnswer {
  /** The number of the filer */
  cik: number | null;
  /** The same with ten digits */
  cik_padded: string | null;
  /** Its name as the filing system has it */
  name: string | null;
  /** Its name in the list of filers */
  title: string | null;
  /** The primary one first */
  tickers: string[];
  /** Parallel to tickers; null where the list does not say */
  exchanges: (string | null)[];
  /** The kind of entity */
  entity_type: string | null;
  /** Standard industrial classification */
  sic: string | null;
  /** The same in words */
  sic_description: string | null;
  /** The filer category */
  category: string | null;
  /** MMDD */
  fiscal_year_end: string | null;
  /** Code of a state or country */
  state_of_incorporation: string | null;
  /** Employer identification number */
  ein: string | null;
  /** LEI */
  lei: string | null;
  /** Its website */
  website: string | null;
  /** Its phone number */
  phone: string | null;
  /** Where it is; null where the filing system does not say */
  business_address: FilerAddress | null;
  /** Earlier names */
  former_names: FormerName[];
  /** Newest first */
  filings: Filing[];
  /** All that match, before the limit */
  filings_total: number | null;
  /** More filings match than the limit */
  truncated: boolean;
  /** The older pages of the filer's list */
  files: OlderPage[];
  /** A code that does not change; null where there is no error */
  error: FilingsErrorName | (string & {}) | null;
  /** A sentence for people; null where there is no error */
  message: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** Every document of this answer came from the cache */
  cached: boolean;
  /** When the oldest of them came from the filing system */
  retrieved_at: string | null;
  /** The address of the main document in the filing system */
  source_url: string | null;
  /** Where the exact bytes can be downloaded, relative to the service; null where there are none */
  body_url: string | null;
  /** Of the exact bytes of the main document */
  sha256: string | null;
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface SuggestAnswer {
  /** The operation */
  op: "suggest";
  /** As it was sent */
  query: string;
  /** The country that was understood, ISO 3166-1 alpha-2 */
  country: string | null;
  /** The companies */
  items: SuggestItem[];
  /** Where they come from */
  fetch: ProfileFetch | null;
  /** A code that does not change; null where there is no error */
  error: ProfileErrorName | null;
  /** A sentence for people */
  error_detail: string | null;
  /** Seconds after which another try is worth it; null where none is */
  retry_after_s: number | null;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: number | null;
  /** How the answer is billed */
  billing_category: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached";
  /** Names this request in the logs of the service */
  request_id: string;
}

export interface SuggestBody {
  /** The beginning of a company's name */
  query: string;
  /** ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored */
  country?: string | null;
  /** Requests with the same key leave by the same exit */
  session_key?: string | null;
  /** The oldest acceptable answer from the cache, in seconds; 0 asks anew */
  cache_ttl_s?: number | null;
  /** false: nothing is requested, only the cache is read */
  allow_paid?: boolean;
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
}

export interface SuggestItem {
  /** The company's name */
  name: string;
  /** Its profile page, absolute */
  url: string;
  /** Persons are left out */
  type: "company";
}

export interface SummariseFactsQuery {
  /** A word of the client's own, which the ledger of requests shows again */
  project_ref?: string | null;
  /** How long to wait at most, in seconds; what is then known is the answer */
  timeout_s?: number | null;
}

export interface TableSpan {
  /** Its first row in `rows`, from 0 */
  row: number;
  /** Its first column, from 0 */
  column: number;
  /** How many rows it covers */
  rows: number;
  /** How many columns it covers */
  columns: number;
}

export interface UsagePeriod {
  /** The first day, UTC */
  since: string;
  /** The day after the last */
  until: string;
}

export interface UsageQuery {
  /** First day, for example 2026-11-01 */
  since?: string;
  /** The day after the last */
  until?: string;
  /** Of category, project, day, key; default category */
  group_by?: string;
}

export interface UsageReport {
  /** The days of the report */
  period: UsagePeriod;
  /** One for each group that has any use */
  rows: UsageRow[];
  /** All rows together */
  totals: CategoryUsage;
}

export interface UsageRow {
  /** The billing category */
  category?: "search" | "search_fallback" | "search_cached" | "fetch_own" | "fetch_paid" | "fetch_cached" | "company" | "company_cached" | "filings" | "filings_cached" | "profiles" | "profiles_cached";
  /** The name of the project */
  project?: string;
  /** The day, UTC */
  day?: string;
  /** The first characters of the key */
  key?: string;
  /** Requests and items */
  requests: number;
  /** Those without an error */
  succeeded: number;
  /** Bytes of all bodies */
  bytes: number;
  /** Bytes of those without an error */
  bytes_ok: number;
  /** Bytes by routes that cost money */
  paid_bytes: number;
  /** Bytes of those without an error */
  paid_bytes_ok: number;
  /** What providers cost, in US dollars; null for external customers */
  cost_usd: string | null;
  /** What the answers without an error cost */
  cost_ok_usd: string | null;
}

export interface UsageThresholdEvent {
  /** The id of the crossing, the same in every attempt */
  id: string;
  /** The kind of event */
  type: "usage.threshold";
  /** When it was crossed */
  created_at: string;
  /** Whose allowance it is */
  scope: "key" | "project" | "customer";
  /** The prefix of the key; null for other scopes */
  key: string | null;
  /** The project; null for scope customer */
  project: string | null;
  /** Percent of the allowance */
  threshold: number;
  /** The month, UTC */
  period: string;
  /** Requests, or an amount; null where it would tell an external customer what providers cost */
  used: number | string | null;
  /** The allowance, in the same unit */
  limit: number | string;
  /** `search_requests`, `fetch_requests` or a currency */
  unit: string;
  /** When the month ends */
  resets_at: string;
}

export interface ViewCaptureQuery {
  /** The address */
  url: string;
  /** The time: 1 to 14 digits. Default: the newest capture */
  timestamp?: string | null;
}

export interface ViewCaptureResponse {
  /** The address that was archived */
  url: string;
  /** When it was captured */
  captured_at: string;
  /** The path that shows it */
  view_url: string;
  /** Until when */
  expires_at: string;
}

export interface Viewport {
  /** Its width */
  width: number;
  /** Its height */
  height: number;
}

export interface WaitFor {
  /** A CSS selector: until the main document has an element that matches, 15 s at most */
  selector?: string | null;
  /** Until so many milliseconds have passed since the document was parsed */
  ms?: number | null;
}
