/** How many calls each tier takes at once, how many wait for a place, and when its provider counts as suspect. */
import { type Tier, TIERS, TIER_TABLE } from "../../../schemas/tier-table.ts";
import type { TierPolicy } from "./tier.actor.ts";

/** Calls at once by tier; what is absent has the default. */
export type TierCapacities = Readonly<Partial<Record<Tier, number>>>;

/** A caller that waits for a place occupies a slot of its domain. */
const MAX_WAIT_MS = 15_000;
const MAX_WAITING = 512;
export function tierPolicy(tier: Tier, capacities: TierCapacities, browser_pages: number): TierPolicy {
  return {
    capacity: capacities[tier] ?? TIER_TABLE[tier].capacity ?? browser_pages,
    max_waiting: MAX_WAITING,
    max_wait_ms: MAX_WAIT_MS,
    slow_ms: TIER_TABLE[tier].slow_ms,
  };
}

/** "archive=2" as a tier and its capacity; null when it is not of this form. */
export function readCapacity(text: string): readonly [Tier, number] | null {
  const [name = "", amount = ""] = text.split("=", 2).map((part) => part.trim());
  const tier = TIERS.find((each) => each === name);
  return tier !== undefined && /^[1-9]\d{0,4}$/.test(amount) ? [tier, Number(amount)] : null;
}

export const readCapacities = (list: readonly string[]): TierCapacities =>
  Object.fromEntries(list.map(readCapacity).filter((capacity) => capacity !== null));
