/**
 * The profile of a host: whether only premium routes serve it, or whether it refuses these as well. Three fetches in a row
 * establish it for a time; the first fetch after that time tests it again. Until then every tenth fetch tests it, and the first
 * one of a path whose first segment was not tried yet: a few blocked paths say little of the others. Pure functions.
 */
import { type PremiumAdvice, type HostProfileView, type Observation } from "../../../schemas/fetch.ts";
import type { Outcome, Tried } from "./ladder.ts";
import { PREMIUM_TIERS } from "../../../schemas/tier-table.ts";

export interface HostProfile {
  /** Fetches in a row that only a premium route served. */
  readonly premium_only: number;
  readonly required_until_ms: number;
  /** Fetches in a row in which the site blocked every premium route that was tried. */
  readonly premium_blocked: number;
  readonly refused_until_ms: number;
  /** First segments of the paths on which it was seen or tested, the last of them. */
  readonly segments: readonly string[];
  /** Fetches since a test. */
  readonly untested: number;
}

export const EMPTY_PROFILE: HostProfile = {
  premium_only: 0,
  required_until_ms: 0,
  premium_blocked: 0,
  refused_until_ms: 0,
  segments: [],
  untested: 0,
};

/** Equal to the number of failed fetches after which a domain is skipped. */
const OBSERVATIONS_NEEDED = 3;
/** When too large, a host that opens again costs money for nothing; when too small, it blocks more requests. */
const REQUIRED_MS = 24 * 3_600_000;
/** As long as the longest skip of a domain. */
const REFUSED_MS = 6 * 3_600_000;

/** When too large, a host that opens again costs money for longer; when too small, it blocks more requests. */
const TEST_EVERY = 10;
/** A segment that is forgotten is tested again. */
const MAX_SEGMENTS = 64;
const MAX_SEGMENT_CHARS = 64;

/** The part of a path that says which area of a site it is in. */
export const segmentOf = (url: string): string =>
  new URL(url).pathname.split("/", 2)[1]!.slice(0, MAX_SEGMENT_CHARS);

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
  before: HostProfile,
  observation: Observation,
  segment: string,
  now_ms: number,
): HostProfile {
  const profile = { ...before, segments: withSegment(before, segment) };
  switch (observation) {
    case "standard_served":
      return { ...profile, premium_only: 0, required_until_ms: 0, segments: [] };
    case "premium_served":
      return { ...profile, premium_blocked: 0, refused_until_ms: 0 };
    case "premium_only": {
      const premium_only = Math.min(OBSERVATIONS_NEEDED, profile.premium_only + 1);
      const required_until_ms = premium_only < OBSERVATIONS_NEEDED ? 0 : now_ms + REQUIRED_MS;
      return { ...profile, premium_only, required_until_ms, premium_blocked: 0, refused_until_ms: 0 };
    }
    case "premium_blocked": {
      const premium_blocked = Math.min(OBSERVATIONS_NEEDED, profile.premium_blocked + 1);
      const refused_until_ms = premium_blocked < OBSERVATIONS_NEEDED ? 0 : now_ms + REFUSED_MS;
      return { ...profile, premium_blocked, refused_until_ms };
    }
  }
}

const withSegment = ({ segments }: HostProfile, segment: string): readonly string[] =>
  segments.includes(segment) ? segments : [...segments, segment].slice(-MAX_SEGMENTS);

/** Advice for the fetch that begins, and the profile that counts this fetch. */
export function recall(
  profile: HostProfile,
  segment: string,
  now_ms: number,
): { readonly advice: PremiumAdvice; readonly profile: HostProfile } {
  const advice = believed(profile, now_ms);
  if (advice.premium === "unknown") return { advice, profile };
  const untested = profile.untested + 1;
  if (profile.segments.includes(segment) && untested < TEST_EVERY)
    return { advice, profile: { ...profile, untested } };
  return {
    advice: { premium: "unknown", is_test: true },
    profile: { ...profile, untested: 0, segments: withSegment(profile, segment) },
  };
}

function believed(profile: HostProfile, now_ms: number): PremiumAdvice {
  if (now_ms < profile.refused_until_ms) return { premium: "refused" };
  return { premium: now_ms < profile.required_until_ms ? "required" : "unknown" };
}

export function viewOf(profile: HostProfile, now_ms: number): HostProfileView {
  const { premium } = believed(profile, now_ms);
  const { premium_only, premium_blocked, required_until_ms, refused_until_ms } = profile;
  const until_ms = { unknown: null, required: required_until_ms, refused: refused_until_ms }[premium];
  return {
    premium,
    until: until_ms === null ? null : new Date(until_ms).toISOString(),
    premium_only,
    premium_blocked,
  };
}
