/** Slots of a pool of pages: so many at once, so many waiting, and for how long. A slot is counted by its lease, not by a browser's state. */
import type { PoolLimits } from "./pool-limits.ts";

/** Why a page could not be opened. */
export interface LeaseFailure {
  readonly kind: "failed";
  readonly reason: "browser_busy" | "browser_unavailable" | "browser_crashed" | "timeout";
  readonly detail: string;
  /** The browser ended while the page opened, and another page may be the cause: it may be tried again. */
  readonly is_bystander: boolean;
}

export const leaseFailure = (
  reason: LeaseFailure["reason"],
  detail: string,
  is_bystander = false,
): LeaseFailure => ({ kind: "failed", reason, detail, is_bystander });

interface Waiter {
  readonly resolve: (failure: LeaseFailure | null) => void;
  readonly stopWaiting: () => void;
}

export interface PageSlots {
  /** Takes a slot: null, or why there is none. Each slot is released once. */
  readonly acquire: (signal: AbortSignal) => Promise<LeaseFailure | null>;
  readonly release: () => void;
  readonly leased: () => number;
  readonly waiting: () => number;
  /** Refuses those that wait, and all later ones. */
  readonly close: () => void;
}

/** `onChanged` is called with the number of slots in use. */
export function pageSlots(
  limits: Pick<PoolLimits, "pages" | "waiting" | "wait_ms">,
  onChanged: (leased: number) => void,
): PageSlots {
  const waiting: Waiter[] = [];
  let leased = 0;
  let is_closed = false;

  return {
    acquire(signal) {
      if (is_closed) return Promise.resolve(leaseFailure("browser_unavailable", "The service is ending"));
      if (signal.aborted) return Promise.resolve(leaseFailure("timeout", "The caller cancelled"));
      if (leased < limits.pages) {
        leased++;
        onChanged(leased);
        return Promise.resolve(null);
      }
      if (waiting.length >= limits.waiting) {
        return Promise.resolve(leaseFailure("browser_busy", `${waiting.length} pages wait for a browser`));
      }
      return new Promise((resolve) => {
        const giveUp = (answer: LeaseFailure) => {
          waiting.splice(waiting.indexOf(waiter), 1);
          waiter.stopWaiting();
          resolve(answer);
        };
        const onAbort = () =>
          giveUp(leaseFailure("timeout", "The caller cancelled while it waited for a browser"));
        const timer = setTimeout(
          () => giveUp(leaseFailure("browser_busy", `No browser page was free within ${limits.wait_ms} ms`)),
          limits.wait_ms,
        );
        const waiter: Waiter = {
          resolve,
          stopWaiting() {
            clearTimeout(timer);
            signal.removeEventListener("abort", onAbort);
          },
        };
        signal.addEventListener("abort", onAbort, { once: true });
        waiting.push(waiter);
      });
    },
    release() {
      const next = waiting.shift();
      if (next) {
        next.stopWaiting();
        next.resolve(null);
        return;
      }
      leased--;
      onChanged(leased);
    },
    leased: () => leased,
    waiting: () => waiting.length,
    close() {
      is_closed = true;
      for (const waiter of waiting.splice(0)) {
        waiter.stopWaiting();
        waiter.resolve(leaseFailure("browser_unavailable", "The service is ending"));
      }
    },
  };
}
