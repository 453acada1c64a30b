/**
 * POST /v1/search: its body and its response, and the contracts of the Search actor and of the actor that knows the
 * state of the metasearch instances.
 */
import { type Static, Type } from "typebox";
import { BillingCategory, CountryCode, Nullable, Patterned } from "./common.ts";
import { ask, contract, tell } from "./contract.ts";
import { Trace } from "./trace.ts";

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

export const SearchBody = Type.Object({
  /** 1 to 2,000 characters after trimming: the pattern counts, the larger length is only a bound for its work. */
  query: Type.String({
    minLength: 1,
    maxLength: 4 * MAX_QUERY_CHARS,
    pattern: `^\\s*\\S(?:[\\s\\S]{0,${MAX_QUERY_CHARS - 2}}\\S)?\\s*$`,
    "x-expected": `Input should have 1 to ${MAX_QUERY_CHARS} characters without the white space around it`,
  }),
  /** ISO 639-1, optionally with a region: de, de-CH. */
  language: Type.Optional(
    Nullable(
      Patterned(
        "^[A-Za-z]{2}(-[A-Za-z]{2})?$",
        "Input should be a two-character language code (ISO 639-1), optionally with a region, such as de or de-CH",
      ),
    ),
  ),
  country: Type.Optional(Nullable(CountryCode)),
  max_results: Type.Optional(
    Type.Integer({ minimum: 1, maximum: RESULTS_CEILING, default: MAX_RESULTS_DEFAULT }),
  ),
  freshness: Type.Optional(Nullable(Type.Enum([...PERIODS, ...PERIOD_ALIASES]))),
  /** Oldest acceptable answer from the cache; 0 bypasses it. The cache's own limits hold all the same. */
  cache_ttl_s: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
  project_ref: Type.Optional(Nullable(Type.String({ maxLength: 500 }))),
});
export type SearchBody = Static<typeof SearchBody>;

export function periodOf(freshness: SearchBody["freshness"]): Period | null {
  if (freshness == null) return null;
  const alias = (PERIOD_ALIASES as readonly string[]).indexOf(freshness);
  return alias === -1 ? (freshness as Period) : PERIODS[alias]!;
}

export const SearchResult = Type.Object({
  url: Type.String(),
  title: Nullable(Type.String()),
  snippets: Type.Array(Type.String()),
  /** Names as the instance gives them; the fallback API is `fallback_api`, the built-in index `local_index`. */
  engines: Type.Array(Type.String()),
  published_at: Nullable(Type.String()),
  rank: Type.Integer({ minimum: 1 }),
});
export type SearchResult = Static<typeof SearchResult>;

const Provider = Nullable(Type.Enum(["metasearch", "fallback"]));
const Reason = Nullable(Type.Enum([...FALLBACK_REASONS]));

/** What the gateway asks of the Search actor: the body with its defaults filled in. */
export const SearchRequest = Type.Object({
  search_id: Type.String(),
  /** Trimmed, white space collapsed, case as it came: operators (OR, site:) may depend on it. */
  query: Type.String(),
  language: Nullable(Type.String()),
  country: Nullable(Type.String()),
  max_results: Type.Integer({ minimum: 1, maximum: RESULTS_CEILING }),
  freshness: Nullable(Type.Enum([...PERIODS])),
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
  /** Of a run whose request asked for it. */
  trace: Type.Optional(Trace),
});
export type SearchAnswer = Static<typeof SearchAnswer>;

/** One actor per query: its key is the digest of what makes two searches the same. */
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
  /** The next in turn that is not suspended and not among `except`. */
  next: ask(
    Type.Object({ except: Type.Array(Type.String()) }),
    Type.Object({ instance: Nullable(Type.String()) }),
  ),
  report: tell(InstanceReport),
  view: ask(Type.Null(), Type.Array(InstanceView)),
});
export const INSTANCES_KEY = "metasearch";

/** The answer to a client, field by field as the specification has it. */
export const SearchResponse = Type.Object({
  query: Type.String(),
  results: Type.Array(SearchResult),
  provider: Provider,
  fallback_reason: Reason,
  unresponsive_engines: Type.Array(Type.String()),
  cached: Type.Boolean(),
  cost_usd: Nullable(Type.Number()),
  billing_category: BillingCategory,
  error: Nullable(Type.String()),
  request_id: Type.String(),
});
export type SearchResponse = Static<typeof SearchResponse>;
