/** The caches of fetches, and their parts of the limit of all caches. */
import type { CacheShares } from "../../../cluster/cache-limits.ts";

export const FETCH_CACHES = {
  /** Responses from the cache as they were sent. */
  responses: 3 / 8,
  /** Records of stored pages. */
  pages: 1 / 4,
  /** Feeds and lists in which alternates are looked for. */
  feeds: 1 / 16,
} as const satisfies CacheShares;

type FetchCaches = typeof FETCH_CACHES;
declare module "../../../cluster/cache-limits.ts" {
  interface KnownCaches extends FetchCaches {}
}
