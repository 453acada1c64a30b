/** The numbers of the profile site: how large its documents may be, how long they are believed, how long a call waits. */
import type { ProfilePageKind } from "../../../schemas/profiles.ts";

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

interface PageLimits {
  /** Decoded bytes. */
  readonly max_bytes: number;
  /** So long an entry of the cache is the answer without a request. */
  readonly fresh_ms: number;
  /** So long it is stored, and can be confirmed by a conditional request. 0: it is not cached here. */
  readonly stored_ms: number;
  /** The text that a rendered page is waited for. */
  readonly min_text_chars: number;
}

export const PAGE_LIMITS: Readonly<Record<ProfilePageKind, PageLimits>> = {
  suggest: { max_bytes: 2 ** 20, fresh_ms: DAY_MS, stored_ms: DAY_MS, min_text_chars: 0 },
  page: { max_bytes: 2 ** 23, fresh_ms: DAY_MS, stored_ms: 7 * DAY_MS, min_text_chars: 200 },
  graph: { max_bytes: 2 ** 22, fresh_ms: DAY_MS, stored_ms: DAY_MS, min_text_chars: 0 },
  other: { max_bytes: 2 ** 24, fresh_ms: 0, stored_ms: 0, min_text_chars: 0 },
};

/** How long a request waits for a slot of the site. */
export const SLOT_WAIT_MS = 60_000;
/** All of one call; it answers before the API's own wait of 150 s is over. */
export const CALL_MS = 140_000;

/** After a refusal the proxy is left out for so long, */
export const PROXY_SKIP_MS = HOUR_MS;
/** but every so manieth request takes it all the same. */
export const PROXY_PROBE_EVERY = 10;
