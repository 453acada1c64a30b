/**
 * A clock that only moves when a test moves it. Alarms fire in the order of their time, then in the order they were
 * set.
 */
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../ports/clock.ts";
import { steadyTime } from "./steady-time.ts";
import { timerHeap } from "./timer-heap.ts";

export interface VirtualClock extends Clock {
  /** The clock of one node: its wall clock is so far ahead of the true time, which the virtual clock tells. */
  node(ahead_ms?: number): NodeClock;

  /**
   * Moves time forward, fires each alarm on the way, and lets its callbacks settle before the next one. `afterEach` is
   * called whenever they have.
   */
  advance(by_ms: number, afterEach?: () => void): Promise<void>;
}

export interface NodeClock extends Clock {
  /** Sets the wall clock forward, or back when negative. */
  step(by_ms: number): void;
  /** How far the wall clock is ahead of the true time. */
  ahead_ms(): number;
}

/** Monotonic clocks of two nodes have nothing in common: a node that compares them is caught. */
const MONO_APART_MS = 7_777_777;

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
  let nodes = 0;
  const waiting = timerHeap();

  function nodeClock(first_ahead_ms: number): NodeClock {
    let ahead_ms = first_ahead_ms;
    const mono_from_ms = start_ms - ++nodes * MONO_APART_MS;
    const wall = (): number => now_ms + ahead_ms;
    const mono = (): number => now_ms - mono_from_ms;
    const time = steadyTime({ wall, mono });
    return {
      now: time.now,
      wall,
      mono,
      resync: time.resync,
      step: (by_ms) => void (ahead_ms += by_ms),
      ahead_ms: () => ahead_ms,
      at(at_ms, call) {
        const due_ms = time.toElapsed(at_ms);
        let alarm: Disposable;
        const sleep = (): void => {
          const rest_ms = Math.ceil(Math.max(0, due_ms - time.elapsed()));
          // The node's clock may run slower meanwhile.
          alarm = waiting.set(now_ms + rest_ms, () => (time.elapsed() < due_ms ? sleep() : call()));
        };
        sleep();
        return { [Symbol.dispose]: () => alarm[Symbol.dispose]() };
      },
    };
  }

  return {
    now: () => now_ms,
    wall: () => now_ms,
    mono: () => now_ms - start_ms,
    at: (at_ms, call) => waiting.set(at_ms, call),
    resync() {},
    node: (ahead_ms = 0) => nodeClock(ahead_ms),
    async advance(by_ms, afterEach = () => {}) {
      const end_ms = now_ms + by_ms;
      await settled();
      for (let alarm = waiting.due(end_ms); alarm; alarm = waiting.due(end_ms)) {
        now_ms = Math.max(now_ms, alarm.at_ms);
        alarm.call();
        await settled();
        afterEach();
      }
      now_ms = end_ms;
    },
  };
}
