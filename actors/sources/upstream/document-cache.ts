/**
 * Which of an upstream's answers are stored, how long a stored answer is used, and when the upstream is asked whether it
 * changed. Pure: the time and the rules of each kind of document are arguments. An answer past its time is never used
 * because the upstream cannot be reached.
 */
import { createHash } from "node:crypto";
import { type Static, Type } from "typebox";
import { compiled } from "../../../cluster/contracts/compiled.ts";
import { Nullable } from "../../../schemas/common.ts";
import { SourceAnswer } from "../../../schemas/upstream.ts";

export const CachedDocument = Type.Object({
  answer: SourceAnswer,
  /** For a conditional request; null: the upstream did not send it. */
  last_modified: Nullable(Type.String()),
  /** When the upstream last confirmed the answer, Unix milliseconds. */
  validated_ms: Type.Number(),
});
export type CachedDocument = Static<typeof CachedDocument>;
const cachedDocument = compiled(CachedDocument);

/** Reads what the store returned; a record of another form counts as none. */
export const asCachedDocument = (value: unknown): CachedDocument | null =>
  cachedDocument.check(value) ? value : null;

/** The key of an address in the store. */
export const digestOf = (url: string): string => createHash("sha256").update(url).digest("hex");

export interface CacheRules {
  /** How long an answer is fresh when the caller names no age. */
  readonly fresh_ms: number;
  /** How long "there is no such document" is believed. */
  readonly missing_ms: number;
  /** The most bytes of the body, after content decoding. */
  readonly max_bytes: number;
  /** How long a stale answer is kept for a conditional request. */
  readonly stale_ms: number;
}

export const expiresAt = ({ fresh_ms, stale_ms }: CacheRules, now_ms: number): number =>
  now_ms + fresh_ms + stale_ms;

export type CacheLookup =
  | { readonly kind: "hit"; readonly answer: SourceAnswer }
  /** The upstream is asked whether it changed. */
  | { readonly kind: "stale"; readonly cached: CachedDocument }
  | { readonly kind: "miss" };

export function lookup(
  cached: CachedDocument | null,
  rules: CacheRules,
  { cache_ttl_s, max_bytes }: { readonly cache_ttl_s: number | null; readonly max_bytes: number },
  now_ms: number,
): CacheLookup {
  if (cached === null || cache_ttl_s === 0) return { kind: "miss" };
  const { answer } = cached;
  const isMissing = answer.kind !== "got";
  const own_ttl_ms = isMissing ? rules.missing_ms : rules.fresh_ms;
  const ttl_ms = cache_ttl_s === null ? own_ttl_ms : cache_ttl_s * 1_000;
  const age_ms = now_ms - cached.validated_ms;
  if (age_ms >= (isMissing ? Math.min(own_ttl_ms, ttl_ms) : ttl_ms))
    return isMissing ? { kind: "miss" } : { kind: "stale", cached };
  if (isMissing) return { kind: "hit", answer };
  if (answer.bytes > max_bytes) return { kind: "hit", answer: tooLarge(max_bytes, 0) };
  return { kind: "hit", answer: { ...answer, cached: true, requests: 0 } };
}

/** The document is larger than the caller accepts. */
export const tooLarge = (max_bytes: number, requests: number): SourceAnswer => ({
  kind: "failed",
  error: "too_large",
  message: `The answer is larger than ${max_bytes} bytes`,
  retry_after_s: null,
  status: 200,
  redirects: [],
  requests,
});
