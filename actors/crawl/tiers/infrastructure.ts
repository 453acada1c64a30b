/**
 * Judges the tier itself by the end of a call: whether what the tier needs (a browser, an archive, a provider) works.
 * The site's answer never counts against the tier, nor does the caller's own end.
 */
import { type Tier, TIER_TABLE } from "../../../schemas/tier-table.ts";
import type { TransportResult } from "../../lib/web/transport.ts";

/** `neutral`: it says nothing of the tier. */
export type CallOutcome = "success" | "infrastructure" | "neutral";

/** The provider answered, and what it said concerns the page. */
const ANSWERS: ReadonlySet<string> = new Set(["archive_not_found", "archive_too_large", "provider_failed"]);

/** `wasSlow`: the provider had not answered within the time after which its tier counts as suspect. */
export function outcomeOf(tier: Tier, result: TransportResult, wasSlow: boolean): CallOutcome {
  if (result.kind === "page") return "success";
  if (result.kind === "refused") return "neutral";
  if (TIER_TABLE[tier].failures.includes(result.reason)) return "infrastructure";
  // Whichever clock ended the call, the provider had its time.
  if (wasSlow && result.reason === "timeout") return "infrastructure";
  if (ANSWERS.has(result.reason) || result.status !== null) return "success";
  return "neutral";
}

/** Tiers that need something that can fail; the others have no breaker. */
export const hasInfrastructure = (tier: Tier): boolean => TIER_TABLE[tier].failures.length > 0;
