/**
 * How a job's progress gets into its record, and what it used into the project's account. A checkpoint writes the state
 * of every item, the counts and the usage together, at most every 500 ms: the record is always true in itself, and results
 * may be that much ahead of it. Usage is sealed into reports with a sequence number, one at a time, so that the account
 * counts each report exactly once, however often it is sent.
 */
import { Account, accountKey, monthOf } from "../../schemas/accounts.ts";
import type { ItemBill, JobRecord } from "../../schemas/jobs.ts";
import type { Frontier } from "./frontier.ts";
import { type JobState, type JobTurn, NO_QUOTA, startTask } from "./state.ts";
import { addBill, hasUsage } from "./usage.ts";

/** How far the record may be behind the results. */
export const CHECKPOINT_MS = 500;
/** Usage is sealed this often while the job runs. */
const REPORT_MS = 2_000;
const REPORT_TIMEOUT_MS = 10_000;

/** Writes the progress into the record if it changed and the last checkpoint is old enough. */
export function checkpoint(state: JobState, frontier: Frontier, now_ms: number): void {
  if (!state.is_dirty || now_ms < state.checkpoint_ms + CHECKPOINT_MS) return;
  writeProgress(state, frontier, now_ms);
  if (now_ms >= state.usage_sealed_ms + REPORT_MS) sealUsage(state, now_ms);
}

/** The last one: whatever the time, and its usage is sealed too. */
export function finalCheckpoint(state: JobState, frontier: Frontier, now_ms: number): void {
  writeProgress(state, frontier, now_ms);
  sealUsage(state, now_ms);
}

/** When the next checkpoint is due; Infinity: nothing changed. */
export const nextCheckpointMs = ({ is_dirty, checkpoint_ms }: JobState): number =>
  is_dirty ? checkpoint_ms + CHECKPOINT_MS : Infinity;

export function writeProgress(state: JobState, frontier: Frontier, now_ms: number): void {
  state.record = {
    ...withBills(state.record!, state.bills),
    quota: withUsed(state, state.bills.length),
    states: frontier.encode(),
    counts: frontier.counts(),
    updated_ms: now_ms,
  };
  state.bills = [];
  state.is_dirty = false;
  state.checkpoint_ms = now_ms;
}

/** The units that these many finished items used; of a key without a quota nothing is counted. */
function withUsed({ record, payer }: JobState, items: number): JobRecord["quota"] {
  const { quota, spec } = record!;
  if (spec.category === null || (payer?.limit ?? null) === null || items === 0) return quota;
  const counted = quota ?? NO_QUOTA;
  return { ...counted, used: counted.used + items };
}

/** A record with these bills counted in. */
export function withBills(record: JobRecord, bills: readonly ItemBill[]): JobRecord {
  let { usage } = record;
  let { requests, cost_micros } = record.metered;
  for (const bill of bills) {
    usage = addBill(usage, bill);
    requests++;
    cost_micros += bill.cost_micros;
  }
  return { ...record, usage, metered: { requests, cost_micros } };
}

/** Moves the usage into a report, unless the account has not acknowledged the previous one. */
export function sealUsage(state: JobState, now_ms: number): void {
  const record = state.record!;
  if (record.usage_report !== null || !hasUsage(record.usage)) return;
  state.usage_sealed_ms = now_ms;
  const sequence = record.report_sequence + 1;
  state.record = {
    ...record,
    report_sequence: sequence,
    usage_report: { sequence, month: monthOf(now_ms), usage: record.usage },
    usage: {},
  };
}

/** Sends the sealed report, if there is one, to the project's account. */
export function reportUsage(turn: JobTurn): void {
  const { key, state } = turn;
  const { usage_report: report, spec } = state.record!;
  if (report === null || !startTask(turn, "reporting_usage")) return;
  const { sequence, month, usage } = report;
  const message = {
    gateway: `job:${key}`,
    sequence,
    month,
    keys: { [spec.key_prefix]: usage },
    allowances: { [spec.key_prefix]: spec.allowances },
  };
  const options = { timeout_ms: REPORT_TIMEOUT_MS, idempotency_id: `${key}:${sequence}` };
  turn.pipeToSelf("usageReported", (ask) =>
    ask(Account, accountKey(spec.customer, spec.project), "reportUsage", message, options).then(
      () => ({ sequence }),
      () => ({ sequence: null }),
    ),
  );
}
