/** How many items of a job end per second. In memory alone. */

const MINUTE_MS = 60_000;
/** The minute is counted in slots, so that a job's rate takes the same memory at any speed. */
const SLOT_MS = 5_000;
const SLOTS = MINUTE_MS / SLOT_MS;
/** Items that ended, by slot; a slot is counted anew when its time comes again. */
export interface EndedItems {
  readonly counts: number[];
  /** The slot of the newest count, counted from 1970. */
  slot: number;
  /** When counting began; null: nothing has ended. */
  since_ms: number | null;
}

export const newEndedItems = (): EndedItems => ({
  counts: Array<number>(SLOTS).fill(0),
  slot: 0,
  since_ms: null,
});

function advance(ended: EndedItems, now_ms: number): void {
  const slot = Math.floor(now_ms / SLOT_MS);
  for (let next = Math.max(ended.slot + 1, slot - SLOTS + 1); next <= slot; next++)
    ended.counts[next % SLOTS] = 0;
  ended.slot = Math.max(ended.slot, slot);
}

export function countEnded(ended: EndedItems, now_ms: number): void {
  advance(ended, now_ms);
  ended.since_ms ??= now_ms;
  ended.counts[ended.slot % SLOTS]! += 1;
}

/** Items per second over the last minute, or since the first of them where that is shorter, but over a second at least. */
export function endedPerSecond(ended: EndedItems, now_ms: number): number {
  advance(ended, now_ms);
  if (ended.since_ms === null) return 0;
  const counted = ended.counts.reduce((sum, count) => sum + count, 0);
  const over_ms = Math.max(1_000, Math.min(MINUTE_MS, now_ms - ended.since_ms));
  return Math.round((counted / over_ms) * 1_000_000) / 1_000;
}
