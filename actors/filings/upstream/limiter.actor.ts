/**
 * The limiter: one per egress. It keeps the queue of those who want to ask the filing system something and lets the
 * next one go when its slot begins. Whether there is a slot only the ledger says (ledger.ts), so a second limiter of the
 * same egress, which there should not be, makes both slower and nothing worse. It never asks the system anything.
 *
 * Slots are fetched from the ledger a little before they begin, so that storing costs no time of the gap; from a store
 * that is slow earlier, and several at once.
 */
import { actor, PARKED, type ReplyTo, type Turn } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { Meters } from "../../../cluster/ports/meters.ts";
import {
  FilingLimiter,
  type FilingOutcome,
  type FilingPause,
  type FilingSlot,
  type FilingSlotAnswer,
  type FilingTaken,
} from "../../../schemas/filing-source.ts";
import { ledgersIn } from "./slot-store.ts";
import { ahead, emptyQueue, firstLeaves, join, type Queue, takeIf, takeNext, waiting } from "./queue.ts";
import { type Rate, rateOf, seconds, settled, takeSome, UNTOUCHED } from "./rate.ts";

export interface LimiterWays {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly meters: Meters;
  readonly requests_per_second: number;
}

interface State {
  readonly queue: Queue<ReplyTo<FilingSlotAnswer>>;
  /** Granted and not settled: when each is given up. */
  readonly in_flight: Map<string, number>;
  /** Slots that begin in a moment, or began while nobody waited; the first one first. */
  prepared: readonly FilingSlot[];
  /** As last heard from the ledger. */
  pause: FilingPause;
  probing_until_ms: number;
  /** When the next slot may begin, as far as is known here. */
  next_ms: number;
  is_looking: boolean;
  /** Turned away, and the ledger is being told: nobody starts until it is. */
  noting: number;
  /** Not before this is the ledger asked again: it could not be reached, or somebody's probe is on its way. */
  rest_until_ms: number;
}

interface Settled {
  readonly retry_after_s: number | null;
}
type LimiterTurn = Turn<State, typeof FilingLimiter.operations>;

/** How long before a slot begins the ledger is asked for it, beside what the ledger takes. */
const LEAD_MS = 60;
/** Slots taken at once at most: what a pause another owner is told of may come too late for. */
const MAX_TAKEN = 8;
/** A store that takes longer to answer serves nobody. */
const MAX_LATENCY_MS = 3_000;
/** A prepared slot with less than this left would be lost on the way. */
const WORTH_MS = 20;
/** Requests on their way at once, those that answer slowly included; the next ones wait. */
const MAX_IN_FLIGHT = 32;
/** A slot nobody settles is taken for ended after this. */
const LAPSE_MS = 180_000;
const UNREACHABLE_REST_MS = 200;
const PROBING_REST_MS = 500;

export const filingLimiter = ({ documents, clock, meters, requests_per_second }: LimiterWays) => {
  const rate: Rate = rateOf(requests_per_second);
  const ledgers = ledgersIn(documents, clock);

  function serve(turn: LimiterTurn): void {
    const { state, now_ms, key } = turn;
    const { queue, in_flight } = state;
    for (const [slot_id, lapses_ms] of in_flight) if (lapses_ms <= now_ms) in_flight.delete(slot_id);

    if (now_ms < state.pause.until_ms) {
      state.prepared = [];
      for (const { reply, lane } of takeIf(queue, () => true)) {
        meters.count("trawl_filings_slots_total", { lane, outcome: "paused" });
        turn.answer(reply, refused("filings_unavailable", state.pause.until_ms - now_ms));
      }
      return;
    }
    const worth_ms = Math.min(WORTH_MS, rate.window_ms / 2);
    state.prepared = state.prepared.filter(({ not_after_ms }) => now_ms <= not_after_ms - worth_ms);
    while (state.noting === 0 && in_flight.size < MAX_IN_FLIGHT) {
      const [slot, ...later] = state.prepared;
      const waiter = slot && slot.slot_ms <= now_ms ? takeNext(queue) : undefined;
      if (!waiter) break;
      const { slot_id, lane, asked_ms, reply } = waiter;
      const waited_ms = now_ms - asked_ms;
      in_flight.set(slot_id, now_ms + LAPSE_MS);
      meters.count("trawl_filings_slots_total", { lane, outcome: "granted" });
      meters.observe("trawl_filings_slot_wait_seconds", { lane }, waited_ms / 1_000);
      turn.answer(reply, { kind: "granted", slot: slot!, waited_ms });
      state.prepared = later;
    }
    const isProbing = now_ms < state.probing_until_ms;
    for (const { reply, lane } of takeIf(queue, ({ leaves_ms }) => leaves_ms <= now_ms)) {
      meters.count("trawl_filings_slots_total", { lane, outcome: "rate_limited" });
      turn.answer(
        reply,
        isProbing
          ? refused("filings_unavailable", state.probing_until_ms - now_ms)
          : refused("rate_limited", Math.max(rate.gap_ms, state.next_ms - now_ms)),
      );
    }
    if (waiting(queue) === 0) return;

    const alarms = [firstLeaves(queue)];
    const [first] = state.prepared;
    if (in_flight.size >= MAX_IN_FLIGHT) alarms.push(Math.min(...in_flight.values()));
    else if (state.noting === 0) {
      if (first) alarms.push(first.slot_ms);
      const short = waiting(queue) - state.prepared.length;
      if (!state.is_looking && short > 0) {
        const due_ms = Math.max(state.next_ms - LEAD_MS - aheadOf(latency_ms), state.rest_until_ms);
        if (due_ms > now_ms) alarms.push(due_ms);
        else {
          state.is_looking = true;
          turn.start("looked", () => look(key, Math.min(short, MAX_TAKEN)));
        }
      }
    }
    turn.wake(Math.max(now_ms, Math.min(...alarms)), "tick", null);
  }

  /** What the ledger takes to answer of late, and how long before a slot begins it is asked for that. */
  let latency_ms = 0;
  const aheadOf = (ms: number): number => 1.5 * ms;

  async function look(egress: string, short: number): Promise<FilingTaken | null> {
    const began_ms = clock.mono();
    // A slot that was over before the ledger has answered would be nobody's.
    const ahead_ms = latency_ms > rate.window_ms / 2 ? aheadOf(latency_ms) : 0;
    const most = Math.min(short, 1 + Math.floor(latency_ms / rate.gap_ms));
    try {
      const { ledger, slots, probing_until_ms } = await ledgers.change(egress, (before, now_ms) =>
        takeSome(before, rate, now_ms + ahead_ms, most),
      );
      return { slots: [...slots], probing_until_ms, pause: ledger.pause };
    } catch (problem) {
      meters.say("warn", "Cannot take a slot of the filing system", { egress, problem: String(problem) });
      return null;
    } finally {
      latency_ms = Math.min(MAX_LATENCY_MS, Math.max(clock.mono() - began_ms, 0.8 * latency_ms));
    }
  }

  async function note(egress: string, outcome: FilingOutcome): Promise<FilingPause> {
    const { ledger } = await ledgers.change(egress, (before, now_ms) => ({
      ledger: settled(before, now_ms, outcome),
    }));
    meters.gauge("trawl_filings_pause_level", {}, ledger.pause.level);
    return ledger.pause;
  }

  return actor(FilingLimiter)<State>({
    begin: () => ({
      queue: emptyQueue(),
      in_flight: new Map(),
      prepared: [],
      pause: UNTOUCHED.pause,
      probing_until_ms: 0,
      next_ms: 0,
      is_looking: false,
      noting: 0,
      rest_until_ms: 0,
    }),
    idle_ms: 10 * 60_000,
    on: {
      acquire(turn, { slot_id, project, lane, wait_max_ms }) {
        const { state, now_ms } = turn;
        const wait_ms = Math.max(0, state.next_ms - now_ms) + ahead(state.queue, lane, project) * rate.gap_ms;
        if (wait_ms > wait_max_ms && now_ms >= state.pause.until_ms) {
          meters.count("trawl_filings_slots_total", { lane, outcome: "rate_limited" });
          return refused("rate_limited", wait_ms);
        }
        const leaves_ms = now_ms + wait_max_ms;
        const waiter = { slot_id, project, lane, asked_ms: now_ms, leaves_ms, reply: turn.park() };
        join(state.queue, waiter);
        serve(turn);
        return PARKED;
      },

      looked(turn, taken) {
        const { state, now_ms } = turn;
        state.is_looking = false;
        state.probing_until_ms = 0;
        if (taken === null) state.rest_until_ms = now_ms + UNREACHABLE_REST_MS;
        else {
          const { slots, pause, probing_until_ms } = taken;
          if (pause.episode >= state.pause.episode) state.pause = pause;
          const last = slots.at(-1);
          if (last) state.next_ms = last.slot_ms + rate.gap_ms;
          // One that was taken before the system asked to be left alone is lost.
          const { episode } = state.pause;
          state.prepared = [...state.prepared, ...slots].filter((slot) => slot.episode === episode);
          if (probing_until_ms > 0) {
            state.probing_until_ms = probing_until_ms;
            state.rest_until_ms = now_ms + PROBING_REST_MS;
          }
        }
        serve(turn);
      },

      settle(turn, outcome) {
        const { state, key } = turn;
        state.in_flight.delete(outcome.slot_id);
        if (outcome.result !== "throttled" && !outcome.slot.is_probe) {
          serve(turn);
          return { retry_after_s: null };
        }
        state.prepared = [];
        state.noting += 1;
        const to = turn.park<Settled>();
        turn.start("noted", async () => ({ to, pause: await note(key, outcome) }));
        return PARKED;
      },

      noted(turn, { to, pause }) {
        const { state, now_ms } = turn;
        state.noting -= 1;
        if (pause.episode >= state.pause.episode) state.pause = pause;
        state.probing_until_ms = 0;
        state.rest_until_ms = 0;
        const { until_ms } = state.pause;
        const retry_after_s = until_ms > now_ms ? seconds(until_ms - now_ms) : null;
        turn.answer(to as ReplyTo<Settled>, { retry_after_s });
        serve(turn);
      },

      view: ({ key, state, now_ms }) => ({
        egress: key,
        requests_per_second: 1_000 / rate.gap_ms,
        waiting: waiting(state.queue),
        in_flight: state.in_flight.size,
        paused_until: state.pause.until_ms > now_ms ? new Date(state.pause.until_ms).toISOString() : null,
        pause_level: state.pause.level,
        pause_reason: state.pause.reason,
      }),

      tick: serve,
    },
  });
};

function refused(
  error: Extract<FilingSlotAnswer, { kind: "refused" }>["error"],
  for_ms: number,
): FilingSlotAnswer {
  return { kind: "refused", error, retry_after_s: seconds(for_ms) };
}
