/**
 * How several gateways keep one limit together. What counts against it is shared out by the project's actor: requests
 * of a one-second window a handful at a time, requests of a month one by one when little is left. Functions of their
 * arguments.
 */
import type { Counts, RateRequest } from "../../schemas/accounts.ts";

/**
 * A gateway is given what waits there, and this share of what is left for what comes next. A larger share is asked for
 * less often; what a gateway does not use of its share in a second nobody uses.
 */
const SHARE_OF_REMAINING = 8;
/** A window is over for every gateway, whatever its clock says, when nobody has asked for it so long. */
const WINDOW_TTL_MS = 5_000;

/** What was given away of one window, by what is limited ("project", or a key's prefix). */
export interface Window {
  readonly granted: Map<string, number>;
  requested_ms: number;
}

/** By number: the second since 1970 as the gateways count. */
export type Windows = Map<number, Window>;

/** Changes `windows` in place: it is asked for all the time and never stored. */
export function allotRates(
  windows: Windows,
  number: number,
  requests: Readonly<Record<string, RateRequest>>,
  now_ms: number,
): Record<string, { granted: number; remaining: number }> {
  for (const [old, { requested_ms }] of windows)
    if (now_ms - requested_ms >= WINDOW_TTL_MS) windows.delete(old);
  const window = windows.get(number) ?? { granted: new Map<string, number>(), requested_ms: now_ms };
  window.requested_ms = now_ms;
  windows.set(number, window);
  return Object.fromEntries(
    Object.entries(requests).map(([name, { limit, requested }]) => {
      const granted_before = window.granted.get(name) ?? 0;
      const remaining = Math.max(0, limit - granted_before);
      const granted = Math.min(remaining, Math.max(requested, Math.floor(remaining / SHARE_OF_REMAINING)));
      window.granted.set(name, granted_before + granted);
      return [name, { granted, remaining: remaining - granted }];
    }),
  );
}

export const NO_COUNTS: Counts = { search: 0, fetch: 0 };

/** How many of the requests that wait may run, of what a month's limit leaves; null: no limit. */
export const allotQuota = (limit: number | null, used: number, requested: number): number =>
  limit === null ? requested : Math.max(0, Math.min(requested, limit - used));
