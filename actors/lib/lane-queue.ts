/**
 * Callers that wait for a slot: two lanes, in each lane the shares (projects) in turn, in each share the order of
 * arrival. At most four synchronous callers are served in a row while batch work waits, so that neither starves.
 *
 * The queue says whose turn it is and whose deadline has passed; when a slot is free, and what is answered, is its
 * owner's decision. Joining, serving and leaving cost at most the logarithm of the number that waits.
 */
export type Lane = "sync" | "batch";

/** A caller in the queue; its owner adds what it needs to answer it. */
export interface LaneWaiter {
  /** Unique among those that wait. */
  readonly id: string;
  readonly lane: Lane;
  /** Shares of one lane are served in turn. Callers that need no fairness among each other have the same. */
  readonly share: string;
  /** Changed by `extendDeadline` only. */
  deadline_ms: number;
}

export interface LaneQueue<Waiter extends LaneWaiter> {
  /** By share; the share whose turn is next stands first. */
  readonly lanes: Readonly<Record<Lane, Map<string, Set<Waiter>>>>;
  readonly sizes: Record<Lane, number>;
  /** Served before both lanes, in the order of arrival. */
  readonly urgent: Set<Waiter>;
  readonly byId: Map<string, Waiter>;
  /** A heap by deadline. Entries of waiters that were served stay in it until they come up or outnumber the others. */
  deadlines: Deadline<Waiter>[];
  /** Synchronous callers served in a row while batch work waited. */
  sync_in_row: number;
}

interface Deadline<Waiter> {
  readonly at_ms: number;
  readonly waiter: Waiter;
}

/** Synchronous callers served for each batch caller, when both wait. */
export const SYNC_PER_BATCH = 4;
/** Entries of waiters that are gone, before the heap is built anew. */
const HEAP_SLACK = 256;

export const emptyLaneQueue = <Waiter extends LaneWaiter>(): LaneQueue<Waiter> => ({
  lanes: { sync: new Map(), batch: new Map() },
  sizes: { sync: 0, batch: 0 },
  urgent: new Set(),
  byId: new Map(),
  deadlines: [],
  sync_in_row: 0,
});

/** How many wait. */
export const sizeOf = ({ byId }: LaneQueue<LaneWaiter>): number => byId.size;

/** Adds a waiter whose id is not in the queue yet. */
export function enqueue<Waiter extends LaneWaiter>(
  queue: LaneQueue<Waiter>,
  waiter: Waiter,
  { urgent = false }: { readonly urgent?: boolean } = {},
): void {
  queue.byId.set(waiter.id, waiter);
  push(queue, waiter);
  if (urgent) {
    queue.urgent.add(waiter);
    return;
  }
  const lane = queue.lanes[waiter.lane];
  const share = lane.get(waiter.share) ?? new Set<Waiter>();
  share.add(waiter);
  lane.set(waiter.share, share);
  queue.sizes[waiter.lane]++;
}

/** A caller asked again: the later of both deadlines counts, its place stays. */
export function extendDeadline<Waiter extends LaneWaiter>(
  queue: LaneQueue<Waiter>,
  waiter: Waiter,
  deadline_ms: number,
): void {
  if (deadline_ms <= waiter.deadline_ms) return;
  waiter.deadline_ms = deadline_ms;
  push(queue, waiter);
}

/** Which waiters may be served now. Default: all; then no others are looked at than the next. */
type IsReady<Waiter> = (waiter: Waiter) => boolean;

const ALL = (): boolean => true;

/**
 * The waiter whose turn it is among those that are ready; it stays in the queue. Waiters that are not ready keep their places, and
 * those behind them do not wait for them. Undefined when none is ready.
 */
export const peekNext = <Waiter extends LaneWaiter>(
  queue: LaneQueue<Waiter>,
  isReady: IsReady<Waiter> = ALL,
): Waiter | undefined => nextOf(queue, isReady).waiter;

/** Takes out the waiter whose turn it is among those that are ready; undefined when none is. */
export function takeNext<Waiter extends LaneWaiter>(
  queue: LaneQueue<Waiter>,
  isReady: IsReady<Waiter> = ALL,
): Waiter | undefined {
  const { waiter, batchWaits } = nextOf(queue, isReady);
  if (!waiter) return undefined;
  if (queue.urgent.has(waiter)) {
    drop(queue, waiter);
    return waiter;
  }
  queue.sync_in_row = waiter.lane === "sync" && batchWaits ? queue.sync_in_row + 1 : 0;
  const lane = queue.lanes[waiter.lane];
  const waiters = lane.get(waiter.share)!;
  drop(queue, waiter);
  // The share goes to the end of its lane.
  if (lane.delete(waiter.share)) lane.set(waiter.share, waiters);
  return waiter;
}

/** `batchWaits`: a batch caller is ready, too. */
function nextOf<Waiter extends LaneWaiter>(
  { lanes, urgent, sync_in_row }: LaneQueue<Waiter>,
  isReady: IsReady<Waiter>,
): { readonly waiter: Waiter | undefined; readonly batchWaits: boolean } {
  const first = firstOf(urgent, isReady);
  if (first) return { waiter: first, batchWaits: false };
  const batch = firstOfLane(lanes.batch, isReady);
  const sync =
    batch !== undefined && sync_in_row >= SYNC_PER_BATCH ? undefined : firstOfLane(lanes.sync, isReady);
  return { waiter: sync ?? batch, batchWaits: batch !== undefined };
}

function firstOfLane<Waiter>(
  lane: ReadonlyMap<string, ReadonlySet<Waiter>>,
  isReady: IsReady<Waiter>,
): Waiter | undefined {
  for (const share of lane.values()) {
    const waiter = firstOf(share, isReady);
    if (waiter !== undefined) return waiter;
  }
  return undefined;
}

function firstOf<Waiter>(waiters: ReadonlySet<Waiter>, isReady: IsReady<Waiter>): Waiter | undefined {
  for (const waiter of waiters) if (isReady(waiter)) return waiter;
  return undefined;
}

/** Takes out every waiter for which this holds; looks at all of them. */
export function takeIf<Waiter extends LaneWaiter>(
  queue: LaneQueue<Waiter>,
  matches: (waiter: Waiter) => boolean,
): Waiter[] {
  if (queue.byId.size === 0) return [];
  const removed = [...queue.byId.values()].filter(matches);
  for (const waiter of removed) drop(queue, waiter);
  return removed;
}

/** Takes out every waiter whose deadline is at this time or earlier, the earliest first. */
export function takeExpired<Waiter extends LaneWaiter>(queue: LaneQueue<Waiter>, at_ms: number): Waiter[] {
  const removed: Waiter[] = [];
  for (let top = earliest(queue); top && top.at_ms <= at_ms; top = earliest(queue)) {
    drop(queue, top.waiter);
    removed.push(top.waiter);
  }
  return removed;
}

/** The earliest deadline; Infinity when the queue is empty. */
export const nextDeadline = <Waiter extends LaneWaiter>(queue: LaneQueue<Waiter>): number =>
  earliest(queue)?.at_ms ?? Infinity;

/**
 * How many would be served before a caller that came now, if no other came after it. With `counts`, only those for which it holds;
 * then all that wait are looked at.
 */
export function aheadOf<Waiter extends LaneWaiter>(
  { lanes, sizes, urgent, byId, sync_in_row }: LaneQueue<Waiter>,
  lane: Lane,
  share: string,
  counts?: (waiter: Waiter) => boolean,
): number {
  if (byId.size === 0) return 0;
  const sizeOfShare = (waiters: ReadonlySet<Waiter>): number =>
    counts ? [...waiters].filter(counts).length : waiters.size;
  const sizeOfLane = (of: Lane): number =>
    counts ? [...lanes[of].values()].reduce((sum, waiters) => sum + sizeOfShare(waiters), 0) : sizes[of];
  const shares = [...lanes[lane].keys()];
  const own = sizeOfShare(lanes[lane].get(share) ?? new Set());
  const place = own > 0 ? shares.indexOf(share) : shares.length;
  const in_lane = [...lanes[lane].values()].reduce((sum, waiters, at) => {
    const size = sizeOfShare(waiters);
    return sum + (at === place ? own : Math.min(size, own + (at < place ? 1 : 0)));
  }, 0);
  const crossing =
    lane === "sync"
      ? Math.min(sizeOfLane("batch"), Math.floor((in_lane + sync_in_row) / SYNC_PER_BATCH))
      : Math.min(sizeOfLane("sync"), SYNC_PER_BATCH * (in_lane + 1) - sync_in_row);
  return sizeOfShare(urgent) + in_lane + Math.max(0, crossing);
}

function drop<Waiter extends LaneWaiter>(queue: LaneQueue<Waiter>, waiter: Waiter): void {
  queue.byId.delete(waiter.id);
  if (!queue.urgent.delete(waiter)) {
    const lane = queue.lanes[waiter.lane];
    const share = lane.get(waiter.share)!;
    share.delete(waiter);
    if (share.size === 0) lane.delete(waiter.share);
    queue.sizes[waiter.lane]--;
  }
  if (queue.deadlines.length <= 2 * queue.byId.size + HEAP_SLACK) return;
  // In order, a list is a heap.
  queue.deadlines = queue.deadlines
    .filter((entry) => isCurrent(queue, entry))
    .toSorted((a, b) => a.at_ms - b.at_ms);
}

const isCurrent = <Waiter extends LaneWaiter>(
  { byId }: LaneQueue<Waiter>,
  { at_ms, waiter }: Deadline<Waiter>,
): boolean => byId.get(waiter.id) === waiter && waiter.deadline_ms === at_ms;

function earliest<Waiter extends LaneWaiter>(queue: LaneQueue<Waiter>): Deadline<Waiter> | undefined {
  for (let top = queue.deadlines[0]; top; top = queue.deadlines[0]) {
    if (isCurrent(queue, top)) return top;
    pop(queue.deadlines);
  }
  return undefined;
}

function push<Waiter extends LaneWaiter>({ deadlines }: LaneQueue<Waiter>, waiter: Waiter): void {
  const entry = { at_ms: waiter.deadline_ms, waiter };
  let at = deadlines.length;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (deadlines[parent]!.at_ms <= entry.at_ms) break;
    deadlines[at] = deadlines[parent]!;
    at = parent;
  }
  deadlines[at] = entry;
}

function pop(heap: Deadline<unknown>[]): void {
  const entry = heap.pop();
  if (!entry || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && heap[child + 1]!.at_ms < heap[child]!.at_ms) child++;
    if (heap[child]!.at_ms >= entry.at_ms) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = entry;
}
