/**
 * What the end of a call says of the tier itself: whether what the tier needs (a browser, an archive, a provider) works.
 * What the site answered never counts against the tier, nor does the caller's own end.
 */
import type { Tier } from "../../schemas/fetch.ts";
import type { TransportResult } from "../lib/web/transport.ts";

/** `neutral`: it says nothing of the tier. */
export type CallOutcome = "success" | "infrastructure" | "neutral";

/**
 * The reasons by which a route says that what it needs failed. The route `direct` needs only the network, whose failures
 * cannot be told from those of the site.
 */
const FAILURES: Readonly<Record<Tier, ReadonlySet<string>>> = {
  direct: new Set(),
  // A page can crash a browser, so crashes are not counted: a browser that does not start is.
  browser: new Set(["browser_unavailable"]),
  archive: new Set(["archive_unreachable", "archive_error", "archive_bad_answer", "archive_rate_limited"]),
  proxy: new Set(["proxy_unreachable", "proxy_refused"]),
  proxy_render: new Set([
    "provider_unreachable",
    "provider_over_budget",
    "provider_rate_limited",
    "provider_refused",
    "provider_error",
    "provider_bad_answer",
  ]),
};
/** The provider answered, and what it said concerns the page. */
const ANSWERS: ReadonlySet<string> = new Set(["archive_not_found", "archive_too_large", "provider_failed"]);

/** `wasSlow`: the provider had not answered within the time after which its tier counts as suspect. */
export function outcomeOf(tier: Tier, result: TransportResult, wasSlow: boolean): CallOutcome {
  if (result.kind === "page") return "success";
  if (result.kind === "refused") return "neutral";
  if (FAILURES[tier].has(result.reason)) return "infrastructure";
  // Whichever clock ended the call, the provider had its time.
  if (wasSlow && result.reason === "timeout") return "infrastructure";
  if (ANSWERS.has(result.reason) || result.status !== null) return "success";
  return "neutral";
}

/** Tiers that need something that can fail; the others have no breaker. */
export const hasInfrastructure = (tier: Tier): boolean => FAILURES[tier].size > 0;
