/** Date, the monotonic clock and one timer for all alarms, nowhere else. */
import type { Clock } from "../../ports/clock.ts";
import { timerHeap } from "./timer-heap.ts";

/** The longest sleep: wall time may be set back or forward meanwhile, and a timer would not notice. */
const MAX_SLEEP_MS = 10_000;

export function systemClock(): Clock {
  const waiting = timerHeap();
  let timer: NodeJS.Timeout | undefined;
  let rings_ms = Infinity;

  /** One timer, for the earliest alarm; setting a later one costs nothing. */
  function arm(): void {
    const next = waiting.first();
    if (next && next.at_ms >= rings_ms) return;
    clearTimeout(timer);
    rings_ms = next ? next.at_ms : Infinity;
    if (next) timer = setTimeout(ring, Math.min(Math.max(0, next.at_ms - Date.now()), MAX_SLEEP_MS));
  }

  function ring(): void {
    rings_ms = Infinity;
    try {
      for (let alarm = waiting.due(Date.now()); alarm; alarm = waiting.due(Date.now())) alarm.call();
    } finally {
      arm();
    }
  }

  return {
    now: () => Date.now(),
    mono: () => performance.now(),
    at(at_ms, call) {
      const alarm = waiting.set(at_ms, call);
      arm();
      return {
        [Symbol.dispose]() {
          alarm[Symbol.dispose]();
          // With nothing left to wait for, the process may end.
          if (!waiting.first()) arm();
        },
      };
    },
  };
}
