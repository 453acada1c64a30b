/** The shares of all caches of a process. The compiler names a part of the program whose caches are missing here. */
import { FETCH_CACHES } from "../actors/crawl/fetch/caches.ts";
import { FILING_CACHES } from "../actors/sources/filings/caches.ts";
import { type CacheShares, type KnownCaches, RUNTIME_CACHES } from "../cluster/cache-limits.ts";

export const CACHES: CacheShares<keyof KnownCaches> = {
  ...RUNTIME_CACHES,
  ...FETCH_CACHES,
  ...FILING_CACHES,
};
