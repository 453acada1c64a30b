/** Which thresholds of an allowance an account has crossed. Pure functions. */
import { type Crossing, THRESHOLDS, type ThresholdEvent } from "../../../schemas/accounts.ts";

/** The thresholds, in percent of the limit, that `used` has reached. */
export const reached = (limit: number | null, used: number): readonly number[] =>
  limit === null || limit <= 0 ? [] : THRESHOLDS.filter((share) => used * 100 >= limit * share);

/**
 * The crossings that the events so far do not have. A threshold is crossed once a month, also after the limit was raised;
 * after the limit was lowered it is crossed by the next request.
 */
export function newCrossings(
  events: readonly ThresholdEvent[],
  {
    allowance,
    limit,
    used,
    month,
  }: Pick<Crossing, "allowance" | "used" | "month"> & { readonly limit: number | null },
  now_ms: number,
): readonly Crossing[] {
  return reached(limit, used)
    .filter(
      (threshold) => !events.some((event) => event.allowance === allowance && event.threshold === threshold),
    )
    .map((threshold) => ({ allowance, threshold, at_ms: Math.floor(now_ms), month, used, limit: limit! }));
}
