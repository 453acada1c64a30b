/**
 * Promises of a gateway about the requests that it sent to actors, on every documents adapter: wherever it dies, each has one row of
 * the ledger (gateway/pending-requests.ts).
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { type VirtualClock, virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { openLedger } from "../../gateway/ledger.ts";
import {
  PENDING_REQUESTS,
  PENDING_TTL_MS,
  pendingRequests,
  recoverPending,
} from "../../gateway/pending-requests.ts";
import { type LedgerBatch, rowsOf } from "../../schemas/ledger-batch.ts";
import { ledgerRow, partsOf } from "../harness/ledger-row.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const { log } = silentTelemetry();
const never = (): Promise<never> => new Promise(() => {});

/** The store of a gateway that dies at its nth write, before or after the store has it. Nothing answers a dead gateway. */
function mortal(documents: Documents, dies_at: number, isApplied: boolean) {
  const under_way = new Set<Promise<unknown>>();
  const { promise: death, resolve: die } = Promise.withResolvers<void>();
  let isDead = false;
  let writes = 0;
  async function write<T>(run: () => Promise<T>): Promise<T> {
    if (isDead) return never();
    const isLast = ++writes === dies_at;
    if (isLast) kill();
    if (isLast && !isApplied) return never();
    const writing = run();
    under_way.add(writing);
    const answer = await writing.finally(() => under_way.delete(writing));
    return isDead ? never() : answer;
  }
  function kill(): void {
    isDead = true;
    die();
  }
  return {
    documents: {
      ...documents,
      put: (...named) => write(() => documents.put(...named)),
      remove: (...named) => write(() => documents.remove(...named)),
    } satisfies Documents as Documents,
    death,
    kill,
    /** Waits for what has reached the store. */
    settled: async (): Promise<void> => {
      while (under_way.size > 0) await Promise.all(under_way);
    },
  };
}

/** Moves time, while nothing is written, until the work is done. */
async function until<T>(
  clock: VirtualClock,
  work: Promise<T>,
  settled = async (): Promise<void> => {},
): Promise<T> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  done.catch(() => {});
  while (!isDone) {
    await settled();
    await clock.advance(5);
  }
  return done;
}

const tens = (max: number) => fc.integer({ min: 0, max }).map((ten) => 10 * ten);
/** Several begin at the same time, so that they share a document. */
const CALL = fc.record({
  fate: fc.constantFrom("answered", "answered", "refused", "stuck"),
  begins_ms: tens(6),
  takes_ms: tens(10),
});

/** `open` gives one store for all runs; each has a customer of its own. */
export function pendingRequestsSuite(open: () => Promise<Documents>): void {
  const store = open();
  let runs = 0;

  test("has one row for each request of a gateway that dies at any write of groups of requests", async () => {
    const documents = await store;
    const law = fc.asyncProperty(
      fc.array(CALL, { minLength: 1, maxLength: 40, size: "max" }),
      fc.integer({ min: 1, max: 60 }),
      fc.boolean(),
      fc.boolean(),
      async (calls, dies_at, isApplied, atOnce) => {
        const customer = `customer-${++runs}`;
        const clock = virtualClock(NOW_MS);
        const gateway = mortal(documents, dies_at, isApplied);
        const deps = { documents: gateway.documents, clock, log };
        const pending = pendingRequests({ ...deps, gateway: () => customer });
        const ledger = openLedger({ ...deps, ask: never, writer: () => customer });
        const [begun, answered, refused] = [new Set<string>(), new Set<string>(), new Set<string>()];
        const wait = (ms: number) => new Promise<void>((resolve) => void clock.at(clock.now() + ms, resolve));
        const requests = calls.map(async ({ fate, begins_ms, takes_ms }, n) => {
          await wait(begins_ms);
          const request_id = `${customer}.${n}`;
          const row = ledgerRow({ request_id, at_ms: clock.now() });
          await pending.begin({ customer, row: { ...row, ok: false, cost_micros: 0 } });
          begun.add(request_id);
          await wait(takes_ms);
          if (fate === "stuck") return;
          if (fate === "answered")
            await ledger.store(customer, ...partsOf(row), { within_ms: pending.gatherMs() });
          (fate === "answered" ? answered : refused).add(request_id);
          pending.end(request_id);
        });
        await until(clock, Promise.race([Promise.all(requests), gateway.death]), gateway.settled);
        gateway.kill();
        await gateway.settled();

        const later = virtualClock(clock.now() + PENDING_TTL_MS);
        const spentBy = async () => 7;
        const recover = () =>
          recoverPending({ documents, clock: later, log, spentBy }, atOnce ? 0 : PENDING_TTL_MS);
        await until(later, Promise.all([recover(), recover()]));
        await until(later, recover());

        const range = { from: `${customer}:`, to: `${customer};`, limit: 1_000 };
        const rows = (await documents.list("ledger", range)).flatMap(({ value }) =>
          rowsOf(value as LedgerBatch),
        );
        const byId = new Map(rows.map((row) => [row.request_id, row]));
        expect(byId.size).toBe(rows.length);
        for (const id of answered) expect(byId.get(id)).toMatchObject({ ok: true, cost_micros: 3 });
        for (const id of begun.difference(answered).difference(refused)) expect(byId.has(id)).toBe(true);
        for (const { ok, cost_micros } of rows) expect(cost_micros).toBe(ok ? 3 : 7);
        expect(await documents.list(PENDING_REQUESTS.name, { limit: 10 })).toEqual([]);
      },
    );
    await fc.assert(law, { numRuns: 25 });
  }, 60_000);
}
