/**
 * How many items each running job may have in flight: the same for all, what one does not need goes to the others.
 * Functions of their arguments.
 */

/** Items in flight in the whole cluster, all jobs together; a job gets one place more than none, so it may be a few more. */
export const IN_FLIGHT_MOST = 256;

/**
 * Max-min: each demand is met up to a level that is the same for all. The shares add up to at most `places`, but for
 * those who would get none: everyone who wants anything gets one.
 */
export function shares(demands: readonly number[], places: number): number[] {
  const given = demands.map(() => 0);
  const wanting = demands.map((_, at) => at).toSorted((a, b) => demands[a]! - demands[b]!);
  let left = places;
  for (const [done, at] of wanting.entries()) {
    const level = Math.floor(left / (wanting.length - done));
    given[at] = Math.min(demands[at]!, Math.max(level, 1));
    left = Math.max(0, left - given[at]);
  }
  return given;
}
