/** The system's clocks, and one Node timer for all alarms. */
import type { Clock } from "../../ports/clock.ts";
import { timerHeap } from "./timer-heap.ts";

/** Longest sleep of the timer: the wall clock may be adjusted meanwhile. */
const MAX_SLEEP_MS = 10_000;

export function systemClock(): Clock {
  const waiting = timerHeap();
  let timer: NodeJS.Timeout | undefined;
  let rings_ms = Infinity;

  /** One timer, for the earliest alarm. Setting a later alarm does not touch it. */
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
          // Without alarms there is no timer, so the process may end.
          if (!waiting.first()) arm();
        },
      };
    },
  };
}
