/**
 * Group commit: what is to be stored while a store is busy is stored together. The first item of a quiet time is sent at once;
 * those that come while it is on its way share the next group. While many come so, a group also waits for more: until it is
 * full, none came for some of the usual intervals, or its first item has waited GATHER_MS. A caller that stores one item after the other
 * never waits.
 */
import type { Clock } from "../../ports/clock.ts";

/** The longest time an item waits before it is sent. */
export const GATHER_MS = 100;
/** So many items within GATHER_MS that met another one on its way are many: with fewer, waiting would save little. */
const BUSY_ITEMS = 4;
/**
 * After so many median intervals without an item none is expected. Callers that fetch few pages at once, all of which wait for one group,
 * then wait half as long as for GATHER_MS; of more than thirty at once groups are as large (ops/decisions/0257-bodies-that-share-objects.md).
 */
const PAUSE_INTERVALS = 6;
/** A burst has no interval, and a process that is not run for a moment takes nothing. */
const MIN_PAUSE_MS = 20;
/** Times that are remembered. */
const MAX_TIMES = 16;
/** A group of so many, or of so many bytes, is sent at once. */
const FULL_ITEMS = 16;
const FULL_BYTES = 768 * 1024;

/** Resolves when the item's group was sent, and rejects as `send` does. */
export type Gather<T> = (item: T, bytes: number) => Promise<void>;

interface Group<T> {
  readonly items: T[];
  bytes: number;
  readonly sent: PromiseWithResolvers<void>;
  readonly since_ms: number;
  timer: Disposable | null;
}

function remember(times: number[], now_ms: number): void {
  times.push(now_ms);
  if (times.length > MAX_TIMES) times.shift();
}

/** How long after the last of these times no further one is expected. */
function pauseAfter(arrivals: readonly number[]): number {
  const intervals = arrivals.slice(1).map((at_ms, n) => at_ms - arrivals[n]!);
  const median_ms = intervals.toSorted((a, b) => a - b)[Math.floor(intervals.length / 2)] ?? Infinity;
  return Math.min(GATHER_MS, Math.max(MIN_PAUSE_MS, PAUSE_INTERVALS * median_ms));
}

/** `send` gets each group once. */
export function gathering<T>(
  send: (group: readonly T[]) => Promise<void>,
  clock: Pick<Clock, "now" | "mono" | "at">,
): Gather<T> {
  let group: Group<T> | null = null;
  let groups_in_flight = 0;
  /** When the last items came, and the last of those that met another one. */
  const arrivals: number[] = [];
  const meetings: number[] = [];

  const isBusy = (): boolean => clock.mono() - (meetings.at(-BUSY_ITEMS) ?? -Infinity) <= GATHER_MS;

  function sendGroup(): void {
    if (group === null) return;
    const { items, sent, timer } = group;
    group = null;
    timer?.[Symbol.dispose]();
    groups_in_flight++;
    send(items)
      .finally(() => {
        groups_in_flight--;
        if (groups_in_flight === 0 && !isBusy()) sendGroup();
      })
      .then(sent.resolve, sent.reject);
  }

  function wait(waiting: Group<T>): void {
    const now_ms = clock.mono();
    const full_ms = waiting.since_ms + GATHER_MS;
    // Behind uploads that are on their way a group waits its whole time: those that come meanwhile are in it.
    const ends_ms = isBusy() ? Math.min(full_ms, arrivals.at(-1)! + pauseAfter(arrivals)) : full_ms;
    waiting.timer?.[Symbol.dispose]();
    if (ends_ms <= now_ms) return sendGroup();
    waiting.timer = clock.at(clock.now() + (ends_ms - now_ms), () => {
      if (group === waiting) wait(waiting);
    });
  }

  return (item, bytes) => {
    const now_ms = clock.mono();
    remember(arrivals, now_ms);
    if (group !== null || groups_in_flight > 0) remember(meetings, now_ms);
    group ??= { items: [], bytes: 0, sent: Promise.withResolvers(), since_ms: now_ms, timer: null };
    const { sent } = group;
    group.items.push(item);
    group.bytes += bytes;
    const isFull = group.items.length >= FULL_ITEMS || group.bytes >= FULL_BYTES;
    if (isFull || (groups_in_flight === 0 && !isBusy())) sendGroup();
    else wait(group);
    return sent.promise;
  };
}
