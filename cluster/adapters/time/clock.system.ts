/** The system's clocks, and one Node timer for all alarms. */
import type { Clock } from "../../ports/clock.ts";
import { type ClockSources, steadyTime } from "./steady-time.ts";
import { timerHeap } from "./timer-heap.ts";

/** Longest sleep of the timer: the clock may run a little slower meanwhile. */
const MAX_SLEEP_MS = 10_000;

const SYSTEM: ClockSources = { wall: () => Date.now(), mono: () => performance.now() };

/** `sources` are the clocks of the system; a test sets its own. */
export function systemClock(sources: ClockSources = SYSTEM): Clock {
  const time = steadyTime(sources);
  const waiting = timerHeap();
  let timer: NodeJS.Timeout | undefined;
  let rings_ms = Infinity;

  /** Sets the one timer, for the earliest alarm. Setting a later alarm does not touch it. */
  function arm(): void {
    const next = waiting.first();
    if (next && next.at_ms >= rings_ms) return;
    clearTimeout(timer);
    rings_ms = next ? next.at_ms : Infinity;
    if (!next) return;
    const sleep_ms = Math.ceil(Math.max(0, next.at_ms - time.elapsed()));
    timer = setTimeout(ring, Math.min(sleep_ms, MAX_SLEEP_MS));
  }

  function ring(): void {
    rings_ms = Infinity;
    try {
      for (let alarm = waiting.due(time.elapsed()); alarm; alarm = waiting.due(time.elapsed())) alarm.call();
    } finally {
      arm();
    }
  }

  return {
    now: time.now,
    wall: sources.wall,
    mono: sources.mono,
    resync: time.resync,
    at(at_ms, call) {
      const alarm = waiting.set(time.toElapsed(at_ms), call);
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
