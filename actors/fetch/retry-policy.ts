/**
 * Whether a fetch of a batch that came to an error is worth another try (1-core.md, Fetch errors: connection errors,
 * politeness timeouts and provider rate limits are). Functions of their arguments.
 */
import type { FetchAnswer } from "../../schemas/fetch.ts";
import type { RetryAdvice } from "../../schemas/jobs.ts";

/** What passes by itself: no connection, no answer, an origin or a provider that is overloaded. */
const TRANSIENT = /^(?:network_|dns_error|timeout$|http_(?:408|429|5\d\d)$|proxy_|provider_|browser_)/;
/** A domain may be closed for hours; nobody waits longer than this for it to open. */
const MAX_CLOSED_S = 15 * 60;

/** What is known of the item beside the answer. */
export interface ItemState {
  /** Tries before this one. */
  readonly attempts: number;
  /** Premium routes were held back in this one. */
  readonly premium_later: boolean;
}

export function retryForFetch(
  { error, attempts, retry_after_s }: FetchAnswer,
  item: ItemState,
): RetryAdvice | null {
  switch (error) {
    case "domain_busy":
    case "politeness_timeout":
    case "rate_limited":
    case "filings_unavailable":
      return { reason: "busy", retry_after_s };
    case "domain_unavailable":
      // It was closed by others before this item had its turn; who closed it knows enough.
      return item.attempts === 0 && (retry_after_s ?? 0) <= MAX_CLOSED_S
        ? { reason: "transient", retry_after_s }
        : null;
    case "robots_disallowed":
      return attempts.some(({ reason }) => reason === "robots_unreachable")
        ? { reason: "transient", retry_after_s: null }
        : null;
    case "premium_route_required":
    case "no_tier_allowed":
      // Nothing was asked of the site, so there is nothing to cool down from.
      return item.premium_later ? { reason: "blocked", retry_after_s: 0 } : null;
    case "all_tiers_failed": {
      // What an archive says is nothing about the site.
      const own = attempts.filter(({ tier }) => tier !== "archive" && tier !== "source");
      if (own.some(({ reason }) => TRANSIENT.test(reason))) return { reason: "transient", retry_after_s };
      return item.premium_later ? { reason: "blocked", retry_after_s: null } : null;
    }
    case null:
    default:
      return null;
  }
}
