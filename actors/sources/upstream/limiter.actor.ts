/**
 * The limiter of an upstream: one actor per egress. Callers wait in its queue; the next one is granted a slot when the
 * slot begins. The slot store alone decides whether there is a slot, so a second limiter of the same egress (which
 * should not exist) makes both slower and breaks no limit. The limiter never sends a request.
 *
 * The limiter takes slots from the store a little before they begin, so that storing costs no time of the interval.
 * From a slow store it takes them earlier, and several at once.
 */
import { actor, DEFERRED, type ReplyTo, type Turn } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type {
  LimiterContract,
  LimiterView,
  Pause,
  Slot,
  SlotAnswer,
  SlotOutcome,
  SlotRefill,
} from "../../../schemas/upstream.ts";
import {
  aheadOf,
  emptyLaneQueue,
  enqueue,
  extendDeadline,
  type Lane,
  type LaneQueue,
  type LaneWaiter,
  nextDeadline,
  sizeOf,
  takeExpired,
  takeIf,
  takeNext,
} from "../../lib/lane-queue.ts";
import { slotStore } from "./slot-store.ts";
import {
  afterOutcome,
  INITIAL_RECORD,
  seconds,
  slotRules,
  type SlotRules,
  takeSlots,
  type UpstreamLimits,
  type SlotRecord,
} from "./slots.ts";
import { type Collection } from "../../../cluster/collection.ts";

/** Events that the limiter reports to the operator's metrics and log. */
export interface LimiterEvents {
  readonly onAnswered: (lane: Lane, outcome: "granted" | "paused" | "rate_limited") => void;
  readonly onWaited: (lane: Lane, seconds: number) => void;
  readonly onPauseLevel: (level: number) => void;
  readonly onStoreFailed: (egress: string, problem: unknown) => void;
}

export interface LimiterDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  /** The collection of the slot records. */
  readonly collection: Collection<SlotRecord>;
  readonly limits: UpstreamLimits;
  readonly requests_per_second: number;
  /** Requests without an outcome, slow ones included; further callers wait. */
  readonly max_in_flight: number;
  readonly events: LimiterEvents;
}

/** A caller without a slot. Its id is the slot's, its share is its project. */
interface Waiter extends LaneWaiter {
  readonly queued_ms: number;
  /** Replies owed to the caller, one for each ask; a caller that asked again still waits for the last one. */
  readonly replies: { readonly to: ReplyTo<SlotAnswer>; readonly asked_ms: number }[];
}

interface State {
  readonly queue: LaneQueue<Waiter>;
  /** Granted slots without an outcome, and when each is given up. */
  readonly in_flight: Map<string, number>;
  /** Slots that begin in a moment, or began while no caller waited; the earliest first. */
  prefetched_slots: readonly Slot[];
  /** The last record that was read from the slot store. */
  pause: Pause;
  probing_until_ms: number;
  /** When the next slot may begin, as far as this limiter knows. */
  next_ms: number;
  is_refilling: boolean;
  /** Outcomes of throttled requests and probes that are being stored; no slot is granted meanwhile. */
  recording: number;
  /** The store is not asked before this: it failed, or a probe is on its way. */
  refill_not_before_ms: number;
}

interface PauseAnswer {
  readonly retry_after_s: number | null;
}
type LimiterTurn = Turn<State, LimiterContract["own"]>;

/** How long before a slot begins it is taken from the store, beside the time the store takes. */
const REFILL_LEAD_MS = 60;
/** A pause that another limiter recorded may come too late for slots taken before it, so they are few. */
const MAX_REFILL = 8;
const MAX_LATENCY_MS = 3_000;
/** A prefetched slot with less time left than this would expire on the way to the caller. */
const MIN_USABLE_MS = 20;
/** A slot without an outcome counts as used up after this. */
const OUTCOME_TIMEOUT_MS = 180_000;
const STORE_RETRY_MS = 200;
const PROBE_POLL_MS = 500;
const PASSIVATE_AFTER_MS = 10 * 60_000;
/** Asks of one caller that wait; a caller asks again when its limiter moves or its store fails. */
const MAX_REPLIES = 8;

export function limiterActor(contract: LimiterContract, deps: LimiterDeps) {
  const { clock, limits, requests_per_second, max_in_flight, events } = deps;
  const rules = slotRules(requests_per_second, limits);
  const store = slotStore(deps);
  /** How long the store takes, of late; after a slow answer it falls by a fifth each time. */
  let latency_ms = 0;

  async function refill(egress: string, shortfall: number): Promise<SlotRefill | null> {
    const started_ms = clock.mono();
    // A slot that ends before the store has answered could not be used.
    const ahead_ms = latency_ms > rules.window_ms / 2 ? leadOf(latency_ms) : 0;
    const max_slots = Math.min(shortfall, 1 + Math.floor(latency_ms / rules.interval_ms));
    try {
      const { record, slots, probing_until_ms } = await store.change(egress, (previous, now_ms) =>
        takeSlots(previous, rules, now_ms + ahead_ms, max_slots),
      );
      return { slots: [...slots], probing_until_ms, pause: record.pause };
    } catch (problem) {
      events.onStoreFailed(egress, problem);
      return null;
    } finally {
      latency_ms = Math.min(MAX_LATENCY_MS, Math.max(clock.mono() - started_ms, 0.8 * latency_ms));
    }
  }

  async function storeOutcome(egress: string, outcome: SlotOutcome): Promise<Pause> {
    const { record } = await store.change(egress, (previous, now_ms) => ({
      record: afterOutcome(previous, rules, now_ms, outcome),
    }));
    events.onPauseLevel(record.pause.level);
    return record.pause;
  }

  /** Answers every caller that can be answered now, and starts a refill when callers are left without a slot. */
  function tick(turn: LimiterTurn): void {
    const { state, now_ms, key } = turn;
    const { queue, in_flight } = state;
    for (const [slot_id, expires_ms] of in_flight) if (expires_ms <= now_ms) in_flight.delete(slot_id);
    if (now_ms < state.pause.until_ms) return refuseAll(turn, events);
    grantSlots(turn, rules, deps);
    refuseExpired(turn, rules, events);
    if (sizeOf(queue) === 0) return;

    const alarms_ms = [nextDeadline(queue)];
    const [first] = state.prefetched_slots;
    if (in_flight.size >= max_in_flight) alarms_ms.push(Math.min(...in_flight.values()));
    else if (state.recording === 0) {
      if (first) alarms_ms.push(first.slot_ms);
      const shortfall = sizeOf(queue) - state.prefetched_slots.length;
      if (!state.is_refilling && shortfall > 0) {
        const lead_ms = REFILL_LEAD_MS + leadOf(latency_ms);
        const due_ms = Math.max(state.next_ms - lead_ms, state.refill_not_before_ms);
        if (due_ms > now_ms) alarms_ms.push(due_ms);
        else {
          state.is_refilling = true;
          turn.pipeToSelf("refilled", () => refill(key, Math.min(shortfall, MAX_REFILL)));
        }
      }
    }
    turn.setTimer(Math.max(now_ms, Math.min(...alarms_ms)), "tick", null);
  }

  return actor(contract)<State>({
    activate: initialState,
    passivate_after_ms: PASSIVATE_AFTER_MS,
    on: {
      acquire(turn, { slot_id, project, lane, wait_max_ms }) {
        const { state, now_ms } = turn;
        const ahead_ms = aheadOf(state.queue, lane, project) * rules.interval_ms;
        const wait_ms = Math.max(0, state.next_ms - now_ms) + ahead_ms;
        if (wait_ms > wait_max_ms && now_ms >= state.pause.until_ms) {
          events.onAnswered(lane, "rate_limited");
          return refused("rate_limited", wait_ms);
        }
        const deadline_ms = now_ms + wait_max_ms;
        // A caller that asks again keeps its place. Each of its asks is answered: one that is not waits for its timeout.
        const waiting = state.queue.byId.get(slot_id);
        if (waiting && waiting.replies.length >= MAX_REPLIES) return refused("rate_limited", wait_ms);
        const reply = { to: turn.deferReply<SlotAnswer>(), asked_ms: now_ms };
        if (waiting) {
          waiting.replies.push(reply);
          extendDeadline(state.queue, waiting, deadline_ms);
        } else
          enqueue(state.queue, {
            id: slot_id,
            share: project,
            lane,
            queued_ms: now_ms,
            deadline_ms,
            replies: [reply],
          });
        tick(turn);
        return DEFERRED;
      },

      refilled(turn, refilled) {
        const { state, now_ms } = turn;
        state.is_refilling = false;
        state.probing_until_ms = 0;
        if (refilled === null) state.refill_not_before_ms = now_ms + STORE_RETRY_MS;
        else applyRefill(state, rules, now_ms, refilled);
        tick(turn);
      },

      recordOutcome(turn, outcome) {
        const { state, key } = turn;
        state.in_flight.delete(outcome.slot_id);
        if (outcome.result !== "throttled" && !outcome.slot.is_probe) {
          tick(turn);
          return { retry_after_s: null };
        }
        state.prefetched_slots = [];
        state.recording += 1;
        const reply_to = turn.deferReply<PauseAnswer>();
        turn.pipeToSelf("recorded", async () => ({ reply_to, pause: await storeOutcome(key, outcome) }));
        return DEFERRED;
      },

      recorded(turn, { reply_to, pause }) {
        const { state, now_ms } = turn;
        state.recording -= 1;
        if (pause.episode >= state.pause.episode) state.pause = pause;
        state.probing_until_ms = 0;
        state.refill_not_before_ms = 0;
        const { until_ms } = state.pause;
        const retry_after_s = until_ms > now_ms ? seconds(until_ms - now_ms) : null;
        turn.answer(reply_to as ReplyTo<PauseAnswer>, { retry_after_s });
        tick(turn);
      },

      view: ({ key, state, now_ms }): LimiterView => ({
        egress: key,
        requests_per_second: 1_000 / rules.interval_ms,
        waiting: sizeOf(state.queue),
        in_flight: state.in_flight.size,
        paused_until: state.pause.until_ms > now_ms ? new Date(state.pause.until_ms).toISOString() : null,
        pause_level: state.pause.level,
        pause_reason: state.pause.reason,
      }),

      tick,
    },
  });
}

const initialState = (): State => ({
  queue: emptyLaneQueue(),
  in_flight: new Map(),
  prefetched_slots: [],
  pause: INITIAL_RECORD.pause,
  probing_until_ms: 0,
  next_ms: 0,
  is_refilling: false,
  recording: 0,
  refill_not_before_ms: 0,
});

/** How long before a slot begins the store is asked for it, given how long the store takes. */
const leadOf = (latency_ms: number): number => 1.5 * latency_ms;

function refuseAll(turn: LimiterTurn, events: LimiterEvents): void {
  const { state, now_ms } = turn;
  state.prefetched_slots = [];
  for (const { replies, lane } of takeIf(state.queue, () => true)) {
    events.onAnswered(lane, "paused");
    for (const { to } of replies) turn.answer(to, refused("paused", state.pause.until_ms - now_ms));
  }
}

function grantSlots(
  turn: LimiterTurn,
  { window_ms }: SlotRules,
  { max_in_flight, events }: Pick<LimiterDeps, "max_in_flight" | "events">,
): void {
  const { state, now_ms } = turn;
  const min_usable_ms = Math.min(MIN_USABLE_MS, window_ms / 2);
  state.prefetched_slots = state.prefetched_slots.filter(
    ({ not_after_ms }) => now_ms <= not_after_ms - min_usable_ms,
  );
  while (state.recording === 0 && state.in_flight.size < max_in_flight) {
    const [slot, ...later] = state.prefetched_slots;
    const waiter = slot && slot.slot_ms <= now_ms ? takeNext(state.queue) : undefined;
    if (!waiter) return;
    const { id, lane, queued_ms, replies } = waiter;
    state.in_flight.set(id, now_ms + OUTCOME_TIMEOUT_MS);
    events.onAnswered(lane, "granted");
    events.onWaited(lane, (now_ms - queued_ms) / 1_000);
    for (const { to, asked_ms } of replies)
      turn.answer(to, {
        kind: "granted",
        slot: slot!,
        waited_ms: Math.floor(now_ms - asked_ms),
        left_ms: Math.floor(slot!.not_after_ms - now_ms),
      });
    state.prefetched_slots = later;
  }
}

function refuseExpired(turn: LimiterTurn, { interval_ms }: SlotRules, events: LimiterEvents): void {
  const { state, now_ms } = turn;
  const isProbing = now_ms < state.probing_until_ms;
  for (const { replies, lane } of takeExpired(state.queue, now_ms)) {
    events.onAnswered(lane, "rate_limited");
    const answer = isProbing
      ? refused("paused", state.probing_until_ms - now_ms)
      : refused("rate_limited", Math.max(interval_ms, state.next_ms - now_ms));
    for (const { to } of replies) turn.answer(to, answer);
  }
}

function applyRefill(
  state: State,
  { interval_ms }: SlotRules,
  now_ms: number,
  { slots, pause, probing_until_ms }: SlotRefill,
): void {
  if (pause.episode >= state.pause.episode) state.pause = pause;
  const last = slots.at(-1);
  if (last) state.next_ms = last.slot_ms + interval_ms;
  // Slots taken before a pause are lost.
  const { episode } = state.pause;
  state.prefetched_slots = [...state.prefetched_slots, ...slots].filter((slot) => slot.episode === episode);
  if (probing_until_ms === 0) return;
  state.probing_until_ms = probing_until_ms;
  state.refill_not_before_ms = now_ms + PROBE_POLL_MS;
}

const refused = (error: Extract<SlotAnswer, { kind: "refused" }>["error"], for_ms: number): SlotAnswer => ({
  kind: "refused",
  error,
  retry_after_s: seconds(for_ms),
});
