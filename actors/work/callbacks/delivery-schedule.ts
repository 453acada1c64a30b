/**
 * When a signed webhook is delivered again: at most eight attempts within 24 hours. Pure. The slice stores what
 * `beginDelivery` answers before it makes the attempt, and what `afterAttempt` answers after it.
 */
import type { DeliveryResult } from "./post-json.ts";

/** The part of a stored delivery that the schedule needs. */
export interface ScheduledDelivery {
  readonly created_ms: number;
  readonly attempts: number;
  readonly next_ms: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** After the first attempt, from then on. */
const ATTEMPTS_AT_MS = [
  0,
  5_000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
] as const;
export const MAX_DELIVERY_ATTEMPTS = ATTEMPTS_AT_MS.length;
const JITTER = 0.2;
/** The timeout of one attempt. */
export const WEBHOOK_TIMEOUT_MS = 15_000;
/** An attempt whose outcome is not recorded after this long was lost with its process. */
const ATTEMPT_TTL_MS = 30_000;
/** A delivery that is older than this is removed, whatever its attempts. */
export const DELIVERY_TTL_MS = 3 * 24 * HOUR_MS;

/** The delivery as it is stored before an attempt is made: a crash costs the attempt and never makes a ninth. */
export const beginDelivery = <D extends ScheduledDelivery>(delivery: D, now_ms: number): D => ({
  ...delivery,
  attempts: delivery.attempts + 1,
  next_ms: now_ms + ATTEMPT_TTL_MS,
});

export type AfterAttempt<D> =
  | { readonly kind: "over"; readonly switchesOff: boolean }
  | { readonly kind: "again"; readonly delivery: D };

/** `delivery` is as `beginDelivery` made it; `random` in [0, 1). */
export function afterAttempt<D extends ScheduledDelivery>(
  delivery: D,
  { status, retry_after_s }: DeliveryResult,
  now_ms: number,
  random: number,
): AfterAttempt<D> {
  if (status.startsWith("delivered_")) return { kind: "over", switchesOff: false };
  if (status === "http_410") return { kind: "over", switchesOff: true };
  if (status === "blocked_destination" || delivery.attempts >= MAX_DELIVERY_ATTEMPTS)
    return { kind: "over", switchesOff: false };
  const pause_ms = ATTEMPTS_AT_MS[delivery.attempts]! - ATTEMPTS_AT_MS[delivery.attempts - 1]!;
  const jittered_ms = pause_ms * (1 + JITTER * random);
  const next_ms = now_ms + Math.max(jittered_ms, (retry_after_s ?? 0) * 1_000);
  return { kind: "again", delivery: { ...delivery, next_ms: Math.ceil(next_ms) } };
}
