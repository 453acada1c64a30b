/**
 * How much the caches of a process may hold: parts of one limit, so that all of them together fit beside the rest of the process
 * when they are full. Each part of the program declares the shares of its own caches and adds their names to KnownCaches. Bodies
 * that are under way have a limit of their own (byte-budget.ts), and page caches of SQLite, too.
 */

/** Parts of one, by the name of the cache. */
export type CacheShares<Name extends string = string> = Readonly<Record<Name, number>>;

/** Bytes of memory. */
export type CacheLimits<Name extends string = keyof KnownCaches> = Readonly<Record<Name, number>>;

/** Answers of actors to asks that may be repeated. */
const ANSWERS = { answers: 1 / 4 } as const;
export const RUNTIME_CACHES: CacheShares<keyof typeof ANSWERS> = ANSWERS;
type RuntimeCaches = typeof ANSWERS;

/** Every cache of the program with a share, by name. */
export interface KnownCaches extends RuntimeCaches {}

/** The default of TRAWL_CACHE_MB. */
export const DEFAULT_CACHE_MB = 64;

export const cacheLimits = <Name extends string>(
  shares: CacheShares<Name>,
  limit_mb = DEFAULT_CACHE_MB,
): CacheLimits<Name> =>
  Object.fromEntries(
    Object.entries<number>(shares).map(([name, share]) => [name, Math.floor(limit_mb * 2 ** 20 * share)]),
  ) as CacheLimits<Name>;

/** Bytes of a text in V8's heap: one for each character of ASCII, two for each of a text with others (an upper limit). */
export const heapBytes = (text: string): number =>
  Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
