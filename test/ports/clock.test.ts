/** What both clocks promise, and the order in which the virtual one rings. Only here does a test wait for real time. */
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { timerHeap } from "../../cluster/adapters/time/timer-heap.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import type { Clock } from "../../cluster/ports/clock.ts";

const virtual = virtualClock(Date.UTC(2026, 0, 1));
const CLOCKS: Record<string, { clock: Clock; pass: (ms: number) => Promise<void> }> = {
  virtual: { clock: virtual, pass: (ms) => virtual.advance(ms) },
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

  test("rings in the order of time, then of setting, whatever order they came in", async () => {
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
