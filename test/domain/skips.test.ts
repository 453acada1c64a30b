import { describe, expect, test } from "vitest";
import {
  afterOutcome,
  type FailureRow,
  restoreRows,
  skippedUntil,
  withProbe,
} from "../../actors/domain/skips.ts";
import type { FetchOutcome, SlotCaller } from "../../schemas/domain.ts";

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);
const OPEN: SlotCaller = { fetch_id: "x", project: "first", is_open: true };
const SHUT: SlotCaller = { ...OPEN, is_open: false };
const NEIGHBOUR: SlotCaller = { fetch_id: "n", project: "second", is_open: true };
const PORT = "example.org:8080";

type Rows = readonly FailureRow[];

/** One more failed fetch, or another outcome. */
const after = (
  rows: Rows,
  fetch_id: string,
  at_ms = T0,
  { caller = OPEN, ...rest }: Partial<FetchOutcome> = {},
): Rows =>
  afterOutcome(rows, { caller: { ...caller, fetch_id }, result: "every_route_failed", ...rest }, at_ms);

const thrice = (outcome: Partial<FetchOutcome> = {}, at_ms = T0): Rows =>
  ["a", "b", "c"].reduce<Rows>((rows, id) => after(rows, id, at_ms, outcome), []);

/** For how many minutes requests of this caller are refused; 0: they are not. */
const minutes = (rows: Rows, caller: SlotCaller | undefined, at_ms = T0, own_origin?: string): number => {
  const request = { ...(caller && { caller }), ...(own_origin && { own_origin }) };
  return Math.max(0, (skippedUntil(rows, request, at_ms) ?? at_ms) - at_ms) / MINUTE;
};

describe("failures in a row (domain_unavailable)", () => {
  test("the third closes the domain for 10 min, later ones for 30 min, 2 h, 6 h, 6 h", () => {
    let rows: Rows = [];
    let at_ms = T0;
    const skips: number[] = [];
    for (let n = 1; n <= 7; n++) {
      rows = after(rows, `f${n}`, at_ms);
      skips.push(minutes(rows, NEIGHBOUR, at_ms));
      at_ms = Math.max(at_ms, rows[0]!.skip_until_ms);
      expect(minutes(rows, NEIGHBOUR, at_ms)).toBe(0);
    }
    expect(skips).toEqual([0, 0, 10, 30, 120, 360, 360]);
  });

  test("a success between them begins a new row", () => {
    const two = after(after([], "a"), "b");
    expect(minutes(after(after(two, "c", T0, { result: "answered" }), "d"), OPEN)).toBe(0);
  });

  test("one that is reported twice counts once", () => {
    expect(after(after(after([], "a"), "b"), "b")[0]!.failures).toBe(2);
  });

  test("one that was under way when the skip began does not lengthen it", () => {
    const rows = thrice();
    expect(after(rows, "d", T0 + MINUTE)).toBe(rows);
  });

  test("an abandoned fetch says nothing", () => {
    const once = after([], "a");
    expect(after(once, "b", T0, { result: "abandoned" })).toBe(once);
  });
});

describe("the scope of a skip (what closes a domain)", () => {
  test.each<
    [string, Partial<FetchOutcome>, { own: number; neighbour: number; port: number; nobody: number }]
  >([
    ["open fetches: every project", { caller: OPEN }, { own: 10, neighbour: 10, port: 0, nobody: 10 }],
    [
      "fetches with a route shut: their project",
      { caller: SHUT },
      { own: 10, neighbour: 0, port: 0, nobody: 0 },
    ],
    [
      "open fetches of another port: that port",
      { own_origin: PORT },
      { own: 0, neighbour: 0, port: 10, nobody: 0 },
    ],
    [
      "fetches of another port with a route shut: that port, for their project",
      { caller: SHUT, own_origin: PORT },
      { own: 0, neighbour: 0, port: 0, nobody: 0 },
    ],
  ])("three %s", (_, outcome, { own, neighbour, port, nobody }) => {
    const rows = thrice(outcome);
    expect({
      own: minutes(rows, OPEN),
      neighbour: minutes(rows, NEIGHBOUR),
      port: minutes(rows, NEIGHBOUR, T0, PORT),
      nobody: minutes(rows, undefined),
    }).toEqual({ own, neighbour, port, nobody });
  });

  test("failures of two scopes are not one row", () => {
    const rows = after(after(after([], "a"), "b", T0, { caller: SHUT }), "c", T0, { own_origin: PORT });
    expect(rows.map(({ failures }) => failures)).toEqual([1, 1, 1]);
  });

  test("a success of any project ends the skips of all scopes", () => {
    const rows = [...thrice(), ...thrice({ caller: SHUT }), ...thrice({ own_origin: PORT })];
    expect(after(rows, "d", T0, { caller: NEIGHBOUR, result: "answered" })).toEqual([]);
  });

  test("many scopes make the domain forget those of ports first, and never the skip of all projects", () => {
    let rows = thrice();
    for (let port = 1_000; port < 1_100; port++)
      rows = after(rows, `p${port}`, T0 + port, { own_origin: `example.org:${port}` });
    for (let project = 0; project < 100; project++)
      rows = after(rows, `q${project}`, T0 + MINUTE, { caller: { ...SHUT, project: `p${project}` } });
    expect(rows).toHaveLength(64);
    expect(minutes(rows, NEIGHBOUR)).toBe(10);
  });
});

describe("the probe of a skip of all projects", () => {
  /** Skipped for 30 min by the first project. */
  const rows = after(thrice({}, T0 - 10 * MINUTE), "d", T0);

  test.each<[string, SlotCaller, number, boolean]>([
    ["the first open fetch of another project after 10 min", NEIGHBOUR, 10, true],
    ["not before", NEIGHBOUR, 9.9, false],
    ["not one with a route shut", { ...NEIGHBOUR, is_open: false }, 10, false],
    ["not one of the project whose fetches failed", OPEN, 10, false],
  ])("%s", (_, caller, after_minutes, isProbe) => {
    const at_ms = T0 + after_minutes * MINUTE;
    const probed = withProbe(rows, { caller }, at_ms);
    expect(minutes(probed, caller, at_ms) === 0).toBe(isProbe);
    // Every other fetch stays refused.
    expect(minutes(probed, { ...caller, fetch_id: "another" }, at_ms)).toBeGreaterThan(0);
  });

  test("is one at a time, and its success opens the domain", () => {
    const at_ms = T0 + 10 * MINUTE;
    const probed = withProbe(rows, { caller: NEIGHBOUR }, at_ms);
    const third = { ...NEIGHBOUR, fetch_id: "t", project: "third" };
    expect(withProbe(probed, { caller: third }, at_ms + MINUTE)).toBe(probed);
    expect(after(probed, NEIGHBOUR.fetch_id, at_ms, { caller: NEIGHBOUR, result: "answered" })).toEqual([]);
  });

  test("that fails neither lengthens the skip nor is tried again by the same project", () => {
    const at_ms = T0 + 10 * MINUTE;
    const probed = withProbe(rows, { caller: NEIGHBOUR }, at_ms);
    const failed = after(probed, NEIGHBOUR.fetch_id, at_ms + 1, { caller: NEIGHBOUR });
    expect(minutes(failed, NEIGHBOUR, T0)).toBe(30);
    expect(withProbe(failed, { caller: { ...NEIGHBOUR, fetch_id: "m" } }, T0 + 20 * MINUTE)).toBe(failed);
    const third = { ...NEIGHBOUR, fetch_id: "t", project: "third" };
    expect(minutes(withProbe(failed, { caller: third }, T0 + 20 * MINUTE), third, T0 + 20 * MINUTE)).toBe(0);
  });

  test("of a skip of one project there is none", () => {
    const own = thrice({ caller: SHUT });
    expect(withProbe(own, { caller: { ...OPEN, fetch_id: "p" } }, T0 + 9 * MINUTE)).toBe(own);
  });
});

test("no clock makes a skip longer than its rule, or a probe later", () => {
  const now_ms = T0 - 1_000 * 60 * MINUTE;
  const [row] = restoreRows(thrice(), now_ms);
  expect(row!.skip_until_ms).toBeLessThanOrEqual(now_ms + 360 * MINUTE);
  expect(row!.probe_from_ms).toBeLessThanOrEqual(now_ms + 10 * MINUTE);
});
