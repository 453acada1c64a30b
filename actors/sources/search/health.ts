/**
 * Which metasearch instance may be asked, and for how long a failing one is suspended. The causes and times are those SearXNG
 * uses for its engines (searx.engines, suspended_times). Pure: the time is an argument.
 */
import type { InstanceReport } from "../../../schemas/search.ts";

export interface Health {
  /** Failures since it last answered. */
  readonly failures: number;
  /** Unix milliseconds; 0: not suspended. */
  readonly until_ms: number;
  readonly reason: string | null;
  /** It failed without a word for how long, and may be probed while no instance is left. Absent: it may not. */
  readonly may_probe?: true;
}

export type HealthByInstance = Readonly<Record<string, Health>>;

export const HEALTHY: Health = { failures: 0, until_ms: 0, reason: null };

const SECOND_MS = 1_000;
/** 5 s, 10 s, 20 s, 40 s, 80 s, 120 s */
const FAILURE_MS = 5 * SECOND_MS;
const MAX_FAILURE_MS = 120 * SECOND_MS;

/**
 * Causes with a fixed suspension. SearXNG suspends an engine behind a captcha for 1 h, for some vendors for days. The operator
 * can repair an instance, so an hour is the longest here.
 */
const SUSPENDED_MS: Readonly<Record<string, number>> = {
  http_429: 180 * SECOND_MS,
  // Denied; also by an instance that does not have the JSON format enabled.
  http_401: 180 * SECOND_MS,
  http_403: 180 * SECOND_MS,
  captcha: 3_600 * SECOND_MS,
};
/** How often an instance may be probed, while all are suspended: a dead one costs so many searches their time. */
export const PROBE_EVERY_MS = SECOND_MS;
/** The longest time that Retry-After may ask for. */
const MAX_RETRY_AFTER_MS = 3_600 * SECOND_MS;

export function recordReport(health: Health, report: InstanceReport, now_ms: number): Health {
  const { failure, retry_after_s } = report;
  if (failure === null) return health.failures === 0 && health.until_ms === 0 ? health : HEALTHY;
  const failures = health.failures + 1;
  const known_ms = SUSPENDED_MS[failure];
  const doubled_ms = Math.min(FAILURE_MS * 2 ** (failures - 1), MAX_FAILURE_MS);
  const asked_ms = Math.min((retry_after_s ?? 0) * SECOND_MS, MAX_RETRY_AFTER_MS);
  const until_ms = now_ms + Math.max(known_ms ?? doubled_ms, asked_ms);
  // Several searches may fail at the same time; a later report never shortens a suspension.
  return until_ms > health.until_ms
    ? {
        failures,
        until_ms,
        reason: failure,
        ...(known_ms === undefined && asked_ms === 0 && { may_probe: true }),
      }
    : { ...health, failures: health.failures + 1 };
}

/** Stored healths at activation, perhaps on a node with another clock: none is suspended for longer than its rule allows. */
export function restoreHealths(healths: HealthByInstance, now_ms: number): HealthByInstance {
  const limit_ms = now_ms + MAX_RETRY_AFTER_MS;
  return Object.fromEntries(
    Object.entries(healths).map(([name, health]) => [
      name,
      { ...health, until_ms: Math.min(health.until_ms, limit_ms) },
    ]),
  );
}

/** The next instance that is not suspended, in turn after the last one; null: none. */
export function nextInstance(
  names: readonly string[],
  healths: HealthByInstance,
  { last, except, now_ms }: { last: string | null; except: readonly string[]; now_ms: number },
): string | null {
  const from = last === null ? 0 : names.indexOf(last) + 1;
  const order = [...names.slice(from), ...names.slice(0, from)];
  return (
    order.find((name) => !except.includes(name) && (healths[name] ?? HEALTHY).until_ms <= now_ms) ?? null
  );
}

/**
 * The instance that may be tried although it is suspended, when none is left: the one whose suspension ends first, of those that did not
 * say for how long they want to be left alone. Null: none. The caller tries one every PROBE_EVERY_MS.
 */
export function probeInstance(
  names: readonly string[],
  healths: HealthByInstance,
  except: readonly string[],
): string | null {
  const untilOf = (name: string): number => (healths[name] ?? HEALTHY).until_ms;
  const [least] = names
    .filter((name) => !except.includes(name) && healths[name]?.may_probe === true)
    .toSorted((a, b) => untilOf(a) - untilOf(b));
  return least ?? null;
}
