/** The filing system's numbers: how fast it may be asked, and how long and how large its documents are kept. */
import type { SourceKind } from "../../../../schemas/filing-source.ts";
import type { CacheRules } from "../../upstream/document-cache.ts";
import type { UpstreamLimits } from "../../upstream/slots.ts";

/** The filing system counts requests by address and blocks an address that exceeds 10 a second for ten minutes. */
export const FILING_LIMITS: UpstreamLimits = {
  max_starts_per_second: 10,
  first_pause_ms: 10_000,
  max_pause_ms: 600_000,
  probe_timeout_ms: 30_000,
};

/** Requests on their way, the slow ones included; further requests wait. */
export const MAX_IN_FLIGHT = 32;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MEBIBYTE = 2 ** 20;
/** Documents appear minutes after their filing was accepted. */
const MISSING_MS = 60_000;
const STALE_MS = 30 * DAY_MS;

const rules = (fresh_ms: number, max_bytes: number, overrides: Partial<CacheRules> = {}): CacheRules => ({
  fresh_ms,
  missing_ms: MISSING_MS,
  max_bytes,
  stale_ms: STALE_MS,
  ...overrides,
});

export const KIND_RULES: Readonly<Record<SourceKind, CacheRules>> = {
  tickers: rules(12 * HOUR_MS, 16 * MEBIBYTE),
  submissions: rules(12 * HOUR_MS, 32 * MEBIBYTE),
  facts: rules(12 * HOUR_MS, 128 * MEBIBYTE),
  index: rules(365 * DAY_MS, 16 * MEBIBYTE),
  document: rules(365 * DAY_MS, Infinity),
  /** A search has no conditional request, so a stale answer is of no use. */
  search: rules(HOUR_MS, 16 * MEBIBYTE, { stale_ms: 0 }),
  robots: rules(DAY_MS, MEBIBYTE, { missing_ms: DAY_MS }),
  page: rules(0, Infinity),
};
