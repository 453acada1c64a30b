import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Waiter,
  emptyQueue,
  nextDeadline,
  join,
  joinAgain,
  takeIf,
  takeExpired,
  takeNext,
  waiting,
} from "../../actors/domain/queue.ts";

/**
 * Whatever is done to it, the queue holds whom a plain list would hold, in the same order, and knows who leaves first.
 */
test("is a list of callers in which one finds things quickly", () => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant("join" as const), ms: fc.nat(50), batch: fc.boolean() }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("again" as const), ms: fc.nat(80), nth: fc.nat(9) }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("next" as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("impatient" as const), ms: fc.nat(60) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("host" as const), host: fc.constantFrom("h0", "h1") }),
    },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const queue = emptyQueue<number>();
      let list: Waiter<number>[] = [];
      const agrees: boolean[] = [];
      const without = (gone: readonly Waiter<number>[]) => {
        list = list.filter((caller) => !gone.includes(caller));
      };
      for (const [n, what] of steps.entries()) {
        switch (what.do) {
          case "join": {
            const lane = what.batch ? "batch" : "sync";
            const caller = {
              fetch_id: `${n}`,
              host: `h${n % 2}`,
              lane,
              asked_ms: 0,
              deadline_ms: what.ms,
              replies: [n],
            };
            list.push(caller as Waiter<number>);
            join(queue, caller as Waiter<number>, lane);
            break;
          }
          case "again": {
            const caller = list[what.nth];
            if (caller) joinAgain(queue, caller, n, what.ms);
            break;
          }
          case "next": {
            const next = takeNext(queue);
            const first = list.find((caller) => !next || caller.lane === next.lane);
            agrees.push(next === first);
            if (next) without([next]);
            break;
          }
          case "impatient": {
            const late = list.filter((caller) => caller.deadline_ms <= what.ms);
            agrees.push(new Set(late).symmetricDifference(new Set(takeExpired(queue, what.ms))).size === 0);
            without(late);
            break;
          }
          case "host": {
            const gone = list.filter((caller) => caller.host === what.host);
            const taken = takeIf(queue, (caller) => caller.host === what.host);
            agrees.push(taken.length === gone.length && taken.every((caller, nth) => caller === gone[nth]));
            without(gone);
            break;
          }
        }
        expect(agrees).not.toContain(false);
        expect(queue.byId.size).toBe(list.length);
        expect(waiting(queue).batch).toBe(list.filter((caller) => caller.lane === "batch").length);
        const first = list.length === 0 ? undefined : Math.min(...list.map((caller) => caller.deadline_ms));
        expect(nextDeadline(queue)?.deadline_ms).toBe(first);
      }
    }),
    { numRuns: 500 },
  );
});

test("does not remember the callers who are gone", () => {
  const queue = emptyQueue<number>();
  for (let n = 0; n < 20_000; n++) {
    const asked = { fetch_id: `${n}`, host: "h", lane: "sync", asked_ms: n } as const;
    join(queue, { ...asked, deadline_ms: n + 15_000, replies: [n] }, "sync");
    if (n >= 10) takeNext(queue);
  }
  expect(queue.byId.size).toBe(10);
  expect(queue.by_deadline.length).toBeLessThan(300);
});
