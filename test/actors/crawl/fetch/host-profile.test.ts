/** Host profiles: what hosts teach about premium routes, and when it is forgotten. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Outcome, Tried } from "../../../../actors/crawl/fetch/ladder.ts";
import {
  recall,
  type HostProfile,
  EMPTY_PROFILE,
  observe,
  recordObservation,
  segmentOf,
} from "../../../../actors/crawl/fetch/host-profile.ts";
import type { Observation } from "../../../../schemas/fetch.ts";
import { type Tier } from "../../../../schemas/tier-table.ts";

const HOUR_MS = 3_600_000;
const page: Outcome = { kind: "page", text_chars: 900, html: true };
const blocked: Outcome = { kind: "blocked", status: 403 };
const silent: Outcome = { kind: "blocked", status: null };
const gone: Outcome = { kind: "definitive", status: 404 };
const off: Outcome = { kind: "unavailable", reason: "not_configured" };
const failed: Outcome = { kind: "unavailable", reason: "failed" };
const tried = (...attempts: readonly (readonly [Tier, Outcome])[]): Tried[] =>
  attempts.map(([tier, outcome]) => ({ tier, outcome }));

describe("a fetch shows", () => {
  test.each<[string, Tried[], Observation | null]>([
    ["nothing when nothing was tried", [], null],
    ["that our own addresses serve", tried(["direct", page]), "standard_served"],
    ["the same with a 404", tried(["direct", blocked], ["browser", gone]), "standard_served"],
    [
      "that only premium served",
      tried(["direct", blocked], ["browser", off], ["proxy", page]),
      "premium_only",
    ],
    ["only that premium served when nothing else was tried", tried(["proxy", page]), "premium_served"],
    [
      "that premium is refused",
      tried(["direct", blocked], ["proxy", blocked], ["proxy_render", blocked]),
      "premium_blocked",
    ],
    [
      "the same by the one that was there",
      tried(["proxy", blocked], ["proxy_render", off]),
      "premium_blocked",
    ],
    ["nothing by a provider's trouble", tried(["direct", blocked], ["proxy", failed]), null],
    ["nothing by silence", tried(["direct", blocked], ["proxy", silent]), null],
    ["nothing by the archive", tried(["direct", blocked], ["archive", page]), null],
  ])("%s", (_, attempts, observation) => {
    expect(observe(attempts)).toBe(observation);
  });
});

describe("a host", () => {
  const after = (observations: readonly Observation[], at_ms = 0, from: HostProfile = EMPTY_PROFILE) =>
    observations.reduce((profile, observation) => recordObservation(profile, observation, "a", at_ms), from);
  const now = (profile: HostProfile, at_ms: number) => recall(profile, "a", at_ms).advice.premium;

  test("requires premium routes for a day after three fetches that only they completed", () => {
    expect(now(after(["premium_only", "premium_only"]), 0)).toBe("unknown");
    const profile = after(["premium_only", "premium_only", "premium_only"]);
    expect(now(profile, 24 * HOUR_MS - 1)).toBe("required");
    expect(now(profile, 24 * HOUR_MS)).toBe("unknown");
    expect(now(after(["premium_only"], 25 * HOUR_MS, profile), 25 * HOUR_MS)).toBe("required");
    expect(now(after(["premium_served"], HOUR_MS, profile), 24 * HOUR_MS)).toBe("unknown");
  });

  test("is not so once our own addresses are served", () => {
    const profile = after(["premium_only", "premium_only", "standard_served", "premium_only"]);
    expect(now(profile, 0)).toBe("unknown");
    expect(now(after(["standard_served"], 0, after(Array(3).fill("premium_only"))), 0)).toBe("unknown");
  });

  test("skips premium routes for six hours after three fetches that the host blocked", () => {
    const profile = after(["premium_blocked", "premium_blocked", "premium_blocked"]);
    expect(now(profile, 6 * HOUR_MS - 1)).toBe("refused");
    expect(now(profile, 6 * HOUR_MS)).toBe("unknown");
    expect(now(after(["premium_blocked"], 7 * HOUR_MS, profile), 8 * HOUR_MS)).toBe("refused");
    expect(now(after(["premium_served"], 7 * HOUR_MS, profile), 7 * HOUR_MS)).toBe("unknown");
  });

  test("that requires or refuses premium routes is tested by every tenth fetch, and by the first of each new path", () => {
    const beliefs = [
      ["premium_only", "required", []],
      ["premium_blocked", "refused", ["refused", "refused"]],
    ] as const;
    for (const [observation, belief, left] of beliefs) {
      let profile = after(Array(3).fill(observation));
      const fetched = (segment: string): string => {
        const recalled = recall(profile, segment, 0);
        profile = recalled.profile;
        return recalled.advice.premium;
      };
      const believed = Array(9).fill(belief);
      expect(Array.from({ length: 20 }, () => fetched("a"))).toEqual([
        ...believed,
        "unknown",
        ...believed,
        "unknown",
      ]);
      // A path is new once.
      expect([fetched("b"), fetched("b"), fetched("a")]).toEqual(["unknown", belief, belief]);
      profile = recordObservation(profile, "standard_served", "b", 0);
      // A page without premium routes shows that they are not required, not that they are refused no more.
      expect(Array.from({ length: 3 }, () => fetched("a")).filter((said) => said !== "unknown")).toEqual(
        left,
      );
    }
  });

  test.each([
    ["http://example.org/", ""],
    ["http://example.org/news/today?x=/y", "news"],
    ["http://example.org/news", "news"],
    [`http://example.org/${"n".repeat(99)}/`, "n".repeat(64)],
  ])("%s is in the area %s", (url, segment) => {
    expect(segmentOf(url)).toBe(segment);
  });

  test("is what the last three fetches in a row have shown, and empty after a day", () => {
    const story = fc.array(
      fc.constantFrom<Observation>("premium_only", "premium_served", "premium_blocked", "standard_served"),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(story, (observations) => {
        const profile = after(observations);
        const verdict = now(profile, 0);
        const shown = (wanted: Observation) => observations.filter((one) => one === wanted).length;
        expect(verdict !== "required" || shown("premium_only") >= 3).toBe(true);
        expect(verdict !== "refused" || shown("premium_blocked") >= 3).toBe(true);
        expect(verdict !== "refused" || !observations.slice(-3).includes("premium_served")).toBe(true);
        expect(now(profile, 24 * HOUR_MS)).toBe("unknown");
      }),
      { numRuns: 1_000 },
    );
  });
});
