/**
 * Watches and their deliveries: the records, and the rules of when a delivery is tried again. Pure. A delivery is tried eight
 * times within 24 hours; deliveries about one company go out one after the other.
 */
import type { StoredChange } from "./feed/changes.ts";

/** By id. */
export const COMPANY_WATCHES = "company_watches";
/** By `<company> <watch>`. */
export const WATCHED_COMPANIES = "company_watched";
/** By `<watch> <number of the change>`. */
export const COMPANY_DELIVERIES = "company_deliveries";

export interface StoredWatch {
  readonly id: string;
  readonly project: string;
  readonly url: string;
  readonly companies: readonly string[];
  readonly secret: string;
  readonly created_ms: number;
  readonly last_delivery_ms: number | null;
  readonly last_status: string | null;
  /** The receiver answered 410: nothing is delivered any more. */
  readonly is_off: boolean;
}

export interface StoredDelivery {
  readonly watch_id: string;
  readonly seq: number;
  /** The watched company: after a merge the one that the watch was made for, too, leads to its survivor. */
  readonly company_id: string;
  readonly fields: readonly string[];
  readonly created_ms: number;
  readonly attempts: number;
  readonly next_ms: number;
}

export const watchedKey = (company_id: string, watch_id: string): string => `${company_id} ${watch_id}`;
export const deliveryKey = (watch_id: string, seq: number): string =>
  `${watch_id} ${String(seq).padStart(15, "0")}`;
/** All keys that begin with this id and a blank. */
export const rangeOf = (id: string): { readonly from: string; readonly to: string } => ({
  from: `${id} `,
  to: `${id}!`,
});

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
/** An attempt whose outcome is not recorded after this long was lost with its process. */
export const ATTEMPT_TTL_MS = 30_000;
/** A delivery that is older than this is removed, whatever its attempts. */
export const DELIVERY_TTL_MS = 3 * 24 * HOUR_MS;

export const newDelivery = (
  change: StoredChange,
  watch_id: string,
  company_id: string,
  now_ms: number,
): StoredDelivery => ({
  watch_id,
  seq: change.seq,
  company_id,
  fields: change.fields,
  created_ms: now_ms,
  attempts: 0,
  next_ms: now_ms,
});

/** What is stored before an attempt is made: a crash costs the attempt and never makes a ninth. */
export const beginDelivery = (delivery: StoredDelivery, now_ms: number): StoredDelivery => ({
  ...delivery,
  attempts: delivery.attempts + 1,
  next_ms: now_ms + ATTEMPT_TTL_MS,
});

export type AfterAttempt =
  | { readonly kind: "over"; readonly switchesOff: boolean }
  | { readonly kind: "again"; readonly delivery: StoredDelivery };

/** `delivery` is as `beginDelivery` made it; `random` in [0, 1). */
export function afterAttempt(
  delivery: StoredDelivery,
  { status, retry_after_s }: { readonly status: string; readonly retry_after_s: number | null },
  now_ms: number,
  random: number,
): AfterAttempt {
  if (status.startsWith("delivered_")) return { kind: "over", switchesOff: false };
  if (status === "http_410") return { kind: "over", switchesOff: true };
  if (status === "blocked_destination" || delivery.attempts >= MAX_DELIVERY_ATTEMPTS)
    return { kind: "over", switchesOff: false };
  const pause_ms = ATTEMPTS_AT_MS[delivery.attempts]! - ATTEMPTS_AT_MS[delivery.attempts - 1]!;
  const jittered_ms = pause_ms * (1 + JITTER * random);
  const next_ms = now_ms + Math.max(jittered_ms, (retry_after_s ?? 0) * 1_000);
  return { kind: "again", delivery: { ...delivery, next_ms: Math.ceil(next_ms) } };
}

/** The oldest delivery of each company: the others wait for it. */
export function firstOfEach(deliveries: readonly StoredDelivery[]): readonly StoredDelivery[] {
  const seen = new Set<string>();
  return deliveries.filter(({ company_id }) => !seen.has(company_id) && seen.add(company_id));
}
