/**
 * The limiter: one per egress. It keeps the queue of those who want to ask the filing system something and lets the
 * next one go when its slot begins. Whether there is a slot only the slot store says (slot-store.ts), so a second limiter of the
 * same egress, which there should not be, makes both slower and nothing worse. It never asks the system anything.
 *
 * Slots are fetched from the slot store a little before they begin, so that storing costs no time of the gap; from a store
 * that is slow earlier, and several at once.
 */
import { actor, DEFERRED, type ReplyTo, type Turn } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import {
  FilingLimiter,
  type FilingOutcome,
  type FilingPause,
  type FilingSlot,
  type FilingSlotAnswer,
  type FilingSlotRefill,
} from "../../../schemas/filing-source.ts";
import { slotStore } from "./slot-store.ts";
import {
  countAhead,
  emptyQueue,
  nextDeadline,
  enqueue,
  type Queue,
  takeIf,
  takeNext,
  queueLength,
} from "./queue.ts";
import { type Rate, rateOf, seconds, afterOutcome, takeSlots, INITIAL_RECORD } from "./rate.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { Log } from "../../../cluster/ports/log.ts";

export interface LimiterDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly requests_per_second: number;
}

interface State {
  readonly queue: Queue<ReplyTo<FilingSlotAnswer>>;
  /** Granted and not settled: when each is given up. */
  readonly in_flight: Map<string, number>;
  /** Slots that begin in a moment, or began while nobody waited; the first one first. */
  prefetched_slots: readonly FilingSlot[];
  /** As last heard from the slot store. */
  pause: FilingPause;
  probing_until_ms: number;
  /** When the next slot may begin, as far as is known here. */
  next_ms: number;
  is_refilling: boolean;
  /** Turned away, and the slot store is being told: nobody starts until it is. */
  recording: number;
  /** Not before this is the slot store asked again: it could not be reached, or somebody's probe is on its way. */
  refill_not_before_ms: number;
}

interface PauseAnswer {
  readonly retry_after_s: number | null;
}
type LimiterTurn = Turn<State, typeof FilingLimiter.own>;

/** How long before a slot begins the slot store is asked for it, beside what the slot store takes. */
const REFILL_LEAD_MS = 60;
/** Slots taken at once at most: what a pause another owner is told of may come too late for. */
const MAX_REFILL = 8;
/** A store that takes longer to answer serves nobody. */
const MAX_LATENCY_MS = 3_000;
/** A prepared slot with less than this left would be lost on the way. */
const MIN_USABLE_MS = 20;
/** Requests on their way at once, those that answer slowly included; the next ones wait. */
const MAX_IN_FLIGHT = 32;
/** A slot nobody settles is taken for ended after this. */
const OUTCOME_TIMEOUT_MS = 180_000;
const STORE_RETRY_MS = 200;
const PROBE_POLL_MS = 500;

export const filingLimiterActor = ({ documents, clock, metrics, log, requests_per_second }: LimiterDeps) => {
  const rate: Rate = rateOf(requests_per_second);
  const store = slotStore(documents, clock);

  function tick(turn: LimiterTurn): void {
    const { state, now_ms, key } = turn;
    const { queue, in_flight } = state;
    for (const [slot_id, expires_ms] of in_flight) if (expires_ms <= now_ms) in_flight.delete(slot_id);

    if (now_ms < state.pause.until_ms) {
      state.prefetched_slots = [];
      for (const { reply, lane } of takeIf(queue, () => true)) {
        metrics.count("trawl_filings_slots_total", { lane, outcome: "paused" });
        turn.answer(reply, refused("filings_unavailable", state.pause.until_ms - now_ms));
      }
      return;
    }
    const min_usable_ms = Math.min(MIN_USABLE_MS, rate.window_ms / 2);
    state.prefetched_slots = state.prefetched_slots.filter(
      ({ not_after_ms }) => now_ms <= not_after_ms - min_usable_ms,
    );
    while (state.recording === 0 && in_flight.size < MAX_IN_FLIGHT) {
      const [slot, ...later] = state.prefetched_slots;
      const waiter = slot && slot.slot_ms <= now_ms ? takeNext(queue) : undefined;
      if (!waiter) break;
      const { slot_id, lane, queued_ms, reply } = waiter;
      const waited_ms = now_ms - queued_ms;
      in_flight.set(slot_id, now_ms + OUTCOME_TIMEOUT_MS);
      metrics.count("trawl_filings_slots_total", { lane, outcome: "granted" });
      metrics.observe("trawl_filings_slot_wait_seconds", { lane }, waited_ms / 1_000);
      turn.answer(reply, { kind: "granted", slot: slot!, waited_ms });
      state.prefetched_slots = later;
    }
    const isProbing = now_ms < state.probing_until_ms;
    for (const { reply, lane } of takeIf(queue, ({ deadline_ms }) => deadline_ms <= now_ms)) {
      metrics.count("trawl_filings_slots_total", { lane, outcome: "rate_limited" });
      turn.answer(
        reply,
        isProbing
          ? refused("filings_unavailable", state.probing_until_ms - now_ms)
          : refused("rate_limited", Math.max(rate.interval_ms, state.next_ms - now_ms)),
      );
    }
    if (queueLength(queue) === 0) return;

    const alarms = [nextDeadline(queue)];
    const [first] = state.prefetched_slots;
    if (in_flight.size >= MAX_IN_FLIGHT) alarms.push(Math.min(...in_flight.values()));
    else if (state.recording === 0) {
      if (first) alarms.push(first.slot_ms);
      const shortfall = queueLength(queue) - state.prefetched_slots.length;
      if (!state.is_refilling && shortfall > 0) {
        const due_ms = Math.max(
          state.next_ms - REFILL_LEAD_MS - aheadOf(latency_ms),
          state.refill_not_before_ms,
        );
        if (due_ms > now_ms) alarms.push(due_ms);
        else {
          state.is_refilling = true;
          turn.pipeToSelf("refilled", () => refill(key, Math.min(shortfall, MAX_REFILL)));
        }
      }
    }
    turn.setTimer(Math.max(now_ms, Math.min(...alarms)), "tick", null);
  }

  /** What the slot store takes to answer of late, and how long before a slot begins it is asked for that. */
  let latency_ms = 0;
  const aheadOf = (ms: number): number => 1.5 * ms;

  async function refill(egress: string, shortfall: number): Promise<FilingSlotRefill | null> {
    const started_ms = clock.mono();
    // A slot that was over before the slot store has answered would be nobody's.
    const ahead_ms = latency_ms > rate.window_ms / 2 ? aheadOf(latency_ms) : 0;
    const maxSlots = Math.min(shortfall, 1 + Math.floor(latency_ms / rate.interval_ms));
    try {
      const { record, slots, probing_until_ms } = await store.change(egress, (previous, now_ms) =>
        takeSlots(previous, rate, now_ms + ahead_ms, maxSlots),
      );
      return { slots: [...slots], probing_until_ms, pause: record.pause };
    } catch (problem) {
      log.warn("Cannot take a slot of the filing system", { egress, problem: String(problem) });
      return null;
    } finally {
      latency_ms = Math.min(MAX_LATENCY_MS, Math.max(clock.mono() - started_ms, 0.8 * latency_ms));
    }
  }

  async function recordOutcome(egress: string, outcome: FilingOutcome): Promise<FilingPause> {
    const { record } = await store.change(egress, (previous, now_ms) => ({
      record: afterOutcome(previous, now_ms, outcome),
    }));
    metrics.gauge("trawl_filings_pause_level", {}, record.pause.level);
    return record.pause;
  }

  return actor(FilingLimiter)<State>({
    activate: () => ({
      queue: emptyQueue(),
      in_flight: new Map(),
      prefetched_slots: [],
      pause: INITIAL_RECORD.pause,
      probing_until_ms: 0,
      next_ms: 0,
      is_refilling: false,
      recording: 0,
      refill_not_before_ms: 0,
    }),
    passivate_after_ms: 10 * 60_000,
    on: {
      acquire(turn, { slot_id, project, lane, wait_max_ms }) {
        const { state, now_ms } = turn;
        const wait_ms =
          Math.max(0, state.next_ms - now_ms) + countAhead(state.queue, lane, project) * rate.interval_ms;
        if (wait_ms > wait_max_ms && now_ms >= state.pause.until_ms) {
          metrics.count("trawl_filings_slots_total", { lane, outcome: "rate_limited" });
          return refused("rate_limited", wait_ms);
        }
        const deadline_ms = now_ms + wait_max_ms;
        const waiter = { slot_id, project, lane, queued_ms: now_ms, deadline_ms, reply: turn.deferReply() };
        enqueue(state.queue, waiter);
        tick(turn);
        return DEFERRED;
      },

      refilled(turn, refilled) {
        const { state, now_ms } = turn;
        state.is_refilling = false;
        state.probing_until_ms = 0;
        if (refilled === null) state.refill_not_before_ms = now_ms + STORE_RETRY_MS;
        else {
          const { slots, pause, probing_until_ms } = refilled;
          if (pause.episode >= state.pause.episode) state.pause = pause;
          const last = slots.at(-1);
          if (last) state.next_ms = last.slot_ms + rate.interval_ms;
          // One that was taken before the system asked to be left alone is lost.
          const { episode } = state.pause;
          state.prefetched_slots = [...state.prefetched_slots, ...slots].filter(
            (slot) => slot.episode === episode,
          );
          if (probing_until_ms > 0) {
            state.probing_until_ms = probing_until_ms;
            state.refill_not_before_ms = now_ms + PROBE_POLL_MS;
          }
        }
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
        const replyTo = turn.deferReply<PauseAnswer>();
        turn.pipeToSelf("recorded", async () => ({
          reply_to: replyTo,
          pause: await recordOutcome(key, outcome),
        }));
        return DEFERRED;
      },

      recorded(turn, { reply_to: replyTo, pause }) {
        const { state, now_ms } = turn;
        state.recording -= 1;
        if (pause.episode >= state.pause.episode) state.pause = pause;
        state.probing_until_ms = 0;
        state.refill_not_before_ms = 0;
        const { until_ms } = state.pause;
        const retry_after_s = until_ms > now_ms ? seconds(until_ms - now_ms) : null;
        turn.answer(replyTo as ReplyTo<PauseAnswer>, { retry_after_s });
        tick(turn);
      },

      view: ({ key, state, now_ms }) => ({
        egress: key,
        requests_per_second: 1_000 / rate.interval_ms,
        waiting: queueLength(state.queue),
        in_flight: state.in_flight.size,
        paused_until: state.pause.until_ms > now_ms ? new Date(state.pause.until_ms).toISOString() : null,
        pause_level: state.pause.level,
        pause_reason: state.pause.reason,
      }),

      tick,
    },
  });
};

function refused(
  error: Extract<FilingSlotAnswer, { kind: "refused" }>["error"],
  for_ms: number,
): FilingSlotAnswer {
  return { kind: "refused", error, retry_after_s: seconds(for_ms) };
}
