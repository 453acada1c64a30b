/**
 * How many items each running job may have in flight: the same number for all, and what a job does not need goes to the
 * others. Pure functions.
 */

/** Items in flight in the whole cluster, all jobs together. Every job gets at least one, so the sum may be a little more. */
export const MAX_IN_FLIGHT = 256;

/** A job of more items than this is large. Smaller jobs never wait to be loaded. */
export const SMALL_ITEMS = 1_000;
/** Large jobs in memory at once, in the whole cluster; the next one waits until one of them ends. */
export const MAX_LARGE = 64;

/** A job as the scheduler knows it. */
export interface Contender {
  readonly job_id: string;
  readonly total: number;
  readonly is_loaded: boolean;
}

/** Whether this job may load its items. Job ids are in the order of creation, so the oldest job is next. */
export function mayLoad(job: Contender, rivals: Iterable<Contender>): boolean {
  if (job.is_loaded || job.total <= SMALL_ITEMS) return true;
  let loaded_or_earlier = 0;
  for (const rival of rivals) {
    if (rival.total <= SMALL_ITEMS || rival.job_id === job.job_id) continue;
    if (rival.is_loaded || rival.job_id < job.job_id) loaded_or_earlier++;
  }
  return loaded_or_earlier < MAX_LARGE;
}

/**
 * Max-min fairness: each demand is met up to a level that is the same for all. The shares add up to at most `capacity`,
 * except that a job with any demand gets at least one.
 */
export function maxMinShares(demands: readonly number[], capacity: number): number[] {
  const granted = demands.map(() => 0);
  const by_demand = demands.map((_, at) => at).toSorted((a, b) => demands[a]! - demands[b]!);
  let remaining = capacity;
  for (const [done, at] of by_demand.entries()) {
    const level = Math.floor(remaining / (by_demand.length - done));
    granted[at] = Math.min(demands[at]!, Math.max(level, 1));
    remaining = Math.max(0, remaining - granted[at]);
  }
  return granted;
}
