/**
 * The feed actor: one for the cluster. It runs the sequencer and the dispatcher whenever a company wakes it, and looks by
 * itself at least every 30 seconds, because a node may die between a change and its wake-up message. Its reminder starts it on the next
 * owner of its key.
 */
import { actor, type Turn } from "../../../../cluster/actor.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
import { CompanyFeed } from "../../../../schemas/companies.ts";
import { dispatch, type DispatcherDeps, retryMerges } from "./dispatcher.ts";
import { sequence } from "./sequencer.ts";
import type { ImportedChanges } from "../imports/imported-changes.ts";

export interface FeedDeps extends Omit<DispatcherDeps, "ask"> {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Changes by imports. Default: there are none. */
  readonly imported?: ImportedChanges;
  /** Called with the age of the oldest change that had no number, in seconds. Default: only the metrics hear of it. */
  readonly onLag?: (seconds: number) => void;
}

interface State {
  /** Stored: when the actor was last known to run. */
  beat_ms: number;
  isRunning: boolean;
  /** A company woke the actor while the sequencer ran. */
  isWoken: boolean;
  /** Until the actor looks again by itself; doubles while there is nothing. */
  idle_ms: number;
}

const MIN_IDLE_MS = 1_000;
const MAX_IDLE_MS = 30_000;
const BEAT_MS = 30_000;
/** Without a beat for this long the next owner starts the actor. */
const REMIND_AFTER_MS = 2 * BEAT_MS;
/** Batches in one go; then the actor sees its messages. */
const MAX_BATCHES = 20;

export function companyFeedActor(deps: FeedDeps) {
  const { documents, clock, metrics, log, imported } = deps;

  function run(turn: Turn<State, (typeof CompanyFeed)["own"]>): void {
    const { state, now_ms } = turn;
    if (state.isRunning) {
      state.isWoken = true;
      return;
    }
    state.isRunning = true;
    state.isWoken = false;
    if (now_ms - state.beat_ms >= BEAT_MS) state.beat_ms = now_ms;
    turn.pipeToSelf("sequenced", async (ask, { ownsKey }) => {
      try {
        let from: string | null = null;
        for (let batch = 0; batch < MAX_BATCHES; batch++) {
          const { is_done, oldest_ms, next_from } = await sequence(
            { documents, clock, ownsKey, ...(imported && { imported }) },
            from,
          );
          const lag_s = oldest_ms === null ? 0 : Math.max(0, clock.now() - oldest_ms) / 1_000;
          metrics.gauge("trawl_company_feed_lag_seconds", {}, lag_s);
          deps.onLag?.(lag_s);
          const dispatched = await dispatch({ ...deps, ask });
          from = next_from;
          if (is_done && dispatched === 0) {
            await retryMerges({ documents, ask });
            return { is_idle: true };
          }
        }
        return { is_idle: false };
      } catch (problem) {
        log.warn("The change feed of companies waits for its store", { problem: String(problem) });
        return { is_idle: true };
      }
    });
  }

  return actor(CompanyFeed)<State, { readonly beat_ms: number }>({
    persist: ({ beat_ms }) => ({ beat_ms }),
    activate: (snapshot) => ({
      beat_ms: snapshot?.beat_ms ?? 0,
      isRunning: false,
      isWoken: false,
      idle_ms: MIN_IDLE_MS,
    }),
    passivate_after_ms: 10 * REMIND_AFTER_MS,
    reminder: ({ beat_ms }) =>
      beat_ms === 0 ? null : { at_ms: beat_ms + REMIND_AFTER_MS, operation: "tick", message: null },
    on: {
      wake(turn) {
        turn.state.idle_ms = MIN_IDLE_MS;
        run(turn);
      },
      tick: run,
      sequenced(turn, { is_idle }) {
        const { state, now_ms } = turn;
        state.isRunning = false;
        if (!is_idle || state.isWoken) run(turn);
        else {
          turn.setTimer(now_ms + state.idle_ms, "tick", null);
          state.idle_ms = Math.min(MAX_IDLE_MS, 2 * state.idle_ms);
        }
      },
    },
  });
}
