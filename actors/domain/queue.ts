/**
 * Who waits for a slot of one domain: two lanes in the order of arrival, and who loses patience first. Serving, leaving
 * and joining cost at most the logarithm of the number waiting. Whose turn it is, politeness.ts says.
 */
import { type Lane, nextLane } from "./politeness.ts";

export interface Caller<Reply> {
  readonly fetch_id: string;
  readonly host: string;
  readonly lane: Lane;
  readonly asked_ms: number;
  leaves_ms: number;
  /** More than one when the same fetch asked again. */
  readonly replies: Reply[];
}

export interface Queue<Reply> {
  readonly lanes: Readonly<Record<Lane, Set<Caller<Reply>>>>;
  /** Those whose slot is counted already, because they begin anew: before both lanes. */
  readonly again: Set<Caller<Reply>>;
  readonly byId: Map<string, Caller<Reply>>;
  /** A heap by leaves_ms. Callers who are gone stay in it until they come up or outnumber the others. */
  leaving: { readonly at_ms: number; readonly caller: Caller<Reply> }[];
  /** Synchronous callers served in a row while batch work waited. */
  sync_in_row: number;
}

/** Entries of callers long gone, before the heap is built anew. */
const SLACK = 256;

export const emptyQueue = <Reply>(): Queue<Reply> => ({
  lanes: { sync: new Set(), batch: new Set() },
  again: new Set(),
  byId: new Map(),
  leaving: [],
  sync_in_row: 0,
});

export const waiting = ({ lanes }: Queue<unknown>): Record<Lane, number> => ({
  sync: lanes.sync.size,
  batch: lanes.batch.size,
});

export function join<Reply>(queue: Queue<Reply>, caller: Caller<Reply>, where: Lane | "again"): void {
  (where === "again" ? queue.again : queue.lanes[where]).add(caller);
  queue.byId.set(caller.fetch_id, caller);
  push(queue, caller);
}

/** The same fetch asks again: both askers are answered, and the later patience counts. */
export function joinAgain<Reply>(
  queue: Queue<Reply>,
  caller: Caller<Reply>,
  reply: Reply,
  leaves_ms: number,
): void {
  caller.replies.push(reply);
  if (leaves_ms <= caller.leaves_ms) return;
  caller.leaves_ms = leaves_ms;
  push(queue, caller);
}

/** Takes out whose turn it is; undefined when nobody waits. */
export function takeNext<Reply>(queue: Queue<Reply>): Caller<Reply> | undefined {
  const [first] = queue.again;
  if (first) {
    remove(queue, first);
    return first;
  }
  const lane = nextLane(waiting(queue), queue.sync_in_row);
  const [caller] = queue.lanes[lane];
  if (!caller) return undefined;
  queue.sync_in_row = lane === "sync" && queue.lanes.batch.size > 0 ? queue.sync_in_row + 1 : 0;
  remove(queue, caller);
  return caller;
}

/** Takes out everyone for whom this is so; looks at all of them. */
export function takeIf<Reply>(
  queue: Queue<Reply>,
  leaves: (caller: Caller<Reply>) => boolean,
): Caller<Reply>[] {
  const gone = [...queue.byId.values()].filter(leaves);
  for (const caller of gone) remove(queue, caller);
  return gone;
}

/** Takes out everyone whose patience ends at this time or earlier. */
export function takeImpatient<Reply>(queue: Queue<Reply>, at_ms: number): Caller<Reply>[] {
  const gone: Caller<Reply>[] = [];
  for (let first = firstToLeave(queue); first && first.leaves_ms <= at_ms; first = firstToLeave(queue)) {
    remove(queue, first);
    gone.push(first);
  }
  return gone;
}

/** Who loses patience first; undefined when nobody waits. */
export function firstToLeave<Reply>(queue: Queue<Reply>): Caller<Reply> | undefined {
  for (let top = queue.leaving[0]; top; top = queue.leaving[0]) {
    if (isCurrent(queue, top)) return top.caller;
    pop(queue);
  }
  return undefined;
}

function remove<Reply>(queue: Queue<Reply>, caller: Caller<Reply>): void {
  queue.again.delete(caller);
  queue.lanes[caller.lane].delete(caller);
  queue.byId.delete(caller.fetch_id);
  if (queue.leaving.length <= 2 * queue.byId.size + SLACK) return;
  // In order, a list is a heap.
  queue.leaving = queue.leaving
    .filter((entry) => isCurrent(queue, entry))
    .toSorted((a, b) => a.at_ms - b.at_ms);
}

const isCurrent = <Reply>(queue: Queue<Reply>, { at_ms, caller }: Queue<Reply>["leaving"][number]): boolean =>
  queue.byId.get(caller.fetch_id) === caller && caller.leaves_ms === at_ms;

function push<Reply>({ leaving }: Queue<Reply>, caller: Caller<Reply>): void {
  const entry = { at_ms: caller.leaves_ms, caller };
  let at = leaving.length;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (leaving[parent]!.at_ms <= entry.at_ms) break;
    leaving[at] = leaving[parent]!;
    at = parent;
  }
  leaving[at] = entry;
}

function pop<Reply>({ leaving }: Queue<Reply>): void {
  const entry = leaving.pop();
  if (!entry || leaving.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= leaving.length) break;
    if (child + 1 < leaving.length && leaving[child + 1]!.at_ms < leaving[child]!.at_ms) child++;
    if (leaving[child]!.at_ms >= entry.at_ms) break;
    leaving[at] = leaving[child]!;
    at = child;
  }
  leaving[at] = entry;
}
