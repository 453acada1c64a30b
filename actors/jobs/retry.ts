/**
 * Whether an item is tried again, and when (3-decisions.md, Core: 5 attempts, 5 s doubling to 5 min, with jitter; one
 * pause to cool down before premium routes). Functions of their arguments.
 */
import type { RetryAdvice } from "../../schemas/jobs.ts";
import type { Progress } from "../../schemas/job-states.ts";

export const MAX_ATTEMPTS = 5;
const FIRST_BACKOFF_MS = 5_000;
const MAX_BACKOFF_MS = 5 * 60_000;
/** How long an item that was blocked cools down. */
export const COOL_DOWN_MS = 30_000;
/** A pause is obeyed for as long as a domain obeys one. */
const MAX_BUSY_MS = 15 * 60_000;
const MIN_BUSY_MS = 1_000;
/** Stores and neighbours that do not answer are given this long, and up to as long again. */
const FAULT_MS = 1_000;
/** Waits are longer by up to this share, so that what failed together does not come back together. */
const JITTER = 0.25;
/** A job older than this has waited long enough for slots: each refusal counts as a try, so it ends. */
export const BUSY_COUNTS_AFTER_MS = 24 * 60 * 60_000;

export type NextStep =
  | { readonly kind: "final" }
  | { readonly kind: "retry"; readonly reason: RetryAdvice["reason"] | "fault"; readonly delay_ms: number };

/** 5 s, 10 s, 20 s, 40 s … at most 5 min, for the first, second, third try that failed. */
export const backoffMs = (attempts: number): number =>
  Math.min(FIRST_BACKOFF_MS * 2 ** (attempts - 1), MAX_BACKOFF_MS);

/** `random` is uniform in [0, 1). `progress` is that of the try that just ended, itself not counted. */
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

/** After something of ours did not work: nothing is counted, unless it goes on for a day or is about this very item. */
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

/** How far an item has come when it is put back. */
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

/** Premium routes come after the pause to cool down, or with the last try. */
export const mayPay = ({ attempts, has_cooled }: Progress): boolean =>
  has_cooled || attempts >= MAX_ATTEMPTS - 1;
