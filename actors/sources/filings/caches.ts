/** The caches of filings, and their parts of the limit of all caches. */
import type { CacheShares } from "../../../cluster/cache-limits.ts";

/** Rows that were read from lists of filings. */
export const FILING_CACHES = { filings: 1 / 16 } as const satisfies CacheShares;

declare module "../../../cluster/cache-limits.ts" {
  interface KnownCaches extends Readonly<typeof FILING_CACHES> {}
}
