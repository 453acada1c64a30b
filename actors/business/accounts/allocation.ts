/**
 * How several gateways share a rate limit. The project's account grants requests of a one-second window, several at a time.
 * `allotRates` changes its windows in place.
 */
import type { RateRequest } from "../../../schemas/accounts.ts";

/**
 * A gateway is granted the requests that wait there, or an eighth of what remains of the window if that is more. With a
 * larger share gateways ask less often; but what a gateway does not use of its share within the second is lost.
 */
const SHARE_OF_REMAINING = 8;
/** A window that no gateway has asked for this long is over for all of them, whatever their clocks say. */
const WINDOW_TTL_MS = 5_000;

/** Requests granted of one window, by what is limited ("project", or a key's prefix). */
export interface Window {
  readonly granted: Map<string, number>;
  requested_ms: number;
}

/** By number: the second since 1970 on the gateways' clocks. */
export type Windows = Map<number, Window>;

/** Changes `windows` in place: it is called for every gateway every second, and windows are never stored. */
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
