/**
 * Who waits for a slot of one egress: two lanes, in each of them the projects in turn, each project's callers in the
 * order of arrival. At most four synchronous callers are served while batch work waits (3-decisions.md, Core).
 */
export type Lane = "sync" | "batch";

export interface Waiter<Reply> {
  readonly slot_id: string;
  readonly project: string;
  readonly lane: Lane;
  readonly queued_ms: number;
  readonly deadline_ms: number;
  readonly reply: Reply;
}

export interface Queue<Reply> {
  /** Whose turn is next stands first. */
  readonly lanes: Readonly<Record<Lane, Map<string, Waiter<Reply>[]>>>;
  /** Synchronous callers served in a row while batch work waited. */
  sync_in_row: number;
}

const MAX_SYNC_IN_ROW = 4;

export const emptyQueue = <Reply>(): Queue<Reply> => ({
  lanes: { sync: new Map(), batch: new Map() },
  sync_in_row: 0,
});

const countWaiters = (lane: Map<string, readonly unknown[]>): number =>
  [...lane.values()].reduce((sum, waiters) => sum + waiters.length, 0);

export const queueLength = ({ lanes }: Queue<unknown>): number =>
  countWaiters(lanes.sync) + countWaiters(lanes.batch);

/** Asked again with the same id: the new address counts, the place stays. */
export function enqueue<Reply>(queue: Queue<Reply>, waiter: Waiter<Reply>): void {
  const { lanes } = queue;
  const waiters = lanes[waiter.lane].get(waiter.project) ?? [];
  lanes[waiter.lane].set(waiter.project, waiters);
  const at = waiters.findIndex(({ slot_id }) => slot_id === waiter.slot_id);
  if (at >= 0) waiters[at] = waiter;
  else waiters.push(waiter);
}

/** Takes out whose turn it is; undefined when nobody waits. */
export function takeNext<Reply>(queue: Queue<Reply>): Waiter<Reply> | undefined {
  const { sync, batch } = queue.lanes;
  const isBatch = batch.size > 0 && (sync.size === 0 || queue.sync_in_row >= MAX_SYNC_IN_ROW);
  const lane = isBatch ? batch : sync;
  const [first] = lane;
  if (!first) return undefined;
  queue.sync_in_row = !isBatch && batch.size > 0 ? queue.sync_in_row + 1 : 0;
  const [project, waiters] = first;
  const waiter = waiters.shift()!;
  lane.delete(project);
  if (waiters.length > 0) lane.set(project, waiters);
  return waiter;
}

/** Takes out everyone for whom this is so. */
export function takeIf<Reply>(
  { lanes }: Queue<Reply>,
  matches: (waiter: Waiter<Reply>) => boolean,
): Waiter<Reply>[] {
  const removed: Waiter<Reply>[] = [];
  for (const lane of [lanes.sync, lanes.batch])
    for (const [project, waiters] of lane) {
      const matching = waiters.filter(matches);
      if (matching.length === 0) continue;
      removed.push(...matching);
      const remaining = waiters.filter((waiter) => !matching.includes(waiter));
      if (remaining.length === 0) lane.delete(project);
      else lane.set(project, remaining);
    }
  return removed;
}

/** When the first of them loses patience; Infinity when nobody waits. */
export const nextDeadline = ({ lanes }: Queue<unknown>): number =>
  Math.min(
    ...[lanes.sync, lanes.batch].flatMap((lane) =>
      [...lane.values()].flatMap((waiters) => waiters.map(({ deadline_ms }) => deadline_ms)),
    ),
  );

/** How many would be served before a caller who came now, as far as those who wait already tell. */
export function countAhead({ lanes, sync_in_row }: Queue<unknown>, lane: Lane, project: string): number {
  const projects = [...lanes[lane].keys()];
  const mine = lanes[lane].get(project)?.length ?? 0;
  const position = mine > 0 ? projects.indexOf(project) : projects.length;
  const inLane = [...lanes[lane].values()].reduce(
    (sum, { length }, at) =>
      sum + (at === position ? mine : Math.min(length, mine + (at < position ? 1 : 0))),
    0,
  );
  const crossing =
    lane === "sync"
      ? Math.min(countWaiters(lanes.batch), Math.floor((inLane + sync_in_row) / MAX_SYNC_IN_ROW))
      : Math.min(countWaiters(lanes.sync), MAX_SYNC_IN_ROW * (inLane + 1) - sync_in_row);
  return inLane + Math.max(0, crossing);
}
