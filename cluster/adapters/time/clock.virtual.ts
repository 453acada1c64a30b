/** A clock that stands still until a test moves it. Alarms ring in time order, then in the order they were set. */
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../ports/clock.ts";
import { timerHeap } from "./timer-heap.ts";

export interface VirtualClock extends Clock {
  /** Moves time forward, ringing every alarm on the way and letting each one's work settle. */
  advance(by_ms: number): Promise<void>;
}

/** Loop turns that one event may take to settle: a store that writes once a tick needs one for each turn in a chain. */
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
