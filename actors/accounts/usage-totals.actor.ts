/**
 * The usage actor: one per customer. It adds the customer's new ledger batches up (fold.ts), one run at a time, a few seconds
 * after they were written or at once for a reader. It stores nothing of its own: what is added up is in the documents.
 */
import { actor, DEFERRED, type ReplyTo, type Turn } from "../../cluster/actor.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Log } from "../../cluster/ports/log.ts";
import { UsageTotals } from "../../schemas/ledger.ts";
import { foldLedger } from "./fold.ts";

interface State {
  isFolding: boolean;
  /** Readers that the run under way does not serve: it may have listed the batches before they asked. */
  waiting: ReplyTo<{ at_ms: number }>[];
  /** Readers that the run under way serves. */
  served: ReplyTo<{ at_ms: number }>[];
}

interface UsageTotalsDeps {
  readonly documents: Documents;
  readonly log: Log;
}

/** New batches are added up after this. */
const FOLD_AFTER_MS = 5_000;
/** Readers that wait at once; a further one gets what is added up already. */
const MAX_WAITING = 1_000;

export const usageTotalsActor = ({ documents, log }: UsageTotalsDeps) => {
  function fold(turn: Turn<State, typeof UsageTotals.own>): void {
    const { state, key } = turn;
    if (state.isFolding) return;
    turn.state = { isFolding: true, served: state.waiting, waiting: [] };
    turn.pipeToSelf("folded", async () => {
      try {
        await foldLedger(documents, key);
        return { is_done: true };
      } catch (problem) {
        log.warn("Cannot add up the usage of a customer", { customer: key, problem: String(problem) });
        return { is_done: false };
      }
    });
  }

  return actor(UsageTotals)<State>({
    activate: () => ({ isFolding: false, waiting: [], served: [] }),
    passivate_after_ms: 60_000,
    on: {
      refresh(turn) {
        if (turn.state.waiting.length >= MAX_WAITING) return { at_ms: turn.now_ms };
        turn.state.waiting.push(turn.deferReply());
        fold(turn);
        return DEFERRED;
      },
      written(turn) {
        turn.setTimer(turn.now_ms + FOLD_AFTER_MS, "tick", null);
      },
      tick: fold,
      folded(turn, { is_done }) {
        const { state, now_ms } = turn;
        // After a failure readers get the sums as they are; the next run adds the rest.
        for (const reply of state.served) turn.answer(reply, { at_ms: now_ms });
        turn.state = { isFolding: false, waiting: state.waiting, served: [] };
        if (state.waiting.length > 0) fold(turn);
        else if (!is_done) turn.setTimer(now_ms + FOLD_AFTER_MS, "tick", null);
      },
    },
  });
};
