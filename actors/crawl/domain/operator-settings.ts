/**
 * The operator's settings for one domain while the service runs: another delay, another number of slots, a pause. They are stored with the
 * domain's politeness, so they hold on every node and after a restart, until the operator takes them back. Pure functions.
 */
import type { DomainSettings } from "../../../schemas/domain.ts";

export interface OperatorSettings {
  /** Instead of the configured delay; robots.txt and back-off may still make it longer. Null: as configured. */
  readonly min_delay_ms: number | null;
  /** Null: as configured. */
  readonly max_concurrency: number | null;
  /** No request is sent before; null: the domain is not paused. */
  readonly paused_until_ms: number | null;
}

const AS_CONFIGURED: OperatorSettings = { min_delay_ms: null, max_concurrency: null, paused_until_ms: null };

/**
 * Callers of a paused domain are told to come back within this time, since the operator may end the pause. Of a job that waits for it four items
 * at most do. When too large, jobs go on as much later after a resume.
 */
const MAX_RETRY_MS = 10_000;

/** The limits that hold for the domain. */
export const limitsWith = <L extends { readonly min_delay_ms: number; readonly max_concurrency: number }>(
  configured: L,
  operator: OperatorSettings | undefined,
): L =>
  operator === undefined
    ? configured
    : {
        ...configured,
        min_delay_ms: operator.min_delay_ms ?? configured.min_delay_ms,
        max_concurrency: operator.max_concurrency ?? configured.max_concurrency,
      };

/** A field that is absent stays, null takes the operator's value back. Undefined: nothing is set any more. */
export function withSettings(
  operator: OperatorSettings | undefined,
  change: DomainSettings,
): OperatorSettings | undefined {
  const { min_delay_ms, max_concurrency, paused_until_ms } = { ...AS_CONFIGURED, ...operator, ...change };
  return min_delay_ms === null && max_concurrency === null && paused_until_ms === null
    ? undefined
    : { min_delay_ms, max_concurrency, paused_until_ms };
}

/** How long a caller of a paused domain waits before it asks again; 0: the domain is not paused. */
export function pauseOf(operator: OperatorSettings | undefined, now_ms: number): number {
  const left_ms = (operator?.paused_until_ms ?? 0) - now_ms;
  return left_ms <= 0 ? 0 : Math.min(left_ms, MAX_RETRY_MS);
}
