/**
 * Gives memory back while the node rests. V8 keeps what a start or a burst of requests took: it collects when more is
 * allocated, and a node that rests allocates nearly nothing. What was measured: ops/decisions/0125-memory-at-rest.md and 0220.
 */
import { Session } from "node:inspector/promises";
import { getHeapStatistics } from "node:v8";
import type { Clock } from "../cluster/ports/clock.ts";
import { repeatedly } from "./every-minute.ts";

/** Between two looks. */
export const LOOK_EVERY_MS = 5_000;
/** Share of one core, since the last look. A node without requests takes 1 to 2 %, one that answers ten fetches a second 5 % and more. */
export const RESTS_BELOW = 0.03;
/** Between two collections: each takes the thread for 0.05 to 0.1 s. */
export const COLLECT_EVERY_MS = 10 * 60_000;
/** A collection is worth its time from here; a start leaves 20 to 35 MB. */
export const WORTH_BYTES = 8 * 2 ** 20;
/** A burst of requests leaves 100 to 170 MB, which are not kept for ten minutes. */
export const MUCH_BYTES = 64 * 2 ** 20;
/** Between two collections of so much: 0.15 s of CPU time are 0.3 % of a core. */
export const COLLECT_MUCH_EVERY_MS = 60_000;

interface Process {
  /** CPU time so far, of all threads. */
  readonly cpu_ms: () => number;
  /** Memory that V8's heap takes now, unused parts of its pages included. */
  readonly heap_bytes: () => number;
  /** Collects all there is and gives free pages back. */
  readonly collect: () => Promise<void>;
}

interface MemoryAtRestDeps extends Process {
  readonly clock: Clock;
}

/** The first rest after the start is collected at once. Disposing ends it. */
export function memoryAtRest({ clock, cpu_ms, heap_bytes, collect }: MemoryAtRestDeps): Disposable {
  let seen = { at_ms: clock.mono(), cpu_ms: cpu_ms() };
  let left = { at_ms: -Infinity, bytes: 0 };

  async function look(): Promise<void> {
    const now = { at_ms: clock.mono(), cpu_ms: cpu_ms() };
    const busy = (now.cpu_ms - seen.cpu_ms) / (now.at_ms - seen.at_ms);
    const grown_bytes = heap_bytes() - left.bytes;
    const every_ms = grown_bytes >= MUCH_BYTES ? COLLECT_MUCH_EVERY_MS : COLLECT_EVERY_MS;
    const isDue = now.at_ms - left.at_ms >= every_ms;
    if (busy <= RESTS_BELOW && isDue && grown_bytes >= WORTH_BYTES) {
      await collect();
      left = { at_ms: clock.mono(), bytes: heap_bytes() };
    }
    seen = { at_ms: clock.mono(), cpu_ms: cpu_ms() };
  }

  // A Node without an inspector collects when it allocates.
  return repeatedly({ clock, every_ms: LOOK_EVERY_MS, onFailure: () => {} }, look);
}

export const thisProcess: Process = {
  cpu_ms() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
  heap_bytes: () => getHeapStatistics().total_physical_size,
  async collect() {
    // Not by --expose-gc: a flag that is set while the program runs makes V8 refuse its cache of compiled code.
    const session = new Session();
    session.connect();
    try {
      await session.post("HeapProfiler.collectGarbage");
    } finally {
      session.disconnect();
    }
  },
};
