/**
 * The behaviour of every actor that delivers signed webhooks: it tries the deliveries that are due, several at the same time, and comes back
 * when the next one is due, by its reminder on whichever node owns its key then. Which deliveries wait and how one is tried is
 * the slice's. The turn is typed by its parts, because this floor does not know the actor runtime.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";

/** A delivery that waits. */
interface Waiting {
  readonly next_ms: number;
}

export interface DeliveryBehaviourDeps<D extends Waiting> {
  readonly clock: Clock;
  /** The deliveries of a key that may be tried next, each independent of the others. Throws Fault. */
  readonly listWaiting: (key: string) => Promise<readonly D[]>;
  /** Makes one attempt: stores that it begins, then its outcome. Throws Fault. */
  readonly attempt: (key: string, delivery: D) => Promise<void>;
  /** `listWaiting` or `attempt` has thrown; it is tried again after STORE_RETRY_MS. */
  readonly onStoreFault: (key: string, problem: unknown) => void;
}

/** Stored: when the next attempt is due; null: nothing waits. */
export interface DeliverySnapshot {
  readonly next_ms: number | null;
}

export interface DeliveryState {
  next_ms: number | null;
  isRunning: boolean;
  /** A message came while attempts were under way. */
  isWoken: boolean;
}

/** The parts of the runtime's turn that are used here. */
interface DeliveryTurn {
  readonly key: string;
  readonly now_ms: number;
  readonly state: DeliveryState;
  readonly setTimer: (at_ms: number, operation: "tick", message: null) => void;
  readonly pipeToSelf: (
    operation: "attempted",
    work: (ask: unknown, context: { readonly ownsKey: () => boolean }) => Promise<DeliverySnapshot>,
  ) => void;
}

const ATTEMPTS_AT_ONCE = 8;
const STORE_RETRY_MS = 5_000;
const PASSIVATE_AFTER_MS = 60_000;

/** The definition of an actor whose contract is `deliveryContract` of schemas/delivery.ts. */
export function deliveryBehaviour<D extends Waiting>({
  clock,
  listWaiting,
  attempt,
  onStoreFault,
}: DeliveryBehaviourDeps<D>) {
  const retryAt = (): number => Math.ceil(clock.now() + STORE_RETRY_MS);

  /** Tries what is due; answers when the next attempt is due. */
  async function tryDue(key: string, ownsKey: () => boolean): Promise<number | null> {
    for (;;) {
      const waiting = await listWaiting(key);
      const due = waiting.filter(({ next_ms }) => next_ms <= clock.now()).slice(0, ATTEMPTS_AT_ONCE);
      if (due.length === 0)
        return waiting.length === 0 ? null : Math.min(...waiting.map(({ next_ms }) => next_ms));
      if (!ownsKey()) return retryAt();
      await Promise.all(due.map((delivery) => attempt(key, delivery)));
    }
  }

  function run(turn: DeliveryTurn): void {
    const { state, key } = turn;
    if (state.isRunning) {
      state.isWoken = true;
      return;
    }
    state.isRunning = true;
    state.isWoken = false;
    // Until the attempts are over: a node that dies meanwhile leaves a reminder.
    state.next_ms = turn.now_ms + STORE_RETRY_MS;
    turn.pipeToSelf("attempted", async (_ask, { ownsKey }) => {
      try {
        return { next_ms: await tryDue(key, ownsKey) };
      } catch (problem) {
        onStoreFault(key, problem);
        return { next_ms: retryAt() };
      }
    });
  }

  return {
    persist: ({ next_ms }: DeliveryState): DeliverySnapshot => ({ next_ms }),
    activate: (snapshot: DeliverySnapshot | null): DeliveryState => ({
      next_ms: snapshot?.next_ms ?? null,
      isRunning: false,
      isWoken: false,
    }),
    passivate_after_ms: PASSIVATE_AFTER_MS,
    reminder: ({ next_ms }: DeliverySnapshot) =>
      next_ms === null ? null : { at_ms: next_ms, operation: "tick" as const, message: null },
    on: {
      deliver: run,
      tick: run,
      attempted(turn: DeliveryTurn, { next_ms }: DeliverySnapshot): void {
        const { state } = turn;
        state.isRunning = false;
        state.next_ms = next_ms;
        if (state.isWoken) run(turn);
        else if (next_ms !== null) turn.setTimer(next_ms, "tick", null);
      },
    },
  };
}
