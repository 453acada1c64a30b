/**
 * The law of a job's ledger: every item is in one state, settled once, metered once. Held against what is stored, by
 * tests after every step and by `trawl job verify`. It reads nothing by itself.
 */
import { countsOf, isFinal, decodeStates, statusOf } from "../../schemas/job-states.ts";
import { ITEM_STATUSES, type JobRecord, type StoredResult } from "../../schemas/jobs.ts";

export interface InvariantReport {
  /** What is wrong, in sentences; empty: nothing is. */
  readonly problems: readonly string[];
  /** Results the job has not heard of yet, which a running one may have for half a second. */
  readonly ahead: number;
}

/** `results` by index: all there are. */
export function checkInvariants(
  job: JobRecord,
  results: ReadonlyMap<number, Pick<StoredResult, "status" | "bill">>,
): InvariantReport {
  const problems: string[] = [];
  const { counts, spec } = job;
  let states: Uint8Array;
  try {
    states = decodeStates(job.states, spec.total);
  } catch (problem) {
    return { problems: [(problem as Error).message], ahead: 0 };
  }
  const sum = ITEM_STATUSES.reduce((total, status) => total + counts[status], 0);
  if (sum !== counts.total || counts.total !== spec.total)
    problems.push(`The counts add up to ${sum}, and there are ${spec.total} items`);
  const actual = countsOf(states);
  for (const status of ITEM_STATUSES)
    if (actual[status] !== counts[status])
      problems.push(`${counts[status]} items are counted ${status}, and ${actual[status]} are`);

  let ahead = 0;
  let requests = 0;
  let cost_micros = 0;
  for (const [index, state] of states.entries()) {
    const status = statusOf(state);
    const result = results.get(index);
    if (status === "done" || status === "failed") {
      if (!result) problems.push(`Item ${index} is ${status} and has no result`);
      else if (result.status !== status)
        problems.push(`Item ${index} is ${status}, and its result says ${result.status}`);
      if (result?.bill) {
        requests++;
        cost_micros += result.bill.cost_micros;
      }
    } else if (result && !isFinal(state)) ahead++;
  }
  for (const index of results.keys())
    if (index >= spec.total) problems.push(`There is a result for item ${index} of ${spec.total}`);
  if (job.metered.requests !== requests)
    problems.push(`${job.metered.requests} items were metered, and ${requests} have a bill`);
  if (job.metered.cost_micros !== cost_micros)
    problems.push(`${job.metered.cost_micros} millionths were metered, and the bills say ${cost_micros}`);
  if (job.finished_ms !== null) {
    if (counts.pending + counts.queued > 0)
      problems.push(`It is over, and ${counts.pending + counts.queued} items are not`);
    if (ahead > 0) problems.push(`It is over, and ${ahead} items that are not settled have results`);
  } else if (job.phase !== "creating" && job.phase !== "cancelling" && counts.cancelled > 0)
    problems.push(`${counts.cancelled} items are cancelled, and the job is not`);
  return { problems, ahead };
}
