import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  callersOf,
  type Coalescer,
  type CoalescerRules,
  complete,
  emptyCoalescer,
  join,
  remove,
} from "../../../actors/lib/coalescer.ts";

/** A caller that wants at least `depth` of one variant; a run of that variant serves every caller up to its own depth. */
interface Caller {
  readonly n: number;
  readonly id: string;
  readonly variant: number;
  readonly depth: number;
}
type Request = Pick<Caller, "variant" | "depth">;

const rulesWith = (limits: Partial<CoalescerRules<Caller, Request>>): CoalescerRules<Caller, Request> => ({
  serves: (request, caller) => request.variant === caller.variant && request.depth >= caller.depth,
  requestFor: ([first, ...others]) => ({
    variant: first.variant,
    depth: Math.max(
      first.depth,
      ...others.filter(({ variant }) => variant === first.variant).map(({ depth }) => depth),
    ),
  }),
  ...limits,
});

const STEP = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("join" as const),
      id: fc.nat(12),
      variant: fc.nat(2),
      depth: fc.nat(3),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("complete" as const), nth: fc.nat(5), served_depth: fc.nat(4) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("remove" as const), id: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("duplicate" as const), run: fc.nat(30) }) },
);
const LIMITS = fc.record(
  { max_runs: fc.integer({ min: 1, max: 3 }), max_callers: fc.integer({ min: 1, max: 4 }) },
  { requiredKeys: [] },
);

describe("whatever callers and runs do", () => {
  test("each caller is returned exactly once, by the run that serves it", () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 80 }), LIMITS, (steps, limits) => {
        const rules = rulesWith(limits);
        const { max_runs = Infinity, max_callers = Infinity } = limits;
        let coalescer: Coalescer<Caller, Request> = emptyCoalescer();
        const inside = new Set<Caller>();
        const begun = new Set<number>();
        const ended = new Set<number>();
        const broken: string[] = [];
        const check = (name: string, holds: boolean): void => void (holds || broken.push(name));
        const returned = (callers: readonly Caller[]): void => {
          for (const each of callers) check("a caller is returned once", inside.delete(each));
        };
        const begin = (started: readonly { readonly run: number }[]): void => {
          for (const { run } of started)
            check("a run starts once", !begun.has(run) && begun.add(run).size > 0);
        };
        for (const [n, step] of steps.entries()) {
          switch (step.do) {
            case "join": {
              const newcomer = { n, id: String(step.id), variant: step.variant, depth: step.depth };
              const joined = join(coalescer, rules, newcomer);
              if (!joined) {
                const serving = coalescer.runs.find(({ request }) => rules.serves(request, newcomer));
                check(
                  "only a full run lets no caller in",
                  callersOf(coalescer, serving!.run).length >= max_callers,
                );
                break;
              }
              inside.add(newcomer);
              if (joined.started) begin([joined.started]);
              ({ coalescer } = joined);
              break;
            }
            case "complete": {
              const run = coalescer.runs[step.nth];
              if (!run) break;
              const isServed = ({ depth }: Caller) => depth < step.served_depth;
              const expected = callersOf(coalescer, run.run).filter(isServed);
              const completed = complete(coalescer, rules, run.run, isServed)!;
              check("a run serves its own callers", isDeepStrictEqual(completed.served, expected));
              check("the request is that of the run", completed.request === run.request);
              returned(completed.served);
              begin(completed.started);
              ended.add(run.run);
              ({ coalescer } = completed);
              break;
            }
            case "remove": {
              const removal = remove(coalescer, ({ id }) => id === String(step.id));
              for (const { run } of removal.abandoned) {
                const [had, has] = [callersOf(coalescer, run), callersOf(removal.coalescer, run)];
                check("an abandoned run has lost its last caller", had.length > 0 && has.length === 0);
              }
              returned(removal.removed);
              ({ coalescer } = removal);
              break;
            }
            case "duplicate":
              check(
                "a run that has ended does not end again",
                !ended.has(step.run) || complete(coalescer, rules, step.run, () => true) === null,
              );
              break;
          }
          const { entries, runs } = coalescer;
          const order = entries.map((entry) => entry.caller.n);
          check("no caller is lost", isDeepStrictEqual(new Set(callersOf(coalescer)), inside));
          check(
            "callers stay in order",
            isDeepStrictEqual(
              order,
              order.toSorted((x, y) => x - y),
            ),
          );
          check("runs keep their limit", runs.length <= max_runs);
          check(
            "a caller waits only while no run may start",
            runs.length === max_runs || entries.every(({ run }) => run !== null),
          );
          for (const entry of entries) {
            const run = runs.find((other) => other.run === entry.run);
            check("a run serves the callers it has", !run || rules.serves(run.request, entry.caller));
            check("a caller has a run that is under way", run !== undefined || entry.run === null);
          }
        }
        expect(broken).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

const caller = (n: number, more: Partial<Caller> = {}): Caller => ({
  n,
  id: String(n),
  variant: 0,
  depth: 1,
  ...more,
});

test("starts one run for callers that ask the same, and one more for a caller that asks for more", () => {
  const rules = rulesWith({});
  const first = join(emptyCoalescer<Caller, Request>(), rules, caller(0))!;
  const second = join(first.coalescer, rules, caller(1))!;
  const third = join(second.coalescer, rules, caller(2, { depth: 2 }))!;
  expect([first.started?.run, second.started, third.started?.run]).toEqual([0, null, 1]);
});

test("with one run at a time the others wait in order, and the next run serves what it can", () => {
  const rules = rulesWith({ max_runs: 1 });
  let coalescer = emptyCoalescer<Caller, Request>();
  for (const one of [
    caller(0),
    caller(1, { variant: 1 }),
    caller(2, { variant: 2 }),
    caller(3, { variant: 1 }),
  ])
    ({ coalescer } = join(coalescer, rules, one)!);
  const { served, started } = complete(coalescer, rules, 0, () => true)!;
  expect(served.map(({ n }) => n)).toEqual([0]);
  expect(started).toEqual([{ run: 1, request: { variant: 1, depth: 1 } }]);
});

test("callers that a run did not serve get another, made from the request of that run", () => {
  const previous: (Request | null)[] = [];
  const rules = rulesWith({
    requestFor: ([first], request) => {
      previous.push(request);
      return first;
    },
  });
  const { coalescer } = join(emptyCoalescer<Caller, Request>(), rules, caller(0))!;
  const { started } = complete(coalescer, rules, 0, () => false)!;
  expect(started).toHaveLength(1);
  expect(previous).toEqual([null, caller(0)]);
});
