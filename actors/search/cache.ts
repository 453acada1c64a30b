/**
 * What makes two searches the same one, when a stored answer may be given again, and for how long one is kept
 * (1-core.md, POST /v1/search: shared cache, 7 days). Pure: the time comes in.
 */
import { createHash } from "node:crypto";
import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { Nullable } from "../../schemas/common.ts";
import {
  FALLBACK_REASONS,
  type SearchAnswer,
  type SearchRequest,
  SEARCH_TTL_S,
  SearchResult,
} from "../../schemas/search.ts";

/** An answer as the cache keeps it, in the collection "searches" under the digest of its question. */
export const CachedSearch = Type.Object({
  results: Type.Array(SearchResult),
  provider: Type.Enum(["metasearch", "fallback"]),
  fallback_reason: Nullable(Type.Enum([...FALLBACK_REASONS])),
  unresponsive_engines: Type.Array(Type.String()),
  /** The max_results it was searched with: it answers nobody who wants more than it has. */
  depth: Type.Integer(),
  /** Of the built-in index when it gave the answer: what was stored since may change it. Null: another provider. */
  revision: Nullable(Type.String()),
  /** Unix milliseconds. */
  searched_ms: Type.Number(),
  ttl_ms: Type.Number(),
});
export type CachedSearch = Static<typeof CachedSearch>;
const cachedSearch = Compile(CachedSearch);

/** Reads what the store gave; what is not an answer of this form (an older one) is as good as nothing. */
export const asCachedSearch = (value: unknown): CachedSearch | null =>
  cachedSearch.Check(value) ? value : null;

/** White space is none of the question. */
export const normalizeQuery = (query: string): string => query.normalize("NFC").trim().replace(/\s+/gu, " ");

/** Case is none of it either, but the words are sent upstream as they came. */
export function searchKey({ query, language, country, freshness }: SearchRequest): string {
  const parts = [
    normalizeQuery(query).toLowerCase(),
    language?.toLowerCase(),
    country?.toLowerCase(),
    freshness,
  ];
  return createHash("sha256")
    .update(JSON.stringify(parts.map((part) => part ?? null)))
    .digest("hex");
}

const MINUTE_MS = 60_000;
export const TTL_MS = SEARCH_TTL_S * 1_000;
/** A poor answer nobody could better: soon somebody may. */
export const POOR_TTL_MS = 15 * MINUTE_MS;

/** How long an answer is worth keeping; 0: not at all. */
export function ttlOf({ error, provider, fallback_reason }: SearchAnswer): number {
  if (error !== null || provider === null) return 0;
  // What the fallback gave has been paid for, and is as good as it gets.
  if (fallback_reason === null || provider === "fallback") return TTL_MS;
  return fallback_reason === "too_few_results" ? POOR_TTL_MS : 0;
}

/** The stored answer as this caller's, or null when it is too old, too short or no longer true. */
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
