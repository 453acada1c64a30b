import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { filingLimiterActor } from "../../../../actors/sources/filings/upstream/limiter.ts";
import { virtualClock, type VirtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { sqliteDocuments } from "../../../../cluster/adapters/documents/documents.sqlite.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { FilingLimiter } from "../../../../schemas/filing-source.ts";
import type { Slot, SlotAnswer, SlotOutcome, SlotRequest } from "../../../../schemas/upstream.ts";
import { worstSecond } from "../../../harness/edgar.ts";
import { SILENT_METRICS } from "../../../../cluster/ports/metrics.ts";
import { SILENT_LOG } from "../../../../cluster/ports/log.ts";

const NOW = Date.UTC(2026, 0, 1);
const EGRESS = "default";

const folder = mkdtempSync(join(tmpdir(), "trawl-limiter-"));
afterAll(() => rmSync(folder, { recursive: true }));
let stores = 0;
const STORES: [string, () => Documents][] = [
  ["memory", memoryDocuments],
  // Time is virtual, and a sync of a real disk takes real time.
  ["sqlite", () => sqliteDocuments(join(folder, `${stores++}.sqlite`), { durability: "process" })],
];

interface Setup {
  readonly clock?: VirtualClock;
  readonly documents?: Documents;
  readonly requests_per_second?: number;
}

function oneLimiter(setup: Setup = {}) {
  const { clock = virtualClock(NOW), documents = memoryDocuments(), requests_per_second = 8 } = setup;
  const { ask, stop } = embedded(
    [filingLimiterActor({ documents, clock, metrics: SILENT_METRICS, log: SILENT_LOG, requests_per_second })],
    { clock, random: seededRandom(1), documents },
  );
  let count = 0;
  const acquire = (rest: Partial<SlotRequest> = {}) =>
    ask(FilingLimiter, EGRESS, "acquire", {
      slot_id: `slot-${count++}`,
      project: "p",
      lane: "sync",
      wait_max_ms: 10_000,
      ...rest,
    });
  return {
    clock,
    documents,
    stop,
    acquire,
    /** Acquires a slot and is answered by the system in no time. */
    async use(rest: Partial<SlotRequest> = {}): Promise<SlotAnswer> {
      const slot_id = `use-${count++}`;
      const answer = await acquire({ slot_id, ...rest });
      if (answer.kind === "granted") {
        const outcome = { slot_id, slot: answer.slot, retry_after_s: null, reason: null };
        await ask(FilingLimiter, EGRESS, "recordOutcome", { ...outcome, result: "answered" });
      }
      return answer;
    },
    settle: (slot: Slot, result: SlotOutcome["result"], rest: Partial<SlotOutcome> = {}) =>
      ask(FilingLimiter, EGRESS, "recordOutcome", {
        slot_id: "any",
        slot,
        result,
        retry_after_s: null,
        reason: null,
        ...rest,
      }),
    view: () => ask(FilingLimiter, EGRESS, "view", null),
  };
}

type Limiter = ReturnType<typeof oneLimiter>;

async function granted(limiter: Limiter, rest: Partial<SlotRequest> = {}): Promise<Slot> {
  const answer = await during(limiter, limiter.acquire(rest));
  if (answer.kind !== "granted") throw new Error(`Not granted: ${answer.error}`);
  return answer.slot;
}

/** Moves time until this is answered. */
async function during<T>({ clock }: Limiter, answer: Promise<T>): Promise<T> {
  let done = false;
  void answer.finally(() => (done = true)).catch(() => {});
  for (let steps = 0; !done && steps < 2_000; steps++) await clock.advance(25);
  return answer;
}

describe.each(STORES)("the limiter, with documents in %s", (_, open) => {
  test("lets the first caller start at once", async () => {
    const limiter = oneLimiter({ documents: open() });
    const answer = limiter.acquire();
    await limiter.clock.advance(0);
    expect(await answer).toEqual({
      kind: "granted",
      slot: { slot_ms: NOW, not_after_ms: NOW + 125, episode: 0, is_probe: false },
      waited_ms: 0,
      left_ms: 125,
    });
  });

  test("spaces the others evenly, eight a second, and loses nothing of it to storing", async () => {
    const limiter = oneLimiter({ documents: open() });
    const answers = Array.from({ length: 40 }, () => limiter.use());
    await limiter.clock.advance(10_000);
    const slots = (await Promise.all(answers)).flatMap((answer) =>
      answer.kind === "granted" ? [answer.slot.slot_ms - NOW] : [],
    );
    expect(slots).toEqual(Array.from({ length: 40 }, (_none, n) => n * 125));
  });

  test("two of one egress on one store start no more than one would", async () => {
    const documents = open();
    const clock = virtualClock(NOW);
    const limiters = [oneLimiter({ clock, documents }), oneLimiter({ clock, documents })];
    const answers = limiters.flatMap((limiter) => Array.from({ length: 40 }, () => limiter.use()));
    await clock.advance(10_000);
    const slots = (await Promise.all(answers)).flatMap((answer) =>
      answer.kind === "granted" ? [answer.slot.slot_ms] : [],
    );
    expect(slots.length).toBeGreaterThan(75);
    expect(slots.length).toBeLessThanOrEqual(81);
    expect(worstSecond(slots)).toBeLessThanOrEqual(8);
  });

  test("a pause outlives the process, silently", async () => {
    const documents = open();
    const first = oneLimiter({ documents });
    const slot = await granted(first);
    const recorded = first.settle(slot, "throttled", { retry_after_s: 120 });
    await first.clock.advance(0);
    expect(await recorded).toEqual({ retry_after_s: 120 });
    const second = oneLimiter({ documents, clock: virtualClock(first.clock.now() + 100_000) });
    const pending = second.acquire();
    await second.clock.advance(0);
    expect(await pending).toEqual({ kind: "refused", error: "paused", retry_after_s: 20 });
    await second.clock.advance(20_000);
    const probe = await granted(second);
    expect(probe.is_probe).toBe(true);
  });
});

describe("a waiting caller", () => {
  test("is refused at once when the queue is longer than ten seconds", async () => {
    const limiter = oneLimiter();
    const answers = Array.from({ length: 82 }, () => limiter.use());
    await limiter.clock.advance(0);
    const refused = await answers[81]!;
    expect(refused).toEqual({ kind: "refused", error: "rate_limited", retry_after_s: 11 });
    await limiter.clock.advance(11_000);
    const kinds = (await Promise.all(answers)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "granted")).toHaveLength(81);
  });

  test("that asked again is answered under each address, with one slot", async () => {
    const limiter = oneLimiter();
    await granted(limiter);
    const asked_ms = limiter.clock.now();
    const first = limiter.acquire({ slot_id: "again" });
    await limiter.clock.advance(50);
    const again = limiter.acquire({ slot_id: "again" });
    const next = limiter.acquire();
    await limiter.clock.advance(1_000);
    const slot_ms = NOW + 125;
    expect(await first).toMatchObject({ kind: "granted", slot: { slot_ms }, waited_ms: slot_ms - asked_ms });
    expect(await again).toMatchObject({
      kind: "granted",
      slot: { slot_ms },
      waited_ms: slot_ms - asked_ms - 50,
    });
    expect(await next).toMatchObject({ kind: "granted", slot: { slot_ms: NOW + 250 } });
    expect(await limiter.view()).toMatchObject({ waiting: 0, in_flight: 3 });
  });

  test("that asked again is refused under each address when the upstream pauses", async () => {
    const limiter = oneLimiter();
    const slot = await granted(limiter);
    const asks = [limiter.acquire({ slot_id: "again" }), limiter.acquire({ slot_id: "again" })];
    void limiter.settle(slot, "throttled");
    await limiter.clock.advance(1_000);
    expect(await Promise.all(asks)).toMatchObject(asks.map(() => ({ kind: "refused", error: "paused" })));
  });

  test("is refused at its deadline when slots expired unused", async () => {
    const limiter = oneLimiter();
    // These get no outcome, and at most 32 are in flight.
    for (let n = 0; n < 32; n++) await granted(limiter);
    const answer = limiter.acquire({ wait_max_ms: 3_000 });
    await limiter.clock.advance(3_000);
    expect(await answer).toMatchObject({ kind: "refused", error: "rate_limited" });
  });

  test("in the batch gets every fifth slot while synchronous callers wait, and the others when none do", async () => {
    const limiter = oneLimiter();
    const order: string[] = [];
    const note = (name: string) => (answer: SlotAnswer) => {
      if (answer.kind === "granted") order.push(name);
    };
    for (let n = 0; n < 4; n++) void limiter.use({ lane: "batch" }).then(note("b"));
    for (let n = 0; n < 10; n++) void limiter.use().then(note("s"));
    await limiter.clock.advance(5_000);
    expect(order.join("")).toBe("ssssbssssbssbb");
  });

  test("is served at the full rate, and in time, by a store that takes 400 ms to write", async () => {
    const clock = virtualClock(NOW);
    const documents = memoryDocuments();
    const slow: Documents = {
      ...documents,
      put: async (...pending) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        clock.at(clock.now() + 400, resolve);
        await promise;
        return documents.put(...pending);
      },
    };
    const limiter = oneLimiter({ clock, documents: slow });
    const late: boolean[] = [];
    for (let n = 0; n < 70; n++)
      void limiter.use().then((answer) => {
        if (answer.kind === "granted") late.push(clock.now() > answer.slot.not_after_ms);
      });
    await clock.advance(10_000);
    expect(late.length).toBeGreaterThan(60);
    expect(late).not.toContain(true);
  });

  test("is refused while the store does not answer, and served when it does again", async () => {
    const documents = memoryDocuments();
    let isGone = true;
    const limiter = oneLimiter({
      documents: {
        ...documents,
        get: async (...pending) => {
          if (isGone) throw new Fault("documents_unreachable", "Cannot read");
          return documents.get(...pending);
        },
        put: (...pending) => documents.put(...pending),
      },
    });
    const lost = limiter.acquire({ wait_max_ms: 1_000 });
    await limiter.clock.advance(1_000);
    expect(await lost).toMatchObject({ kind: "refused", error: "rate_limited" });
    isGone = false;
    expect(await granted(limiter)).toMatchObject({ episode: 0 });
  });
});

describe("a pause", () => {
  test("refuses waiting and new callers, and grants no slot", async () => {
    const limiter = oneLimiter();
    const slot = await granted(limiter);
    const waiting = [limiter.acquire(), limiter.acquire()];
    void limiter.settle(slot, "throttled");
    await limiter.clock.advance(0);
    const unavailable = { kind: "refused", error: "paused", retry_after_s: 10 };
    expect(await Promise.all(waiting)).toEqual([unavailable, unavailable]);
    const later = limiter.acquire();
    await limiter.clock.advance(4_500);
    expect(await later).toEqual(unavailable);
    const last = limiter.acquire();
    await limiter.clock.advance(0);
    expect(await last).toMatchObject({ retry_after_s: 6 });
    expect(await limiter.view()).toMatchObject({ pause_level: 1, waiting: 0 });
  });

  test("ends with one probe, while the other callers wait for its outcome", async () => {
    const limiter = oneLimiter();
    const slot = await granted(limiter);
    await limiter.settle(slot, "throttled");
    await limiter.clock.advance(10_000);
    const answers = [limiter.acquire(), limiter.acquire(), limiter.acquire()];
    await limiter.clock.advance(2_000);
    const first = await answers[0]!;
    if (first.kind !== "granted") throw new Error("No probe");
    expect(first.slot.is_probe).toBe(true);
    let others = 0;
    for (const answer of answers.slice(1)) void answer.then(() => (others += 1));
    await limiter.clock.advance(2_000);
    expect(others).toBe(0);
    void limiter.settle(first.slot, "answered");
    await limiter.clock.advance(500);
    expect(others).toBe(2);
    expect(await limiter.view()).toMatchObject({ pause_level: 0, paused_until: null });
  });

  test("whose probe is throttled refuses the waiting callers", async () => {
    const limiter = oneLimiter();
    await limiter.settle(await granted(limiter), "throttled");
    await limiter.clock.advance(10_000);
    const probe = await granted(limiter);
    const other = limiter.acquire();
    await limiter.clock.advance(100);
    void limiter.settle(probe, "throttled");
    await limiter.clock.advance(0);
    expect(await other).toMatchObject({ error: "paused", retry_after_s: 20 });
  });
});

/**
 * Two limiters of the same egress, with any sequence of asks, outcomes and crashes: no second sees more than ten starts,
 * no request starts during a pause, and every ask is answered.
 */
test("invariants of the limiter", async () => {
  const visit = fc.record({
    after_ms: fc.oneof(fc.constant(0), fc.nat(200), fc.nat(15_000)),
    at: fc.constantFrom(0, 1),
    lane: fc.constantFrom("sync" as const, "batch" as const),
    project: fc.constantFrom("a", "b"),
    wait_max_ms: fc.constantFrom(500, 10_000),
    /** From the grant to the start, of the time the slot is good for; above 1 it is lost. */
    late: fc.double({ min: 0, max: 1.2, noNaN: true }),
    takes_ms: fc.nat(4_000),
    result: fc.oneof(
      { weight: 12, arbitrary: fc.constant("answered" as const) },
      {
        weight: 1,
        arbitrary: fc.constantFrom("throttled" as const, "unreachable" as const, "gone" as const),
      },
    ),
    dies: fc.nat(30).map((n) => n === 0),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(visit, { maxLength: 120 }),
      fc.constantFrom(3, 8, 9, 10),
      async (visits, rps) => {
        const documents = memoryDocuments();
        const clock = virtualClock(NOW);
        const fresh = () => oneLimiter({ clock, documents, requests_per_second: rps });
        const limiters = [fresh(), fresh()];
        const starts: number[] = [];
        const pauses: { readonly from_ms: number; readonly to_ms: number }[] = [];
        let answered = 0;
        for (const { after_ms, at, late, takes_ms, result, dies, ...pending } of visits) {
          await clock.advance(after_ms);
          if (dies) {
            void limiters[at]!.stop(0);
            limiters[at] = fresh();
          }
          const limiter = limiters[at]!;
          limiter.acquire(pending).then(
            (answer) => {
              answered += 1;
              if (answer.kind === "refused") return;
              const { slot } = answer;
              const start_ms = Math.max(
                clock.now(),
                slot.slot_ms + late * (slot.not_after_ms - slot.slot_ms),
              );
              clock.at(start_ms, () => {
                if (clock.now() > slot.not_after_ms)
                  return void limiter.settle(slot, "dropped").catch(() => {});
                starts.push(clock.now());
                clock.at(clock.now() + takes_ms, () => {
                  if (result === "gone") return;
                  const now_ms = clock.now();
                  limiter.settle(slot, result).then(
                    ({ retry_after_s }) => {
                      if (result === "throttled" && retry_after_s !== null)
                        pauses.push({ from_ms: now_ms, to_ms: now_ms + (retry_after_s - 1) * 1_000 });
                    },
                    () => {},
                  );
                });
                return undefined;
              });
            },
            () => (answered += 1),
          );
        }
        await clock.advance(400_000);
        expect(answered).toBe(visits.length);
        expect(worstSecond(starts)).toBeLessThanOrEqual(10);
        for (const { from_ms, to_ms } of pauses)
          // The other limiter took the next slot before, which begins an interval later and is good for a window.
          expect(starts.filter((at_ms) => at_ms > from_ms + 1_000 / rps + 250 && at_ms < to_ms)).toEqual([]);
      },
    ),
    { numRuns: 150 },
  );
}, 60_000);
