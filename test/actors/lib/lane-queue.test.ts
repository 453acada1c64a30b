import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  aheadOf,
  emptyLaneQueue,
  enqueue,
  extendDeadline,
  type Lane,
  type LaneQueue,
  type LaneWaiter,
  nextDeadline,
  sizeOf,
  SYNC_PER_BATCH,
  takeExpired,
  takeIf,
  takeNext,
} from "../../../actors/lib/lane-queue.ts";

const waiter = (id: string, lane: Lane, share = "", deadline_ms = 0): LaneWaiter => ({
  id,
  lane,
  share,
  deadline_ms,
});

const LANE = fc.constantFrom<Lane>("sync", "batch");
const SHARE = fc.constantFrom("a", "b", "c");

const STEP = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("enqueue" as const),
      ms: fc.nat(50),
      lane: LANE,
      share: SHARE,
      urgent: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("extend" as const), ms: fc.nat(80), nth: fc.nat(9) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("next" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("expire" as const), ms: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("drop" as const), share: SHARE }) },
);

describe("whatever is done to it", () => {
  test("the queue holds what a plain list would hold, and knows the earliest deadline", () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 120 }), (steps) => {
        const queue = emptyLaneQueue();
        let list: LaneWaiter[] = [];
        const broken: string[] = [];
        const check = (name: string, holds: boolean): void => void (holds || broken.push(name));
        const without = (removed: readonly LaneWaiter[]) => {
          list = list.filter((each) => !removed.includes(each));
        };
        for (const [n, step] of steps.entries()) {
          switch (step.do) {
            case "enqueue": {
              const added = waiter(`${n}`, step.lane, step.share, step.ms);
              list.push(added);
              enqueue(queue, added, { urgent: step.urgent });
              break;
            }
            case "extend": {
              const extended = list[step.nth];
              if (!extended) break;
              const expected_ms = Math.max(extended.deadline_ms, step.ms);
              extendDeadline(queue, extended, step.ms);
              check("the later deadline counts", extended.deadline_ms === expected_ms);
              break;
            }
            case "next": {
              const next = takeNext(queue);
              check("only an empty queue has no next waiter", (next === undefined) === (list.length === 0));
              if (!next) break;
              // In its share and lane it is the first; an urgent one may have overtaken.
              const ahead = list.slice(0, list.indexOf(next));
              const overtakes = ahead.some(({ lane, share }) => lane === next.lane && share === next.share);
              const { urgent } = steps[Number(next.id)] as { urgent: boolean };
              check("only an urgent waiter overtakes", urgent || !overtakes);
              without([next]);
              break;
            }
            case "expire": {
              const expired = list.filter(({ deadline_ms }) => deadline_ms <= step.ms);
              const removed = takeExpired(queue, step.ms);
              const deadlines = removed.map(({ deadline_ms }) => deadline_ms);
              check("all that are expired are taken", isDeepStrictEqual(new Set(removed), new Set(expired)));
              check(
                "the earliest first",
                isDeepStrictEqual(
                  deadlines,
                  deadlines.toSorted((x, y) => x - y),
                ),
              );
              without(expired);
              break;
            }
            case "drop": {
              const matches = ({ share }: LaneWaiter) => share === step.share;
              const expected = list.filter(matches);
              check(
                "all that match are taken, in order",
                isDeepStrictEqual(takeIf(queue, matches), expected),
              );
              without(expected);
              break;
            }
          }
          const next_ms = Math.min(...list.map(({ deadline_ms }) => deadline_ms));
          check("no waiter is lost", sizeOf(queue) === list.length);
          check("the earliest deadline is known", nextDeadline(queue) === next_ms);
        }
        expect(broken).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test("a new caller is served after as many callers as `aheadOf` counts", () => {
    const arrival = fc.record({ lane: LANE, share: SHARE, urgent: fc.boolean() });
    const traffic = fc.array(fc.option(arrival, { freq: 3, nil: null }), { maxLength: 60 });
    fc.assert(
      fc.property(traffic, LANE, SHARE, (arrivals, lane, share) => {
        const queue = emptyLaneQueue();
        for (const [n, each] of arrivals.entries()) {
          if (each === null) takeNext(queue);
          else enqueue(queue, waiter(`${n}`, each.lane, each.share), { urgent: each.urgent });
        }
        const ahead = aheadOf(queue, lane, share);
        const newcomer = waiter("newcomer", lane, share);
        enqueue(queue, newcomer);
        expect(servedUntil(queue, newcomer)).toBe(ahead);
      }),
      { numRuns: 500 },
    );
  });

  test("neither lane starves, and no share is served twice while another waits", () => {
    const arrivals = fc.array(fc.record({ lane: LANE, share: SHARE }), { maxLength: 60 });
    fc.assert(
      fc.property(arrivals, (list) => {
        const queue = emptyLaneQueue();
        for (const [n, { lane, share }] of list.entries()) enqueue(queue, waiter(`${n}`, lane, share));
        const broken: string[] = [];
        const check = (name: string, holds: boolean): void => void (holds || broken.push(name));
        const previous: Record<Lane, string | null> = { sync: null, batch: null };
        for (let sync_in_row = 0; sizeOf(queue) > 0;) {
          const { batch } = queue.sizes;
          const others = (lane: Lane) =>
            [...queue.lanes[lane].keys()].filter((each) => each !== previous[lane]);
          const contended = { sync: others("sync").length > 0, batch: others("batch").length > 0 };
          const served = takeNext(queue)!;
          sync_in_row = served.lane === "sync" ? sync_in_row + 1 : 0;
          if (batch === 0) sync_in_row = 0;
          check("batch work waits for four at most", sync_in_row <= SYNC_PER_BATCH);
          check(
            "shares of a lane take turns",
            !contended[served.lane] || served.share !== previous[served.lane],
          );
          previous[served.lane] = served.share;
        }
        expect(broken).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

function servedUntil(queue: LaneQueue<LaneWaiter>, last: LaneWaiter): number {
  for (let served = 0; ; served++) if (takeNext(queue) === last) return served;
}

test("does not remember the waiters that are gone", () => {
  const queue = emptyLaneQueue();
  for (let n = 0; n < 20_000; n++) {
    enqueue(queue, waiter(`${n}`, "sync", "", n + 15_000));
    if (n >= 10) takeNext(queue);
  }
  expect(sizeOf(queue)).toBe(10);
  expect(queue.deadlines.length).toBeLessThan(300);
});

/** A queue in which so many wait in each lane, after so many synchronous callers were served in a row. */
function queueOf(sizes: Readonly<Record<Lane, number>>, sync_in_row = 0): LaneQueue<LaneWaiter> {
  const queue = emptyLaneQueue();
  for (const lane of ["sync", "batch"] as const)
    for (let n = 0; n < sizes[lane]; n++) enqueue(queue, waiter(`${lane} ${n}`, lane));
  queue.sync_in_row = sync_in_row;
  return queue;
}

describe("synchronous callers first, at most four for each batch caller", () => {
  test.each([
    [{ sync: 1, batch: 0 }, 9, "sync"],
    [{ sync: 0, batch: 1 }, 0, "batch"],
    [{ sync: 1, batch: 1 }, 0, "sync"],
    [{ sync: 1, batch: 1 }, 3, "sync"],
    [{ sync: 1, batch: 1 }, 4, "batch"],
  ] as const)("of %o after %s in a row it is the turn of %s", (sizes, sync_in_row, lane) => {
    expect(takeNext(queueOf(sizes, sync_in_row))?.lane).toBe(lane);
  });

  test.each([
    ["sync", { sync: 0, batch: 100 }, 0],
    ["sync", { sync: 8, batch: 100 }, 10],
    ["sync", { sync: 8, batch: 1 }, 9],
    ["batch", { sync: 0, batch: 3 }, 3],
    ["batch", { sync: 100, batch: 0 }, 4],
    ["batch", { sync: 100, batch: 3 }, 19],
    ["batch", { sync: 2, batch: 3 }, 5],
  ] as const)("a caller that joins %s finds of %o ahead %s", (lane, sizes, ahead) => {
    expect(aheadOf(queueOf(sizes), lane, "")).toBe(ahead);
  });
});
