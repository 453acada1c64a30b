/**
 * Whether an item of a batch whose fetch failed is fetched again: after connection errors, politeness timeouts and rate
 * limits of providers it is. Pure functions.
 */
import type { FetchAnswer } from "../../../schemas/fetch.ts";
import type { RetryAdvice } from "../../../schemas/jobs.ts";

/** Failures that pass by themselves: no connection, no answer, an origin or a provider that is overloaded. */
const TRANSIENT = /^(?:network_|dns_error|timeout$|http_(?:408|429|5\d\d)$|proxy_|provider_|browser_)/;
/** A domain may be skipped for hours; an item waits no longer than this for it. */
const MAX_CLOSED_S = 15 * 60;

/** The state of the item beside the answer. */
export interface ItemState {
  /** Tries before this one. */
  readonly attempts: number;
  /** Premium routes were held back in this one. */
  readonly premium_later: boolean;
  /** It sends a POST, which no site gets twice. */
  readonly is_post: boolean;
}

/** Steps before a request is sent. */
const BEFORE: ReadonlySet<string> = new Set(["robots", "dns", "cache", "politeness"]);

export function retryForFetch(
  { error, attempts, retry_after_s }: FetchAnswer,
  item: ItemState,
): RetryAdvice | null {
  if (item.is_post && attempts.some(({ tier }) => !BEFORE.has(tier))) return null;
  switch (error) {
    case "domain_busy":
    case "politeness_timeout":
    case "rate_limited":
    case "filings_unavailable":
      return { reason: "busy", retry_after_s };
    case "domain_unavailable":
      // Other fetches failed before the first attempt of this item; an item that was tried is not tried again.
      return item.attempts === 0 && (retry_after_s ?? 0) <= MAX_CLOSED_S
        ? { reason: "transient", retry_after_s }
        : null;
    case "robots_disallowed":
      return attempts.some(({ reason }) => reason === "robots_unreachable")
        ? { reason: "transient", retry_after_s: null }
        : null;
    case "premium_route_required":
    case "no_tier_allowed":
      // No request was sent to the site, so there is nothing to cool down from.
      return item.premium_later ? { reason: "blocked", retry_after_s: 0 } : null;
    case "all_tiers_failed": {
      // The failure of an archive or of a source of copies says nothing of the site.
      const own = attempts.filter(({ tier }) => tier !== "archive" && tier !== "source");
      if (own.some(({ reason }) => TRANSIENT.test(reason))) return { reason: "transient", retry_after_s };
      return item.premium_later ? { reason: "blocked", retry_after_s: null } : null;
    }
    case null:
    default:
      return null;
  }
}
