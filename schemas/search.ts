/**
 * POST /v1/search: its body and its response, and the contracts of the Search actor and of the actor that knows the
 * state of the metasearch instances.
 */
import { type Static, Type } from "typebox";
import {
  Field,
  Component,
  BillingCategory,
  CountryCode,
  Nullable,
  Patterned,
  ProjectRef,
  Warnings,
  Words,
} from "./common.ts";
import { FetchBody, FetchResponse } from "./fetch.ts";
import { ask, contract, tell } from "../cluster/contracts/contract.ts";
import { Trace } from "../cluster/contracts/trace.ts";
import { SearchErrorCode } from "./errors.ts";

export const MAX_QUERY_CHARS = 2_000;
export const MAX_RESULTS_DEFAULT = 20;
export const RESULTS_CEILING = 100;
/** The shared search cache's own time to live: 7 days. */
export const SEARCH_TTL_S = 7 * 86_400;

/** Recent periods; the two-letter forms are aliases, in the same order. */
export const PERIODS = ["day", "week", "month", "year"] as const;
export type Period = (typeof PERIODS)[number];
const PERIOD_ALIASES = ["pd", "pw", "pm", "py"] as const;

/** Why the primary answer was not good enough. */
export const FALLBACK_REASONS = [
  "metasearch_error",
  "metasearch_timeout",
  "no_metasearch_instance",
  "unresponsive_engines",
  "captcha_engines",
  "too_few_results",
] as const;
export type FallbackReason = (typeof FALLBACK_REASONS)[number];

/** Results that a search looks through at most: `page` times `max_results`. */
export const MAX_DEPTH = 200;
const MAX_DOMAINS = 50;
export const CONTENTS_DEFAULT = 5;
const MAX_CONTENTS = 20;

const domains = (sentence: string, example: string) =>
  Type.Optional(
    Field(
      Nullable(
        Type.Array(
          Patterned("^[^\\s/:?#@*]+$", "Input should be a host name, such as example.org", {
            maxLength: 253,
          }),
          { maxItems: MAX_DOMAINS },
        ),
      ),
      sentence,
      [example],
    ),
  );

/** Fetch options that a query's results are not fetched with: what belongs to one address, or is the caller's own. */
const NOT_OF_RESULTS = [
  "url",
  "project_ref",
  "method",
  "body",
  "headers",
  "cookies",
  "cache_private",
  "session_id",
  "actions",
] as const;

/** How the pages of results are fetched. */
export const ContentsFetch = Component(
  "ContentsFetch",
  Object.fromEntries(
    Object.entries(FetchBody.properties).filter(([name]) => !NOT_OF_RESULTS.some((other) => other === name)),
  ) as Omit<typeof FetchBody.properties, (typeof NOT_OF_RESULTS)[number]>,
);

export const SearchContents = Component("SearchContents", {
  results: Type.Optional(
    Field(
      Type.Integer({ minimum: 1, maximum: MAX_CONTENTS, default: CONTENTS_DEFAULT }),
      "How many of the first results get their pages",
    ),
  ),
  fetch: Type.Optional(
    Field(
      Nullable(ContentsFetch),
      "How they are fetched: options of `POST /v1/fetch`. `html` is left out unless `include_html` asks for it",
      { formats: ["markdown"] },
    ),
  ),
});
export type SearchContents = Static<typeof SearchContents>;

/** A search in a batch. */
export const SearchItem = Component("SearchItem", {
  /** 1 to 2,000 characters after trimming: the pattern counts, the larger length is only a bound for its work. */
  query: Field(
    Type.String({
      minLength: 1,
      maxLength: 4 * MAX_QUERY_CHARS,
      pattern: `^\\s*\\S(?:[\\s\\S]{0,${MAX_QUERY_CHARS - 2}}\\S)?\\s*$`,
      "x-expected": `Input should have 1 to ${MAX_QUERY_CHARS} characters without the white space around it`,
    }),
    "What to search for",
    "when was the lighthouse lit",
  ),
  /** ISO 639-1, optionally with a region: de, de-CH. */
  language: Type.Optional(
    Field(
      Nullable(
        Patterned(
          "^[A-Za-z]{2}(-[A-Za-z]{2})?$",
          "Input should be a two-character language code (ISO 639-1), optionally with a region, such as de or de-CH",
        ),
      ),
      "ISO 639-1, optionally with a region",
      "de-CH",
    ),
  ),
  country: Type.Optional(Field(Nullable(CountryCode), "ISO 3166-1 alpha-2, in either case", "ch")),
  max_results: Type.Optional(
    Field(
      Type.Integer({ minimum: 1, maximum: RESULTS_CEILING, default: MAX_RESULTS_DEFAULT }),
      "The most results",
    ),
  ),
  freshness: Type.Optional(
    Field(
      Nullable(Type.Enum([...PERIODS, ...PERIOD_ALIASES])),
      "Only pages of this period; `pd`, `pw`, `pm` and `py` mean day, week, month and year",
    ),
  ),
  /** Oldest acceptable answer from the cache; 0 bypasses it. The cache's own limits hold all the same. */
  cache_ttl_s: Type.Optional(
    Field(
      Nullable(Type.Integer({ minimum: 0 })),
      "The oldest acceptable answer from the cache, in seconds, at most 7 days; 0 searches anew",
      3600,
    ),
  ),
  include_domains: domains("Only results of these hosts and their subdomains", "example.org"),
  exclude_domains: domains("No results of these hosts and their subdomains", "shop.example.org"),
  page: Type.Optional(
    Field(
      Type.Integer({ minimum: 1, maximum: MAX_DEPTH, default: 1 }),
      `Which \`max_results\` of the results: 2 has those after the first page. Both together reach to the ${MAX_DEPTH}th result`,
    ),
  ),
  project_ref: Type.Optional(ProjectRef),
});
export type SearchItem = Static<typeof SearchItem>;

export const SearchBody = Component("SearchBody", {
  ...SearchItem.properties,
  contents: Type.Optional(
    Field(
      Nullable(SearchContents),
      "The pages of the first results, each fetched and billed as by `POST /v1/fetch`",
      { results: 3 },
    ),
  ),
});
export type SearchBody = Static<typeof SearchBody>;

/** The results before which a page begins, and behind which it ends. */
export function windowOf({ page = 1, max_results = MAX_RESULTS_DEFAULT }: SearchItem): {
  readonly from: number;
  readonly to: number;
} {
  return { from: (page - 1) * max_results, to: page * max_results };
}

export function periodOf(freshness: SearchBody["freshness"]): Period | null {
  if (freshness == null) return null;
  const alias = (PERIOD_ALIASES as readonly string[]).indexOf(freshness);
  return alias === -1 ? (freshness as Period) : PERIODS[alias]!;
}

export const SearchResult = Component("SearchResult", {
  url: Field(Type.String(), "The address of the page", "https://example.org/lighthouse"),
  title: Field(Nullable(Type.String()), "The title as the engine gives it", "The lighthouse at Skarn Head"),
  snippets: Field(Type.Array(Type.String()), "Passages of the page, without markup", [
    "The lamp was first lit in 1872.",
  ]),
  /** Names as the instance gives them; the fallback API is `fallback_api`, the built-in index `local_index`. */
  engines: Field(Type.Array(Type.String()), "Which search engines found it", ["local_index"]),
  published_at: Field(
    Nullable(Type.String()),
    "When the page was published, as far as an engine knows",
    "2025-08-17T10:30:00Z",
  ),
  rank: Field(Type.Integer({ minimum: 1 }), "Its place, from 1", 1),
});
export type SearchResult = Static<typeof SearchResult>;

const Provider = Nullable(Type.Enum(["metasearch", "fallback"]));
const Reason = Nullable(Type.Enum([...FALLBACK_REASONS]));

/** Request of the gateway to the Search actor: the body with its defaults filled in. */
export const SearchRequest = Type.Object({
  search_id: Type.String(),
  /** Trimmed, white space collapsed, case as it came: operators (OR, site:) may depend on it. */
  query: Type.String(),
  language: Nullable(Type.String()),
  country: Nullable(Type.String()),
  max_results: Type.Integer({ minimum: 1, maximum: MAX_DEPTH }),
  freshness: Nullable(Type.Enum([...PERIODS])),
  /** Hosts in lower case and ASCII; absent: any. */
  include_domains: Type.Optional(Type.Array(Type.String())),
  exclude_domains: Type.Optional(Type.Array(Type.String())),
  cache_ttl_s: Nullable(Type.Integer()),
  /** Whose call it is: its accounts pay for the fallback. */
  project: Type.String(),
  /** The prefix of the caller's key; absent: no key pays. */
  key: Type.Optional(Type.String()),
  /** The messages of its run are recorded. Default: they are not. */
  is_traced: Type.Optional(Type.Boolean()),
});
export type SearchRequest = Static<typeof SearchRequest>;

export const SearchAnswer = Type.Object({
  /** At most max_results of them, ranked from 1. */
  results: Type.Array(SearchResult),
  /** Null exactly when `error` is set. */
  provider: Provider,
  fallback_reason: Reason,
  unresponsive_engines: Type.Array(Type.String()),
  cached: Type.Boolean(),
  /** Decimal; what the fallback cost this caller. A caller that joined the search of another pays nothing. */
  cost_usd: Type.String(),
  error: Nullable(Type.String()),
  /** Trace of a run whose request asked for it. */
  trace: Type.Optional(Trace),
});
export type SearchAnswer = Static<typeof SearchAnswer>;

/** The Search actor: one per query; its key is the digest of what makes two searches the same. */
export const Search = contract(
  "search",
  { get: ask(SearchRequest, SearchAnswer) },
  {
    completed: tell(
      Type.Object({
        search: Type.Integer(),
        answer: SearchAnswer,
        /** The project whose budget kept the fallback from being asked: another's may allow it. */
        is_refused: Type.Boolean(),
      }),
    ),
  },
);

/** Why one upstream gave no answer; `http_<status>` for a status that is none. */
export type EngineFailure = "timeout" | "unreachable" | "invalid_answer" | "captcha" | `http_${number}`;

/** How an instance did, once for each time it was taken. */
export const InstanceReport = Type.Object({
  instance: Type.String(),
  /** Null: it answered. */
  failure: Nullable(Type.String()),
  retry_after_s: Nullable(Type.Integer()),
});
export type InstanceReport = Static<typeof InstanceReport>;

export const InstanceView = Type.Object({
  instance: Type.String(),
  /** When it may be asked again, Unix milliseconds; null: now. */
  suspended_until_ms: Nullable(Type.Integer()),
  reason: Nullable(Type.String()),
});

/** Knows which metasearch instances may be asked: one for the cluster, so that all nodes spare one that is in trouble. */
export const Instances = contract("search_instances", {
  /**
   * The next in turn that is not suspended and not among `except`. With none left, once a second, the least bad one: it may have come back.
   */
  next: ask(
    Type.Object({ except: Type.Array(Type.String()) }),
    Type.Object({ instance: Nullable(Type.String()) }),
  ),
  report: tell(InstanceReport),
  view: ask(Type.Null(), Type.Array(InstanceView)),
});
export const INSTANCES_KEY = "metasearch";

/** The last is for what has no code of its own. */
export const CONTENT_REFUSALS = [
  "timeout",
  "key_quota_exhausted",
  "key_budget_exhausted",
  "key_rate_limited",
  "key_category_not_allowed",
  "user_agent_not_allowed",
  "unavailable",
  "refused",
] as const;

/** Why a result has no page: its fetch was refused, or there was no time for it. */
export const ContentRefusal = Component("ContentRefusal", {
  url: Field(Type.String(), "The address of the result", "https://example.org/lighthouse"),
  error: Field(
    Words("ContentRefusalCode", CONTENT_REFUSALS),
    "`timeout`: the time for all pages was over. Else the code of the refusal",
    "key_quota_exhausted",
  ),
  error_detail: Field(Type.String(), "A sentence for people", "The quota of this key is used up"),
});
export type ContentRefusal = Static<typeof ContentRefusal>;

/** A result as an answer has it. */
export const ShownResult = Component("SearchResult", {
  ...SearchResult.properties,
  content: Type.Optional(
    Field(
      Type.Union([FetchResponse, ContentRefusal, Type.Null()]),
      "With `contents`: the answer of its fetch; why it was not fetched; null behind the results that get their pages",
    ),
  ),
});
export type ShownResult = Static<typeof ShownResult>;

/** The answer to a client, field by field as the specification has it. */
export const SearchResponse = Component("SearchResponse", {
  query: Field(Type.String(), "As it was asked", "when was the lighthouse lit"),
  results: Field(
    Type.Array(ShownResult),
    "Best first. Results that differ only in tracking parameters are one",
  ),
  provider: Field(Provider, "Who answered: the metasearch instances or the fallback API; null: nobody"),
  fallback_reason: Field(Reason, "Why the answer of the metasearch was not good enough; null: it was"),
  unresponsive_engines: Field(
    Type.Array(Type.String()),
    "Search engines that did not answer the metasearch",
    ["mojeek"],
  ),
  cached: Type.Boolean(),
  cost_usd: Nullable(Type.Number()),
  billing_category: Field(BillingCategory, "How the answer is billed", "search"),
  error: SearchErrorCode,
  warnings: Warnings,
  request_id: Type.String(),
});
export type SearchResponse = Static<typeof SearchResponse>;
