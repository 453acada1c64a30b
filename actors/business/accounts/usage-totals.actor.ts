/**
 * The usage actor: one per customer. It adds the customer's new ledger batches up (fold.ts), one run at a time, a few seconds
 * after they were written or at once for a reader. It stores nothing of its own: what is added up is in the documents.
 */
import type { Node } from "../../../cluster/node-record.ts";
import { actor, DEFERRED, type ReplyTo, type Turn } from "../../../cluster/actor.ts";
import type { ReplyOf } from "../../../cluster/contracts/contract.ts";
import { UsageTotals } from "../../../schemas/ledger.ts";
import { foldLedger } from "./fold.ts";

type Refreshed = ReplyOf<typeof UsageTotals.operations.refresh>;

interface State {
  /** When the run under way began; null: none is. */
  began_ms: number | null;
  /** When the last run began that added everything up; null: none has yet. */
  folded_ms: number | null;
  /** Readers that the run under way does not serve: it may have listed the batches before they asked. */
  waiting: ReplyTo<Refreshed>[];
  /** Readers that the run under way serves. */
  served: ReplyTo<Refreshed>[];
}

/** New batches are added up after this. */
const FOLD_AFTER_MS = 5_000;
/** Readers that wait at once; a further one gets what is added up already. */
const MAX_WAITING = 1_000;

export const usageTotalsActor = ({ documents, log }: Pick<Node, "documents" | "log">) => {
  function fold(turn: Turn<State, typeof UsageTotals.own>): void {
    const { state, key, now_ms } = turn;
    if (state.began_ms !== null) return;
    turn.state = { ...state, began_ms: now_ms, served: state.waiting, waiting: [] };
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
    activate: () => ({ began_ms: null, folded_ms: null, waiting: [], served: [] }),
    passivate_after_ms: 60_000,
    on: {
      refresh(turn) {
        const { waiting, folded_ms } = turn.state;
        if (waiting.length >= MAX_WAITING) return { at_ms: folded_ms };
        waiting.push(turn.deferReply());
        fold(turn);
        return DEFERRED;
      },
      written(turn) {
        turn.setTimer(turn.now_ms + FOLD_AFTER_MS, "tick", null);
      },
      tick: fold,
      folded(turn, { is_done }) {
        const { state, now_ms } = turn;
        const folded_ms = is_done ? state.began_ms : state.folded_ms;
        // After a failure readers get the sums as they are; the next run adds the rest.
        for (const reply of state.served) turn.answer(reply, { at_ms: folded_ms });
        turn.state = { began_ms: null, folded_ms, waiting: state.waiting, served: [] };
        if (state.waiting.length > 0) fold(turn);
        else if (!is_done) turn.setTimer(now_ms + FOLD_AFTER_MS, "tick", null);
      },
    },
  });
};
