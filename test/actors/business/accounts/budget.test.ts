/** A project's budget for premium routes: reserved, settled, never overspent. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accountActor } from "../../../../actors/business/accounts/actor.ts";
import {
  type Budget,
  RESERVATION_TTL_MS,
  NOTHING_SPENT,
  reservedMicros,
  lapse,
  purseOf,
  release,
  reserve as reserveIn,
  settle as settleIn,
} from "../../../../actors/business/accounts/budget.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { Account, monthOf } from "../../../../schemas/accounts.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);

function budgetOf(limit_micros: number | null) {
  let budget: Budget = NOTHING_SPENT;
  return {
    reserve: (id: string, micros: number, now_ms = NOW_MS, holder?: string) => {
      const request = { id, micros, limit_micros, ...(holder !== undefined && { holder }) };
      const reserved_now = reserveIn(budget, request, now_ms);
      ({ budget } = reserved_now);
      return reserved_now.answer;
    },
    settle: (id: string, micros: number, holder?: string) =>
      (budget = settleIn(budget, { id, micros, ...(holder !== undefined && { holder }) })),
    release: (prefix: string) => (budget = release(budget, prefix)),
    spent: (now_ms = NOW_MS) => budget.spent[monthOf(now_ms)] ?? 0,
    reservations: () => Object.keys(budget.reservations),
    /** Money that is spent or reserved. */
    law: (now_ms: number) => {
      const month = monthOf(now_ms);
      return (budget.spent[month] ?? 0) + reservedMicros(budget, month);
    },
  };
}
const reserved = { kind: "reserved" };
const refused = (remaining_micros: number) => ({ kind: "refused", remaining_micros });

describe("a budget", () => {
  test("is reserved until nothing remains", () => {
    const { reserve } = budgetOf(100);
    expect(reserve("a", 60)).toEqual(reserved);
    expect(reserve("b", 60)).toEqual(refused(40));
    expect(reserve("c", 40)).toEqual(reserved);
    expect(reserve("d", 1)).toEqual(refused(0));
  });

  test("gets back what was reserved but not spent", () => {
    const { reserve, settle, spent } = budgetOf(100);
    reserve("a", 60);
    settle("a", 10);
    expect(spent()).toBe(10);
    expect(reserve("b", 90)).toEqual(reserved);
  });

  test("settles an attempt exactly once, however often it is reserved and settled", () => {
    const { reserve, settle, spent } = budgetOf(100);
    reserve("a", 60);
    expect(reserve("a", 60)).toEqual(reserved);
    expect(reserve("b", 40)).toEqual(reserved);
    settle("a", 60);
    settle("a", 60);
    settle("unknown", 60);
    expect(spent()).toBe(60);
  });

  test("never counts more than was reserved", () => {
    const { reserve, settle, spent } = budgetOf(100);
    reserve("a", 60);
    settle("a", 90);
    expect(spent()).toBe(60);
  });

  test("a late message of an earlier try frees nothing that a later try of the same id holds", () => {
    const { reserve, settle, reservations, spent } = budgetOf(100);
    reserve("a", 60, NOW_MS, "node-1.0");
    expect(reserve("a", 60, NOW_MS, "node-2.0")).toEqual(reserved);
    settle("a", 0, "node-1.0");
    expect(reservations()).toEqual(["a"]);
    settle("a", 60);
    expect([reservations(), spent()]).toEqual([[], 60]);
    reserve("b", 40, NOW_MS, "node-2.1");
    settle("b", 0, "node-2.1");
    expect([reservations(), spent()]).toEqual([[], 60]);
  });

  test("counts a reservation whose settlement is lost as spent: its process may have spent it before it died", () => {
    const { reserve, spent } = budgetOf(100);
    reserve("a", 60);
    expect(reserve("b", 50, NOW_MS + RESERVATION_TTL_MS - 1)).toEqual(refused(40));
    expect(reserve("b", 50, NOW_MS + RESERVATION_TTL_MS)).toEqual(refused(40));
    expect(reserve("b", 40, NOW_MS + RESERVATION_TTL_MS)).toEqual(reserved);
    expect(spent()).toBe(60);
  });

  test("gives back what was not spent when the settlement comes after the reservation lapsed", () => {
    const { reserve, settle, spent } = budgetOf(100);
    reserve("a", 100);
    expect(reserve("b", 10, NOW_MS + RESERVATION_TTL_MS)).toEqual(refused(0));
    settle("a", 70);
    settle("a", 70);
    expect(spent()).toBe(70);
    expect(reserve("b", 30, NOW_MS + RESERVATION_TTL_MS)).toEqual(reserved);
  });

  test("counts a reservation that is not settled within a day for good", () => {
    const { reserve, settle, reservations, spent } = budgetOf(100);
    reserve("a", 10);
    reserve("b", 10, NOW_MS + 25 * 3_600_000);
    settle("a", 0);
    expect([reservations(), spent()]).toEqual([["b"], 10]);
  });

  test("begins anew with the month; an earlier reservation belongs to the old month", () => {
    const { reserve, settle, spent } = budgetOf(100);
    const eve_ms = Date.UTC(2026, 10, 30, 23, 59, 59);
    reserve("a", 100, eve_ms);
    expect(reserve("b", 100, eve_ms + 1_000)).toEqual(reserved);
    settle("a", 100);
    expect([spent(eve_ms), spent(eve_ms + 1_000)]).toEqual([100, 0]);
  });

  test("without a limit refuses nothing and counts", () => {
    const { reserve, settle, spent } = budgetOf(null);
    expect(reserve("a", 1_000_000_000)).toEqual(reserved);
    settle("a", 5);
    expect(spent()).toBe(5);
  });

  test("refuses more than 1,000 reservations at once", () => {
    const { reserve } = budgetOf(null);
    const answers = Array.from({ length: 1_001 }, (_, at) => reserve(String(at), 1).kind);
    expect(answers.filter((kind) => kind === "refused")).toEqual(["refused"]);
  });
});

const LIMIT = 100;
const stories = fc.array(
  fc.record({
    id: fc.integer({ min: 0, max: 9 }),
    does: fc.constantFrom("reserve" as const, "settle" as const, "both" as const),
    micros: fc.integer({ min: 0, max: 60 }),
    again: fc.boolean(),
    after_ms: fc.integer({ min: 0, max: RESERVATION_TTL_MS / 3 }),
  }),
  { maxLength: 60 },
);

test("settled + reserved + free = limit after each step, whatever lapses, comes late or is repeated", () => {
  fc.assert(
    fc.property(stories, (story) => {
      const { reserve, settle, law } = budgetOf(LIMIT);
      /** Micros that each attempt counts: what it reserved until it is settled, then what it cost. */
      const counts = new Map<string, number>();
      const settled = new Set<string>();
      let changed = false;
      let now_ms = NOW_MS;
      for (const [n, { id: number, does, micros, again, after_ms }] of story.entries()) {
        now_ms += after_ms;
        const id = does === "settle" ? [...counts.keys()].at(-1 - number) : `${n}`;
        if (does !== "settle") {
          const answer = reserve(id!, micros, now_ms);
          changed ||= again && reserve(id!, micros, now_ms).kind !== answer.kind;
          if (answer.kind === "reserved") counts.set(id!, micros);
        }
        if (does !== "reserve" && id !== undefined && counts.has(id)) {
          settle(id, micros);
          if (again) settle(id, micros);
          if (!settled.has(id)) counts.set(id, Math.min(micros, counts.get(id)!));
          settled.add(id);
        }
        const taken = counts.values().reduce((sum, one) => sum + one, 0);
        expect([law(now_ms), changed]).toEqual([taken, false]);
        expect(taken).toBeLessThanOrEqual(LIMIT);
      }
    }),
    { numRuns: 1_000 },
  );
});

test("provider cost and charges are two sums of a month: each keeps its own limit, whatever happens to the other", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          id: fc.nat(9).map(String),
          basis: fc.constantFrom("provider_cost" as const, "charge" as const),
          does: fc.constantFrom("reserve" as const, "settle" as const, "release" as const),
          micros: fc.nat(60),
          after_ms: fc.nat(RESERVATION_TTL_MS / 3),
        }),
        { maxLength: 60 },
      ),
      (story) => {
        /** The story on a budget of both bases, and on a budget of each alone. */
        const both: { budget: Budget } = { budget: NOTHING_SPENT };
        const alone = { provider_cost: { budget: NOTHING_SPENT }, charge: { budget: NOTHING_SPENT } };
        let now_ms = NOW_MS;
        for (const { id: number, basis, does, micros, after_ms } of story) {
          now_ms += after_ms;
          const id = `${basis} ${number}`;
          const step = (one: { budget: Budget }) => {
            if (does === "settle") one.budget = settleIn(one.budget, { id, micros });
            if (does === "release") one.budget = release(one.budget, id);
            if (does !== "reserve") return null;
            const limit_micros = basis === "charge" ? LIMIT / 2 : LIMIT;
            const { budget, answer } = reserveIn(one.budget, { id, micros, limit_micros, basis }, now_ms);
            one.budget = budget;
            return answer;
          };
          expect(step(both)).toEqual(step(alone[basis]));
          for (const each of ["provider_cost", "charge"] as const) {
            const purse = purseOf(monthOf(now_ms), each);
            const taken = ({ budget }: { readonly budget: Budget }) => {
              const lapsed = lapse(budget, now_ms);
              return (lapsed.spent[purse] ?? 0) + reservedMicros(lapsed, purse);
            };
            expect(taken(both)).toBe(taken(alone[each]));
            expect(taken(both)).toBeLessThanOrEqual(each === "charge" ? LIMIT / 2 : LIMIT);
          }
        }
      },
    ),
    { numRuns: 500 },
  );
});

test("a lapsed charge that is reserved again counts once, a lapsed attempt of a provider twice", () => {
  const spentTwice = (basis: "charge" | "provider_cost") => {
    const request = { id: "a", micros: 10, limit_micros: null, basis };
    const first = reserveIn(NOTHING_SPENT, request, NOW_MS).budget;
    const again = reserveIn(first, request, NOW_MS + RESERVATION_TTL_MS).budget;
    return settleIn(again, request).spent[purseOf(monthOf(NOW_MS), basis)];
  };
  expect([spentTwice("charge"), spentTwice("provider_cost")]).toEqual([10, 20]);
});

test("a release settles with nothing what is reserved or has lapsed under its prefix, and nothing else", () => {
  const { reserve, settle, release: releaseAll, spent, reservations } = budgetOf(100);
  reserve("charge j:1", 10);
  reserve("charge j:2", 10, NOW_MS + RESERVATION_TTL_MS);
  reserve("charge j2:1", 10, NOW_MS + RESERVATION_TTL_MS);
  expect(spent()).toBe(10);
  releaseAll("charge j:");
  settle("charge j:2", 10);
  expect([spent(), reservations()]).toEqual([0, ["charge j2:1"]]);
});

test("a reservation that lapses frees its place at once: 1,000 unsettled attempts lock nobody out", () => {
  const { reserve, settle, spent } = budgetOf(4_000);
  for (let at = 0; at < 1_000; at++) reserve(String(at), 2);
  expect(reserve("next", 1)).toMatchObject({ kind: "refused" });
  expect(reserve("next", 1, NOW_MS + RESERVATION_TTL_MS)).toEqual(reserved);
  settle("7", 0);
  settle("7", 0);
  expect(spent()).toBe(1_998);
});

test("is stored with the account: another node knows what is reserved and what was spent", async () => {
  const clock = virtualClock(NOW_MS);
  const documents = memoryDocuments();
  const node = () =>
    embedded([accountActor()], { clock, documents, random: seededRandom(1), ...silentTelemetry() }).ask;
  const request = { id: "a", micros: 60, limit_micros: 100 };
  expect(await node()(Account, "default", "reserve", request)).toEqual(reserved);
  expect(await node()(Account, "default", "reserve", { ...request, id: "b" })).toEqual(refused(40));
  expect(await node()(Account, "default", "settle", { id: "a", micros: 50 })).toEqual({ spent_micros: 50 });
  expect(await node()(Account, "default", "settle", { id: "a", micros: 50 })).toEqual({ spent_micros: 50 });
});
