/**
 * A clock that only moves when a test moves it. Alarms fire in the order of their time, then in the order they were
 * set.
 */
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../ports/clock.ts";
import { timerHeap } from "./timer-heap.ts";

export interface VirtualClock extends Clock {
  /** Moves time forward, fires each alarm on the way, and lets its callbacks settle before the next one. */
  advance(by_ms: number): Promise<void>;
}

/**
 * Turns of the event loop to wait after each alarm: a store that writes once per tick needs one for each step of a
 * chain.
 */
const SETTLES = 4;

export async function settled(): Promise<void> {
  for (let turn = 0; turn < SETTLES; turn++) await setImmediate();
}

export function virtualClock(start_ms = 0): VirtualClock {
  let now_ms = start_ms;
  const waiting = timerHeap();
  return {
    now: () => now_ms,
    mono: () => now_ms - start_ms,
    at: (at_ms, call) => waiting.set(at_ms, call),
    async advance(by_ms) {
      const end_ms = now_ms + by_ms;
      await settled();
      for (let alarm = waiting.due(end_ms); alarm; alarm = waiting.due(end_ms)) {
        now_ms = Math.max(now_ms, alarm.at_ms);
        alarm.call();
        await settled();
      }
      now_ms = end_ms;
    },
  };
}
