/** How many calls each tier takes at once, how many wait for a place, and when its provider counts as suspect. */
import { type Tier, TIERS } from "../../schemas/fetch.ts";
import type { TierPolicy } from "./tier.actor.ts";

/** Calls at once by tier; what is absent has the default. */
export type TierCapacities = Readonly<Partial<Record<Tier, number>>>;

/**
 * The browser's capacity is the number of pages of its pool. An archive is asked politely as any domain is, two requests at
 * once in the whole cluster; four calls keep it busy. `direct` runs on one thread, which sends about 2,000 requests a second: 512 calls at
 * once keep it busy where a site takes 0.2 s (bench/capacity.bench.ts), 1,000 where it takes half a second, as pages of real sites do.
 * Cores do not change that. The domains' slots and the memory for bodies are shorter most of the time.
 */
const DEFAULTS: Readonly<Record<Exclude<Tier, "browser">, number>> = {
  direct: 1_000,
  archive: 4,
  proxy: 64,
  proxy_render: 16,
};

/** A caller that waits for a place occupies a slot of its domain. */
const MAX_WAIT_MS = 15_000;
const MAX_WAITING = 512;
/** An archive that lists a page takes 1 to 10 s; a rendering service up to a minute. */
const SLOW_MS: Readonly<Partial<Record<Tier, number>>> = { archive: 5_000, proxy_render: 60_000 };

export function tierPolicy(tier: Tier, capacities: TierCapacities, browser_pages: number): TierPolicy {
  return {
    capacity: capacities[tier] ?? (tier === "browser" ? browser_pages : DEFAULTS[tier]),
    max_waiting: MAX_WAITING,
    max_wait_ms: MAX_WAIT_MS,
    slow_ms: SLOW_MS[tier] ?? null,
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
