/**
 * When requests to an upstream may start, and how long the upstream is left alone after it turned a request away. Pure
 * rules: the record they change is stored by slot-store.ts, the callers wait in the limiter's queue.
 *
 * Slots are evenly spaced and never saved up: a token bucket of 8, refilled at 8 a second, would start 15 requests
 * within one second. A slot may be used a little late and is lost after that. With a limit of n starts a second, the
 * n-th slot after another begins n intervals later. So as long as a slot is valid for no more than n intervals less one
 * second, no second sees n + 1 starts, however late each request starts. Slots are valid for half of that time; the
 * other half allows for delays between this process and the upstream.
 */
import type { Pause, Slot, SlotOutcome } from "../../../schemas/upstream.ts";

/** The limits of one upstream, in its own numbers. */
export interface UpstreamLimits {
  /** The upstream's limit: starts in any second. */
  readonly max_starts_per_second: number;
  /** The first pause after the upstream turned a request away; each further one is twice as long. */
  readonly first_pause_ms: number;
  readonly max_pause_ms: number;
  /** A probe without an answer for this long has failed. */
  readonly probe_timeout_ms: number;
}

export interface SlotRules extends UpstreamLimits {
  /** Between two slots. */
  readonly interval_ms: number;
  /** How long a slot stays valid after its beginning. */
  readonly window_ms: number;
}

/** The state of slots that must outlive every process, one record per egress. */
export interface SlotRecord {
  /** When the next slot may begin at the earliest. */
  readonly next_ms: number;
  /** The beginnings of the latest slots, oldest first; as many as may start in a second. */
  readonly last_ms: readonly number[];
  readonly pause: Pause;
  /** The one request that finds out whether a pause is over. */
  readonly probe: { readonly slot_ms: number; readonly until_ms: number } | null;
}

export const INITIAL_RECORD: SlotRecord = {
  next_ms: 0,
  last_ms: [],
  pause: { until_ms: 0, level: 0, episode: 0, reason: null },
  probe: null,
};

const SECOND_MS = 1_000;
/** A longer window gains nothing: a waiting caller is granted its slot when the slot begins. */
const MAX_WINDOW_MS = 250;
/** At least this much of n intervals lies beyond their second, so a rate of 10 a second is 9.5 in fact. */
const MIN_SPARE_MS = 50;
/** A record further ahead than this was written by a clock that is wrong. */
const MAX_CLOCK_SKEW_MS = 5_000;
/** Beyond this many doublings a pause is longer than any limit. */
const MAX_DOUBLINGS = 10;

export function slotRules(requests_per_second: number, limits: UpstreamLimits): SlotRules {
  const { max_starts_per_second: starts } = limits;
  const interval_ms = Math.max(SECOND_MS / requests_per_second, (SECOND_MS + MIN_SPARE_MS) / starts);
  const spare_ms = starts * interval_ms - SECOND_MS;
  return { ...limits, interval_ms, window_ms: Math.floor(Math.min(MAX_WINDOW_MS, spare_ms / 2)) };
}

export type TakeResult =
  | { readonly kind: "slot"; readonly slot: Slot }
  | { readonly kind: "paused" }
  /** A probe is on its way; all other callers wait for its outcome. */
  | { readonly kind: "probing"; readonly until_ms: number };

/** The next slot, which may begin a little later than now. Returns the same record when nothing changed. */
export function takeSlot(
  previous: SlotRecord,
  rules: SlotRules,
  now_ms: number,
): { readonly record: SlotRecord; readonly result: TakeResult } {
  const { interval_ms, window_ms, max_starts_per_second, probe_timeout_ms } = rules;
  const record = correctForClock(previous, rules, now_ms);
  const { pause, probe, last_ms } = record;
  if (now_ms < pause.until_ms) return { record, result: { kind: "paused" } };
  if (pause.level > 0 && probe) {
    if (now_ms < probe.until_ms) return { record, result: { kind: "probing", until_ms: probe.until_ms } };
    const extended = extendPause(record, rules, now_ms, null, "no answer");
    return { record: extended, result: { kind: "paused" } };
  }
  // The intervals promise this already, except while an operator changes the rate.
  const guard_ms = last_ms.length < max_starts_per_second ? 0 : last_ms[0]! + SECOND_MS + 2 * window_ms;
  const due_ms = Math.max(now_ms, record.next_ms, guard_ms);
  const slot_ms = Math.ceil(due_ms);
  const is_probe = pause.level > 0;
  return {
    record: {
      next_ms: due_ms + interval_ms,
      last_ms: [...last_ms, slot_ms].slice(-max_starts_per_second),
      pause,
      probe: is_probe ? { slot_ms, until_ms: slot_ms + probe_timeout_ms } : null,
    },
    result: {
      kind: "slot",
      slot: { slot_ms, not_after_ms: slot_ms + window_ms, episode: pause.episode, is_probe },
    },
  };
}

/** Up to `max_slots` slots; fewer when the upstream is paused or a probe is on its way. */
export function takeSlots(
  previous: SlotRecord,
  rules: SlotRules,
  now_ms: number,
  max_slots: number,
): { readonly record: SlotRecord; readonly slots: readonly Slot[]; readonly probing_until_ms: number } {
  let record = previous;
  const slots: Slot[] = [];
  while (slots.length < max_slots) {
    const next = takeSlot(record, rules, now_ms);
    ({ record } = next);
    const { result } = next;
    if (result.kind !== "slot")
      return { record, slots, probing_until_ms: result.kind === "probing" ? result.until_ms : 0 };
    slots.push(result.slot);
  }
  return { record, slots, probing_until_ms: 0 };
}

/** Returns the same record when the outcome changes nothing. */
export function afterOutcome(
  record: SlotRecord,
  rules: SlotRules,
  now_ms: number,
  { slot, result, retry_after_s, reason }: Omit<SlotOutcome, "slot_id">,
): SlotRecord {
  const { pause, probe } = record;
  const isCurrent = slot.episode === pause.episode;
  const isProbe = isCurrent && probe?.slot_ms === slot.slot_ms;
  switch (result) {
    case "answered":
      return isProbe
        ? { ...record, probe: null, pause: { ...INITIAL_RECORD.pause, episode: pause.episode } }
        : record;
    case "throttled":
      // Several requests may be in flight when the first is turned away: together they raise the level once.
      return isCurrent ? extendPause(record, rules, now_ms, retry_after_s, reason) : record;
    case "unreachable":
      return isProbe ? extendPause(record, rules, now_ms, null, reason) : record;
    case "dropped":
      return isProbe ? { ...record, probe: null } : record;
  }
}

/** With a first pause of 10 s and a maximum of 600 s: 10, 20, 40, 80, 160, 320, 600 s. */
function extendPause(
  record: SlotRecord,
  { first_pause_ms, max_pause_ms }: UpstreamLimits,
  now_ms: number,
  retry_after_s: number | null,
  reason: string | null,
): SlotRecord {
  const level = record.pause.level + 1;
  const doubled_ms = first_pause_ms * 2 ** Math.min(level - 1, MAX_DOUBLINGS);
  const wanted_ms = Math.max(doubled_ms, (retry_after_s ?? 0) * SECOND_MS);
  return {
    ...record,
    probe: null,
    pause: {
      level,
      episode: record.pause.episode + 1,
      until_ms: now_ms + Math.min(max_pause_ms, wanted_ms),
      reason,
    },
  };
}

/** A stored record may come from a clock that was far ahead: then its slots count as used at this moment. */
function correctForClock(record: SlotRecord, { max_pause_ms }: UpstreamLimits, now_ms: number): SlotRecord {
  const isAhead = record.next_ms > now_ms + MAX_CLOCK_SKEW_MS;
  const until_ms = now_ms + max_pause_ms;
  const isLong = record.pause.until_ms > until_ms + MAX_CLOCK_SKEW_MS;
  if (!isAhead && !isLong) return record;
  return {
    ...record,
    ...(isAhead && { next_ms: now_ms + SECOND_MS + MAX_WINDOW_MS, last_ms: [] }),
    ...(isLong && { pause: { ...record.pause, until_ms } }),
  };
}

/** Whole seconds, rounded up, at least 1. */
export const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / SECOND_MS));
