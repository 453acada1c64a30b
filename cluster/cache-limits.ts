/**
 * How much the caches of a process may hold: parts of one limit, so that all of them together fit beside the rest of the process
 * when they are full. Bodies that are under way have a limit of their own (byte-budget.ts), and page caches of SQLite, too.
 */

/** Bytes of memory. */
export interface CacheLimits {
  /** Responses from the cache as they were sent. */
  readonly responses: number;
  /** Records of stored pages. */
  readonly pages: number;
  /** Answers of actors to asks that may be repeated. */
  readonly answers: number;
  /** Feeds and lists in which alternates are looked for. */
  readonly feeds: number;
  /** Rows that were read from lists of filings. */
  readonly filings: number;
}

const PARTS: CacheLimits = {
  responses: 3 / 8,
  pages: 1 / 4,
  answers: 1 / 4,
  feeds: 1 / 16,
  filings: 1 / 16,
};

export function cacheLimits(limit_mb: number): CacheLimits {
  const part = (share: number): number => Math.floor(limit_mb * 2 ** 20 * share);
  return {
    responses: part(PARTS.responses),
    pages: part(PARTS.pages),
    answers: part(PARTS.answers),
    feeds: part(PARTS.feeds),
    filings: part(PARTS.filings),
  };
}

/** The default of TRAWL_CACHE_MB. */
export const DEFAULT_CACHES = cacheLimits(64);

/** Bytes of a text in V8's heap: one for each character of ASCII, two for each of a text with others (an upper limit). */
export const heapBytes = (text: string): number =>
  Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
