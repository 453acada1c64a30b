/** Promises of both clocks, and the order in which the virtual one rings. Only here does a test wait for real time. */
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { timerHeap } from "../../cluster/adapters/time/timer-heap.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import type { Clock } from "../../cluster/ports/clock.ts";

const virtual = virtualClock(Date.UTC(2026, 0, 1));
const onNode = virtual.node();
const CLOCKS: Record<string, { clock: Clock; pass: (ms: number) => Promise<void> }> = {
  virtual: { clock: virtual, pass: (ms) => virtual.advance(ms) },
  "node's virtual": { clock: onNode, pass: (ms) => virtual.advance(ms) },
  system: { clock: systemClock(), pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) },
};

describe.each(Object.entries(CLOCKS))("the %s clock", (_, { clock, pass }) => {
  test("calls back once, no earlier than asked", async () => {
    const at = clock.now() + 20;
    const rung: number[] = [];
    clock.at(at, () => rung.push(clock.now()));
    await pass(60);
    expect(rung).toHaveLength(1);
    expect(rung[0]).toBeGreaterThanOrEqual(at);
  });

  test("fires alarms in the order of their time, then in the order they were set", async () => {
    const now = clock.now();
    const rung: string[] = [];
    for (const [name, ms] of [
      ["c", 15],
      ["a", 5],
      ["d", 15],
      ["b", 10],
    ] as const)
      clock.at(now + ms, () => rung.push(name));
    await pass(50);
    expect(rung).toEqual(["a", "b", "c", "d"]);
  });

  test("stays silent for an alarm that was put away, also when that was the next one", async () => {
    const now = clock.now();
    const rung: string[] = [];
    const first = clock.at(now + 5, () => rung.push("first"));
    const last = clock.at(now + 15, () => rung.push("last"));
    clock.at(now + 10, () => {
      rung.push("middle");
      last[Symbol.dispose]();
    });
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    await pass(50);
    expect(rung).toEqual(["middle"]);
  });

  test("rings at once for a time that is over, but not before at() returned", async () => {
    let returned = false;
    const seen = new Promise<boolean>((resolve) => {
      clock.at(clock.now() - 1_000, () => resolve(returned));
    });
    returned = true;
    await pass(20);
    expect(await seen).toBe(true);
  });

  test("has a monotonic time that passes with it", async () => {
    const before = clock.mono();
    await pass(20);
    expect(clock.mono() - before).toBeGreaterThanOrEqual(19);
  });
});

describe("a clock whose wall clock steps", () => {
  const MINUTE_MS = 60_000;
  function stepping() {
    const time = virtualClock(Date.UTC(2026, 0, 1));
    return { time, clock: time.node() };
  }

  test.each([
    ["back by a minute", -MINUTE_MS],
    ["forward by half a minute", MINUTE_MS / 2],
  ])("calls back after the same time when it is set %s", async (_, step_ms) => {
    const { time, clock } = stepping();
    const began_ms = time.now();
    const rung: number[] = [];
    for (const after_ms of [1_000, 10_000, 600_000])
      clock.at(clock.now() + after_ms, () => rung.push(time.now() - began_ms - after_ms));
    await time.advance(500);
    clock.step(step_ms);
    await time.advance(700_000);
    const [first, second, third] = rung;
    // Never more than a half per mille early, and one in twenty late.
    expect(Math.min(first! / 1_000, second! / 10_000, third! / 600_000)).toBeGreaterThanOrEqual(-0.000_5);
    expect(Math.max(first! / 1_000, second! / 10_000, third! / 600_000)).toBeLessThanOrEqual(0.055);
  });

  test("never goes back, and never jumps", async () => {
    const { time, clock } = stepping();
    let before_ms = clock.now();
    for (const step_ms of [0, -3_600_000, 0, 7_200_000, 0, -250, 0, 0]) {
      clock.step(step_ms);
      await time.advance(100);
      const passed_ms = clock.now() - before_ms;
      expect(passed_ms).toBeGreaterThanOrEqual(94);
      expect(passed_ms).toBeLessThanOrEqual(101);
      before_ms = clock.now();
    }
  });

  test("makes a step good little by little: back within minutes, forward within hours", async () => {
    const { time, clock } = stepping();
    clock.step(-MINUTE_MS);
    for (let minute = 0; minute < 25; minute++) {
      await time.advance(MINUTE_MS);
      clock.now();
    }
    expect(clock.now()).toBe(clock.wall());
    clock.step(5_000);
    await time.advance(60 * MINUTE_MS);
    expect(clock.wall() - clock.now()).toBe(5_000 - 1_800);
  });

  test("adopts a step of the wall clock at once, and alarms keep their durations", async () => {
    const { time, clock } = stepping();
    const began_ms = time.now();
    const rung: number[] = [];
    clock.at(clock.now() + 10_000, () => rung.push(time.now() - began_ms));
    await time.advance(1_000);
    clock.now();
    clock.step(-MINUTE_MS);
    clock.resync();
    expect(clock.now()).toBe(clock.wall());
    clock.at(clock.now() + 4_000, () => rung.push(time.now() - began_ms));
    await time.advance(60_000);
    expect(rung).toEqual([5_000, 10_000]);
  });

  test("on the system: a step of Date moves no alarm", async () => {
    const started_ms = performance.now();
    let ahead_ms = 0;
    const clock = systemClock({ wall: () => Date.now() + ahead_ms, mono: () => performance.now() });
    const rung = new Promise<number>((resolve) => {
      clock.at(clock.now() + 50, () => resolve(performance.now() - started_ms));
    });
    ahead_ms = -MINUTE_MS;
    expect(await rung).toBeGreaterThanOrEqual(49);
    expect(await rung).toBeLessThan(5_000);
  });
});

test("an alarm set by an alarm within the time moved rings, too", async () => {
  const clock = virtualClock();
  const rung: number[] = [];
  clock.at(10, () => {
    rung.push(clock.now());
    clock.at(20, () => rung.push(clock.now()));
    clock.at(31, () => rung.push(clock.now()));
  });
  await clock.advance(30);
  expect(rung).toEqual([10, 20]);
  expect(clock.now()).toBe(30);
});

test("whatever is set and put away, what is left comes out in order", () => {
  const moves = fc.array(fc.record({ at_ms: fc.integer({ min: 0, max: 50 }), cancel: fc.boolean() }), {
    maxLength: 5_000,
    size: "max",
  });
  fc.assert(
    fc.property(moves, (all) => {
      const waiting = timerHeap();
      const set = all.map(({ at_ms }, order) => ({ order, alarm: waiting.set(at_ms, () => {}) }));
      for (const [n, { cancel }] of all.entries()) if (cancel) set[n]!.alarm[Symbol.dispose]();
      const left = set
        .filter((_, n) => !all[n]!.cancel)
        .toSorted((a, b) => a.alarm.at_ms - b.alarm.at_ms || a.order - b.order);
      const out = [];
      for (let next = waiting.due(Infinity); next; next = waiting.due(Infinity)) out.push(next);
      expect(out).toEqual(left.map(({ alarm }) => alarm));
    }),
    { numRuns: 20 },
  );
});
