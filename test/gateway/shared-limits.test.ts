/** Several gateways keep one limit together: never more requests than it allows, and no fewer when they are asked for. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accountActor } from "../../actors/business/accounts/actor.ts";
import { allotRates, type Windows } from "../../actors/business/accounts/allocation.ts";
import type { ActorClient } from "../../cluster/actor.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../cluster/embedded.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { keyQuotas, type QuotaClaim } from "../../gateway/quotas.ts";
import { type Counted, type Limited, sharedRates } from "../../gateway/rates.ts";
import { Account, monthEnds } from "../../schemas/accounts.ts";
import { NOON_MS } from "../harness/gateway-harness.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

/** An account, and gateways that reach it after a while, or not at all. */
async function world(delay_ms = 0) {
  const clock = virtualClock(NOON_MS);
  const documents = memoryDocuments();
  const telemetry = silentTelemetry();
  const { metrics, log } = telemetry;
  const { ask } = embedded([accountActor()], { clock, documents, metrics, log, random: seededRandom(1) });
  const state = { broken: false, asks: 0 };
  const far: ActorClient = async (...given) => {
    state.asks++;
    if (state.broken) throw new Fault("bus_unreachable", "Nobody");
    if (delay_ms > 0) await new Promise<void>((resolve) => void clock.at(clock.now() + delay_ms, resolve));
    return ask(...given);
  };
  return { clock, documents, telemetry, ask, far, state };
}

const LIMITED: Limited = { project: "default", project_rate: 20, key: "sk_1234567", key_rate: null };

describe("requests per second", () => {
  async function gateways(count: number, delay_ms = 0) {
    const {
      clock,
      far,
      telemetry: { metrics },
      state,
    } = await world(delay_ms);
    const rates = Array.from({ length: count }, () => sharedRates({ ask: far, clock, metrics }));
    const passed: number[] = [];
    const answers: Promise<Counted>[] = [];
    const arrive = (at: number, limited: Limited = LIMITED): Promise<Counted> => {
      const counted = Promise.resolve(rates[at % count]!.count(limited, clock.now()));
      answers.push(counted);
      void counted.then((answer) => answer.passed === null && passed.push(clock.now()));
      return counted;
    };
    const bySecond = () => Map.groupBy(passed, (at_ms) => Math.floor(at_ms / 1_000));
    return { clock, arrive, answers, passed, bySecond, state };
  }

  test("never exceed the limit in a second over all gateways, and every request is answered", async () => {
    const traffic = fc.array(
      fc.record({
        at: fc.nat(2),
        many: fc.integer({ min: 1, max: 30 }),
        after_ms: fc.oneof(fc.constant(0), fc.nat(700)),
      }),
      { minLength: 1, maxLength: 25 },
    );
    await fc.assert(
      fc.asyncProperty(traffic, async (bursts) => {
        const { clock, arrive, answers, bySecond } = await gateways(3);
        for (const { at, many, after_ms } of bursts) {
          for (let n = 0; n < many; n++) void arrive(at);
          await clock.advance(after_ms);
        }
        await clock.advance(1);
        await Promise.all(answers);
        for (const passed of bySecond().values()) expect(passed.length).toBeLessThanOrEqual(20);
      }),
      { numRuns: 100 },
    );
  });

  test.each([1, 2, 3, 7, 20, 200])(
    "are as many as a limit of %i when all gateways want more",
    async (rate) => {
      const { clock, arrive, answers, passed } = await gateways(3, 2);
      for (let n = 0; n < 3 * rate + 9; n++) void arrive(n, { ...LIMITED, project_rate: rate });
      await clock.advance(50);
      await Promise.all(answers);
      expect(passed).toHaveLength(rate);
    },
  );

  test("of a key are counted beside those of its project, and refused ones count for the project", async () => {
    const { clock, arrive, answers } = await gateways(2);
    const slow: Limited = { ...LIMITED, key_rate: 2 };
    for (let n = 0; n < 12; n++) void arrive(n, slow);
    for (let n = 0; n < 12; n++) void arrive(n, { ...LIMITED, key: "sk_7654321" });
    await clock.advance(1);
    const byOutcome = Object.groupBy(await Promise.all(answers), ({ passed }) => passed ?? "through");
    expect([byOutcome.through?.length, byOutcome.key?.length, byOutcome.project?.length]).toEqual([
      10, 10, 4,
    ]);
    expect(byOutcome.project![0]!.limit).toBe('"project";r=0;t=1');
  });

  test("ask for a handful at a time: one gateway of a busy project seldom waits", async () => {
    const { clock, arrive, state } = await gateways(2, 1);
    let waited = 0;
    for (let n = 0; n < 300; n++) {
      const began_ms = clock.now();
      void arrive(0, { ...LIMITED, project_rate: 200 }).then(
        () => (waited += Number(clock.now() > began_ms)),
      );
      await clock.advance(10);
    }
    expect(state.asks).toBeLessThan(30);
    expect(waited).toBeLessThan(20);
  });

  test("are counted by each gateway alone while the actor cannot be reached, a quarter of the limit until it had a share", async () => {
    const { clock, arrive, answers, passed, state } = await gateways(2);
    state.broken = true;
    for (let n = 0; n < 60; n++) void arrive(n);
    await clock.advance(1);
    await Promise.all(answers);
    expect(passed).toHaveLength(10);
    expect(state.asks).toBe(2);
    state.broken = false;
    await clock.advance(3_000);
    for (let n = 0; n < 60; n++) void arrive(n);
    await clock.advance(1);
    await Promise.all(answers);
    expect(passed).toHaveLength(30);
  });

  test("stay near the limit over all gateways while the actor cannot be reached, however many there are", async () => {
    const { clock, arrive, answers, bySecond, state } = await gateways(4);
    const limited = { ...LIMITED, project_rate: 200 };
    for (let ms = 0; ms < 6_000; ms += 2) {
      // An answer that is late for 500 ms looks the same.
      if (ms === 2_500) state.broken = true;
      void arrive(ms / 2, limited);
      await clock.advance(2);
    }
    await Promise.all(answers);
    const seconds = [...bySecond().values()].map(({ length }) => length);
    expect(seconds.slice(0, 2)).toEqual([200, 200]);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(1.3 * 200);
    expect(Math.min(...seconds.slice(0, 6))).toBeGreaterThanOrEqual(0.7 * 200);
  });
});

describe("a share of a window", () => {
  test.each([
    [200, 0, { granted: 25, remaining: 175 }],
    [200, 40, { granted: 40, remaining: 160 }],
    [7, 0, { granted: 0, remaining: 7 }],
    [7, 1, { granted: 1, remaining: 6 }],
    [2, 9, { granted: 2, remaining: 0 }],
    [0, 1, { granted: 0, remaining: 0 }],
  ])("of %i when %i wait", (limit, want, share) => {
    expect(allotRates(new Map(), 5, { project: { limit, requested: want } }, 0)).toEqual({ project: share });
  });

  test("is forgotten when no gateway asks for the window any more", () => {
    const windows: Windows = new Map();
    allotRates(windows, 5, { project: { limit: 1, requested: 1 } }, 0);
    allotRates(windows, 6, { project: { limit: 1, requested: 1 } }, 4_999);
    expect([...windows.keys()]).toEqual([5, 6]);
    allotRates(windows, 7, { project: { limit: 1, requested: 1 } }, 5_000);
    expect([...windows.keys()]).toEqual([6, 7]);
  });
});

describe("requests of a month", () => {
  async function gateways(fetch: number, delay_ms = 0, count = 2) {
    const {
      clock,
      far,
      telemetry: { log },
      ask,
      state,
    } = await world(delay_ms);
    const account = "default default sk_1234567";
    const limits = { search: null, fetch };
    const keys = Array.from({ length: count }, (_, n) =>
      keyQuotas({ ask: far, clock, log, gateway: `g${n}` }).of(account, limits),
    );
    const use = async () => {
      const { settled, reserved } = await ask(Account, account, "allowances", { month: "2026-11" });
      return { settled: settled.fetch, reserved: reserved.fetch };
    };
    const claim = async (at: number): Promise<QuotaClaim | null> => keys[at]!.claim("fetch", clock.now());
    return { clock, keys, use, claim, state };
  }

  const traffic = fc.array(
    fc.record({
      at: fc.nat(1),
      many: fc.integer({ min: 1, max: 8 }),
      takes_ms: fc.nat(5_000),
      after_ms: fc.oneof(fc.constant(0), fc.nat(4_000)),
      counts: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
    }),
    { minLength: 5, maxLength: 40 },
  );
  /** The only unit comes back while a report is under way that still counts it, and nothing is claimed after it. */
  const GIVEN_BACK_DURING_REPORT = (
    [
      [1, 0, 7],
      [0, 0, 920],
      [0, 0, 97],
      [1, 4_988, 0],
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ] as const
  ).map(([at, takes_ms, after_ms]) => ({ at, many: 1, takes_ms, after_ms, counts: false }));
  test("never exceed a quota, whatever runs where and for how long; settled + reserved + free = limit", async () => {
    await fc.assert(
      fc.asyncProperty(traffic, fc.nat(60), async (bursts, quota) => {
        const { clock, claim, use } = await gateways(quota, 3);
        let [granted, uncounted, running] = [0, 0, 0];
        for (const { at, many, takes_ms, after_ms, counts } of bursts) {
          for (let n = 0; n < many; n++)
            void claim(at).then((claimed) => {
              if (!claimed) return;
              granted++;
              running++;
              if (!counts) uncounted++;
              clock.at(clock.now() + takes_ms, () => {
                running--;
                claimed.settle(counts);
              });
            });
          await clock.advance(after_ms);
          const { settled, reserved } = await use();
          expect(settled + reserved).toBeLessThanOrEqual(quota);
          expect(granted - uncounted).toBeLessThanOrEqual(quota);
        }
        await clock.advance(12_000);
        expect([running, await use()]).toEqual([0, { settled: granted - uncounted, reserved: 0 }]);
      }),
      { numRuns: 60, examples: [[GIVEN_BACK_DURING_REPORT, 1]] },
    );
  });

  test("500 at once for the last 10 units from four gateways: exactly 10", async () => {
    const { clock, claim, use } = await gateways(10, 3, 4);
    const claims = Array.from({ length: 500 }, (_, n) => claim(n % 4));
    await clock.advance(1_000);
    const granted = (await Promise.all(claims)).filter((claimed) => claimed !== null);
    for (const claimed of granted) claimed.settle(true);
    await clock.advance(3_000);
    expect([granted.length, await use()]).toEqual([10, { settled: 10, reserved: 0 }]);
  });

  test("need not ask for each request while units are left", async () => {
    const { claim, clock, state } = await gateways(100_000);
    for (let second = 0; second < 3; second++) {
      for (let n = 0; n < 50; n++) (await claim(0))!.settle(true);
      await clock.advance(1_000);
    }
    const before = state.asks;
    for (let n = 0; n < 50; n++) (await claim(0))!.settle(true);
    expect(state.asks - before).toBeLessThan(5);
  });

  test("that are not counted in the end are free for others at once", async () => {
    const { claim, clock } = await gateways(1);
    const claimed = (await claim(0))!;
    expect(await claim(1)).toBeNull();
    claimed.settle(false);
    await clock.advance(1_000);
    await clock.advance(1_000);
    expect(await claim(1)).not.toBeNull();
  });

  test("that a gateway may have answered before it died count as used", async () => {
    const { claim, clock, state, use } = await gateways(3);
    (await claim(0))!.settle(true);
    state.broken = true;
    await clock.advance(199_000);
    expect(await use()).toEqual({ settled: 0, reserved: 1 });
    await clock.advance(2_000);
    expect(await use()).toEqual({ settled: 1, reserved: 0 });
    state.broken = false;
    await clock.advance(2_000);
    // The gateway was only cut off: what it used is counted already.
    expect(await use()).toEqual({ settled: 1, reserved: 0 });
    expect(await Promise.all([claim(1), claim(1), claim(1)]).then((all) => all.filter(Boolean))).toHaveLength(
      2,
    );
  });

  test("fail while the account cannot be asked, and count once when a report is repeated", async () => {
    const { claim, clock, state, use } = await gateways(5);
    const first = (await claim(0))!;
    state.broken = true;
    await expect(claim(0)).rejects.toMatchObject({ code: "bus_unreachable" });
    first.settle(true);
    await clock.advance(5_000);
    state.broken = false;
    await clock.advance(2_000);
    expect(await use()).toEqual({ settled: 1, reserved: 0 });
    const claims = await Promise.all([claim(0), claim(1), claim(0), claim(1), claim(0), claim(1)]);
    expect(claims.filter(Boolean)).toHaveLength(4);
  });

  test("of an account that does not answer are refused for now, because nothing has begun", async () => {
    const { clock, telemetry } = await world();
    const ask: ActorClient = async () => {
      throw new Fault("no_answer", "Nobody");
    };
    const quotas = keyQuotas({ ask, clock, log: telemetry.log, gateway: "g1" });
    const claim = quotas.of("c p sk_1234567", { search: null, fetch: 1 }).claim("fetch", clock.now());
    await expect(claim).rejects.toMatchObject({ code: "overloaded" });
  });

  test("are asked for once or twice a second under an even load, because a second needs what the one before it used", async () => {
    const { clock, telemetry, ask } = await world();
    let reports = 0;
    const counted: ActorClient = (...named) => (reports++, ask(...named));
    const quotas = keyQuotas({ ask: counted, clock, log: telemetry.log, gateway: "g1" });
    const quota = quotas.of("c p sk_1234567", { search: null, fetch: 1_000_000 });
    const second = async (): Promise<void> => {
      for (let n = 0; n < 1_000; n++) {
        (await quota.claim("fetch", clock.now()))!.settle(true);
        await clock.advance(1);
      }
    };
    await second();
    await second();
    const before = reports;
    for (let n = 0; n < 5; n++) await second();
    expect(reports - before).toBeLessThanOrEqual(2 * 5 + 1);
    await quotas.drain();
  });

  test("of a new month begin anew; a request counts in the month that it began in", async () => {
    const { claim, clock, use } = await gateways(1);
    await clock.advance(monthEnds(clock.now()) - clock.now() - 100);
    const old = (await claim(0))!;
    expect(await claim(1)).toBeNull();
    await clock.advance(200);
    expect(await claim(0)).not.toBeNull();
    old.settle(true);
    await clock.advance(2_000);
    expect(await use()).toEqual({ settled: 1, reserved: 0 });
  });
});
