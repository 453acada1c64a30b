/** The parts of a job one by one: loading, the outcome of an attempt, checkpoints and usage reports. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyOutcome } from "../../../../actors/work/jobs/attempt.ts";
import {
  checkpoint,
  CHECKPOINT_MS,
  finalCheckpoint,
  sealRows,
  withBills,
} from "../../../../actors/work/jobs/checkpoint.ts";
import { frontier } from "../../../../actors/work/jobs/frontier.ts";
import { SAME_SECRETS } from "../../../harness/secrets.ts";
import { loadItems } from "../../../../actors/work/jobs/load.ts";
import {
  CREATION_TIMEOUT_MS,
  newRecord,
  newState,
  reminderAt,
  restoreRecord,
} from "../../../../actors/work/jobs/state.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { ledgerRow } from "../../../harness/ledger-row.ts";
import { newStates } from "../../../../schemas/job-states.ts";
import {
  type AttemptOutcome,
  CHUNK_ITEMS,
  chunkKey,
  indexOfResult,
  JOB_RETENTION_MS,
  type JobRecord,
  type JobSpec,
  resultKey,
} from "../../../../schemas/jobs.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const specOf = (total: number): JobSpec => ({
  kind: "fetch",
  project: "p",
  key_prefix: "sk_aaaaaaa",
  customer: "default",
  category: "fetch",
  idempotency_doc: "p:key",
  callback_url: null,
  total,
  created_ms: NOW_MS,
});
const bill = ledgerRow();
const fetchKind = {
  name: "fetch",
  lane: ({ url }: Readonly<Record<string, unknown>>) => String(url),
  run: () => Promise.reject(new Error("No attempt is made here")),
} as const;

/** A job in memory with all its items in flight. */
function running(total: number) {
  const state = newState(newRecord(specOf(total)));
  const items = frontier(newStates(total));
  for (let index = 0; index < total; index++) items.add(index, String(index));
  while (items.take());
  state.frontier = items;
  return { state, items };
}

describe("loading", () => {
  async function stored(total: number) {
    const documents = memoryDocuments();
    for (let first = 0; first < total; first += CHUNK_ITEMS) {
      const items = Array.from({ length: Math.min(CHUNK_ITEMS, total - first) }, (_, n) => ({
        url: `site-${(first + n) % 3}`,
      }));
      await documents.put("job_items", chunkKey("j", first), { items, chars: 1 }, 0);
    }
    return documents;
  }

  async function loaded(documents: Documents, record: JobRecord) {
    const clock = virtualClock(NOW_MS);
    const items = loadItems({ documents, clock, secrets: SAME_SECRETS }, "j", record, fetchKind);
    await clock.advance(10);
    return items;
  }

  test("puts every item into the lane of its site, over several reads", async () => {
    const documents = await stored(2_050);
    const items = await loaded(documents, newRecord(specOf(2_050)));
    expect([items.is_dirty, items.bills]).toEqual([false, []]);
    expect(items.frontier.counts()).toMatchObject({ total: 2_050, pending: 2_050 });
    // Three lanes with four credits each.
    expect(items.frontier.demand()).toBe(12);
  });

  test("finishes items that have a result, and repeats the others that were in flight", async () => {
    const documents = await stored(4);
    const result = { error: null, answer: null, body_refs: [] };
    await documents.put("job_results", resultKey("j", 0), { ...result, status: "done", bill }, 0);
    await documents.put("job_results", resultKey("j", 1), { ...result, status: "failed", bill: null }, 0);
    const record = { ...newRecord(specOf(4)), states: "3Aa" };
    const items = await loaded(documents, record);
    expect([items.is_dirty, items.bills]).toEqual([true, [bill]]);
    expect(items.frontier.counts()).toMatchObject({ done: 1, failed: 1, pending: 2, queued: 0 });
  });

  test("reads no result of an item that waits or is finished", async () => {
    const documents = await stored(2);
    await documents.put("job_results", resultKey("j", 1), { status: "done", bill }, 0);
    const record = { ...newRecord(specOf(2)), states: "+a" };
    const items = await loaded(documents, record);
    expect([items.is_dirty, items.frontier.encode()]).toEqual([false, "+a"]);
  });
});

describe("the outcome of an attempt", () => {
  const outcomes: fc.Arbitrary<AttemptOutcome> = fc.oneof(
    fc.record({
      kind: fc.constant("final" as const),
      index: fc.nat(9),
      status: fc.constantFrom("done" as const, "failed" as const),
      bill: fc.constantFrom(bill, null),
    }),
    fc.record({
      kind: fc.constant("retry" as const),
      index: fc.nat(9),
      reason: fc.constantFrom("transient" as const, "blocked" as const, "busy" as const, "fault" as const),
      delay_ms: fc.nat(10_000),
    }),
    fc.record({ kind: fc.constant("stopped" as const), index: fc.nat(9) }),
  );

  test("changes an item once, and only while it is in flight", () => {
    fc.assert(
      fc.property(fc.array(outcomes, { maxLength: 40 }), (story) => {
        const { state, items } = running(10);
        for (const outcome of story) applyOutcome(state, outcome, NOW_MS);
        const firsts = [...Map.groupBy(story, ({ index }) => index).values()].map(([first]) => first!);
        const billed = firsts.filter((outcome) => outcome.kind === "final" && outcome.bill !== null);
        const retried = firsts.filter(({ kind }) => kind === "retry");
        const stopped = firsts.filter(({ kind }) => kind === "stopped");
        expect(items.counts()).toMatchObject({
          queued: 10 - firsts.length,
          pending: retried.length,
          cancelled: stopped.length,
        });
        expect(state.bills.length).toBe(billed.length);
      }),
    );
  });

  test("of an earlier activation changes nothing before the items are loaded", () => {
    const state = newState(newRecord(specOf(1)));
    expect(applyOutcome(state, { kind: "final", index: 0, status: "done", bill }, NOW_MS)).toBeNull();
    expect([state.is_dirty, state.bills]).toEqual([false, []]);
  });
});

describe("a checkpoint", () => {
  test("is written when something changed, at most every 500 ms", () => {
    const { state, items } = running(2);
    state.is_dirty = true;
    checkpoint(state, items, NOW_MS);
    expect(state.record!.states).toBe("2A");
    applyOutcome(state, { kind: "final", index: 0, status: "done", bill }, NOW_MS);
    checkpoint(state, items, NOW_MS + CHECKPOINT_MS - 1);
    expect(state.record!.states).toBe("2A");
    checkpoint(state, items, NOW_MS + CHECKPOINT_MS);
    expect(state.record).toMatchObject({ states: "+A", counts: { done: 1, queued: 1 } });
    const written = state.record;
    checkpoint(state, items, NOW_MS + 10 * CHECKPOINT_MS);
    expect(state.record).toBe(written);
  });

  test("counts every bill once into the metered total, and owes the ledger its row", () => {
    const bills = fc.array(fc.record({ ok: fc.boolean(), bytes: fc.nat(99), cost_micros: fc.nat(99) }));
    fc.assert(
      fc.property(bills, fc.nat(20), (parts, cut) => {
        const all = parts.map((part, n) => ledgerRow({ ...part, request_id: `j:${n}` }));
        const record = withBills(withBills(newRecord(specOf(1)), all.slice(0, cut)), all.slice(cut));
        const cost_micros = all.reduce((sum, part) => sum + part.cost_micros, 0);
        expect(record.metered).toEqual({ requests: all.length, cost_micros });
        expect(record.unrecorded).toEqual([...all.keys()]);
      }),
    );
  });

  test("seals rows into one batch at a time, of at most 1,000", () => {
    const { state, items } = running(2);
    state.bills.push(bill);
    finalCheckpoint(state, items, NOW_MS);
    const batch = state.record!.ledger_batch;
    expect(batch).toEqual({ sequence: 1, at_ms: NOW_MS, items: [0] });
    state.bills.push(ledgerRow({ request_id: "j:1" }));
    finalCheckpoint(state, items, NOW_MS);
    expect(state.record).toMatchObject({ ledger_batch: batch, unrecorded: [1] });
    const many = Array.from({ length: 1_500 }, (_, index) => index);
    state.record = { ...state.record!, ledger_batch: null, unrecorded: many };
    sealRows(state, NOW_MS);
    expect(state.record).toMatchObject({ ledger_batch: { sequence: 2 }, unrecorded: many.slice(1_000) });
  });
});

test("the reminder fires when the job has something to do", () => {
  const record = newRecord(specOf(1));
  expect(reminderAt(record)).toBe(NOW_MS + CREATION_TIMEOUT_MS);
  expect(reminderAt({ ...record, phase: "running" })).toBe(0);
  const finished = {
    ...record,
    phase: "completed",
    finished_ms: NOW_MS + 5,
    updated_ms: NOW_MS + 5,
  } as const;
  expect(reminderAt(finished)).toBe(NOW_MS + 5 + JOB_RETENTION_MS);
  const callback = { attempts: 1, next_ms: NOW_MS + 9, status: null };
  expect(reminderAt({ ...finished, callback })).toBe(NOW_MS + 9);
  expect(reminderAt({ ...withBills(finished, [bill]), callback })).toBe(0);
});

test("a record that a clock ahead of this one wrote holds the job up no longer than its rules allow", () => {
  const record = newRecord(specOf(1));
  const ahead_ms = NOW_MS + 60 * 60_000;
  const callback = { attempts: 1, next_ms: ahead_ms, status: null };
  const restored = restoreRecord({ ...record, phase: "cancelling", cancel_ms: ahead_ms, callback }, NOW_MS);
  expect(restored).toMatchObject({ cancel_ms: NOW_MS, callback: { next_ms: NOW_MS + 60_000 } });
  // Due at once, whatever the clock says that wrote it.
  expect(reminderAt({ ...record, phase: "running", updated_ms: ahead_ms })).toBe(0);
  const usual = { ...record, cancel_ms: NOW_MS - 5, callback: { ...callback, next_ms: NOW_MS + 5 } };
  expect(restoreRecord(usual, NOW_MS)).toEqual(usual);
  expect(restoreRecord(record, NOW_MS)).toEqual(record);
});

test("keys of items have the order of their numbers, and those below 100,000 are as version 0.2.0 wrote them", () => {
  const numbers = [0, 9, 10, 99_999, 100_000, 100_001, 999_999];
  const keys = numbers.map((number) => resultKey("j", number));
  expect(keys.toSorted()).toEqual(keys);
  expect(keys.map(indexOfResult)).toEqual(numbers);
  expect(keys.slice(0, 4)).toEqual(["j:00000", "j:00009", "j:00010", "j:99999"]);
});
