/** Seven days of statuses: the specification, "Status resources" and GET /v1/status/history. */
import { expect, inject, test } from "vitest";
import {
  BUCKET_MS,
  bucketOf,
  historyView,
  NO_HISTORY,
  recordObservations,
  worstCodes,
} from "../../../../actors/business/status/history.ts";
import type { HistoryRows } from "../../../../schemas/status.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";

const NOON_MS = Date.parse("2026-11-23T12:00:00Z");
const NOON = bucketOf(NOON_MS);
const DAYS = 2_016;

const one = (bucket: number, code: string, id = "fetch") => ({ bucket, codes: { [id]: code } });

test("the worst status of five minutes stays", () => {
  const history = recordObservations(NO_HISTORY, [one(NOON, "o"), one(NOON, "p"), one(NOON, "d")], NOON_MS);
  expect(history).toEqual({ first: NOON, rows: { fetch: "p" } });
  expect(recordObservations(history, [one(NOON, "m")], NOON_MS)).toBe(history);
  expect(worstCodes({ api: "d" }, { api: "o", fetch: "o" })).toEqual({ api: "d", fetch: "o" });
});

test("late observations fill their buckets, gaps stay unknown", () => {
  let history = recordObservations(NO_HISTORY, [one(NOON, "o")], NOON_MS);
  const later_ms = NOON_MS + 5 * BUCKET_MS;
  history = recordObservations(
    history,
    [one(NOON + 5, "o"), one(NOON + 2, "x"), one(NOON - 1, "d", "api")],
    later_ms,
  );
  expect(history).toEqual({ first: NOON - 1, rows: { fetch: ".o.x..o", api: "d" } });
  const { components } = historyView(history, ["fetch"], 1, later_ms);
  expect(components["fetch"]!.statuses.slice(-6)).toEqual([
    "operational",
    null,
    "major_outage",
    null,
    null,
    "operational",
  ]);
  expect(components["_overall"]).toEqual({
    uptime: null,
    recorded_s: 0,
    statuses: Array.from({ length: 12 }, () => null),
  });
});

test("after seven days an observation is gone", () => {
  let history = recordObservations(NO_HISTORY, [one(NOON, "x"), one(NOON + 1, "d", "api")], NOON_MS);
  history = recordObservations(history, [one(NOON + DAYS, "o")], NOON_MS + DAYS * BUCKET_MS);
  expect(history.first).toBe(NOON + 1);
  expect(history.rows["fetch"]).toBe(`${".".repeat(DAYS - 1)}o`);
  expect(history.rows["api"]).toBe("d");
  history = recordObservations(history, [one(NOON + DAYS + 1, "o")], NOON_MS + (DAYS + 1) * BUCKET_MS);
  expect(Object.keys(history.rows)).toEqual(["fetch"]);
  expect(
    recordObservations(history, [one(NOON, "x"), one(NOON * 2, "x")], NOON_MS + (DAYS + 1) * BUCKET_MS),
  ).toBe(history);
});

test.each([
  ["oooo", 1, 1_200],
  ["oodm", 1, 1_200],
  ["ooop", 0.925, 1_200],
  ["ooox", 0.75, 1_200],
  ["x...", 0, 300],
  ["....", null, 0],
])("uptime of %s, and the time that it is of", (codes, uptime, recorded_s) => {
  const history: HistoryRows = { first: NOON - 3, rows: { fetch: codes } };
  expect(historyView(history, ["fetch"], 1, NOON_MS).components["fetch"]).toMatchObject({
    uptime,
    recorded_s,
  });
});

test("up to 24 hours in five minutes, more in hours of the clock", () => {
  const history: HistoryRows = {
    first: NOON - 24,
    rows: { fetch: `${"o".repeat(12)}${"d".repeat(11)}xo` },
  };
  const day = historyView(history, ["fetch"], 24, NOON_MS + 1);
  expect([day.bucket_s, day.components["fetch"]!.statuses.length]).toEqual([300, 288]);
  expect([day.since, day.until]).toEqual(["2026-11-22T12:05:00.000Z", "2026-11-23T12:05:00.000Z"]);
  const week = historyView(history, ["fetch"], 168, NOON_MS + 1);
  expect([week.bucket_s, week.components["fetch"]!.statuses.length]).toEqual([3_600, 168]);
  expect([week.since, week.until]).toEqual(["2026-11-16T13:00:00.000Z", "2026-11-23T13:00:00.000Z"]);
  expect(week.components["fetch"]!.statuses.slice(-4)).toEqual([
    null,
    "operational",
    "major_outage",
    "operational",
  ]);
  // The buckets are of five minutes, not of hours: 1 of 25 was down.
  expect(week.components["fetch"]!.uptime).toBe(0.96);
});

test("whatever the order of observations, the same history comes of them", () => {
  const random = seededRandom(inject("seed"));
  const observations = Array.from({ length: 60 }, () =>
    one(
      NOON - Math.floor(random.next() * 40),
      "omdpx"[Math.floor(random.next() * 5)]!,
      random.next() < 0.5 ? "api" : "fetch",
    ),
  );
  const together = recordObservations(NO_HISTORY, observations, NOON_MS);
  const apart = observations
    .toSorted(() => random.next() - 0.5)
    .reduce((history, each) => recordObservations(history, [each], NOON_MS), NO_HISTORY);
  const seen = (history: HistoryRows) => historyView(history, ["api", "fetch"], 24, NOON_MS);
  expect(seen(apart)).toEqual(seen(together));
});
