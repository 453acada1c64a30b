/** The account actor: crossed thresholds, and that nothing it keeps or answers grows with its traffic. */
import { describe, expect, test } from "vitest";
import { type AccountSnapshot, accountActor } from "../../../../actors/business/accounts/actor.ts";
import { lease, MAX_HOLDERS, NOTHING_USED, type Quota } from "../../../../actors/business/accounts/quota.ts";
import { newCrossings } from "../../../../actors/business/accounts/thresholds.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import {
  Account,
  accountKey,
  type Counts,
  type LeaseRequest,
  type ThresholdEvent,
} from "../../../../schemas/accounts.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const MONTH = { month: "2026-11" };
const fetches = (fetch: number): Counts => ({ search: 0, fetch });
const report = (holder: string, sequence: number, more: Partial<LeaseRequest> = {}): LeaseRequest => ({
  holder,
  sequence,
  ...MONTH,
  limits: { search: null, fetch: 1_000_000 },
  used: fetches(0),
  held: fetches(0),
  requested: fetches(0),
  prefetch: fetches(0),
  is_final: false,
  ...more,
});

function accounts() {
  const clock = virtualClock(NOW_MS);
  const documents = memoryDocuments();
  const { ask } = embedded([accountActor()], {
    clock,
    documents,
    random: seededRandom(1),
    ...silentTelemetry(),
  });
  return { clock, documents, ask };
}

describe("a crossed threshold", () => {
  test("is recorded once for each allowance", async () => {
    const { ask } = accounts();
    const limits = { search: null, fetch: 10 };
    const use = (sequence: number, units: number) =>
      ask(Account, "a", "lease", report("g", sequence, { limits, used: fetches(units), held: fetches(20) }));
    for (const [sequence, units] of [0, 4, 1, 6].entries()) await use(sequence + 1, units);
    for (const [id, micros] of [
      ["a", 200],
      ["b", 700],
    ] as const) {
      await ask(Account, "a", "reserve", { id, micros, limit_micros: 1_000 });
      await ask(Account, "a", "settle", { id, micros });
      await ask(Account, "a", "settle", { id, micros });
    }
    const { events } = await ask(Account, "a", "allowances", MONTH);
    expect(events.map(({ allowance, threshold }) => [allowance, threshold])).toEqual([
      ["fetch", 50],
      ["fetch", 80],
      ["fetch", 100],
      ["spend", 50],
      ["spend", 80],
    ]);
  });

  test.each([
    [null, 99, []],
    [0, 1, []],
    [10, 4, []],
    [10, 5, [50]],
    [10, 7, [50]],
    [10, 10, [50, 80, 100]],
    [3, 2, [50]],
    [1, 1, [50, 80, 100]],
  ])("with %s as its limit and %i used: %j", (limit, used, shares) => {
    const crossed = (events: readonly ThresholdEvent[]) =>
      newCrossings(events, { allowance: "fetch", limit, used, ...MONTH }, NOW_MS).map(
        ({ threshold }) => threshold,
      );
    expect(crossed([])).toEqual(shares);
    const event = { allowance: "fetch", threshold: 50, at_ms: 0 } as const;
    expect(crossed([event])).toEqual(shares.filter((share) => share !== 50));
  });
});

describe("the units of a holder", () => {
  const LIMIT = { search: null, fetch: 10 };
  const first = lease(NOTHING_USED, report("a", 1, { limits: LIMIT, requested: fetches(3) }), NOW_MS);
  const use = report("a", 2, { limits: LIMIT, used: fetches(3) });

  test.each([
    ["are its own for as long as its longest request takes", 165_000, true, { settled: 0, later: 3 }],
    ["count as used once it is silent for longer", 200_000, false, { settled: 3, later: 3 }],
  ])("%s", (_, silent_ms, isKnown, { settled, later }) => {
    const now_ms = NOW_MS + silent_ms;
    const other = lease(first.quota, report("b", 1, { limits: LIMIT, requested: fetches(10) }), now_ms);
    expect(other.reply).toMatchObject({ granted: { fetch: 7 }, settled: { fetch: settled } });
    const { reply } = lease(other.quota, use, now_ms);
    expect(reply).toMatchObject({ is_known: isKnown, settled: { fetch: later } });
  });

  test("are counted and granted once when its report comes twice", () => {
    const request = { ...use, requested: fetches(2) };
    const once = lease(first.quota, request, NOW_MS);
    expect(once.reply).toMatchObject({ granted: { fetch: 2 }, settled: { fetch: 3 } });
    const twice = lease(once.quota, request, NOW_MS);
    expect(twice.reply).toMatchObject({ granted: { fetch: 0 }, settled: { fetch: 3 }, free: { fetch: 5 } });
    expect(twice.quota).toEqual(once.quota);
  });
});

/** Everything an account keeps that could grow: its bound, and what happens at it. */
const BOUNDS: Record<
  string,
  { readonly most: number; readonly at_it: string; readonly of: keyof AccountSnapshot }
> = {
  "months of quotas": { of: "quotas", most: 2, at_it: "the oldest month is forgotten" },
  "months of events": { of: "events", most: 2, at_it: "the oldest month is forgotten" },
  "crossings to announce, and when": {
    of: "unannounced",
    most: 2,
    at_it: "each allowance, threshold and month is there once",
  },
  "reservations, lapsed ones and months of spend": {
    of: "budget",
    most: 3,
    at_it: "a reservation is refused; the oldest lapsed one is forgotten",
  },
};

describe("nothing grows with traffic", () => {
  test("the table lists every field that is stored", async () => {
    const { ask, documents } = accounts();
    await ask(Account, "a", "lease", report("g", 1, { requested: fetches(1) }));
    const stored = (await documents.get("account", "a"))!.value as AccountSnapshot;
    expect(Object.keys(stored).toSorted()).toEqual(
      Object.values(BOUNDS)
        .map(({ of }) => of)
        .toSorted(),
    );
    for (const { of, most } of Object.values(BOUNDS))
      expect(Object.keys(stored[of]).length).toBeLessThanOrEqual(most);
  });

  test("20,000 jobs of one key, eight at a time, leave only its live holders", () => {
    let quota: Quota = NOTHING_USED;
    let now_ms = NOW_MS;
    const ask = (request: LeaseRequest) => {
      const answered = lease(quota, request, now_ms);
      ({ quota } = answered);
      return answered.reply;
    };
    let most = 0;
    for (let job = 0; job < 20_000; job++) {
      now_ms += 1;
      ask(report(`job:${job}`, 1, { requested: fetches(3) }));
      if (job >= 8) ask(report(`job:${job - 8}`, 2, { used: fetches(3), is_final: true }));
      most = Math.max(most, Object.keys(quota.holders).length);
    }
    expect(most).toBe(8);
    expect(quota.settled.fetch).toBe(3 * (20_000 - 8));
  });

  test("more holders at once than the bound are granted nothing", () => {
    let quota: Quota = NOTHING_USED;
    const grants = Array.from({ length: MAX_HOLDERS + 5 }, (_, n) => {
      const answered = lease(quota, report(`job:${n}`, 1, { requested: fetches(1) }), NOW_MS);
      ({ quota } = answered);
      return answered.reply.granted.fetch;
    });
    expect(grants.filter((units) => units === 0)).toHaveLength(5);
    expect(Object.keys(quota.holders)).toHaveLength(MAX_HOLDERS);
  });

  test("2,000 keys have 2,000 small documents, and none of them or of their project is larger for the others", async () => {
    const { ask, documents } = accounts();
    const spend = async (account: string, id: string) => {
      await ask(Account, account, "reserve", { id, micros: 5, limit_micros: null });
      await ask(Account, account, "settle", { id, micros: 5 });
    };
    for (let n = 0; n < 2_000; n++) {
      const prefix = `sk_${String(n).padStart(7, "0")}`;
      const key = accountKey("default", "default", prefix);
      await ask(Account, key, "lease", report("g", 1, { requested: fetches(2) }));
      await ask(Account, key, "lease", report("g", 2, { used: fetches(2) }));
      for (const account of [key, accountKey("default", "default"), "default"]) await spend(account, `${n}`);
    }
    const sizes: number[] = [];
    for (let from = ""; ;) {
      const page = await documents.list("account", { from, limit: 1_000 });
      sizes.push(...page.map(({ value }) => JSON.stringify(value).length));
      if (page.length < 1_000) break;
      from = `${page.at(-1)!.key}\0`;
    }
    expect(sizes).toHaveLength(2_002);
    expect(Math.max(...sizes)).toBeLessThan(1_000);
    expect((await ask(Account, "default", "allowances", MONTH)).settled.spend_micros).toBe(10_000);
  });
});
