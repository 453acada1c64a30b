/**
 * What a host teaches about premium routes: that it is served through nothing else, or that it refuses them, too. Three
 * fetches in a row teach it, time makes it forgotten, and the next fetch after that is a test. Pure: time comes in.
 */
import { type Learned, type LessonsView, type Observation, PREMIUM_TIERS } from "../../schemas/fetch.ts";
import type { Outcome, Tried } from "./ladder.ts";

export interface Lessons {
  /** Fetches in a row that only a premium route brought home. */
  readonly premium_only: number;
  readonly required_until_ms: number;
  /** Fetches in a row in which the site blocked every premium route that was tried. */
  readonly premium_blocked: number;
  readonly refused_until_ms: number;
}

export const NO_LESSONS: Lessons = {
  premium_only: 0,
  required_until_ms: 0,
  premium_blocked: 0,
  refused_until_ms: 0,
};

/** The specification's own measure: a domain is skipped after three fetches, too. */
const LESSONS_NEEDED = 3;
/** Longer, and a host that opens again costs money for nothing; shorter, and it is asked in vain more often. */
const REQUIRED_MS = 24 * 3_600_000;
/** The longest skip of a domain. */
const REFUSED_MS = 6 * 3_600_000;

/** What a finished climb shows of its host; null: nothing. */
export function observe(tried: readonly Tried[]): Observation | null {
  const of = (tiers: readonly string[]) => tried.filter(({ tier }) => tiers.includes(tier));
  const served = ({ outcome }: Tried) => outcome.kind === "page" || outcome.kind === "definitive";
  const own = of(["direct", "browser"]);
  const premium = of(PREMIUM_TIERS);
  if (own.some(served)) return "standard_served";
  if (premium.some(served)) {
    const blocked = own.filter(({ outcome }) => outcome.kind === "blocked");
    return blocked.length > 0 ? "premium_only" : "premium_served";
  }
  // A provider's own trouble says nothing of the site; neither does silence.
  const refused = premium.filter(({ outcome }) => refuses(outcome));
  return refused.length > 0 && refused.length === premium.filter(({ outcome }) => asked(outcome)).length
    ? "premium_blocked"
    : null;
}

const refuses = (outcome: Outcome): boolean => outcome.kind === "blocked" && outcome.status !== null;
const asked = (outcome: Outcome): boolean => outcome.kind !== "unavailable";

export function taught(lessons: Lessons, observation: Observation, now_ms: number): Lessons {
  switch (observation) {
    case "standard_served":
      return { ...lessons, premium_only: 0, required_until_ms: 0 };
    case "premium_served":
      return { ...lessons, premium_blocked: 0, refused_until_ms: 0 };
    case "premium_only": {
      const premium_only = Math.min(LESSONS_NEEDED, lessons.premium_only + 1);
      const required_until_ms = premium_only < LESSONS_NEEDED ? 0 : now_ms + REQUIRED_MS;
      return { premium_only, required_until_ms, premium_blocked: 0, refused_until_ms: 0 };
    }
    case "premium_blocked": {
      const premium_blocked = Math.min(LESSONS_NEEDED, lessons.premium_blocked + 1);
      const refused_until_ms = premium_blocked < LESSONS_NEEDED ? 0 : now_ms + REFUSED_MS;
      return { ...lessons, premium_blocked, refused_until_ms };
    }
  }
}

export function learned(lessons: Lessons, now_ms: number): Learned {
  if (now_ms < lessons.refused_until_ms) return { premium: "refused" };
  return { premium: now_ms < lessons.required_until_ms ? "required" : "unknown" };
}

export function viewOf(lessons: Lessons, now_ms: number): LessonsView {
  const { premium } = learned(lessons, now_ms);
  const { premium_only, premium_blocked, required_until_ms, refused_until_ms } = lessons;
  const until_ms = { unknown: null, required: required_until_ms, refused: refused_until_ms }[premium];
  return {
    premium,
    until: until_ms === null ? null : new Date(until_ms).toISOString(),
    premium_only,
    premium_blocked,
  };
}
