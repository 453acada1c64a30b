/**
 * What is kept of the filing system's answers, how long it may answer, and what is asked about it afterwards (notes,
 * section 9). Pure: the time comes in. An answer past its time is never given because the system is out of reach.
 */
import { createHash } from "node:crypto";
import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { Nullable } from "../../../schemas/common.ts";
import { SourceAnswer, type SourceRequest, type SourceKind } from "../../../schemas/filing-source.ts";

/** In the collection "filing_documents", under the digest of the address. */
export const FILING_DOCUMENTS = "filing_documents";

export const CachedDocument = Type.Object({
  answer: SourceAnswer,
  /** To ask with whether it changed; null: the system did not say. */
  last_modified: Nullable(Type.String()),
  /** When the system last vouched for it, Unix milliseconds. */
  validated_ms: Type.Number(),
});
export type CachedDocument = Static<typeof CachedDocument>;
const cachedDocument = Compile(CachedDocument);

export const asCachedDocument = (value: unknown): CachedDocument | null =>
  cachedDocument.Check(value) ? value : null;

export const digestOf = (url: string): string => createHash("sha256").update(url).digest("hex");

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MEBIBYTE = 2 ** 20;

interface KindRules {
  /** How long an answer is fresh by itself. */
  readonly fresh_ms: number;
  /** How long it is believed that there is none. */
  readonly missing_ms: number;
  /** Of the body, after content coding. */
  readonly max_bytes: number;
}

/** Documents appear minutes after their filing was accepted. */
const MISSING_MS = 60 * SECOND_MS;

export const KIND_RULES: Readonly<Record<SourceKind, KindRules>> = {
  tickers: { fresh_ms: 12 * HOUR_MS, missing_ms: MISSING_MS, max_bytes: 16 * MEBIBYTE },
  submissions: { fresh_ms: 12 * HOUR_MS, missing_ms: MISSING_MS, max_bytes: 32 * MEBIBYTE },
  facts: { fresh_ms: 12 * HOUR_MS, missing_ms: MISSING_MS, max_bytes: 128 * MEBIBYTE },
  index: { fresh_ms: 365 * DAY_MS, missing_ms: MISSING_MS, max_bytes: 16 * MEBIBYTE },
  document: { fresh_ms: 365 * DAY_MS, missing_ms: MISSING_MS, max_bytes: Infinity },
  search: { fresh_ms: HOUR_MS, missing_ms: MISSING_MS, max_bytes: 16 * MEBIBYTE },
  robots: { fresh_ms: DAY_MS, missing_ms: DAY_MS, max_bytes: MEBIBYTE },
  page: { fresh_ms: 0, missing_ms: MISSING_MS, max_bytes: Infinity },
};
/** Kept beyond its time, for the question whether it changed; nobody asks that of a search. */
const STALE_MS = 30 * DAY_MS;

export const expiresAt = (kind: SourceKind, now_ms: number): number =>
  now_ms + KIND_RULES[kind].fresh_ms + (kind === "search" ? 0 : STALE_MS);

export type CacheLookup =
  | { readonly kind: "hit"; readonly answer: SourceAnswer }
  /** To be asked about, or read again and compared. */
  | { readonly kind: "stale"; readonly cached: CachedDocument }
  | { readonly kind: "miss" };

type LookupRequest = Pick<SourceRequest, "kind" | "cache_ttl_s" | "max_bytes">;

export function lookup(
  cached: CachedDocument | null,
  { kind, cache_ttl_s, max_bytes }: LookupRequest,
  now_ms: number,
): CacheLookup {
  if (cached === null || cache_ttl_s === 0) return { kind: "miss" };
  const { answer } = cached;
  const isMissing = answer.kind !== "got";
  const own_ttl_ms = isMissing ? KIND_RULES[kind].missing_ms : KIND_RULES[kind].fresh_ms;
  const ttl_ms = cache_ttl_s === null ? own_ttl_ms : cache_ttl_s * SECOND_MS;
  const age_ms = now_ms - cached.validated_ms;
  if (age_ms >= (isMissing ? Math.min(own_ttl_ms, ttl_ms) : ttl_ms))
    return isMissing ? { kind: "miss" } : { kind: "stale", cached };
  if (!isMissing && answer.bytes > max_bytes) return { kind: "hit", answer: tooLarge(kind, max_bytes, 0) };
  return { kind: "hit", answer: isMissing ? answer : { ...answer, cached: true, requests: 0 } };
}

/** Larger than the caller wanted, or larger than it can honestly be. */
export function tooLarge(kind: SourceKind, max_bytes: number, requests: number): SourceAnswer {
  const isCallersLimit = max_bytes < KIND_RULES[kind].max_bytes;
  return {
    kind: "failed",
    error: isCallersLimit ? "too_large" : "filings_unavailable",
    message: `The answer is larger than ${max_bytes} bytes`,
    retry_after_s: isCallersLimit ? null : 60,
    status: 200,
    redirects: [],
    requests,
  };
}
