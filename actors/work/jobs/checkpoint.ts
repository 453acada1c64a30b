/**
 * How a job's progress gets into its record, and the rows of its items into the ledger. A checkpoint writes the state of
 * every item that is not frozen, the counts and which items have no row yet, together, at most every 500 ms: the record is always true in
 * itself, and results may be that much ahead of it. Rows are sealed into batches with a sequence number, one at a time; a batch
 * is one document that is inserted once, with rows that the results hold, so that no crash loses or doubles one.
 */
import {
  batchKey,
  LEDGER_RETENTION_MS,
  type LedgerRow,
  newBatchTag,
  UsageTotals,
} from "../../../schemas/ledger.ts";
import { packRows } from "../../../schemas/ledger-batch.ts";
import type { JobRecord } from "../../../schemas/jobs.ts";
import { heldWithout } from "./cost-limit.ts";
import type { Frontier } from "./frontier.ts";
import { storedResults } from "./results.ts";
import { type JobServices, type JobState, type JobTurn, NO_QUOTA, startTask } from "./state.ts";
import { LEDGER } from "../../../records/collections.ts";

/** How far the record may be behind the results. */
export const CHECKPOINT_MS = 500;
/** Rows are sealed this often while the job runs. */
const SEAL_MS = 2_000;
/** Rows in one batch: a few hundred kilobytes. */
const MAX_BATCH_ROWS = 1_000;

/** Writes the progress into the record if it changed and the last checkpoint is old enough. */
export function checkpoint(state: JobState, frontier: Frontier, now_ms: number): void {
  if (!state.is_dirty || now_ms < state.checkpoint_ms + CHECKPOINT_MS) return;
  writeProgress(state, frontier, now_ms);
  const isFull = state.record!.unrecorded.length >= MAX_BATCH_ROWS;
  if (isFull || now_ms >= state.rows_sealed_ms + SEAL_MS) sealRows(state, now_ms);
}

/** The last one: whatever the time, and its rows are sealed too. */
export function finalCheckpoint(state: JobState, frontier: Frontier, now_ms: number): void {
  writeProgress(state, frontier, now_ms);
  sealRows(state, now_ms);
}

/** When the next checkpoint is due; Infinity: nothing changed. */
export const nextCheckpointMs = ({ is_dirty, checkpoint_ms }: JobState): number =>
  is_dirty ? checkpoint_ms + CHECKPOINT_MS : Infinity;

export function writeProgress(state: JobState, frontier: Frontier, now_ms: number): void {
  for (const bill of state.bills) state.rows.set(indexOf(bill), bill);
  state.record = {
    ...withBills(state.record!, state.bills),
    quota: withUsed(state, state.bills.length),
    states: frontier.encode(),
    counts: { ...state.record!.counts, ...frontier.counts() },
    updated_ms: now_ms,
  };
  state.bills = [];
  state.is_dirty = false;
  state.checkpoint_ms = now_ms;
}

/** The units that these many finished items used; of a key without a quota nothing is counted. */
function withUsed({ record, payer }: JobState, items: number): JobRecord["quota"] {
  const { quota, spec } = record!;
  // A new owner counts what its predecessor stored before it has read the key.
  const has_quota = quota !== null || (payer?.limit ?? null) !== null;
  if (spec.category === null || !has_quota || items === 0) return quota;
  const counted = quota ?? NO_QUOTA;
  return { ...counted, used: counted.used + items };
}

/** A record with these bills counted in. */
export function withBills(record: JobRecord, bills: readonly LedgerRow[]): JobRecord {
  if (bills.length === 0) return record;
  let { requests, cost_micros } = record.metered;
  for (const bill of bills) {
    requests++;
    cost_micros += bill.cost_micros;
  }
  const items = bills.map(indexOf);
  const unrecorded = [...record.unrecorded, ...items];
  return { ...record, unrecorded, metered: { requests, cost_micros }, ...heldWithout(record, items) };
}

/** The request id of an item ends with its index. */
const indexOf = ({ request_id }: LedgerRow): number =>
  Number(request_id.slice(request_id.lastIndexOf(":") + 1));

/** Moves rows into a batch, unless the previous one is not stored yet. */
export function sealRows(state: JobState, now_ms: number): void {
  const record = state.record!;
  if (record.ledger_batch !== null || record.unrecorded.length === 0) return;
  state.rows_sealed_ms = now_ms;
  const sequence = record.batch_sequence + 1;
  const items = record.unrecorded.slice(0, MAX_BATCH_ROWS);
  state.record = {
    ...record,
    batch_sequence: sequence,
    ledger_batch: { sequence, at_ms: Math.floor(now_ms), items },
    unrecorded: record.unrecorded.slice(items.length),
  };
}

/** Writes the sealed batch, if there is one, into the ledger. */
export function writeRows({ documents }: JobServices, turn: JobTurn): void {
  const { key, state } = turn;
  const { ledger_batch: batch, spec } = state.record!;
  if (batch === null || !startTask(turn, "writing_rows")) return;
  const { sequence, at_ms, items } = batch;
  const known = items.map((index) => state.rows.get(index) ?? null);
  const name = batchKey(spec.customer, at_ms, `job-${key}-${sequence}`);
  const options = { tag: newBatchTag(spec.customer), expires_at_ms: at_ms + LEDGER_RETENTION_MS };
  turn.pipeToSelf("rowsWritten", async (ask) => {
    try {
      const rows = [...known];
      const missing = items.filter((_index, n) => rows[n] === null);
      const places = new Map(items.map((index, n) => [index, n]));
      for await (const [index, { bill }] of storedResults(documents, key, missing))
        rows[places.get(index)!] = bill;
      const stored = packRows(rows.filter((row) => row !== null));
      // False: an earlier attempt has stored it.
      await LEDGER.put(documents, name, stored, 0, options);
      void ask(UsageTotals, spec.customer, "written", null).catch(() => {});
      return { sequence };
    } catch {
      return { sequence: null };
    }
  });
}
