/**
 * The state of every item of a job as one character code: what the codes mean, how they are stored, and the counts they
 * add up to. The code of an unfinished item holds its attempts and whether it has cooled down. Pure functions.
 *
 *   a b c d …  pending: 0 attempts, 0 attempts and cooled down, 1 attempt, 1 attempt and cooled down, …
 *   A B C D …  queued: the same
 *   + - x      done, failed, cancelled
 */
import type { ItemStatus, JobCounts } from "./jobs.ts";

/** A character code for each item. */
export type States = Uint8Array;

const codeOf = (char: string): number => char.charCodeAt(0);
const PENDING = codeOf("a");
const QUEUED = codeOf("A");
export const DONE = codeOf("+");
export const FAILED = codeOf("-");
export const CANCELLED = codeOf("x");
/** Ten attempts, cooled down or not. */
const CODES_PER_STATUS = 20;

export interface Progress {
  readonly attempts: number;
  readonly has_cooled: boolean;
}

const offsetOf = ({ attempts, has_cooled }: Progress): number =>
  Math.min(2 * attempts + Number(has_cooled), CODES_PER_STATUS - 1);
export const pendingCode = (progress: Progress): number => PENDING + offsetOf(progress);
export const queuedCode = (progress: Progress): number => QUEUED + offsetOf(progress);
export const isPending = (state: number): boolean => state >= PENDING && state < PENDING + CODES_PER_STATUS;
export const isQueued = (state: number): boolean => state >= QUEUED && state < QUEUED + CODES_PER_STATUS;
export const isFinal = (state: number): boolean => !isPending(state) && !isQueued(state);

export function progressOf(state: number): Progress {
  const offset = state - (isQueued(state) ? QUEUED : PENDING);
  return { attempts: offset >> 1, has_cooled: (offset & 1) === 1 };
}

export function statusOf(state: number): ItemStatus {
  if (state === DONE) return "done";
  if (state === FAILED) return "failed";
  if (state === CANCELLED) return "cancelled";
  return isQueued(state) ? "queued" : "pending";
}

export const newStates = (total: number): States =>
  new Uint8Array(total).fill(pendingCode({ attempts: 0, has_cooled: false }));

/** Run-length encoded: "120+3-A" is 120 items done, 3 failed, 1 queued. */
export function encodeStates(states: States): string {
  let text = "";
  for (let at = 0; at < states.length;) {
    let end = at + 1;
    while (end < states.length && states[end] === states[at]) end++;
    text += (end - at > 1 ? String(end - at) : "") + String.fromCharCode(states[at]!);
    at = end;
  }
  return text;
}

/** Reads what `encodeStates` wrote. Throws RangeError if that is not the states of `total` items. */
export function decodeStates(text: string, total: number): States {
  const states = new Uint8Array(total);
  let at = 0;
  for (const [, count, char] of text.matchAll(/(\d*)(\D)/g)) {
    const end = at + (count === "" ? 1 : Number(count));
    states.fill(codeOf(char!), at, end);
    at = end;
  }
  if (at !== total) throw new RangeError(`Cannot read the states of ${total} items: there are ${at}`);
  return states;
}

export function countsOf(states: States): JobCounts {
  const counts = { total: states.length, pending: 0, queued: 0, done: 0, failed: 0, cancelled: 0 };
  for (const state of states) counts[statusOf(state)]++;
  return counts;
}
