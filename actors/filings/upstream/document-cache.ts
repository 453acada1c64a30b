/**
 * What is kept of the filing system's answers, how long it may answer, and what is asked about it afterwards (notes,
 * section 9). Pure: the time comes in. An answer past its time is never given because the system is out of reach.
 */
import { createHash } from "node:crypto";
import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { Nullable } from "../../../schemas/common.ts";
import { SourceAnswer, type SourceAsk, type SourceKind } from "../../../schemas/filing-source.ts";

/** In the collection "filings", under the digest of the address. */
export const FILINGS = "filings";

export const Kept = Type.Object({
  answer: SourceAnswer,
  /** To ask with whether it changed; null: the system did not say. */
  last_modified: Nullable(Type.String()),
  /** When the system last vouched for it, Unix milliseconds. */
  validated_ms: Type.Number(),
});
export type Kept = Static<typeof Kept>;
const kept = Compile(Kept);

export const asKept = (value: unknown): Kept | null => (kept.Check(value) ? value : null);

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
  readonly bytes_most: number;
}

/** Documents appear minutes after their filing was accepted. */
const MISSING_MS = 60 * SECOND_MS;

export const KINDS: Readonly<Record<SourceKind, KindRules>> = {
  tickers: { fresh_ms: 12 * HOUR_MS, missing_ms: MISSING_MS, bytes_most: 16 * MEBIBYTE },
  submissions: { fresh_ms: 12 * HOUR_MS, missing_ms: MISSING_MS, bytes_most: 32 * MEBIBYTE },
  facts: { fresh_ms: 12 * HOUR_MS, missing_ms: MISSING_MS, bytes_most: 128 * MEBIBYTE },
  index: { fresh_ms: 365 * DAY_MS, missing_ms: MISSING_MS, bytes_most: 16 * MEBIBYTE },
  document: { fresh_ms: 365 * DAY_MS, missing_ms: MISSING_MS, bytes_most: Infinity },
  search: { fresh_ms: HOUR_MS, missing_ms: MISSING_MS, bytes_most: 16 * MEBIBYTE },
  robots: { fresh_ms: DAY_MS, missing_ms: DAY_MS, bytes_most: MEBIBYTE },
  page: { fresh_ms: 0, missing_ms: MISSING_MS, bytes_most: Infinity },
};
/** Kept beyond its time, for the question whether it changed; nobody asks that of a search. */
const STALE_MS = 30 * DAY_MS;

export const expiresAt = (kind: SourceKind, now_ms: number): number =>
  now_ms + KINDS[kind].fresh_ms + (kind === "search" ? 0 : STALE_MS);

export type Look =
  | { readonly kind: "hit"; readonly answer: SourceAnswer }
  /** To be asked about, or read again and compared. */
  | { readonly kind: "stale"; readonly kept: Kept }
  | { readonly kind: "miss" };

type Wish = Pick<SourceAsk, "kind" | "cache_ttl_s" | "max_bytes">;

export function lookAt(stored: Kept | null, { kind, cache_ttl_s, max_bytes }: Wish, now_ms: number): Look {
  if (stored === null || cache_ttl_s === 0) return { kind: "miss" };
  const { answer } = stored;
  const isMissing = answer.kind !== "got";
  const own_ms = isMissing ? KINDS[kind].missing_ms : KINDS[kind].fresh_ms;
  const wanted_ms = cache_ttl_s === null ? own_ms : cache_ttl_s * SECOND_MS;
  const age_ms = now_ms - stored.validated_ms;
  if (age_ms >= (isMissing ? Math.min(own_ms, wanted_ms) : wanted_ms))
    return isMissing ? { kind: "miss" } : { kind: "stale", kept: stored };
  if (!isMissing && answer.bytes > max_bytes) return { kind: "hit", answer: tooLarge(kind, max_bytes, 0) };
  return { kind: "hit", answer: isMissing ? answer : { ...answer, cached: true, requests: 0 } };
}

/** Larger than the caller wanted, or larger than it can honestly be. */
export function tooLarge(kind: SourceKind, most: number, requests: number): SourceAnswer {
  const isTheirs = most < KINDS[kind].bytes_most;
  return {
    kind: "failed",
    error: isTheirs ? "too_large" : "filings_unavailable",
    message: `The answer is larger than ${most} bytes`,
    retry_after_s: isTheirs ? null : 60,
    status: 200,
    redirects: [],
    requests,
  };
}
