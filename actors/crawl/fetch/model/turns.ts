/**
 * How many extractions ask the language model at once on this node. The others wait, no longer than their request: single fetches
 * before items of batches, projects in turn. Each belongs to a fetch that runs, so that the limits of fetches bound how many wait.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import {
  emptyLaneQueue,
  enqueue,
  type LaneWaiter,
  sizeOf,
  takeIf,
  takeNext,
} from "../../../lib/lane-queue.ts";

interface Waiter extends LaneWaiter {
  readonly onTurn: () => void;
}

export interface ModelTurns {
  /** Resolves with what ends the turn. Null: the deadline is over, or the caller has left. */
  readonly take: (
    of: Pick<LaneWaiter, "lane" | "share" | "deadline_ms">,
    signal: AbortSignal,
  ) => Promise<(() => void) | null>;
}

/** `onWaiting` hears how many wait. */
export function modelTurns(
  clock: Pick<Clock, "at">,
  at_once: number,
  onWaiting: (waiting: number) => void = () => {},
): ModelTurns {
  const queue = emptyLaneQueue<Waiter>();
  let taken = 0;
  let count = 0;

  function serve(): void {
    for (; taken < at_once && sizeOf(queue) > 0; taken++) takeNext(queue)!.onTurn();
    onWaiting(sizeOf(queue));
  }

  const endOnce = (): (() => void) => {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      taken -= 1;
      serve();
    };
  };

  return {
    take: (of, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve(null);
        const waiter: Waiter = { ...of, id: String(count++), onTurn: () => end(endOnce()) };
        const leave = (): void => {
          takeIf(queue, (one) => one === waiter);
          onWaiting(sizeOf(queue));
          end(null);
        };
        const timer = clock.at(of.deadline_ms, leave);
        const end = (turn: (() => void) | null): void => {
          timer[Symbol.dispose]();
          signal.removeEventListener("abort", leave);
          resolve(turn);
        };
        signal.addEventListener("abort", leave);
        enqueue(queue, waiter);
        serve();
      }),
  };
}
