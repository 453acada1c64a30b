/**
 * Who waits for a slot of one egress: two lanes, in each of them the projects in turn, each project's callers in the
 * order of arrival. At most four synchronous callers are served while batch work waits (3-decisions.md, Core).
 */
export type Lane = "sync" | "batch";

export interface Waiter<Reply> {
  readonly slot_id: string;
  readonly project: string;
  readonly lane: Lane;
  readonly asked_ms: number;
  readonly leaves_ms: number;
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

const counted = (lane: Map<string, readonly unknown[]>): number =>
  [...lane.values()].reduce((sum, waiters) => sum + waiters.length, 0);

export const waiting = ({ lanes }: Queue<unknown>): number => counted(lanes.sync) + counted(lanes.batch);

/** Asked again with the same id: the new address counts, the place stays. */
export function join<Reply>(queue: Queue<Reply>, waiter: Waiter<Reply>): void {
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
  leaves: (waiter: Waiter<Reply>) => boolean,
): Waiter<Reply>[] {
  const gone: Waiter<Reply>[] = [];
  for (const lane of [lanes.sync, lanes.batch])
    for (const [project, waiters] of lane) {
      const left = waiters.filter(leaves);
      if (left.length === 0) continue;
      gone.push(...left);
      const rest = waiters.filter((waiter) => !left.includes(waiter));
      if (rest.length === 0) lane.delete(project);
      else lane.set(project, rest);
    }
  return gone;
}

/** When the first of them loses patience; Infinity when nobody waits. */
export const firstLeaves = ({ lanes }: Queue<unknown>): number =>
  Math.min(
    ...[lanes.sync, lanes.batch].flatMap((lane) =>
      [...lane.values()].flatMap((waiters) => waiters.map(({ leaves_ms }) => leaves_ms)),
    ),
  );

/** How many would be served before a caller who came now, as far as those who wait already tell. */
export function ahead({ lanes, sync_in_row }: Queue<unknown>, lane: Lane, project: string): number {
  const projects = [...lanes[lane].keys()];
  const mine = lanes[lane].get(project)?.length ?? 0;
  const place = mine > 0 ? projects.indexOf(project) : projects.length;
  const before = [...lanes[lane].values()].reduce(
    (sum, { length }, at) => sum + (at === place ? mine : Math.min(length, mine + (at < place ? 1 : 0))),
    0,
  );
  const crossing =
    lane === "sync"
      ? Math.min(counted(lanes.batch), Math.floor((before + sync_in_row) / MAX_SYNC_IN_ROW))
      : Math.min(counted(lanes.sync), MAX_SYNC_IN_ROW * (before + 1) - sync_in_row);
  return before + Math.max(0, crossing);
}
