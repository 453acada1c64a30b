/**
 * Every rule of how fast one egress asks the filing system, and how long it leaves it alone (notes: the system counts
 * requests by address, 10 a second at most, and blocks for ten minutes whoever exceeds it). Functions of their
 * arguments: the ledger they change is stored by ledger.ts, who waits is queue.ts.
 *
 * Slots are evenly spaced and never saved up: a bucket of 8 refilled at 8 a second starts 15 requests in one second.
 * A slot may be used a little late, then it is lost. The tenth slot after another one begins 10 gaps later, so while a
 * slot is good for no more than 10 gaps less a second, no second ever sees an eleventh start, however late each is.
 * Only half of that is given to whoever starts; the other half is for what happens to a request on its way.
 */
import type { FilingOutcome, FilingPause, FilingSlot } from "../../../schemas/filing-source.ts";

export interface Rate {
  /** Between two slots. */
  readonly gap_ms: number;
  /** How long after its beginning a slot may be used. */
  readonly window_ms: number;
}

/** What must outlive every process, one record per egress. */
export interface Ledger {
  /** When the next slot may begin at the earliest. */
  readonly next_ms: number;
  /** The beginnings of the last ten slots, oldest first. */
  readonly last_ms: readonly number[];
  readonly pause: FilingPause;
  /** The one request that finds out whether a pause is over. */
  readonly probe: { readonly slot_ms: number; readonly until_ms: number } | null;
}

export const UNTOUCHED: Ledger = {
  next_ms: 0,
  last_ms: [],
  pause: { until_ms: 0, level: 0, episode: 0, reason: null },
  probe: null,
};

/** The upstream's own limit. */
export const MAX_STARTS = 10;
const SECOND_MS = 1_000;
/** Longer would help nobody: what waits for its turn is granted when it is due. */
const MAX_WINDOW_MS = 250;
/** What ten gaps leave beyond their second at least; so ten a second are in truth nine and a half. */
const MIN_SPARE_MS = 50;
const PAUSE_FIRST_MS = 10_000;
export const MAX_PAUSE_MS = 600_000;
/** A probe without an answer for so long has failed. */
const PROBE_MS = 30_000;
/** No ledger is ahead of the clock by more than a gap; one that is was written by a clock that is wrong. */
const CLOCKS_DIFFER_MS = 5_000;

export function rateOf(requests_per_second: number): Rate {
  const gap_ms = Math.max(SECOND_MS / requests_per_second, (SECOND_MS + MIN_SPARE_MS) / MAX_STARTS);
  const spare_ms = MAX_STARTS * gap_ms - SECOND_MS;
  return { gap_ms, window_ms: Math.floor(Math.min(MAX_WINDOW_MS, spare_ms / 2)) };
}

export type Taken =
  | { readonly kind: "slot"; readonly slot: FilingSlot }
  /** The system is left alone. */
  | { readonly kind: "closed" }
  /** One request is on its way to find out; the others wait for what it comes to. */
  | { readonly kind: "probing"; readonly until_ms: number };

/** The next slot, which may begin a little later than now. The same ledger when nothing changed. */
export function take(
  before: Ledger,
  { gap_ms, window_ms }: Rate,
  now_ms: number,
): { readonly ledger: Ledger; readonly taken: Taken } {
  const ledger = mended(before, now_ms);
  const { pause, probe } = ledger;
  if (now_ms < pause.until_ms) return { ledger, taken: { kind: "closed" } };
  if (pause.level > 0 && probe) {
    if (now_ms < probe.until_ms) return { ledger, taken: { kind: "probing", until_ms: probe.until_ms } };
    const longer = raised(ledger, now_ms, null, "no answer");
    return { ledger: longer, taken: { kind: "closed" } };
  }
  // What the gaps promise already, said once more: whatever rate an operator changes to in between.
  const guard_ms = ledger.last_ms.length < MAX_STARTS ? 0 : ledger.last_ms[0]! + SECOND_MS + 2 * window_ms;
  const due_ms = Math.max(now_ms, ledger.next_ms, guard_ms);
  const slot_ms = Math.ceil(due_ms);
  const is_probe = pause.level > 0;
  return {
    ledger: {
      next_ms: due_ms + gap_ms,
      last_ms: [...ledger.last_ms, slot_ms].slice(-MAX_STARTS),
      pause,
      probe: is_probe ? { slot_ms, until_ms: slot_ms + PROBE_MS } : null,
    },
    taken: {
      kind: "slot",
      slot: { slot_ms, not_after_ms: slot_ms + window_ms, episode: pause.episode, is_probe },
    },
  };
}

/** As many slots as there are at once, at most so many. */
export function takeSome(
  before: Ledger,
  rate: Rate,
  now_ms: number,
  most: number,
): { readonly ledger: Ledger; readonly slots: readonly FilingSlot[]; readonly probing_until_ms: number } {
  let ledger = before;
  const slots: FilingSlot[] = [];
  while (slots.length < most) {
    const next = take(ledger, rate, now_ms);
    ({ ledger } = next);
    const { taken } = next;
    if (taken.kind !== "slot")
      return { ledger, slots, probing_until_ms: taken.kind === "probing" ? taken.until_ms : 0 };
    slots.push(taken.slot);
  }
  return { ledger, slots, probing_until_ms: 0 };
}

/** What an outcome teaches. The same ledger when it teaches nothing. */
export function settled(before: Ledger, now_ms: number, outcome: Omit<FilingOutcome, "slot_id">): Ledger {
  const { slot, result, retry_after_s, reason } = outcome;
  const isProbe = before.probe?.slot_ms === slot.slot_ms && slot.episode === before.pause.episode;
  switch (result) {
    case "answered":
      return isProbe
        ? { ...before, probe: null, pause: { ...UNTOUCHED.pause, episode: before.pause.episode } }
        : before;
    case "throttled":
      // Several were in flight when the first was turned away: they count as one.
      return slot.episode === before.pause.episode ? raised(before, now_ms, retry_after_s, reason) : before;
    case "unreachable":
      return isProbe ? raised(before, now_ms, null, reason) : before;
    case "dropped":
      return isProbe ? { ...before, probe: null } : before;
  }
}

/** How long the system is left alone from now on: 10, 20, 40, 80, 160, 320, 600 s. */
function raised(ledger: Ledger, now_ms: number, retry_after_s: number | null, reason: string | null): Ledger {
  const level = ledger.pause.level + 1;
  const wanted_ms = Math.max(PAUSE_FIRST_MS * 2 ** Math.min(level - 1, 10), (retry_after_s ?? 0) * 1_000);
  return {
    ...ledger,
    probe: null,
    pause: {
      level,
      episode: ledger.pause.episode + 1,
      until_ms: now_ms + Math.min(MAX_PAUSE_MS, wanted_ms),
      reason,
    },
  };
}

/** As read back, perhaps written by a clock that was far ahead: its slots count as used this moment. */
function mended(ledger: Ledger, now_ms: number): Ledger {
  const isAhead = ledger.next_ms > now_ms + CLOCKS_DIFFER_MS;
  const until_ms = now_ms + MAX_PAUSE_MS;
  const isLong = ledger.pause.until_ms > until_ms + CLOCKS_DIFFER_MS;
  if (!isAhead && !isLong) return ledger;
  return {
    ...ledger,
    ...(isAhead && { next_ms: now_ms + SECOND_MS + MAX_WINDOW_MS, last_ms: [] }),
    ...(isLong && { pause: { ...ledger.pause, until_ms } }),
  };
}

/** Whole seconds, rounded up, at least 1. */
export const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000));
