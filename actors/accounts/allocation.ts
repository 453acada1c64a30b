/**
 * How several gateways keep one limit together. What counts against it is shared out by the project's actor: requests
 * of a one-second window a handful at a time, requests of a month one by one when little is left. Functions of their
 * arguments.
 */
import type { Counts, RateWish } from "../../schemas/accounts.ts";

/**
 * A gateway is given what waits there, and this share of what is left for what comes next. A larger share is asked for
 * less often; what a gateway does not use of its share in a second nobody uses.
 */
const SHARE = 8;
/** A window is over for every gateway, whatever its clock says, when nobody has asked for it so long. */
const WINDOW_KEPT_MS = 5_000;

/** What was given away of one window, by what is limited ("project", or a key's prefix). */
export interface Window {
  readonly given: Map<string, number>;
  asked_ms: number;
}

/** By number: the second since 1970 as the gateways count. */
export type Windows = Map<number, Window>;

/** Changes `windows` in place: it is asked for all the time and never stored. */
export function giveRates(
  windows: Windows,
  number: number,
  wishes: Readonly<Record<string, RateWish>>,
  now_ms: number,
): Record<string, { given: number; left: number }> {
  for (const [other, { asked_ms }] of windows) if (now_ms - asked_ms >= WINDOW_KEPT_MS) windows.delete(other);
  const window = windows.get(number) ?? { given: new Map<string, number>(), asked_ms: now_ms };
  window.asked_ms = now_ms;
  windows.set(number, window);
  return Object.fromEntries(
    Object.entries(wishes).map(([name, { limit, want }]) => {
      const before = window.given.get(name) ?? 0;
      const remaining = Math.max(0, limit - before);
      const given = Math.min(remaining, Math.max(want, Math.floor(remaining / SHARE)));
      window.given.set(name, before + given);
      return [name, { given, left: remaining - given }];
    }),
  );
}

export const NO_COUNTS: Counts = { search: 0, fetch: 0 };

/** How many of the requests that wait may run, of what a month's limit leaves; null: no limit. */
export const giveQuota = (limit: number | null, used: number, wanted: number): number =>
  limit === null ? wanted : Math.max(0, Math.min(wanted, limit - used));
