import { describe, expect, test } from "vitest";
import {
  afterOutcome,
  NO_OUTCOMES,
  type Outcomes,
  restoreOutcomes,
  skippedUntil,
  skipViews,
  withProbe,
} from "../../../../actors/crawl/domain/skips.ts";
import type { FetchOutcome, SlotCaller } from "../../../../schemas/domain.ts";

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);
const ORIGIN = "https://www.example.org";
const PAGE = `${ORIGIN}/page`;
const OPEN: SlotCaller = { fetch_id: "x", project: "first", is_open: true };
const SHUT: SlotCaller = { ...OPEN, is_open: false };
const NEIGHBOUR: SlotCaller = { fetch_id: "n", project: "second", is_open: true };
const THIRD: SlotCaller = { fetch_id: "t", project: "third", is_open: true };

/** Adds the outcome of a fetch; a failed one by default. */
const after = (
  outcomes: Outcomes,
  fetch_id: string,
  at_ms = T0,
  { caller = OPEN, ...rest }: Partial<FetchOutcome> = {},
): Outcomes =>
  afterOutcome(
    outcomes,
    { caller: { ...caller, fetch_id }, url: PAGE, result: "every_route_failed", ...rest },
    at_ms,
  );

let fetches = 0;
const times = (
  count: number,
  outcomes: Outcomes,
  outcome: Partial<FetchOutcome> = {},
  at_ms = T0,
): Outcomes =>
  Array.from({ length: count }).reduce<Outcomes>(
    (before) => after(before, `f${++fetches}`, at_ms, outcome),
    outcomes,
  );

const succeeded = (url = PAGE, outcomes = NO_OUTCOMES): Outcomes =>
  times(1, outcomes, { url, result: "answered", caller: NEIGHBOUR });

/** For how many minutes requests of this caller are refused; 0: they are not. */
const minutes = (
  outcomes: Outcomes,
  caller: SlotCaller | undefined,
  at_ms = T0,
  origin: string = ORIGIN,
): number => {
  const request = { origin, ...(caller && { caller }) };
  return Math.max(0, (skippedUntil(outcomes, request, at_ms) ?? at_ms) - at_ms) / MINUTE;
};

describe("failures of one project in a row (domain_unavailable)", () => {
  test("the third closes the origin for it for 10 min, later ones for 30 min, 2 h, 6 h, 6 h", () => {
    let outcomes = NO_OUTCOMES;
    let at_ms = T0;
    const skips: number[] = [];
    for (let n = 1; n <= 7; n++) {
      outcomes = after(outcomes, `f${n}`, at_ms);
      skips.push(minutes(outcomes, OPEN, at_ms));
      at_ms = Math.max(at_ms, outcomes.failure_rows[0]!.skip_until_ms);
      expect(minutes(outcomes, OPEN, at_ms)).toBe(0);
    }
    expect(skips).toEqual([0, 0, 10, 30, 120, 360, 360]);
  });

  test("a success between them, of any project, begins a new row", () => {
    const two = times(2, NO_OUTCOMES);
    expect(minutes(times(1, succeeded(PAGE, two)), OPEN)).toBe(0);
  });

  test("one that is reported twice counts once", () => {
    expect(after(after(after(NO_OUTCOMES, "a"), "b"), "b").failure_rows[0]!.failures).toBe(2);
  });

  test("one that was under way when the skip began does not lengthen it", () => {
    const closed = times(3, NO_OUTCOMES);
    expect(after(closed, "d", T0 + MINUTE)).toBe(closed);
  });

  test("an abandoned fetch says nothing", () => {
    const once = after(NO_OUTCOMES, "a");
    expect(after(once, "b", T0, { result: "abandoned" })).toBe(once);
  });
});

describe("whom failures close the origin for", () => {
  const twoProjects = (caller: SlotCaller): Outcomes =>
    times(3, times(3, NO_OUTCOMES, { caller: OPEN }), { caller });

  test.each<[string, Outcomes, { own: number; third: number; nobody: number }]>([
    ["three of one project", times(3, NO_OUTCOMES), { own: 10, third: 0, nobody: 0 }],
    ["thirty of one project", times(30, NO_OUTCOMES), { own: 10, third: 0, nobody: 0 }],
    ["three each of two projects", twoProjects(NEIGHBOUR), { own: 10, third: 10, nobody: 10 }],
    [
      "three of one and two of another",
      times(2, times(3, NO_OUTCOMES), { caller: NEIGHBOUR }),
      { own: 10, third: 0, nobody: 0 },
    ],
    [
      "three each, of one with a route shut",
      twoProjects({ ...NEIGHBOUR, is_open: false }),
      { own: 10, third: 0, nobody: 0 },
    ],
    [
      "three of one project at the address that last succeeded",
      times(3, succeeded(PAGE)),
      { own: 10, third: 10, nobody: 10 },
    ],
    [
      "three at it, one each of three projects",
      [OPEN, NEIGHBOUR, THIRD].reduce((before, caller) => times(1, before, { caller }), succeeded(PAGE)),
      { own: 10, third: 10, nobody: 10 },
    ],
    [
      "three at it with a route shut",
      times(3, succeeded(PAGE), { caller: SHUT }),
      { own: 10, third: 0, nobody: 0 },
    ],
    ["three at another address", times(3, succeeded(`${ORIGIN}/other`)), { own: 10, third: 0, nobody: 0 }],
    [
      "two at another address and one at it",
      times(1, times(2, succeeded(PAGE), { url: `${ORIGIN}/other` })),
      { own: 10, third: 0, nobody: 0 },
    ],
    [
      "three at an address that succeeded before the last one",
      times(3, succeeded(`${ORIGIN}/other`, succeeded(PAGE))),
      { own: 10, third: 0, nobody: 0 },
    ],
    [
      "two at it, and one at it after it succeeded again",
      times(1, succeeded(PAGE, times(2, succeeded(PAGE)))),
      { own: 0, third: 0, nobody: 0 },
    ],
    [
      "three at it, when the success was that of another origin",
      times(3, succeeded("https://shop.example.org/page")),
      { own: 10, third: 0, nobody: 0 },
    ],
  ])("%s", (_, outcomes, { own, third, nobody }) => {
    expect({
      own: minutes(outcomes, OPEN),
      third: minutes(outcomes, THIRD),
      nobody: minutes(outcomes, undefined),
    }).toEqual({ own, third, nobody });
  });

  test("no failure closes another origin: another host, scheme or port", () => {
    const closed = twoProjects(NEIGHBOUR);
    for (const origin of ["https://shop.example.org", "http://www.example.org", `${ORIGIN}:8443`])
      expect(minutes(closed, THIRD, T0, origin)).toBe(0);
  });

  test("a success of any project ends every skip of its origin, and of no other", () => {
    const both = times(3, times(3, times(3, NO_OUTCOMES), { caller: NEIGHBOUR }), {
      url: "https://shop.example.org/",
    });
    const open = succeeded(PAGE, both);
    expect([minutes(open, OPEN), minutes(open, NEIGHBOUR), minutes(open, THIRD)]).toEqual([0, 0, 0]);
    expect(minutes(open, OPEN, T0, "https://shop.example.org")).toBe(10);
  });

  test("it is closed for all again, for 30 min, only when two projects have seen it fail since it opened", () => {
    const closed = twoProjects(NEIGHBOUR);
    const opened_ms = T0 + 10 * MINUTE;
    const once = times(1, closed, {}, opened_ms);
    expect([minutes(once, OPEN, opened_ms), minutes(once, THIRD, opened_ms)]).toEqual([30, 0]);
    const again = times(1, once, { caller: NEIGHBOUR }, opened_ms);
    expect(minutes(again, THIRD, opened_ms)).toBe(30);
  });

  test("the operator sees who failed where, and what is closed for all first", () => {
    const closed = twoProjects(NEIGHBOUR);
    const skip_until = new Date(T0 + 10 * MINUTE).toISOString();
    expect(skipViews(closed, T0)).toEqual([
      { origin: ORIGIN, project: null, failures: 6, skip_until },
      { origin: ORIGIN, project: "first", failures: 3, skip_until },
      { origin: ORIGIN, project: "second", failures: 3, skip_until },
    ]);
  });
});

describe("with more than is remembered", () => {
  const host = (n: number): string => `https://h${n}.example.org`;

  test("the row that failed longest ago is forgotten, first of those that skip nothing", () => {
    let outcomes = times(3, NO_OUTCOMES);
    for (let n = 0; n < 200; n++) outcomes = after(outcomes, `f${n}`, T0 + n, { url: `${host(n)}/` });
    expect(outcomes.failure_rows).toHaveLength(48);
    expect(minutes(outcomes, OPEN)).toBe(10);
    expect(outcomes.failure_rows.at(-1)!.origin).toBe(host(199));
  });

  test("the origin that is closed for all and opens first, and the success longest ago, are forgotten", () => {
    let outcomes = NO_OUTCOMES;
    for (let n = 0; n < 40; n++) {
      outcomes = succeeded(`${host(n)}/`, outcomes);
      outcomes = times(3, outcomes, { url: `${host(n)}/` }, T0 + n);
    }
    expect(outcomes.closures.map(({ origin }) => origin)).toEqual(
      Array.from({ length: 16 }, (_, n) => host(24 + n)),
    );
    expect(outcomes.successes).toHaveLength(32);
    expect(outcomes.successes[0]!.origin).toBe(host(8));
  });
});

describe("the probe of a skip of all projects", () => {
  /** Skipped for 30 min by two projects. */
  const closed = [OPEN, NEIGHBOUR].reduce(
    (before, caller) => times(1, before, { caller }, T0),
    [OPEN, NEIGHBOUR].reduce((before, caller) => times(3, before, { caller }, T0 - 10 * MINUTE), NO_OUTCOMES),
  );
  const probedBy = (outcomes: Outcomes, caller: SlotCaller, at_ms: number, origin = ORIGIN): Outcomes => ({
    ...outcomes,
    closures: withProbe(outcomes.closures, { caller, origin }, at_ms),
  });

  test.each<[string, SlotCaller, number, boolean]>([
    ["the first open fetch of another project after 10 min", THIRD, 10, true],
    ["not before", THIRD, 9.9, false],
    ["not one with a route shut", { ...THIRD, is_open: false }, 10, false],
    ["not one of a project whose fetches failed", OPEN, 10, false],
  ])("%s", (_, caller, after_minutes, isProbe) => {
    const at_ms = T0 + after_minutes * MINUTE;
    const probed = probedBy(closed, caller, at_ms);
    expect(minutes(probed, caller, at_ms) === 0).toBe(isProbe);
    // Every other fetch stays refused.
    expect(minutes(probed, { ...caller, fetch_id: "another" }, at_ms)).toBeGreaterThan(0);
  });

  test("is one at a time, and its success opens the origin", () => {
    const at_ms = T0 + 10 * MINUTE;
    const { closures } = probedBy(closed, THIRD, at_ms);
    const fourth = { ...THIRD, fetch_id: "u", project: "fourth" };
    expect(withProbe(closures, { caller: fourth, origin: ORIGIN }, at_ms + MINUTE)).toBe(closures);
    expect(withProbe(closures, { caller: fourth, origin: "https://shop.example.org" }, at_ms)).toBe(closures);
    const open = after({ ...closed, closures }, THIRD.fetch_id, at_ms, { caller: THIRD, result: "answered" });
    expect(open).toMatchObject({ closures: [], failure_rows: [] });
  });

  test("that fails neither lengthens the skip nor is tried again by the same project", () => {
    const at_ms = T0 + 10 * MINUTE;
    const failed = after(probedBy(closed, THIRD, at_ms), THIRD.fetch_id, at_ms + 1, { caller: THIRD });
    expect(minutes(failed, THIRD, T0)).toBe(30);
    const later_ms = T0 + 20 * MINUTE;
    const again = { ...THIRD, fetch_id: "m" };
    expect(minutes(probedBy(failed, again, later_ms), again, later_ms)).toBe(10);
    const fourth = { ...THIRD, fetch_id: "u", project: "fourth" };
    expect(minutes(probedBy(failed, fourth, later_ms), fourth, later_ms)).toBe(0);
  });

  test("of a skip of one project there is none", () => {
    const own = times(3, NO_OUTCOMES);
    const probe = { ...OPEN, fetch_id: "p" };
    expect(minutes(probedBy(own, probe, T0 + 9 * MINUTE), probe, T0 + 9 * MINUTE)).toBe(1);
  });
});

test("no clock makes a skip longer than its rule, or a probe later", () => {
  const now_ms = T0 - 1_000 * 60 * MINUTE;
  const restored = restoreOutcomes(times(3, succeeded(PAGE)), now_ms);
  expect(restored.failure_rows[0]!.skip_until_ms).toBeLessThanOrEqual(now_ms + 360 * MINUTE);
  expect(restored.closures[0]!.skip_until_ms).toBeLessThanOrEqual(now_ms + 360 * MINUTE);
  expect(restored.closures[0]!.probe_from_ms).toBeLessThanOrEqual(now_ms + 10 * MINUTE);
});
