/** Suspension times by cause, and whose turn it is. */
import { describe, expect, test } from "vitest";
import {
  type Health,
  HEALTHY,
  nextInstance,
  probeInstance,
  recordReport,
} from "../../../../actors/sources/search/health.ts";

const NOW_MS = 1_000_000;
const fail = (failure: string, retry_after_s: number | null = null, health: Health = HEALTHY) =>
  recordReport(health, { instance: "i", failure, retry_after_s }, NOW_MS);
const seconds = ({ until_ms }: Health) => (until_ms - NOW_MS) / 1_000;

describe("an instance that fails is spared", () => {
  test.each([
    ["http_429", null, 180],
    ["http_429", 600, 600],
    ["http_429", 5, 180],
    ["http_429", 9_999_999, 3_600],
    ["http_403", null, 180],
    ["http_401", null, 180],
    ["captcha", null, 3_600],
    ["timeout", null, 5],
    ["unreachable", null, 5],
    ["invalid_answer", null, 5],
    ["http_500", null, 5],
    ["http_503", 60, 60],
  ])("%s, Retry-After %s: %i s", (failure, retry_after_s, spared_s) => {
    expect(seconds(fail(failure, retry_after_s))).toBe(spared_s);
  });

  test("twice as long each time, up to two minutes", () => {
    const spared: number[] = [];
    let health = HEALTHY;
    for (let time = 0; time < 7; time++) {
      health = fail("timeout", null, { ...health, until_ms: 0 });
      spared.push(seconds(health));
    }
    expect(spared).toEqual([5, 10, 20, 40, 80, 120, 120]);
  });

  test("no shorter than another search found out", () => {
    expect(seconds(fail("timeout", null, fail("captcha")))).toBe(3_600);
  });

  test("not any more when it answers", () => {
    expect(
      recordReport(fail("captcha"), { instance: "i", failure: null, retry_after_s: null }, NOW_MS),
    ).toEqual(HEALTHY);
  });

  test("and one that keeps answering changes nothing", () => {
    const ok = { instance: "i", failure: null, retry_after_s: null };
    expect(recordReport(HEALTHY, ok, NOW_MS)).toBe(HEALTHY);
  });
});

describe("the turn of instances", () => {
  const spared = { failures: 1, until_ms: NOW_MS + 1, reason: "timeout" };
  const over = { failures: 1, until_ms: NOW_MS, reason: "timeout" };
  test.each([
    ["begins with the first", {}, null, [], "a"],
    ["goes on behind the last", {}, "a", [], "b"],
    ["comes round", {}, "c", [], "a"],
    ["leaves out who was asked already", {}, "a", ["b"], "c"],
    ["leaves out who is spared", { b: spared }, "a", [], "c"],
    ["takes back who was spared long enough", { b: over }, "a", [], "b"],
    ["is nobody's when all were asked", {}, "a", ["a", "b", "c"], null],
    ["is nobody's when all are spared", { a: spared, b: spared, c: spared }, null, [], null],
    ["does not mind a last that is not set up any more", {}, "z", [], "a"],
  ])("%s", (_, healths, last, except, next) => {
    expect(nextInstance(["a", "b", "c"], healths, { last, except, now_ms: NOW_MS })).toBe(next);
  });
});

describe("with every instance spared, the one that is tried", () => {
  const after = (failure: string, retry_after_s: number | null = null, at_ms = NOW_MS) =>
    recordReport(HEALTHY, { instance: "i", failure, retry_after_s }, at_ms);
  test.each<[string, Record<string, Health>, string[], string | null]>([
    [
      "is the one that is spared for the shortest time",
      { a: after("timeout", null, NOW_MS + 9), b: after("http_500") },
      [],
      "b",
    ],
    ["is not one that was asked already", { a: after("timeout"), b: after("http_500") }, ["a"], "b"],
    ["is none that asked for time", { a: after("http_503", 60), b: after("http_429") }, [], null],
    ["is none that refused or showed a captcha", { a: after("http_403"), b: after("captcha") }, [], null],
    ["is none with all asked", { a: after("timeout"), b: after("timeout") }, ["a", "b"], null],
  ])("%s", (_, healths, except, probed) => {
    expect(probeInstance(["a", "b"], healths, except)).toBe(probed);
  });
});
