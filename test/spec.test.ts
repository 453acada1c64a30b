/**
 * The specification's tables as data (errors, limits, billing categories, fields), held against the
 * schemas both ways: a code, a field or a limit that is on one side only is named here.
 */
import { existsSync, readFileSync } from "node:fs";
import type { TSchema } from "typebox";
import { describe, expect, test } from "vitest";
import { BODY_GRANT_TTL_MS } from "../records/body-grants.ts";
import { MAX_BODY_BYTES } from "../gateway/route.ts";
import { WAIT_BEYOND_TIMEOUT_MS, WAIT_MS } from "../gateway/with-deadline.ts";
import { Ready } from "../gateway/routes/status.ts";
import {
  PREFIX_CHARS,
  PROJECT_RATE_DEFAULT,
  Quota,
  QUOTA_CATEGORIES,
  ROLES,
  THRESHOLDS,
} from "../schemas/accounts.ts";
import { BILLING_CATEGORIES } from "../schemas/common.ts";
import { canRetry, canRetryFilings, FETCH_ERRORS, FILINGS_ERRORS, SEARCH_ERRORS } from "../schemas/errors.ts";
import {
  ArticleMeta,
  Attempt,
  CONTENT_KINDS,
  FetchBody,
  FetchResponse,
  BATCH_PDF_BYTES_DEFAULT,
  MAX_BYTES_DEFAULT,
  MAX_BYTES_CEILING,
  MIN_TEXT_CHARS_DEFAULT,
  MIN_TIMEOUT_S,
  MAX_TIMEOUT_S,
} from "../schemas/fetch.ts";
import {
  FALLBACK_REASONS,
  MAX_RESULTS_DEFAULT,
  RESULTS_CEILING,
  MAX_QUERY_CHARS,
  SEARCH_TTL_S,
  SearchBody,
  SearchResponse,
  SearchResult,
} from "../schemas/search.ts";
import { TIERS } from "../schemas/tier-table.ts";

/** Fetch errors: the code, and whether its Retry column gives hope without changing the request. */
const RETRY = {
  invalid_url: "no",
  blocked_destination: "no",
  robots_disallowed: "no",
  too_large: "changed",
  pdf_not_accepted: "changed",
  all_tiers_failed: "later",
  domain_unavailable: "later",
  domain_dead: "no",
  timeout: "changed",
  no_tier_allowed: "changed",
  politeness_timeout: "later",
  domain_busy: "later",
  premium_route_required: "changed",
  budget_exhausted: "no",
  filings_not_configured: "no",
  rate_limited: "later",
  filings_unavailable: "later",
  redirect_not_allowed: "no",
} as const;

/** Codes that were decided later: the specification's table does not have them. */
const DECIDED = {
  unreadable_document: "no",
  selector_not_found: "changed",
  screenshot_failed: "changed",
  action_failed: "changed",
  session_not_found: "changed",
  post_not_repeated: "no",
} as const;

describe("errors", () => {
  test("are the specification's, with its retry", () => {
    expect(
      Object.fromEntries(Object.entries(FETCH_ERRORS).map(([code, { retry }]) => [code, retry])),
    ).toEqual({ ...RETRY, ...DECIDED });
  });

  test.each(Object.entries({ ...RETRY, ...DECIDED }))("%s: %s", (code, retry) => {
    expect(canRetry(code as keyof typeof RETRY)).toBe(retry === "later");
  });

  test("of a search are transient, every one of them (Search errors)", () => {
    expect(Object.keys(SEARCH_ERRORS)).toEqual(
      expect.arrayContaining(["budget_exhausted", "metasearch_timeout"]),
    );
    expect(Object.values(SEARCH_ERRORS).filter(({ retry }) => retry !== "later")).toEqual([]);
  });

  test("http_404 is definitive", () => {
    expect(canRetry("http_404")).toBe(false);
  });
});

describe("limits", () => {
  test.each([
    ["project rate limit", PROJECT_RATE_DEFAULT, 200],
    ["request body, 64 MB", MAX_BODY_BYTES, 64 * 1024 * 1024],
    ["synchronous wait", WAIT_MS, 150_000],
    ["beyond timeout_s", WAIT_BEYOND_TIMEOUT_MS, 15_000],
    ["timeout_s, least", MIN_TIMEOUT_S, 5],
    ["timeout_s, most", MAX_TIMEOUT_S, 150],
    ["max_bytes, default 15 MB", MAX_BYTES_DEFAULT, 15_728_640],
    ["batch PDFs with max_bytes unset, 200 MB", BATCH_PDF_BYTES_DEFAULT, 209_715_200],
    ["max_bytes, most 50 MB", MAX_BYTES_CEILING, 52_428_800],
    ["min_text_chars", MIN_TEXT_CHARS_DEFAULT, 500],
    ["retrieved bodies, 30 days", BODY_GRANT_TTL_MS, 30 * 86_400_000],
    ["a key's prefix", PREFIX_CHARS, 10],
    ["search cache, 7 days", SEARCH_TTL_S, 7 * 86_400],
    ["max_results, default", MAX_RESULTS_DEFAULT, 20],
    ["max_results, most", RESULTS_CEILING, 100],
    ["query, most characters", MAX_QUERY_CHARS, 2_000],
  ])("%s", (_, ours, theirs) => {
    expect(ours).toBe(theirs);
  });

  test("alert at 50, 80 and 100 percent", () => {
    expect(THRESHOLDS).toEqual([50, 80, 100]);
  });
});

describe("words", () => {
  test.each([
    ["routes in ladder order", TIERS, "direct browser archive proxy proxy_render"],
    ["roles", ROLES, "standard account_admin operator"],
    ["categories of a key", QUOTA_CATEGORIES, "search fetch"],
    [
      "fallback reasons",
      FALLBACK_REASONS,
      "metasearch_error metasearch_timeout no_metasearch_instance unresponsive_engines captcha_engines too_few_results",
    ],
    ["content kinds", CONTENT_KINDS, "html pdf text json xml docx xlsx pptx odt ods odp epub rtf binary"],
    [
      "billing categories",
      BILLING_CATEGORIES,
      "search search_fallback search_cached fetch_own fetch_paid fetch_cached company company_cached filings filings_cached profiles profiles_cached",
    ],
  ])("%s", (_, ours, theirs) => {
    expect(ours.join(" ")).toBe(theirs);
  });
});

const fieldsOf = (schema: TSchema): string[] =>
  Object.keys((schema as unknown as { properties: object }).properties).toSorted();

const FIELDS: readonly [name: string, schema: TSchema, fields: string][] = [
  [
    "FetchBody",
    FetchBody,
    "url render max_bytes accept_pdf cache_ttl_s min_text_chars project_ref allow_archive allow_alternates allow_paid allow_premium tiers timeout_s country user_agent accept_language include_html formats fields wait_for screenshot_options archive headers cookies method body cache_private actions session_id only_main_content include_comments include_selectors exclude_selectors extract block_resources device viewport",
  ],
  [
    "FetchResponse",
    FetchResponse,
    "url final_url redirects status content_type origin_content_type headers tier attempts html text pdf_text_pages pdf_page_count text_truncated title meta sha256 bytes cached revalidated retrieved_at etag last_modified cost_usd billing_category archived_at served_from_archive_because body_url body_kind content_kind paywall paywall_evidence alternate_of alternate_source match_score primary_sources text_complete page_verdict error error_detail premium_routes_tried retry_after_s markdown links images entries screenshot actions structured tables comments extract llm_cost_usd warnings archive_url debug_url request_id",
  ],
  ["Attempt", Attempt, "tier status reason ms detail"],
  [
    "SearchBody",
    SearchBody,
    "query language country max_results freshness cache_ttl_s include_domains exclude_domains page project_ref contents",
  ],
  [
    "SearchResponse",
    SearchResponse,
    "query results provider fallback_reason unresponsive_engines cached cost_usd billing_category error warnings request_id",
  ],
  ["SearchResult", SearchResult, "url title snippets engines published_at rank"],
  [
    "ArticleMeta",
    ArticleMeta,
    "author published_at modified_at language canonical_url publisher site_name description section word_count next_url alternates robots",
  ],
  ["Quota", Quota, "key role period resets_at as_of usage_refreshed_at keys project customer events"],
  ["Ready", Ready, "status checks version clock_skew_ms memory warnings http_server"],
];

describe("fields", () => {
  test.each(FIELDS)("of %s", (_, schema, fields) => {
    expect(fieldsOf(schema)).toEqual(fields.split(" ").toSorted());
  });

  test("only url is required of a FetchBody", () => {
    expect((FetchBody as unknown as { required: string[] }).required).toEqual(["url"]);
  });

  test("only query is required of a SearchBody", () => {
    expect((SearchBody as unknown as { required: string[] }).required).toEqual(["query"]);
  });
});

const CORE = "../shared/spec/1-core.md";
const ADAPTERS = "../shared/spec/2-adapters.md";

/** Filing-system errors beside those of a fetch, from the table of errors of the specification. */
const FILINGS_RETRY = {
  unknown_identifier: "no",
  not_registered_filer: "changed",
  not_found: "no",
  invalid_identifier: "changed",
  rate_limited: "later",
  filings_unavailable: "later",
  filings_not_configured: "no",
};

test("filing-system errors have whether a retry helps", () => {
  const retry = Object.fromEntries(
    Object.keys(FILINGS_RETRY).map((code) => [
      code,
      FILINGS_ERRORS[code as keyof typeof FILINGS_RETRY].retry,
    ]),
  );
  expect(retry).toEqual(FILINGS_RETRY);
  expect(Object.keys(FILINGS_ERRORS).filter(canRetryFilings)).toEqual([
    "rate_limited",
    "filings_unavailable",
  ]);
});

/** The first cells of the rows under a heading. */
function rowsUnder(text: string, heading: string): string[] {
  const [, after = ""] = text.split(new RegExp(`^#+ ${heading}.*$`, "m"));
  const [section = ""] = after.split(/^#+ /m);
  return [...section.matchAll(/^\| ([a-z_<>, ]+) \|/gm)].map(([, cell]) => cell!);
}

test.skipIf(!existsSync(ADAPTERS))(`filing-system errors are those of ${ADAPTERS}`, () => {
  const [, table = ""] = readFileSync(ADAPTERS, "utf8").split("Filing-system errors (always HTTP 200");
  const codes = [...table.split("\n\n")[1]!.matchAll(/^\| ([a-z_]+) \|/gm)].map(([, code]) => code!);
  expect(codes.filter((code) => code !== "error")).toEqual(Object.keys(FILINGS_RETRY));
});

describe.skipIf(!existsSync(CORE))(`the tables above are those of ${CORE}`, () => {
  const text = existsSync(CORE) ? readFileSync(CORE, "utf8") : "";

  test("fetch errors", () => {
    const codes = rowsUnder(text, "Fetch errors").flatMap((cell) => cell.split(", "));
    expect(codes.filter((code) => code !== "error" && code !== "http_<status>").toSorted()).toEqual(
      Object.keys(RETRY).toSorted(),
    );
  });

  test.each([
    ["FetchBody", FetchBody],
    ["FetchResponse", FetchResponse],
    ["SearchBody", SearchBody],
    ["SearchResponse", SearchResponse],
  ])("fields of %s", (name, schema) => {
    const named = rowsUnder(text, name).flatMap((cell) => cell.split(", "));
    expect(named.length).toBeGreaterThan(6);
    expect(named.filter((field) => !fieldsOf(schema).includes(field))).toEqual([]);
  });
});
