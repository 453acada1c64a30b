/**
 * Whether an item is attempted again, and when: at most 5 attempts, 5 s apart and doubling up to 5 min, with jitter, and
 * one pause to cool down before premium routes are used. Pure functions.
 */
import type { RetryAdvice } from "../../../schemas/jobs.ts";
import type { Progress } from "../../../schemas/job-states.ts";

export const MAX_ATTEMPTS = 5;
const FIRST_BACKOFF_MS = 5_000;
const MAX_BACKOFF_MS = 5 * 60_000;
/** How long a blocked item cools down. */
export const COOL_DOWN_MS = 30_000;
/** The longest Retry-After an item obeys; a domain obeys as long a one. */
const MAX_BUSY_MS = 15 * 60_000;
const MIN_BUSY_MS = 1_000;
/** The pause after a store or an actor that does not answer; up to twice as long with jitter. */
const FAULT_MS = 1_000;
/** Pauses are longer by up to this share, so that items that failed together are not repeated together. */
const JITTER = 0.25;
/** In a job older than this a `busy` answer counts as an attempt, so that every job ends. */
export const BUSY_COUNTS_AFTER_MS = 24 * 60 * 60_000;

export type NextStep =
  | { readonly kind: "final" }
  | { readonly kind: "retry"; readonly reason: RetryAdvice["reason"] | "fault"; readonly delay_ms: number };

/** 5 s, 10 s, 20 s, 40 s … at most 5 min, after the first, second, third, fourth … failed attempt. */
export const backoffMs = (attempts: number): number =>
  Math.min(FIRST_BACKOFF_MS * 2 ** (attempts - 1), MAX_BACKOFF_MS);

/** `random` is uniform in [0, 1). `progress` does not include the attempt that just ended. */
export function nextStep(
  progress: Progress,
  retry: RetryAdvice | null,
  age_ms: number,
  random: number,
): NextStep {
  if (retry === null) return { kind: "final" };
  const requested_ms = (retry.retry_after_s ?? 0) * 1_000;
  const jittered = (ms: number): number => Math.round(ms * (1 + JITTER * random));
  if (retry.reason === "busy" && age_ms < BUSY_COUNTS_AFTER_MS) {
    const delay_ms = Math.min(Math.max(requested_ms, MIN_BUSY_MS), MAX_BUSY_MS);
    return { kind: "retry", reason: "busy", delay_ms: jittered(delay_ms) };
  }
  if (retry.reason === "blocked") {
    if (progress.has_cooled) return { kind: "final" };
    const delay_ms = retry.retry_after_s === null ? COOL_DOWN_MS : requested_ms;
    return { kind: "retry", reason: "blocked", delay_ms: jittered(delay_ms) };
  }
  const attempts = progress.attempts + 1;
  if (attempts >= MAX_ATTEMPTS) return { kind: "final" };
  const delay_ms = Math.max(backoffMs(attempts), Math.min(requested_ms, MAX_BUSY_MS));
  return { kind: "retry", reason: "transient", delay_ms: jittered(delay_ms) };
}

/**
 * The step after a fault of this service. The attempt does not count, unless the fault is about this very item (`counts`)
 * or the job is a day old.
 */
export function stepAfterFault(
  progress: Progress,
  counts: boolean,
  age_ms: number,
  random: number,
): NextStep {
  if (counts || age_ms >= BUSY_COUNTS_AFTER_MS)
    return nextStep(progress, { reason: "transient", retry_after_s: null }, age_ms, random);
  return { kind: "retry", reason: "fault", delay_ms: Math.round(FAULT_MS * (1 + random)) };
}

/** The progress of an item that is put back for this reason. */
export function advance(
  progress: Progress,
  reason: Extract<NextStep, { kind: "retry" }>["reason"],
): Progress {
  switch (reason) {
    case "busy":
    case "fault":
      return progress;
    case "blocked":
      return { ...progress, has_cooled: true };
    case "transient":
      return { ...progress, attempts: progress.attempts + 1 };
  }
}

/** Premium routes may be used after the pause to cool down, and in the last attempt. */
export const mayPay = ({ attempts, has_cooled }: Progress): boolean =>
  has_cooled || attempts >= MAX_ATTEMPTS - 1;
