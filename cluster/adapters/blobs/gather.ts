/**
 * Group commit: what is to be stored while a store is busy is stored together. The first item of a quiet time is sent at once;
 * those that come while it is on its way share the next group. From a rate on at which waiting makes groups of some size,
 * a group also waits for more, until it is full or its first item has waited GATHER_MS.
 */
import type { Clock } from "../../ports/clock.ts";

/** The longest time an item waits before it is sent. */
export const GATHER_MS = 100;
/** So many items within GATHER_MS make a group wait: with fewer, waiting would save little. */
const BUSY_ITEMS = 4;
/** A group of so many, or of so many bytes, is sent at once. */
const FULL_ITEMS = 16;
const FULL_BYTES = 768 * 1024;

/** Resolves when the item's group was sent, and rejects as `send` does. */
export type Gather<T> = (item: T, bytes: number) => Promise<void>;

interface Group<T> {
  readonly items: T[];
  bytes: number;
  readonly sent: PromiseWithResolvers<void>;
  readonly timer: Disposable;
}

/** `send` gets each group once. */
export function gathering<T>(
  send: (group: readonly T[]) => Promise<void>,
  clock: Pick<Clock, "now" | "mono" | "at">,
): Gather<T> {
  let group: Group<T> | null = null;
  let groups_in_flight = 0;
  /** When the last items came. */
  const arrivals: number[] = [];

  function isBusy(now_ms: number): boolean {
    return arrivals.length === BUSY_ITEMS && now_ms - arrivals[0]! <= GATHER_MS;
  }

  function sendGroup(): void {
    if (group === null) return;
    const { items, sent, timer } = group;
    group = null;
    timer[Symbol.dispose]();
    groups_in_flight++;
    send(items)
      .finally(() => {
        groups_in_flight--;
        if (groups_in_flight === 0 && !isBusy(clock.mono())) sendGroup();
      })
      .then(sent.resolve, sent.reject);
  }

  return (item, bytes) => {
    const now_ms = clock.mono();
    arrivals.push(now_ms);
    if (arrivals.length > BUSY_ITEMS) arrivals.shift();
    group ??= {
      items: [],
      bytes: 0,
      sent: Promise.withResolvers(),
      timer: clock.at(clock.now() + GATHER_MS, sendGroup),
    };
    group.items.push(item);
    group.bytes += bytes;
    const { sent } = group;
    const isFull = group.items.length >= FULL_ITEMS || group.bytes >= FULL_BYTES;
    if (isFull || (groups_in_flight === 0 && !isBusy(now_ms))) sendGroup();
    return sent.promise;
  };
}
