/**
 * Every rule of how fast one egress asks the filing system, and how long it leaves it alone (notes: the system counts
 * requests by address, 10 a second at most, and blocks for ten minutes whoever exceeds it). Functions of their
 * arguments: the slot store they change is stored by slot-store.ts, who waits is queue.ts.
 *
 * Slots are evenly spaced and never saved up: a bucket of 8 refilled at 8 a second starts 15 requests in one second.
 * A slot may be used a little late, then it is lost. The tenth slot after another one begins 10 gaps later, so while a
 * slot is good for no more than 10 gaps less a second, no second ever sees an eleventh start, however late each is.
 * Only half of that is given to whoever starts; the other half is for what happens to a request on its way.
 */
import type { FilingOutcome, FilingPause, FilingSlot } from "../../../schemas/filing-source.ts";

export interface Rate {
  /** Between two slots. */
  readonly interval_ms: number;
  /** How long after its beginning a slot may be used. */
  readonly window_ms: number;
}

/** What must outlive every process, one record per egress. */
export interface SlotRecord {
  /** When the next slot may begin at the earliest. */
  readonly next_ms: number;
  /** The beginnings of the last ten slots, oldest first. */
  readonly last_ms: readonly number[];
  readonly pause: FilingPause;
  /** The one request that finds out whether a pause is over. */
  readonly probe: { readonly slot_ms: number; readonly until_ms: number } | null;
}

export const INITIAL_RECORD: SlotRecord = {
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
/** No record is ahead of the clock by more than a gap; one that is was written by a clock that is wrong. */
const MAX_CLOCK_SKEW_MS = 5_000;

export function rateOf(requests_per_second: number): Rate {
  const interval_ms = Math.max(SECOND_MS / requests_per_second, (SECOND_MS + MIN_SPARE_MS) / MAX_STARTS);
  const spare_ms = MAX_STARTS * interval_ms - SECOND_MS;
  return { interval_ms, window_ms: Math.floor(Math.min(MAX_WINDOW_MS, spare_ms / 2)) };
}

export type TakeResult =
  | { readonly kind: "slot"; readonly slot: FilingSlot }
  /** The system is left alone. */
  | { readonly kind: "closed" }
  /** One request is on its way to find out; the others wait for what it comes to. */
  | { readonly kind: "probing"; readonly until_ms: number };

/** The next slot, which may begin a little later than now. The same record when nothing changed. */
export function takeSlot(
  previous: SlotRecord,
  { interval_ms, window_ms }: Rate,
  now_ms: number,
): { readonly record: SlotRecord; readonly result: TakeResult } {
  const record = correctForClock(previous, now_ms);
  const { pause, probe } = record;
  if (now_ms < pause.until_ms) return { record, result: { kind: "closed" } };
  if (pause.level > 0 && probe) {
    if (now_ms < probe.until_ms) return { record, result: { kind: "probing", until_ms: probe.until_ms } };
    const longer = extendPause(record, now_ms, null, "no answer");
    return { record: longer, result: { kind: "closed" } };
  }
  // What the gaps promise already, said once more: whatever rate an operator changes to in between.
  const guard_ms = record.last_ms.length < MAX_STARTS ? 0 : record.last_ms[0]! + SECOND_MS + 2 * window_ms;
  const due_ms = Math.max(now_ms, record.next_ms, guard_ms);
  const slot_ms = Math.ceil(due_ms);
  const is_probe = pause.level > 0;
  return {
    record: {
      next_ms: due_ms + interval_ms,
      last_ms: [...record.last_ms, slot_ms].slice(-MAX_STARTS),
      pause,
      probe: is_probe ? { slot_ms, until_ms: slot_ms + PROBE_MS } : null,
    },
    result: {
      kind: "slot",
      slot: { slot_ms, not_after_ms: slot_ms + window_ms, episode: pause.episode, is_probe },
    },
  };
}

/** As many slots as there are at once, at most so many. */
export function takeSlots(
  previous: SlotRecord,
  rate: Rate,
  now_ms: number,
  maxSlots: number,
): { readonly record: SlotRecord; readonly slots: readonly FilingSlot[]; readonly probing_until_ms: number } {
  let record = previous;
  const slots: FilingSlot[] = [];
  while (slots.length < maxSlots) {
    const next = takeSlot(record, rate, now_ms);
    ({ record } = next);
    const { result } = next;
    if (result.kind !== "slot")
      return { record, slots, probing_until_ms: result.kind === "probing" ? result.until_ms : 0 };
    slots.push(result.slot);
  }
  return { record, slots, probing_until_ms: 0 };
}

/** What an outcome teaches. The same record when it teaches nothing. */
export function afterOutcome(
  record: SlotRecord,
  now_ms: number,
  outcome: Omit<FilingOutcome, "slot_id">,
): SlotRecord {
  const { slot, result, retry_after_s, reason } = outcome;
  const isProbe = record.probe?.slot_ms === slot.slot_ms && slot.episode === record.pause.episode;
  switch (result) {
    case "answered":
      return isProbe
        ? { ...record, probe: null, pause: { ...INITIAL_RECORD.pause, episode: record.pause.episode } }
        : record;
    case "throttled":
      // Several were in flight when the first was turned away: they count as one.
      return slot.episode === record.pause.episode
        ? extendPause(record, now_ms, retry_after_s, reason)
        : record;
    case "unreachable":
      return isProbe ? extendPause(record, now_ms, null, reason) : record;
    case "dropped":
      return isProbe ? { ...record, probe: null } : record;
  }
}

/** How long the system is left alone from now on: 10, 20, 40, 80, 160, 320, 600 s. */
function extendPause(
  record: SlotRecord,
  now_ms: number,
  retry_after_s: number | null,
  reason: string | null,
): SlotRecord {
  const level = record.pause.level + 1;
  const length_ms = Math.max(PAUSE_FIRST_MS * 2 ** Math.min(level - 1, 10), (retry_after_s ?? 0) * 1_000);
  return {
    ...record,
    probe: null,
    pause: {
      level,
      episode: record.pause.episode + 1,
      until_ms: now_ms + Math.min(MAX_PAUSE_MS, length_ms),
      reason,
    },
  };
}

/** As read back, perhaps written by a clock that was far ahead: its slots count as used this moment. */
function correctForClock(record: SlotRecord, now_ms: number): SlotRecord {
  const isAhead = record.next_ms > now_ms + MAX_CLOCK_SKEW_MS;
  const until_ms = now_ms + MAX_PAUSE_MS;
  const isLong = record.pause.until_ms > until_ms + MAX_CLOCK_SKEW_MS;
  if (!isAhead && !isLong) return record;
  return {
    ...record,
    ...(isAhead && { next_ms: now_ms + SECOND_MS + MAX_WINDOW_MS, last_ms: [] }),
    ...(isLong && { pause: { ...record.pause, until_ms } }),
  };
}

/** Whole seconds, rounded up, at least 1. */
export const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000));
