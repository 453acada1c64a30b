/**
 * The error codes of the public API. A failed fetch is an answer, not an exception: these are the values of `error`
 * fields, and these tables are the only place that lists them.
 */

import { NullableCode, Words } from "./common.ts";

/** Whether a repeated request can help: never, later, or only when it is changed. */
type Retry = "no" | "later" | "changed";

interface Meaning {
  readonly retry: Retry;
  readonly means: string;
}

/** `error` of a FetchResponse; `http_<status>` is possible as well. */
export const FETCH_ERRORS = {
  invalid_url: { retry: "no", means: "not an http(s) URL" },
  blocked_destination: {
    retry: "no",
    means: "private, loopback, link-local or metadata address (also after redirects)",
  },
  robots_disallowed: {
    retry: "no",
    means: "robots.txt disallows the path for the service's crawler name or *",
  },
  too_large: { retry: "changed", means: "body exceeds max_bytes" },
  pdf_not_accepted: { retry: "changed", means: "PDF with accept_pdf false" },
  unreadable_document: {
    retry: "no",
    means:
      "the document came and cannot be read: it is damaged, or takes a reader too much time or memory; its bytes are at body_url",
  },
  selector_not_found: {
    retry: "changed",
    means: "no element matched the selector of wait_for in time; the answer has the page as it stood",
  },
  screenshot_failed: {
    retry: "changed",
    means:
      "the page is there, and no screenshot of it: it is a file, too large, or the browser did not take one",
  },
  action_failed: {
    retry: "changed",
    means:
      "a step of actions failed, and those after it were not taken; the answer has the page as it stood, and actions says what it showed",
  },
  all_tiers_failed: {
    retry: "later",
    means: "every allowed route failed or was blocked; status is the last status seen",
  },
  domain_unavailable: {
    retry: "later",
    means:
      "every route failed at this origin in 3 consecutive fetches of the project, or in 3 each of two projects; retry_after_s says when it is tried again",
  },
  domain_dead: { retry: "no", means: "host name does not exist; answered at once for 6 h" },
  timeout: { retry: "changed", means: "timeout_s ran out, or a large PDF took over 5 minutes to download" },
  no_tier_allowed: { retry: "changed", means: "tiers or the allow flags left no route" },
  politeness_timeout: { retry: "later", means: "no slot of the domain in time" },
  domain_busy: {
    retry: "later",
    means:
      "the expected wait for a polite slot exceeds what a synchronous call allows, or this node has no room to read the page (HTTP 503)",
  },
  premium_route_required: {
    retry: "changed",
    means: "the host is served only through premium routes and the request forbids them",
  },
  budget_exhausted: {
    retry: "no",
    means: "the host is served only through premium routes and the project's budget leaves nothing for them",
  },
  session_not_found: {
    retry: "changed",
    means: "the project has no session of this id, or its time is over",
  },
  post_not_repeated: {
    retry: "no",
    means:
      "the POST or the steps may have reached the site and the answer was lost, for example with a node; they are not sent again",
  },
  filings_not_configured: { retry: "no", means: "filing-system URL, and no identity is configured" },
  rate_limited: { retry: "later", means: "filing-system URL, and its limiter has no slot in time" },
  filings_unavailable: { retry: "later", means: "filing-system URL, and the system asked for a pause" },
  redirect_not_allowed: { retry: "no", means: "filing-system URL that redirects off its hosts" },
} as const satisfies Record<string, Meaning>;

/** A status of HTTP in an error, a reason or an outcome. */
export const HTTP_STATUS = "^http_[1-9][0-9]{2}$";

const FetchErrorName = Words("FetchErrorName", Object.keys(FETCH_ERRORS));
/** `error` of a fetch. */
export const FetchErrorCode = NullableCode(FetchErrorName, [HTTP_STATUS]);

export type FetchError = keyof typeof FETCH_ERRORS | `http_${number}`;

/** Whether the same fetch may succeed later. */
export function canRetry(error: FetchError): boolean {
  return error in FETCH_ERRORS && FETCH_ERRORS[error as keyof typeof FETCH_ERRORS].retry === "later";
}

/** `error` of a SearchResponse; `fallback_http_<status>` is possible as well. */
export const SEARCH_ERRORS = {
  metasearch_error: { retry: "later", means: "no metasearch instance gave a usable answer" },
  metasearch_timeout: { retry: "later", means: "no metasearch instance answered in time" },
  no_metasearch_instance: {
    retry: "later",
    means: "no metasearch instance is set up, or all of them are suspended",
  },
  unresponsive_engines: { retry: "later", means: "nothing was found, and engines that were asked failed" },
  captcha_engines: { retry: "later", means: "nothing was found, and engines that were asked want a captcha" },
  budget_exhausted: { retry: "later", means: "the project's budget leaves nothing for the fallback API" },
  fallback_timeout: { retry: "later", means: "the fallback API did not answer in time" },
  fallback_unreachable: { retry: "later", means: "the connection to the fallback API failed or broke" },
  fallback_invalid_answer: { retry: "later", means: "the fallback API's answer is not a search result" },
} as const satisfies Record<string, Meaning>;

/** `error` of a map, and of a sitemap in it. */
export const MapErrorCode = NullableCode(
  Words("MapErrorName", [...Object.keys(FETCH_ERRORS), "quota_exhausted"]),
  [HTTP_STATUS],
);
const SITEMAP_ERRORS = ["not_a_sitemap", "malformed", "too_slow", "already_read", "too_deep"];
export const MapSitemapErrorCode = NullableCode(
  Words("MapSitemapErrorName", [...Object.keys(FETCH_ERRORS), ...SITEMAP_ERRORS]),
  [HTTP_STATUS],
);

const SearchErrorName = Words("SearchErrorName", Object.keys(SEARCH_ERRORS));
/** `error` of a search. */
export const SearchErrorCode = NullableCode(SearchErrorName, ["^fallback_http_[1-9][0-9]{2}$"]);

export type SearchError = keyof typeof SEARCH_ERRORS | `fallback_http_${number}`;

/** `error` of a filing-system answer; documents/fetch has the errors of a fetch as well. */
export const FILINGS_ERRORS = {
  unknown_identifier: {
    retry: "no",
    means: "neither the filing system nor the company register knows this ticker, CIK, name or ISIN",
  },
  not_registered_filer: {
    retry: "changed",
    means: "a known company that files nothing under this identifier; hint has filers of its name",
  },
  not_found: { retry: "no", means: "no such filing or document, or no filing of the requested forms" },
  invalid_identifier: {
    retry: "changed",
    means: "a malformed field; message says which one and why, and no request was sent to the filing system",
  },
  rate_limited: { retry: "later", means: "no slot of the shared limiter within 10 s" },
  filings_unavailable: {
    retry: "later",
    means: "the filing system throttles or failed; all requests to it pause for retry_after_s",
  },
  filings_not_configured: { retry: "no", means: "no identity is configured: ask the operator" },
  robots_disallowed: { retry: "no", means: "robots.txt of the filing system disallows it" },
  redirect_not_allowed: {
    retry: "no",
    means: "the document redirects off the filing system's hosts, or out of the filing's folder",
  },
  blocked_destination: { retry: "no", means: "the configured base is a private address that is not allowed" },
  timeout: { retry: "changed", means: "timeout_s ran out" },
} as const satisfies Record<string, Meaning>;

const FilingsErrorName = Words("FilingsErrorName", Object.keys(FILINGS_ERRORS));
/** `error` of a filing-system answer. */
export const FilingsErrorCode = NullableCode(FilingsErrorName, [HTTP_STATUS]);
/** `error` of a document of the filing system, which is fetched like a page. */
export const FilingDocumentErrorCode = NullableCode(
  Words("FilingDocumentErrorName", [...new Set(Object.keys({ ...FILINGS_ERRORS, ...FETCH_ERRORS }))]),
  [HTTP_STATUS],
);

/** `error` of a profile answer. */
export const PROFILE_ERRORS = {
  not_found: { retry: "no", means: "no profile: 404, 410, a list of results, or nothing was discovered" },
  blocked: {
    retry: "later",
    means: "every route was blocked, or the site is left alone for retry_after_s after three failures",
  },
  rate_limited: { retry: "later", means: "the site answered 429" },
  all_tiers_failed: {
    retry: "later",
    means: "every route failed for another reason, or the search for the profile",
  },
  parse_failed: { retry: "no", means: "the page is no company profile; it is not cached" },
  invalid_identifier: {
    retry: "changed",
    means: "the url is no profile page of the site, or entity_id is malformed; nothing was requested",
  },
  paid_tier_required: {
    retry: "changed",
    means: "allow_paid is false, and the site is asked over paid routes only",
  },
  budget_exhausted: { retry: "no", means: "the budget leaves nothing for the routes to the site" },
  robots_disallowed: { retry: "no", means: "robots.txt of the site disallows the address" },
  timeout: { retry: "later", means: "the time was over" },
  politeness_timeout: { retry: "later", means: "the site had no slot in time" },
  profiles_not_configured: {
    retry: "no",
    means: "the operator has not turned profiles on, or has no proxy and no rendering service",
  },
} as const satisfies Record<string, Meaning>;

const ProfileErrorName = Words("ProfileErrorName", Object.keys(PROFILE_ERRORS));
export const ProfileErrorCode = NullableCode(ProfileErrorName);

export type ProfileError = keyof typeof PROFILE_ERRORS;

/** `error` of an item of a job beside those of its kind. */
export const ITEM_ERRORS = {
  cancelled: { retry: "no", means: "the job was cancelled before the item finished" },
  result_unavailable: { retry: "later", means: "the stored result cannot be read right now" },
  internal_error: { retry: "later", means: "an error of the service" },
  key_quota_exhausted: { retry: "later", means: "the key's quota of the month is used up" },
  key_budget_exhausted: { retry: "later", means: "the key's or the customer's spend cap leaves nothing" },
} as const satisfies Record<string, Meaning>;

/** `error` of an item of a kind, whose errors have these names and patterns. */
export const itemErrorCode = (kind: string, names: readonly string[], patterns: readonly string[] = []) =>
  NullableCode(
    Words(`${kind}JobItemErrorName`, [...new Set([...names, ...Object.keys(ITEM_ERRORS)])]),
    patterns,
  );

/** Whether the same request may succeed later. */
export const canRetryProfiles = (error: string): boolean =>
  (PROFILE_ERRORS as Readonly<Record<string, Meaning>>)[error]?.retry === "later";

/** The sentence for people about the error of a fetch that has no detail of its own. */
export function meaningOf(error: string): string {
  const status = /^http_(\d{3})$/.exec(error)?.[1];
  if (status !== undefined) return `The origin answered with status ${status}`;
  const known = (FETCH_ERRORS as Readonly<Record<string, Meaning>>)[error]?.means ?? error;
  return capital(known);
}

/** As the beginning of a sentence; the name of a file, such as robots.txt, keeps its case. */
export const capital = (text: string): string =>
  /^[\w-]+\.[a-z]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);

/** Whether the same request may succeed later. */
export const canRetryFilings = (error: string): boolean =>
  (FILINGS_ERRORS as Readonly<Record<string, Meaning>>)[error]?.retry === "later";
