/**
 * The places of a tier: so many calls at once, so many that wait in their order, each for a limited time. While other projects
 * call, one project holds all places but one, so that a call of another does not wait for its slow pages to end.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";

export interface PlaceLimits {
  /** Calls at once. */
  readonly capacity: number;
  /** A further call is refused at once, or takes the turn of the project that waits most. */
  readonly max_waiting: number;
  readonly max_wait_ms: number;
}

export interface Places {
  /** False: there was no place. A place that was taken must be given back once, by the same project. */
  readonly take: (signal: AbortSignal, project: string) => Promise<boolean> | boolean;
  readonly giveBack: (project: string) => void;
  /** Refuses everything that waits. */
  readonly refuseWaiting: () => void;
  readonly in_use: () => number;
  readonly waiting: () => number;
  /** How long the first in the queue has waited; 0: none waits. */
  readonly oldest_wait_ms: () => number;
}

/** A project that has called within this time has a place left for it. */
const RECENT_MS = 60_000;
/** Maximum remembered projects; the one that called longest ago is forgotten first. */
const MAX_PROJECTS = 1_000;

interface Waiter {
  readonly project: string;
  /** On the monotonic clock. */
  readonly since_ms: number;
  readonly settle: (isTaken: boolean) => void;
}

export function places(
  { capacity, max_waiting, max_wait_ms }: PlaceLimits,
  clock: Clock,
  onChange: () => void,
): Places {
  const waiters = new Set<Waiter>();
  /** Places in use by project. */
  const held = new Map<string, number>();
  /** When a project called last, on the monotonic clock, longest ago first. */
  const called_ms = new Map<string, number>();
  let in_use = 0;

  const hasOthers = (project: string): boolean =>
    [...held.keys()].some((other) => other !== project) ||
    [...called_ms].some(([other, ms]) => other !== project && clock.mono() - ms < RECENT_MS);

  const mayTake = (project: string): boolean => {
    if (in_use >= capacity) return false;
    const isLast = capacity > 1 && (held.get(project) ?? 0) >= capacity - 1;
    return !isLast || !hasOthers(project);
  };

  function hold(project: string): void {
    in_use++;
    held.set(project, (held.get(project) ?? 0) + 1);
    onChange();
  }

  function remember(project: string): void {
    called_ms.delete(project);
    called_ms.set(project, clock.mono());
    if (called_ms.size > MAX_PROJECTS) called_ms.delete(called_ms.keys().next().value!);
  }

  /** The newest waiter of the project that has the most, if another project has fewer by two. */
  function surplusWaiter(project: string): Waiter | null {
    const count = Map.groupBy(waiters, (waiter) => waiter.project);
    const [most] = [...count.values()].toSorted((a, b) => b.length - a.length);
    return most && most.length >= (count.get(project)?.length ?? 0) + 2 ? most.at(-1)! : null;
  }

  function wait(signal: AbortSignal, project: string): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = clock.at(clock.now() + max_wait_ms, () => settle(false));
      const onAbort = (): void => settle(false);
      const settle = (isTaken: boolean): void => {
        waiters.delete(waiter);
        timer[Symbol.dispose]();
        signal.removeEventListener("abort", onAbort);
        if (isTaken) hold(project);
        else onChange();
        resolve(isTaken);
      };
      const waiter: Waiter = { project, since_ms: clock.mono(), settle };
      signal.addEventListener("abort", onAbort, { once: true });
      waiters.add(waiter);
      onChange();
    });
  }

  return {
    take(signal, project) {
      remember(project);
      if (mayTake(project)) {
        hold(project);
        return true;
      }
      if (signal.aborted || max_waiting === 0) return false;
      if (waiters.size >= max_waiting) {
        const surplus = surplusWaiter(project);
        if (!surplus) return false;
        surplus.settle(false);
      }
      return wait(signal, project);
    },
    giveBack(project) {
      in_use--;
      const left = held.get(project)! - 1;
      if (left === 0) held.delete(project);
      else held.set(project, left);
      const next = [...waiters].find((waiter) => mayTake(waiter.project));
      if (next) next.settle(true);
      else onChange();
    },
    refuseWaiting() {
      for (const { settle } of waiters) settle(false);
    },
    in_use: () => in_use,
    waiting: () => waiters.size,
    oldest_wait_ms() {
      const [first] = waiters;
      return first ? clock.mono() - first.since_ms : 0;
    },
  };
}
