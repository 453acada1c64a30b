/** The rules of jobs as tables and properties: states, frontier, retries, shares, bills, callbacks. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { recordAttempt, beginAttempt, closeInterrupted } from "../../../../actors/work/jobs/callback.ts";
import { MAX_LARGE, mayLoad, maxMinShares, SMALL_ITEMS } from "../../../../actors/work/jobs/fairness.ts";
import { CREDITS, CREDITS_WITHOUT_SITE, frontier } from "../../../../actors/work/jobs/frontier.ts";
import { checkInvariants } from "../../../../actors/work/jobs/invariants.ts";
import {
  advance,
  stepAfterFault,
  mayPay,
  nextStep,
  backoffMs,
  BUSY_COUNTS_AFTER_MS,
} from "../../../../actors/work/jobs/retry.ts";
import {
  countsOf,
  isFinal,
  isQueued,
  pendingCode,
  progressOf,
  queuedCode,
  decodeStates,
  statusOf,
  newStates,
  encodeStates,
} from "../../../../schemas/job-states.ts";
import type { JobRecord } from "../../../../schemas/jobs.ts";

const codes = fc.constantFrom("a", "b", "c", "d", "A", "B", "C", "D", "+", "-", "x");

describe("states", () => {
  test("decode to what was encoded", () => {
    const runLengths = fc.array(fc.tuple(codes, fc.integer({ min: 1, max: 300 })), {
      minLength: 1,
      maxLength: 50,
    });
    fc.assert(
      fc.property(runLengths, (runs) => {
        const states = Uint8Array.from(runs.flatMap(([char, n]) => Array(n).fill(char.charCodeAt(0))));
        expect(decodeStates(encodeStates(states), states.length)).toEqual(states);
        const { total, ...counts } = countsOf(states);
        expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(total);
      }),
      { numRuns: 200 },
    );
  });

  test("of 50,000 new items are encoded in six characters", () => {
    expect(encodeStates(newStates(50_000))).toBe("50000a");
  });

  test.each(["3+", "5+", "4+x", ""])("%j are not those of four items", (text) => {
    expect(() => decodeStates(text, 4)).toThrow(RangeError);
  });

  test("hold the progress of an item", () => {
    for (const progress of [0, 1, 4, 9].flatMap((attempts) =>
      [true, false].map((has_cooled) => ({ attempts, has_cooled })),
    )) {
      expect(progressOf(pendingCode(progress))).toEqual(progress);
      expect(progressOf(queuedCode(progress))).toEqual(progress);
      expect([statusOf(pendingCode(progress)), statusOf(queuedCode(progress))]).toEqual([
        "pending",
        "queued",
      ]);
    }
  });
});

describe("the next step of an item", () => {
  const fresh = { attempts: 0, has_cooled: false };
  test.each([
    [fresh, null, { kind: "final" }],
    [
      fresh,
      { reason: "transient", retry_after_s: null },
      { kind: "retry", reason: "transient", delay_ms: 5_000 },
    ],
    [
      fresh,
      { reason: "transient", retry_after_s: 600 },
      { kind: "retry", reason: "transient", delay_ms: 600_000 },
    ],
    [
      { attempts: 3, has_cooled: false },
      { reason: "transient", retry_after_s: 1 },
      { kind: "retry", reason: "transient", delay_ms: 40_000 },
    ],
    [{ attempts: 4, has_cooled: false }, { reason: "transient", retry_after_s: null }, { kind: "final" }],
    [
      fresh,
      { reason: "blocked", retry_after_s: null },
      { kind: "retry", reason: "blocked", delay_ms: 30_000 },
    ],
    [fresh, { reason: "blocked", retry_after_s: 0 }, { kind: "retry", reason: "blocked", delay_ms: 0 }],
    [{ attempts: 0, has_cooled: true }, { reason: "blocked", retry_after_s: null }, { kind: "final" }],
    [
      { attempts: 4, has_cooled: true },
      { reason: "busy", retry_after_s: 7 },
      { kind: "retry", reason: "busy", delay_ms: 7_000 },
    ],
    [fresh, { reason: "busy", retry_after_s: null }, { kind: "retry", reason: "busy", delay_ms: 1_000 }],
    [fresh, { reason: "busy", retry_after_s: 86_400 }, { kind: "retry", reason: "busy", delay_ms: 900_000 }],
  ] as const)("%j after %j: %j", (progress, retry, next) => {
    expect(nextStep(progress, retry, 0, 0)).toEqual(next);
  });

  test("waits a quarter longer at most, with jitter", () => {
    const retry = { reason: "transient", retry_after_s: null } as const;
    expect(nextStep(fresh, retry, 0, 0.999_999)).toMatchObject({ delay_ms: 6_250 });
  });

  test("doubles from 5 s to 5 min", () => {
    expect([1, 2, 3, 6, 7, 8].map(backoffMs)).toEqual([5_000, 10_000, 20_000, 160_000, 300_000, 300_000]);
  });

  test("is final within 12 attempts: after a day `busy` counts as well", () => {
    const agains = fc.array(fc.constantFrom("transient", "blocked", "busy", "fault"), {
      minLength: 12,
      maxLength: 12,
    });
    const ends = fc.sample(agains, { numRuns: 300 }).map((reasons) => {
      let progress = fresh as { attempts: number; has_cooled: boolean };
      for (const reason of reasons) {
        const next =
          reason === "fault"
            ? stepAfterFault(progress, false, BUSY_COUNTS_AFTER_MS, 0.5)
            : nextStep(
                progress,
                { reason: reason as "busy", retry_after_s: null },
                BUSY_COUNTS_AFTER_MS,
                0.5,
              );
        if (next.kind === "final") return true;
        progress = advance(progress, next.reason);
      }
      return false;
    });
    expect(ends).not.toContain(false);
  });

  test.each([
    [{ attempts: 0, has_cooled: false }, false],
    [{ attempts: 3, has_cooled: false }, false],
    [{ attempts: 4, has_cooled: false }, true],
    [{ attempts: 0, has_cooled: true }, true],
  ])("%j may use premium routes: %j", (progress, expected) => {
    expect(mayPay(progress)).toBe(expected);
  });
});

describe("the frontier", () => {
  test("serves sites in turn", () => {
    const items = frontier(newStates(6));
    for (const [index, lane] of ["a", "a", "a", "b", "c", "b"].entries()) items.add(index, lane);
    expect(Array.from({ length: 6 }, () => items.take()?.index)).toEqual([0, 3, 4, 1, 5, 2]);
    expect(items.take()).toBeNull();
  });

  test("admits no item of a site whose credits are in flight", () => {
    const items = frontier(newStates(20));
    for (let index = 0; index < 20; index++) items.add(index, "a");
    const admitted = Array.from({ length: 20 }, () => items.take()).filter((item) => item !== null);
    expect(admitted.length).toBe(CREDITS);
    items.finish(admitted[0]!.index, "done");
    expect(items.take()?.index).toBe(CREDITS);
    const siteless = frontier(newStates(50));
    for (let index = 0; index < 50; index++) siteless.add(index, null);
    expect(Array.from({ length: 50 }, () => siteless.take()).filter((item) => item !== null).length).toBe(
      CREDITS_WITHOUT_SITE,
    );
  });

  test("returns an item at its time, unless its lane is paused", () => {
    const items = frontier(newStates(3));
    for (let index = 0; index < 3; index++) items.add(index, index === 2 ? "b" : "a");
    expect([items.take()!.index, items.take()!.index, items.take()!.index]).toEqual([0, 2, 1]);
    items.requeue(0, 100);
    items.requeue(1, 50, { attempts: 1, has_cooled: false });
    items.pauseLane(0, 100);
    items.finish(2, "failed");
    expect(items.nextDueMs()).toBe(50);
    items.admitDue(60);
    expect(items.take()).toBeNull();
    items.admitDue(100);
    expect([items.take(), items.take()]).toEqual([
      { index: 1, attempts: 1, has_cooled: false, deferrals: 0 },
      { index: 0, attempts: 0, has_cooled: false, deferrals: 0 },
    ]);
  });

  test("pauses one origin of a site, and serves the others with the credits of the site", () => {
    const items = frontier(newStates(20));
    for (let index = 0; index < 20; index++) items.add(index, "a", ["evil", "good", "fine"][index % 3]);
    /** All that may start now, in order of their numbers. */
    const taken = (): number[] => {
      const all: number[] = [];
      for (let item = items.take(); item; item = items.take()) all.push(item.index);
      return all.toSorted((a, b) => a - b);
    };
    expect(taken()).toEqual([0, 1, 2, 3]);
    items.requeue(0, 100);
    items.pauseLane(0, 100);
    items.requeue(3, 100);
    expect(items.pausedSites(5)).toEqual(["a"]);
    expect(items.demand()).toBe(CREDITS);
    // Two credits are free, and only items of the other origins are served with them.
    expect(taken()).toEqual([4, 5]);
    for (const index of [1, 2, 4, 5]) items.finish(index, "done");
    expect(taken()).toEqual([7, 8, 10, 11]);
    items.admitDue(100);
    expect(taken()).toEqual([]);
    for (const index of [7, 8, 10, 11]) items.finish(index, "done");
    // The origin that was paused is served in turn again, and no more than the credits of the site are in flight.
    const next = taken();
    expect(next).toHaveLength(CREDITS);
    expect(new Set(next.map((index) => index % 3))).toEqual(new Set([0, 1, 2]));
  });

  test("repeats items that were in flight when the states were stored", () => {
    const items = frontier(decodeStates("+AC-x", 5));
    for (let index = 0; index < 5; index++) items.add(index, "a");
    expect([items.take(), items.take(), items.take()]).toEqual([
      { index: 1, attempts: 0, has_cooled: false, deferrals: 0 },
      { index: 2, attempts: 1, has_cooled: false, deferrals: 0 },
      null,
    ]);
  });

  test("keeps its counts consistent after every step, and finishes every item once", () => {
    const step = fc.record({
      step_kind: fc.constantFrom(
        "take",
        "finish",
        "requeue",
        "pauseLane",
        "cancel",
        "admitDue",
        "cancelPending",
        "cancelQueued",
      ),
      n: fc.nat(100),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), fc.integer({ min: 1, max: 30 }), (steps, total) => {
        const items = frontier(newStates(total));
        for (let index = 0; index < total; index++)
          items.add(index, index % 4 === 0 ? null : `site-${index % 4}`, `origin-${index % 5}`);
        const in_flight = new Set<number>();
        const finished = new Set<number>();
        const twice: number[] = [];
        let now_ms = 0;
        for (const { step_kind, n } of steps) {
          const index = [...in_flight][n % Math.max(1, in_flight.size)];
          if (step_kind === "take") {
            const item = items.take();
            if (item && (in_flight.has(item.index) || finished.has(item.index))) twice.push(item.index);
            if (item) in_flight.add(item.index);
          } else if (step_kind === "admitDue") items.admitDue((now_ms += n));
          else if (step_kind === "cancelPending") items.cancelPending();
          else if (step_kind === "cancelQueued") {
            for (const queued of items.queued()) items.cancel(queued);
            in_flight.clear();
          } else if (index !== undefined) {
            in_flight.delete(index);
            if (step_kind === "finish") {
              const isFirst = items.finish(index, n % 2 === 0 ? "done" : "failed");
              if (!isFirst || items.finish(index, "done")) twice.push(index);
              finished.add(index);
            } else if (step_kind === "cancel") items.cancel(index);
            else {
              items.requeue(index, now_ms + n);
              if (step_kind === "pauseLane") items.pauseLane(index, now_ms + n);
            }
          }
          const counts = items.counts();
          expect(twice).toEqual([]);
          expect(items.inFlight()).toBe(in_flight.size);
          expect(counts.queued).toBe(in_flight.size);
          expect(counts.done + counts.failed).toBe(finished.size);
          expect(counts.pending + counts.queued + counts.done + counts.failed + counts.cancelled).toBe(total);
          expect(items.isFinished()).toBe(counts.pending + counts.queued === 0);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("admits items until all are finished", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(6), { minLength: 1, maxLength: 200 }), (sites) => {
        const items = frontier(newStates(sites.length));
        for (const [index, site] of sites.entries())
          items.add(index, site === 0 ? null : String(site % 3), String(site));
        let steps = 0;
        while (!items.isFinished() && steps++ < 2_000) {
          const admitted = [];
          for (let item = items.take(); item; item = items.take()) admitted.push(item.index);
          if (admitted.length === 0) items.admitDue(items.nextDueMs());
          for (const index of admitted) {
            if (steps < 5 && index % 3 === 0) items.requeue(index, steps * 10);
            else items.finish(index, "done");
          }
        }
        expect(items.counts().done).toBe(sites.length);
      }),
      { numRuns: 200 },
    );
  });
});

describe("shares", () => {
  test.each([
    [[1_000, 1_000], 100, [50, 50]],
    [[1_000, 10], 100, [90, 10]],
    [[3, 1_000, 40], 90, [3, 47, 40]],
    [[0, 7], 100, [0, 7]],
    [[5, 5, 5], 2, [1, 1, 1]],
    [[], 10, []],
  ])("of %j with a capacity of %i: %j", (demands, capacity, expected) => {
    expect(maxMinShares(demands, capacity)).toEqual(expected);
  });

  test("never exceed the demand or the capacity, and a larger demand never gets a smaller share", () => {
    const demands = fc.array(fc.nat(500), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(demands, fc.integer({ min: 1, max: 600 }), (demanded, capacity) => {
        const granted = maxMinShares(demanded, capacity);
        const sum = granted.reduce((total, share) => total + share, 0);
        expect(sum).toBeLessThanOrEqual(Math.max(capacity, demanded.length));
        for (const [at, share] of granted.entries()) {
          expect(share).toBeLessThanOrEqual(demanded[at]!);
          const isShort = share < demanded[at]!;
          expect(isShort && Math.max(...granted) > share + 1).toBe(false);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("a job is loaded", () => {
  const large = (n: number, is_loaded: boolean) => ({
    job_id: String(n).padStart(4, "0"),
    total: SMALL_ITEMS + 1,
    is_loaded,
  });
  const loaded = Array.from({ length: MAX_LARGE }, (_, n) => large(100 + n, true));
  test.each([
    ["when it is small, whatever is loaded", { ...large(999, false), total: SMALL_ITEMS }, loaded, true],
    ["when it is loaded already", large(999, true), loaded, true],
    ["when there is room", large(999, false), loaded.slice(1), true],
    ["not when there is none", large(999, false), loaded, false],
    ["not before an older job that waits", large(999, false), [...loaded.slice(1), large(50, false)], false],
    ["before a younger job that waits", large(50, false), [...loaded.slice(1), large(999, false)], true],
  ] as const)("%s", (_, job, others, expected) => {
    expect(mayLoad(job, others)).toBe(expected);
  });
});

describe("the invariants of a stored job", () => {
  const record = (states: string, total: number, more: Partial<JobRecord> = {}): JobRecord => ({
    spec: { total } as JobRecord["spec"],
    phase: "running",
    states,
    counts: countsOf(decodeStates(states, total)),
    updated_ms: 0,
    cancel_ms: null,
    finished_ms: null,
    callback: null,
    unrecorded: [],
    ledger_batch: null,
    batch_sequence: 0,
    carried_micros: {},
    quota: null,
    metered: { requests: 0, cost_micros: 0 },
    ...more,
  });
  const bill = { category: "fetch_own", ok: true, bytes: 1, paid: false, cost_micros: 3 } as const;
  const done = { status: "done", bill } as const;
  const metered = { requests: 1, cost_micros: 3 };
  test.each([
    [record("+aA", 3, { metered }), [[0, done]], 0, 0],
    [
      record("+aA", 3, { metered }),
      [
        [0, done],
        [2, done],
      ],
      0,
      1,
    ],
    [record("+aA", 3, { metered }), [], 3, 0],
    [record("+aA", 3), [[0, done]], 2, 0],
    [record("-aA", 3, { metered }), [[0, done]], 1, 0],
    [
      record("+aA", 3, { metered, counts: { ...countsOf(decodeStates("+aA", 3)), done: 2 } }),
      [[0, done]],
      2,
      0,
    ],
    [record("+xx", 3, { metered }), [[0, done]], 1, 0],
    [record("+xx", 3, { metered, phase: "cancelled", finished_ms: 1 }), [[0, done]], 0, 0],
    [record("+aA", 3, { metered, phase: "completed", finished_ms: 1 }), [[0, done]], 1, 0],
    [
      record("+", 1, { metered, finished_ms: 1 }),
      [
        [0, done],
        [1, done],
      ],
      1,
      0,
    ],
    [record("3+", 3, { states: "4+" }), [], 1, 0],
  ] as const)("%#", (job, results, problems, ahead) => {
    const report = checkInvariants(job, new Map(results.map(([index, result]) => [index, result])));
    expect([report.problems.length, report.ahead]).toEqual([problems, ahead]);
  });
});

describe("a callback", () => {
  const none = { attempts: 0, next_ms: 0, status: null };
  test("ends after a 2xx, a blocked destination or the third attempt", () => {
    let callback = beginAttempt(none, 0);
    expect(callback).toEqual({ attempts: 1, next_ms: 20_000, status: null });
    expect(recordAttempt(callback, 1, "delivered_204", 5)).toMatchObject({
      next_ms: null,
      status: "delivered_204",
    });
    expect(recordAttempt(callback, 1, "blocked_destination", 5).next_ms).toBeNull();
    callback = recordAttempt(callback, 1, "http_503", 100);
    expect(callback).toEqual({ attempts: 1, next_ms: 10_100, status: "http_503" });
    callback = recordAttempt(beginAttempt(callback, 10_100), 2, "error_timeout", 20_000);
    expect(callback.next_ms).toBe(80_000);
    expect(closeInterrupted(callback)).toBeNull();
    callback = beginAttempt(callback, 80_000);
    // The process that sent the third attempt died: its outcome is unknown, and there is no fourth.
    expect(closeInterrupted(callback)).toEqual({ attempts: 3, next_ms: null, status: "error_timeout" });
    expect(recordAttempt(callback, 3, "http_500", 80_001)).toMatchObject({
      next_ms: null,
      status: "http_500",
    });
    // The outcome of an earlier attempt that comes late is ignored.
    expect(recordAttempt(callback, 2, "delivered_200", 80_002)).toBe(callback);
  });
});

test("the codes of finished items are no other state", () => {
  for (const char of "+-x") expect(isFinal(char.charCodeAt(0))).toBe(true);
  for (const char of "aAtT") expect(isFinal(char.charCodeAt(0))).toBe(false);
  expect(isQueued("x".charCodeAt(0))).toBe(false);
});
