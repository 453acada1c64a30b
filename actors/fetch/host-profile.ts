/**
 * The profile of a host: whether only premium routes serve it, or whether it refuses these as well. Three fetches in a row
 * establish it for a time; the first fetch after that time tests it again. Pure functions.
 */
import {
  type PremiumAdvice,
  type HostProfileView,
  type Observation,
  PREMIUM_TIERS,
} from "../../schemas/fetch.ts";
import type { Outcome, Tried } from "./ladder.ts";

export interface HostProfile {
  /** Fetches in a row that only a premium route served. */
  readonly premium_only: number;
  readonly required_until_ms: number;
  /** Fetches in a row in which the site blocked every premium route that was tried. */
  readonly premium_blocked: number;
  readonly refused_until_ms: number;
}

export const EMPTY_PROFILE: HostProfile = {
  premium_only: 0,
  required_until_ms: 0,
  premium_blocked: 0,
  refused_until_ms: 0,
};

/** The same number as the failed fetches after which a domain is skipped. */
const OBSERVATIONS_NEEDED = 3;
/** When too large, a host that opens again costs money for nothing; when too small, it blocks more requests. */
const REQUIRED_MS = 24 * 3_600_000;
/** As long as the longest skip of a domain. */
const REFUSED_MS = 6 * 3_600_000;

/** The stored profile at activation, perhaps on a node with another clock: nothing is believed for longer than its rule allows. */
export const restoreProfile = (profile: HostProfile, now_ms: number): HostProfile => ({
  ...profile,
  required_until_ms: Math.min(profile.required_until_ms, now_ms + REQUIRED_MS),
  refused_until_ms: Math.min(profile.refused_until_ms, now_ms + REFUSED_MS),
});

/** The observation of a finished run about its host; null: none. */
export function observe(tried: readonly Tried[]): Observation | null {
  const attemptsOn = (tiers: readonly string[]) => tried.filter(({ tier }) => tiers.includes(tier));
  const served = ({ outcome }: Tried) => outcome.kind === "page" || outcome.kind === "definitive";
  const own = attemptsOn(["direct", "browser"]);
  const premium = attemptsOn(PREMIUM_TIERS);
  if (own.some(served)) return "standard_served";
  if (premium.some(served)) {
    const blocked = own.filter(({ outcome }) => outcome.kind === "blocked");
    return blocked.length > 0 ? "premium_only" : "premium_served";
  }
  // A provider's own failure or a missing answer is no observation of the host.
  const refused = premium.filter(({ outcome }) => refuses(outcome));
  return refused.length > 0 && refused.length === premium.filter(({ outcome }) => wasAsked(outcome)).length
    ? "premium_blocked"
    : null;
}

const refuses = (outcome: Outcome): boolean => outcome.kind === "blocked" && outcome.status !== null;
const wasAsked = (outcome: Outcome): boolean => outcome.kind !== "unavailable";

export function recordObservation(
  profile: HostProfile,
  observation: Observation,
  now_ms: number,
): HostProfile {
  switch (observation) {
    case "standard_served":
      return { ...profile, premium_only: 0, required_until_ms: 0 };
    case "premium_served":
      return { ...profile, premium_blocked: 0, refused_until_ms: 0 };
    case "premium_only": {
      const premium_only = Math.min(OBSERVATIONS_NEEDED, profile.premium_only + 1);
      const required_until_ms = premium_only < OBSERVATIONS_NEEDED ? 0 : now_ms + REQUIRED_MS;
      return { premium_only, required_until_ms, premium_blocked: 0, refused_until_ms: 0 };
    }
    case "premium_blocked": {
      const premium_blocked = Math.min(OBSERVATIONS_NEEDED, profile.premium_blocked + 1);
      const refused_until_ms = premium_blocked < OBSERVATIONS_NEEDED ? 0 : now_ms + REFUSED_MS;
      return { ...profile, premium_blocked, refused_until_ms };
    }
  }
}

export function recall(profile: HostProfile, now_ms: number): PremiumAdvice {
  if (now_ms < profile.refused_until_ms) return { premium: "refused" };
  return { premium: now_ms < profile.required_until_ms ? "required" : "unknown" };
}

export function viewOf(profile: HostProfile, now_ms: number): HostProfileView {
  const { premium } = recall(profile, now_ms);
  const { premium_only, premium_blocked, required_until_ms, refused_until_ms } = profile;
  const until_ms = { unknown: null, required: required_until_ms, refused: refused_until_ms }[premium];
  return {
    premium,
    until: until_ms === null ? null : new Date(until_ms).toISOString(),
    premium_only,
    premium_blocked,
  };
}
