/** Rounds of a node that looks after its partitions: one after the other, sooner while something is missing, for as long as the node runs. */
import { ignore, type OwnershipDeps } from "./partition-lease.ts";

export const ROUND_MS = 800;
/** While another node still owns something that this node should. */
export const ROUND_SOON_MS = 200;

export interface RepeatedRounds {
  readonly first: Promise<void>;
  /** The round under way, or else the last one; it never rejects. */
  readonly current: () => Promise<unknown>;
  /** Begins the next round at once, when none is under way. */
  readonly hurry: () => void;
  /** No round begins after the one under way. */
  readonly stop: () => void;
}

/** `round` answers true while something is missing. */
export function repeatedRounds(
  { clock, log }: Pick<OwnershipDeps, "clock" | "log">,
  round: () => Promise<boolean>,
): RepeatedRounds {
  let current: Promise<unknown> = Promise.resolve();
  let timer: Disposable | null = null;
  let hasFailed = false;
  let isRunning = false;
  let isStopped = false;

  async function rounds(): Promise<void> {
    let isIncomplete = true;
    isRunning = true;
    try {
      const running = round();
      current = running.catch(ignore);
      isIncomplete = await running;
      if (hasFailed) log.info("Partitions can be claimed again");
      hasFailed = false;
    } catch (problem) {
      // Once: it may fail in the same way for minutes.
      if (!hasFailed) log.warn("Partitions cannot be claimed", { problem });
      hasFailed = true;
    }
    isRunning = false;
    if (isStopped) return;
    timer = clock.at(clock.now() + (isIncomplete ? ROUND_SOON_MS : ROUND_MS), () => void rounds());
  }

  return {
    first: rounds(),
    current: () => current,
    hurry() {
      if (isRunning || isStopped) return;
      timer?.[Symbol.dispose]();
      void rounds();
    },
    stop() {
      isStopped = true;
      timer?.[Symbol.dispose]();
    },
  };
}
