/** Which thresholds of an allowance an account has crossed. Pure functions. */
import { THRESHOLDS, type ThresholdEvent } from "../../schemas/accounts.ts";

/** The thresholds, in percent of the limit, that usage crosses between `previous` and `next`. */
export function crossings(limit: number | null, previous: number, next: number): readonly number[] {
  if (limit === null || limit <= 0) return [];
  return THRESHOLDS.filter((share) => previous * 100 < limit * share && next * 100 >= limit * share);
}

/** The events so far and those between two counts. A threshold is crossed once, also after the limit was raised. */
export function withCrossings(
  events: readonly ThresholdEvent[],
  allowance: ThresholdEvent["allowance"],
  limit: number | null,
  [previous, next]: readonly [previous: number, next: number],
  now_ms: number,
): readonly ThresholdEvent[] {
  const crossed = crossings(limit, previous, next).filter(
    (threshold) => !events.some((event) => event.allowance === allowance && event.threshold === threshold),
  );
  return crossed.length === 0
    ? events
    : [...events, ...crossed.map((threshold) => ({ allowance, threshold, at_ms: now_ms }))];
}
