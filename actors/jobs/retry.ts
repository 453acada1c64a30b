/**
 * Whether an item is tried again, and when (3-decisions.md, Core: 5 attempts, 5 s doubling to 5 min, with jitter; one
 * pause to cool down before premium routes). Functions of their arguments.
 */
import type { Again } from "../../schemas/jobs.ts";
import type { Progress } from "../../schemas/job-states.ts";

export const MAX_TRIES = 5;
const FIRST_MS = 5_000;
const LONGEST_MS = 5 * 60_000;
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
export const PATIENT_MS = 24 * 60 * 60_000;

export type Next =
  | { readonly kind: "final" }
  | { readonly kind: "again"; readonly because: Again["because"] | "fault"; readonly after_ms: number };

/** 5 s, 10 s, 20 s, 40 s … at most 5 min, for the first, second, third try that failed. */
export const pauseAfter = (tries: number): number => Math.min(FIRST_MS * 2 ** (tries - 1), LONGEST_MS);

/** `random` is uniform in [0, 1). `progress` is that of the try that just ended, itself not counted. */
export function nextTry(progress: Progress, again: Again | null, age_ms: number, random: number): Next {
  if (again === null) return { kind: "final" };
  const asked_ms = (again.retry_after_s ?? 0) * 1_000;
  const jittered = (ms: number): number => Math.round(ms * (1 + JITTER * random));
  if (again.because === "busy" && age_ms < PATIENT_MS) {
    const after_ms = Math.min(Math.max(asked_ms, MIN_BUSY_MS), MAX_BUSY_MS);
    return { kind: "again", because: "busy", after_ms: jittered(after_ms) };
  }
  if (again.because === "blocked") {
    if (progress.cooled) return { kind: "final" };
    const after_ms = again.retry_after_s === null ? COOL_DOWN_MS : asked_ms;
    return { kind: "again", because: "blocked", after_ms: jittered(after_ms) };
  }
  const tries = progress.tries + 1;
  if (tries >= MAX_TRIES) return { kind: "final" };
  const after_ms = Math.max(pauseAfter(tries), Math.min(asked_ms, MAX_BUSY_MS));
  return { kind: "again", because: "transient", after_ms: jittered(after_ms) };
}

/** After something of ours did not work: nothing is counted, unless it goes on for a day or is about this very item. */
export function afterFault(progress: Progress, counts: boolean, age_ms: number, random: number): Next {
  if (counts || age_ms >= PATIENT_MS)
    return nextTry(progress, { because: "transient", retry_after_s: null }, age_ms, random);
  return { kind: "again", because: "fault", after_ms: Math.round(FAULT_MS * (1 + random)) };
}

/** How far an item has come when it is put back. */
export function advanced(progress: Progress, because: Extract<Next, { kind: "again" }>["because"]): Progress {
  switch (because) {
    case "busy":
    case "fault":
      return progress;
    case "blocked":
      return { ...progress, cooled: true };
    case "transient":
      return { ...progress, tries: progress.tries + 1 };
  }
}

/** Premium routes come after the pause to cool down, or with the last try. */
export const mayPay = ({ tries, cooled }: Progress): boolean => cooled || tries >= MAX_TRIES - 1;
