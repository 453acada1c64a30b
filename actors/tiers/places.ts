/** The places of a tier: so many calls at once, so many that wait in their order, each for a limited time. */
import type { Clock } from "../../cluster/ports/clock.ts";

export interface PlaceLimits {
  /** Calls at once. */
  readonly capacity: number;
  /** One more is refused at once. */
  readonly max_waiting: number;
  readonly max_wait_ms: number;
}

export interface Places {
  /** False: there was no place. A place that was taken must be given back once. */
  readonly take: (signal: AbortSignal) => Promise<boolean> | boolean;
  readonly giveBack: () => void;
  /** Refuses everything that waits. */
  readonly refuseWaiting: () => void;
  readonly in_use: () => number;
  readonly waiting: () => number;
  /** How long the first in the queue has waited; 0: none waits. */
  readonly oldest_wait_ms: () => number;
}

export function places(
  { capacity, max_waiting, max_wait_ms }: PlaceLimits,
  clock: Clock,
  onChange: () => void,
): Places {
  /** Each with the monotonic time at which it began to wait. */
  const waiters = new Map<(isTaken: boolean) => void, number>();
  let in_use = 0;

  function wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = clock.at(clock.now() + max_wait_ms, () => settle(false));
      const onAbort = (): void => settle(false);
      const settle = (isTaken: boolean): void => {
        waiters.delete(settle);
        timer[Symbol.dispose]();
        signal.removeEventListener("abort", onAbort);
        onChange();
        resolve(isTaken);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      waiters.set(settle, clock.mono());
      onChange();
    });
  }

  return {
    take(signal) {
      if (in_use < capacity) {
        in_use++;
        onChange();
        return true;
      }
      return waiters.size < max_waiting && !signal.aborted ? wait(signal) : false;
    },
    giveBack() {
      const [next] = waiters.keys();
      if (next) return next(true);
      in_use--;
      onChange();
    },
    refuseWaiting() {
      for (const settle of waiters.keys()) settle(false);
    },
    in_use: () => in_use,
    waiting: () => waiters.size,
    oldest_wait_ms() {
      const [since_ms] = waiters.values();
      return since_ms === undefined ? 0 : clock.mono() - since_ms;
    },
  };
}
