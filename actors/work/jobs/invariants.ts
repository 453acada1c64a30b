/**
 * Invariants of a stored job at any time: every item is in exactly one state, a finished item has exactly one result,
 * and every bill is metered exactly once. Tests check this after every step, and `trawl job verify` in a store. Pure.
 */
import { countsOf, isFinal, decodeStates, statusOf } from "../../../schemas/job-states.ts";
import { committedMicros } from "./cost-limit.ts";
import { ITEM_STATUSES, type JobRecord, type StoredResult } from "../../../schemas/jobs.ts";

export interface InvariantReport {
  /** Violations, as sentences; empty: the job is consistent. */
  readonly problems: readonly string[];
  /** Results that no checkpoint includes yet; a running job may have some for half a second. */
  readonly ahead: number;
}

/** `results`: all results of the job, by the index of the item. `frozen`: the texts of the states that are not in the record, in order. */
export function checkInvariants(
  job: JobRecord,
  results: ReadonlyMap<
    number,
    Pick<StoredResult, "status"> & { readonly bill: { readonly cost_micros: number } | null }
  >,
  frozen: readonly string[] = [],
): InvariantReport {
  const problems: string[] = [];
  const { counts, spec } = job;
  let states: Uint8Array;
  try {
    states = decodeStates(frozen.join("") + job.states, counts.total);
  } catch (problem) {
    return { problems: [(problem as Error).message], ahead: 0 };
  }
  const sum = ITEM_STATUSES.reduce((total, status) => total + counts[status], 0);
  const isWhole = spec.grows ? counts.total <= spec.total : counts.total === spec.total;
  if (sum !== counts.total || !isWhole)
    problems.push(`The counts add up to ${sum} of ${spec.grows ? counts.total : spec.total} items`);
  const actual = countsOf(states);
  for (const status of ITEM_STATUSES)
    if (actual[status] !== counts[status])
      problems.push(`The counts say ${counts[status]} items ${status}, the states ${actual[status]}`);

  let ahead = 0;
  let requests = 0;
  let cost_micros = 0;
  for (const [index, state] of states.entries()) {
    const status = statusOf(state);
    const result = results.get(index);
    if (status === "done" || status === "failed") {
      if (!result) problems.push(`Item ${index} is ${status} without a result`);
      else if (result.status !== status)
        problems.push(`Item ${index} is ${status}, its result says ${result.status}`);
      if (result?.bill) {
        requests++;
        cost_micros += result.bill.cost_micros;
      }
    } else if (result && (!isFinal(state) || job.finished_ms === null)) ahead++;
    else if (result && result.status !== "cancelled")
      problems.push(`Item ${index} is cancelled, its result says ${result.status} and is not billed`);
  }
  for (const index of results.keys())
    if (index >= counts.total)
      problems.push(`Item ${index} has a result, but the job has ${counts.total} items`);
  if (job.metered.requests !== requests)
    problems.push(`${job.metered.requests} items are metered, ${requests} have a bill`);
  if (job.metered.cost_micros !== cost_micros)
    problems.push(`${job.metered.cost_micros} micros are metered, the bills add up to ${cost_micros}`);
  const limit = spec.max_cost_micros ?? Infinity;
  if (committedMicros(job) > limit)
    problems.push(`${committedMicros(job)} micros are spent or reserved, the limit is ${limit}`);
  if (job.finished_ms !== null) {
    if (counts.pending + counts.queued > 0)
      problems.push(`The job is finished, but ${counts.pending + counts.queued} items are not`);
    if (ahead > 0) problems.push(`The job is finished, but ${ahead} unfinished items have results`);
  } else if (job.phase !== "creating" && job.phase !== "cancelling" && counts.cancelled > 0)
    problems.push(`${counts.cancelled} items are cancelled, but the job is not`);
  return { problems, ahead };
}
