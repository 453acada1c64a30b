/**
 * Who waits for a slot of one domain: two lanes in the order of arrival, and who loses patience first. Serving, leaving
 * and joining cost at most the logarithm of the number waiting. Whose turn it is, politeness.ts says.
 */
import { type Lane, nextLane } from "./politeness.ts";

export interface Waiter<Reply> {
  readonly fetch_id: string;
  readonly host: string;
  readonly lane: Lane;
  readonly asked_ms: number;
  deadline_ms: number;
  /** More than one when the same fetch asked again. */
  readonly replies: Reply[];
}

export interface Queue<Reply> {
  readonly lanes: Readonly<Record<Lane, Set<Waiter<Reply>>>>;
  /** Those whose slot is counted already, because they begin anew: before both lanes. */
  readonly again: Set<Waiter<Reply>>;
  readonly byId: Map<string, Waiter<Reply>>;
  /** A heap by leaves_ms. Callers who are gone stay in it until they come up or outnumber the others. */
  by_deadline: { readonly at_ms: number; readonly waiter: Waiter<Reply> }[];
  /** Synchronous callers served in a row while batch work waited. */
  sync_in_row: number;
}

/** Entries of callers long gone, before the heap is built anew. */
const SLACK = 256;

export const emptyQueue = <Reply>(): Queue<Reply> => ({
  lanes: { sync: new Set(), batch: new Set() },
  again: new Set(),
  byId: new Map(),
  by_deadline: [],
  sync_in_row: 0,
});

export const waiting = ({ lanes }: Queue<unknown>): Record<Lane, number> => ({
  sync: lanes.sync.size,
  batch: lanes.batch.size,
});

export function join<Reply>(queue: Queue<Reply>, waiter: Waiter<Reply>, where: Lane | "again"): void {
  (where === "again" ? queue.again : queue.lanes[where]).add(waiter);
  queue.byId.set(waiter.fetch_id, waiter);
  push(queue, waiter);
}

/** The same fetch asks again: both askers are answered, and the later patience counts. */
export function joinAgain<Reply>(
  queue: Queue<Reply>,
  waiter: Waiter<Reply>,
  reply: Reply,
  deadline_ms: number,
): void {
  waiter.replies.push(reply);
  if (deadline_ms <= waiter.deadline_ms) return;
  waiter.deadline_ms = deadline_ms;
  push(queue, waiter);
}

/** Takes out whose turn it is; undefined when nobody waits. */
export function takeNext<Reply>(queue: Queue<Reply>): Waiter<Reply> | undefined {
  const [first] = queue.again;
  if (first) {
    remove(queue, first);
    return first;
  }
  const lane = nextLane(waiting(queue), queue.sync_in_row);
  const [waiter] = queue.lanes[lane];
  if (!waiter) return undefined;
  queue.sync_in_row = lane === "sync" && queue.lanes.batch.size > 0 ? queue.sync_in_row + 1 : 0;
  remove(queue, waiter);
  return waiter;
}

/** Takes out everyone for whom this is so; looks at all of them. */
export function takeIf<Reply>(
  queue: Queue<Reply>,
  matches: (waiter: Waiter<Reply>) => boolean,
): Waiter<Reply>[] {
  const taken = [...queue.byId.values()].filter(matches);
  for (const waiter of taken) remove(queue, waiter);
  return taken;
}

/** Takes out everyone whose patience ends at this time or earlier. */
export function takeExpired<Reply>(queue: Queue<Reply>, at_ms: number): Waiter<Reply>[] {
  const taken: Waiter<Reply>[] = [];
  for (let first = nextDeadline(queue); first && first.deadline_ms <= at_ms; first = nextDeadline(queue)) {
    remove(queue, first);
    taken.push(first);
  }
  return taken;
}

/** Who loses patience first; undefined when nobody waits. */
export function nextDeadline<Reply>(queue: Queue<Reply>): Waiter<Reply> | undefined {
  for (let top = queue.by_deadline[0]; top; top = queue.by_deadline[0]) {
    if (isCurrent(queue, top)) return top.waiter;
    pop(queue);
  }
  return undefined;
}

function remove<Reply>(queue: Queue<Reply>, waiter: Waiter<Reply>): void {
  queue.again.delete(waiter);
  queue.lanes[waiter.lane].delete(waiter);
  queue.byId.delete(waiter.fetch_id);
  if (queue.by_deadline.length <= 2 * queue.byId.size + SLACK) return;
  // In order, a list is a heap.
  queue.by_deadline = queue.by_deadline
    .filter((entry) => isCurrent(queue, entry))
    .toSorted((a, b) => a.at_ms - b.at_ms);
}

const isCurrent = <Reply>(
  queue: Queue<Reply>,
  { at_ms, waiter }: Queue<Reply>["by_deadline"][number],
): boolean => queue.byId.get(waiter.fetch_id) === waiter && waiter.deadline_ms === at_ms;

function push<Reply>({ by_deadline }: Queue<Reply>, waiter: Waiter<Reply>): void {
  const entry = { at_ms: waiter.deadline_ms, waiter };
  let at = by_deadline.length;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (by_deadline[parent]!.at_ms <= entry.at_ms) break;
    by_deadline[at] = by_deadline[parent]!;
    at = parent;
  }
  by_deadline[at] = entry;
}

function pop<Reply>({ by_deadline }: Queue<Reply>): void {
  const entry = by_deadline.pop();
  if (!entry || by_deadline.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= by_deadline.length) break;
    if (child + 1 < by_deadline.length && by_deadline[child + 1]!.at_ms < by_deadline[child]!.at_ms) child++;
    if (by_deadline[child]!.at_ms >= entry.at_ms) break;
    by_deadline[at] = by_deadline[child]!;
    at = child;
  }
  by_deadline[at] = entry;
}
