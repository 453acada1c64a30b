/**
 * The search cache's rules: which searches are equal, when a stored answer may be used, and how long it is kept (7 days at
 * most). Pure: the time is an argument.
 */
import { createHash } from "node:crypto";
import { type Static, Type } from "typebox";
import { compiled } from "../../../cluster/contracts/compiled.ts";
import { Nullable } from "../../../schemas/common.ts";
import {
  FALLBACK_REASONS,
  type SearchAnswer,
  type SearchRequest,
  SEARCH_TTL_S,
  SearchResult,
} from "../../../schemas/search.ts";

/** An answer as the cache keeps it, in the collection "searches" under the digest of its question. */
export const CachedSearch = Type.Object({
  results: Type.Array(SearchResult),
  provider: Type.Enum(["metasearch", "fallback"]),
  fallback_reason: Nullable(Type.Enum([...FALLBACK_REASONS])),
  unresponsive_engines: Type.Array(Type.String()),
  /** The max_results of the search: a request for more needs a new search, unless there are enough results. */
  depth: Type.Integer(),
  /** The revision of the built-in index, if it gave the answer: pages stored since then may change the answer. Null: another provider. */
  revision: Nullable(Type.String()),
  /** Unix milliseconds. */
  searched_ms: Type.Number(),
  ttl_ms: Type.Number(),
});
export type CachedSearch = Static<typeof CachedSearch>;
const cachedSearch = compiled(CachedSearch);

/** Checks a stored value. A value of another form, for example an older one, counts as absent. */
export const asCachedSearch = (value: unknown): CachedSearch | null =>
  cachedSearch.check(value) ? value : null;

/** Normalises white space, which does not distinguish queries. */
export const normalizeQuery = (query: string): string => query.normalize("NFC").trim().replace(/\s+/gu, " ");

/** Case does not distinguish queries either; the query is sent upstream unchanged. */
export function searchKey(
  { query, language, country, freshness, include_domains, exclude_domains }: SearchRequest,
  /** The only project that the answer is for; null: all. */
  audience: string | null,
): string {
  const parts = [
    normalizeQuery(query).toLowerCase(),
    language?.toLowerCase(),
    country?.toLowerCase(),
    freshness,
    ...(audience === null ? [] : [audience]),
    // Behind the others, and not there without them: stored answers keep their keys.
    ...(include_domains ? [`only ${include_domains.toSorted().join(" ")}`] : []),
    ...(exclude_domains ? [`not ${exclude_domains.toSorted().join(" ")}`] : []),
  ];
  return createHash("sha256")
    .update(JSON.stringify(parts.map((part) => part ?? null)))
    .digest("hex");
}

const MINUTE_MS = 60_000;
export const TTL_MS = SEARCH_TTL_S * 1_000;
/** A poor answer without a fallback is kept briefly, because another try may be better. */
export const POOR_TTL_MS = 15 * MINUTE_MS;

/** How long an answer is worth keeping; 0: not at all. */
export function ttlOf({ error, provider, fallback_reason }: SearchAnswer): number {
  if (error !== null || provider === null) return 0;
  // The fallback's answer has been paid for and cannot be improved.
  if (fallback_reason === null || provider === "fallback") return TTL_MS;
  return fallback_reason === "too_few_results" ? POOR_TTL_MS : 0;
}

/** The stored answer for this request, or null when it is too old, has too few results or belongs to an older index. */
export function freshAnswer(
  stored: CachedSearch | null,
  request: Pick<SearchRequest, "cache_ttl_s" | "max_results">,
  revision: string | null,
  now_ms: number,
): SearchAnswer | null {
  if (stored === null || request.cache_ttl_s === 0) return null;
  const most_ms = Math.min(
    stored.ttl_ms,
    request.cache_ttl_s === null ? Infinity : request.cache_ttl_s * 1_000,
  );
  if (now_ms - stored.searched_ms > most_ms) return null;
  if (stored.depth < request.max_results && stored.results.length < request.max_results) return null;
  if (stored.revision !== null && stored.revision !== revision) return null;
  const { provider, fallback_reason, unresponsive_engines } = stored;
  return {
    results: stored.results.slice(0, request.max_results),
    provider,
    fallback_reason,
    unresponsive_engines,
    cached: true,
    cost_usd: "0",
    error: null,
  };
}
