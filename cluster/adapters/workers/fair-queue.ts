/**
 * Tasks that wait for a child: the tenant with the fewest running tasks is served next, among equals the one whose
 * tasks have used the least CPU time. In each tenant the order of arrival counts. So a tenant whose documents take a
 * minute each waits while another's small ones are read, however many of its own stand in line.
 *
 * A tenant that comes anew starts with the least use of those that are present, so that time without tasks earns it no
 * more than its turn. Serving looks at every tenant that is present.
 */
export interface FairQueue<T> {
  readonly shares: Map<string, Share<T>>;
  /** How many tasks wait. */
  waiting: number;
}

interface Share<T> {
  readonly waiting: Set<T>;
  running: number;
  /** CPU time of its tasks that ended, since the queue was last empty and idle. */
  used_ms: number;
  /** CPU time of one of its tasks, by those that ended; the last ones count most. Null: none has ended. */
  expected_ms: number | null;
}

/** How much the last task counts in `expected_ms`. */
const LAST_SHARE = 0.25;

export const emptyFairQueue = <T>(): FairQueue<T> => ({ shares: new Map(), waiting: 0 });

export function enqueue<T>(queue: FairQueue<T>, tenant: string, task: T): void {
  shareOf(queue, tenant).waiting.add(task);
  queue.waiting++;
}

/**
 * Takes out the task whose turn it is, which counts as running until `finish`; undefined when none waits. With `mayTake`
 * only tasks for which it answers true have a turn.
 */
export function takeNext<T>(queue: FairQueue<T>, mayTake: (task: T) => boolean = () => true): T | undefined {
  let next: Share<T> | undefined;
  for (const share of queue.shares.values()) {
    const [task] = share.waiting;
    if (task === undefined || (next && !isBefore(share, next))) continue;
    if (mayTake(task)) next = share;
  }
  if (!next) return undefined;
  const [task] = next.waiting;
  next.waiting.delete(task!);
  next.running++;
  queue.waiting--;
  return task;
}

/** A running task has ended, after this much CPU time. */
export function finish<T>(queue: FairQueue<T>, tenant: string, used_ms: number): void {
  const share = queue.shares.get(tenant)!;
  share.running--;
  share.used_ms += used_ms;
  share.expected_ms = LAST_SHARE * used_ms + (1 - LAST_SHARE) * (share.expected_ms ?? used_ms);
  forgetIdle(queue);
}

/** CPU time that a task of this tenant takes, by those that ended; null when none has. */
export const expectedMs = ({ shares }: FairQueue<unknown>, tenant: string): number | null =>
  shares.get(tenant)?.expected_ms ?? null;

/** A running task has not ended: it waits again, behind its tenant's others. */
export function putBack<T>(queue: FairQueue<T>, tenant: string, task: T): void {
  const share = queue.shares.get(tenant)!;
  share.running--;
  share.waiting.add(task);
  queue.waiting++;
}

/** Takes out a task that waits; false when it does not wait. */
export function remove<T>(queue: FairQueue<T>, tenant: string, task: T): boolean {
  if (!queue.shares.get(tenant)?.waiting.delete(task)) return false;
  queue.waiting--;
  forgetIdle(queue);
  return true;
}

/**
 * Makes room for a task of this tenant in a full queue: takes out the newest task of the tenant with the most waiting.
 * Undefined when that is this tenant itself.
 */
export function displace<T>(queue: FairQueue<T>, tenant: string): T | undefined {
  let largest = tenant;
  let most = (queue.shares.get(tenant)?.waiting.size ?? 0) + 1;
  for (const [name, { waiting }] of queue.shares) {
    if (waiting.size > most) [largest, most] = [name, waiting.size];
  }
  const newest = largest === tenant ? undefined : [...queue.shares.get(largest)!.waiting].at(-1)!;
  if (newest !== undefined) remove(queue, largest, newest);
  return newest;
}

const isBefore = (a: Share<unknown>, b: Share<unknown>): boolean =>
  a.running === b.running ? a.used_ms < b.used_ms : a.running < b.running;

const isActive = ({ waiting, running }: Share<unknown>): boolean => waiting.size > 0 || running > 0;

const leastUse = (shares: Iterable<Share<unknown>>): number => {
  const uses = [...shares].filter(isActive).map(({ used_ms }) => used_ms);
  return uses.length > 0 ? Math.min(...uses) : 0;
};

function shareOf<T>(queue: FairQueue<T>, tenant: string): Share<T> {
  const known = queue.shares.get(tenant);
  if (known) return known;
  const used_ms = leastUse(queue.shares.values());
  const share: Share<T> = { waiting: new Set(), running: 0, used_ms, expected_ms: null };
  queue.shares.set(tenant, share);
  return share;
}

/** A tenant without tasks is remembered while it has used more than those that are present. */
function forgetIdle<T>({ shares }: FairQueue<T>): void {
  const idle = [...shares].filter(([, share]) => !isActive(share));
  if (idle.length === 0) return;
  const least_ms = idle.length === shares.size ? Infinity : leastUse(shares.values());
  for (const [tenant, { used_ms }] of idle) if (used_ms <= least_ms) shares.delete(tenant);
}
