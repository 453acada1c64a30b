/**
 * Requests that this gateway has sent to actors and that have no row of the ledger yet. They are stored before the work
 * begins, many in one document, so that a gateway that is killed leaves no request without a row: another node, or the next
 * start of a single process, writes the rows that are missing.
 */
import assert from "node:assert/strict";
import { withCost } from "../schemas/accounts.ts";
import { type Clock, sleep } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { Log } from "../cluster/ports/log.ts";
import { batchKey, LEDGER_RETENTION_MS, type LedgerRow, newBatchTag } from "../schemas/ledger.ts";
import { packRows, rowsOf } from "../schemas/ledger-batch.ts";
import { collection } from "../cluster/collection.ts";
import { LEDGER } from "../records/collections.ts";

/** The row that a request gets if its gateway dies before it has an answer. */
export interface PendingRow {
  readonly customer: string;
  readonly row: LedgerRow;
}

/** Cost of the attempts of a request, or their reservations where they are not settled. Throws Fault. */
export type SpentBy = (request_id: string) => Promise<number>;

export interface BeginOptions {
  /** The caller awaits another durable write, or `synced` of the documents, before anything is seen outside. Default: no. */
  readonly ordered?: boolean;
}

export interface PendingRequests {
  /** Resolves when the request is stored as pending. Throws Fault; then it is not. */
  readonly begin: (pending: PendingRow, options?: BeginOptions) => Promise<void>;
  /** How long a write for one of these requests waits for others that share its document; 0 for a lone request. */
  readonly gatherMs: () => number;
  /** Its row is stored, or it needs none. */
  readonly end: (request_id: string) => void;
  /** Removes the documents without open requests; resolves when every removal is over. */
  readonly drain: () => Promise<void>;
}

interface PendingDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly log: Log;
  /** Unlike every other and every earlier gateway. */
  readonly gateway: () => string;
  /** The longest wait for a shared document. A larger one delays answers under load. Default: 120. */
  readonly max_gather_ms?: number;
}

/** A document with the requests that were stored together. When all have ended it is written again with the next ones. */
interface Group {
  readonly key: string;
  readonly created_ms: number;
  /** As stored; 0: not yet. */
  version: number;
  /** Requests without an end. */
  open: number;
  /** Since when none is open, on the monotonic clock. */
  free_since_ms: number;
}

interface Waiting {
  readonly pending: PendingRow;
  readonly isOrdered: boolean;
  readonly since_ms: number;
  readonly stored: PromiseWithResolvers<void>;
}

export const PENDING_REQUESTS = collection<{ readonly rows: readonly PendingRow[] }>("pending_requests");
const MAX_GATHER_MS = 120;
/** The wait grows with the requests that begin in a second, up to 720: a wait that few would share is not worth its delay. */
const GATHER_MS_PER_RPS = 1 / 6;
const RATE_WINDOW_MS = 1_000;
/** So many requests do not wait for more. */
export const FULL_GROUP_ROWS = 200;
const MAX_GROUP_ROWS = 1_000;
/** A document without open requests is removed when no request has used it again for so long. */
const UNUSED_MS = 1_000;
/** `recoverPending` reads the age of requests from the key: a document is written again for a small part of PENDING_TTL_MS only. */
const REUSED_MS = 60_000;
const REMOVE_AGAIN_MS = 1_000;
const MAX_REMOVALS = 10;

/** Documents are written one at a time; requests that begin meanwhile share the next one. */
export function pendingRequests(deps: PendingDeps): PendingRequests {
  const { documents, clock, gateway, max_gather_ms = MAX_GATHER_MS } = deps;
  const groups = new Map<string, Group>();
  /** Without open requests, the last one used last. */
  const free: Group[] = [];
  const removals = groupRemovals(deps);
  let waiting: Waiting[] = [];
  /** Requests that have begun and not ended. */
  let open = 0;
  const rate = rateMeter(clock);
  let created = 0;
  let isWriting = false;
  let writeTimer: Disposable | null = null;
  let sweepTimer: Disposable | null = null;

  const gatherMs = (): number =>
    open <= 1 ? 0 : Math.min(max_gather_ms, Math.floor(GATHER_MS_PER_RPS * rate.perSecond()));

  /** Writes what waits, now or when it has gathered. */
  function schedule(): void {
    const [first] = waiting;
    if (isWriting || !first) return;
    const isFull = waiting.length >= FULL_GROUP_ROWS;
    const wait_ms = isFull ? 0 : gatherMs() - (clock.mono() - first.since_ms);
    if (wait_ms > 0) writeTimer ??= clock.at(clock.now() + wait_ms, () => void write());
    else void write();
  }

  async function write(): Promise<void> {
    writeTimer?.[Symbol.dispose]();
    writeTimer = null;
    isWriting = true;
    const rows = waiting.slice(0, MAX_GROUP_ROWS);
    waiting = waiting.slice(MAX_GROUP_ROWS);
    try {
      const group = await store(
        rows.map(({ pending }) => pending),
        rows.every(({ isOrdered }) => isOrdered),
      );
      for (const { pending } of rows) groups.set(pending.row.request_id, group);
      for (const { stored } of rows) stored.resolve();
    } catch (problem) {
      open -= rows.length;
      for (const { stored } of rows) stored.reject(problem);
    }
    isWriting = false;
    schedule();
  }

  /** In a document whose requests have all ended, or else in a new one. Throws Fault. */
  async function store(rows: readonly PendingRow[], ordered: boolean): Promise<Group> {
    for (;;) {
      const group = unusedGroup() ?? newGroup();
      try {
        if (await PENDING_REQUESTS.put(documents, group.key, { rows }, group.version, { ordered })) {
          group.version++;
          group.open = rows.length;
          return group;
        }
      } catch (problem) {
        // The write may have reached the store.
        removals.remove(group);
        throw problem;
      }
      // Another node took this gateway for dead and removed it.
      assert(group.version > 0, `Two gateways have the name of "${group.key}"`);
    }
  }

  function unusedGroup(): Group | undefined {
    for (let group = free.pop(); group; group = free.pop()) {
      if (clock.now() - group.created_ms < REUSED_MS) return group;
      removals.remove(group);
    }
    return undefined;
  }

  function newGroup(): Group {
    const created_ms = Math.floor(clock.now());
    const key = `${String(created_ms).padStart(13, "0")}:${gateway()}:${++created}`;
    return { key, created_ms, version: 0, open: 0, free_since_ms: 0 };
  }

  function onFree(group: Group): void {
    group.free_since_ms = clock.mono();
    free.push(group);
    scheduleSweep();
  }

  /** Removes the groups that the load of this moment does not need. */
  function scheduleSweep(): void {
    sweepTimer ??= clock.at(clock.now() + UNUSED_MS, () => {
      sweepTimer = null;
      while (free[0] && clock.mono() - free[0].free_since_ms >= UNUSED_MS) removals.remove(free.shift()!);
      if (free.length > 0) scheduleSweep();
    });
  }

  return {
    begin(pending, { ordered = false } = {}) {
      const stored = Promise.withResolvers<void>();
      open++;
      rate.count();
      waiting.push({ pending, isOrdered: ordered, since_ms: clock.mono(), stored });
      schedule();
      return stored.promise;
    },
    gatherMs,
    end(request_id) {
      const group = groups.get(request_id);
      if (!group) return;
      groups.delete(request_id);
      open--;
      if (--group.open === 0) onFree(group);
    },
    async drain() {
      for (const group of free.splice(0)) removals.remove(group);
      await removals.drain();
    },
  };
}

/** Removes documents that are not used again. What cannot be removed is removed by `recoverPending`. */
function groupRemovals({ documents, clock, log }: Omit<PendingDeps, "gateway">) {
  const removals = new Set<Promise<void>>();

  async function removeAgain({ key, version }: Group): Promise<void> {
    for (let attempt = 1; attempt <= MAX_REMOVALS; attempt++) {
      try {
        // The next version is that of a write without an answer.
        if (!(await PENDING_REQUESTS.remove(documents, key, version)))
          await PENDING_REQUESTS.remove(documents, key, version + 1);
        return;
      } catch (problem) {
        if (!(problem instanceof Fault)) throw problem;
        await sleep(clock, REMOVE_AGAIN_MS);
      }
    }
    log.warn("Cannot remove pending requests", { key });
  }

  return {
    remove(group: Group): void {
      const removal = removeAgain(group).finally(() => removals.delete(removal));
      removals.add(removal);
    },
    drain: async (): Promise<void> => void (await Promise.all(removals)),
  };
}

/** How many requests began in a second: the one before, or this one where they are more already. */
function rateMeter(clock: Clock) {
  let since_ms = -Infinity;
  let begun = 0;
  let before = 0;
  return {
    count(): void {
      const age_ms = clock.mono() - since_ms;
      if (age_ms >= RATE_WINDOW_MS) {
        before = age_ms < 2 * RATE_WINDOW_MS ? begun : 0;
        since_ms = clock.mono();
        begun = 0;
      }
      begun++;
    },
    perSecond: (): number => Math.max(begun, before),
  };
}

type RecoveryDeps = Omit<PendingDeps, "gateway"> & {
  readonly spentBy: SpentBy;
  /** Hears of the rows of such requests, once they are in the ledger. Default: nothing does. */
  readonly onRow?: (row: LedgerRow) => Promise<void>;
};

/** Longer than a document is written again, a gateway waits for an answer, and its row for the store. */
export const PENDING_TTL_MS = 10 * 60_000;
/** A gateway that could not reach the store writes its rows within this time after it can. */
const SETTLE_MS = 5_000;
const DOCUMENTS_AT_ONCE = 100;

/**
 * Writes the rows of requests that began `older_than_ms` ago and whose gateway has died. All nodes may run it at the same
 * time: a row is written under a key made of its document's, with what the request's attempts have cost. Throws Fault.
 */
export async function recoverPending(
  { documents, clock, log, spentBy, onRow }: RecoveryDeps,
  older_than_ms: number,
): Promise<void> {
  const to = String(Math.max(0, Math.floor(clock.now() - older_than_ms))).padStart(13, "0");
  const range = { to: `${to};`, limit: DOCUMENTS_AT_ONCE };
  if ((await PENDING_REQUESTS.list(documents, range)).length === 0) return;
  if (older_than_ms > 0) await sleep(clock, SETTLE_MS);
  for (;;) {
    const found = await PENDING_REQUESTS.list(documents, range);
    for (const { key, value, version } of found) {
      for (const [customer, pending] of Map.groupBy(value.rows, (row) => row.customer)) {
        const requests = pending.map(({ row }) => row);
        const written = await rowsInLedger(documents, customer, requests, clock.now());
        const recovered: LedgerRow[] = [];
        for (const row of requests)
          if (!written.has(row.request_id)) recovered.push(withCost(row, await spentBy(row.request_id)));
        if (recovered.length > 0) {
          const began_ms = Math.min(...recovered.map(({ at_ms }) => at_ms));
          const options = { tag: newBatchTag(customer), expires_at_ms: began_ms + LEDGER_RETENTION_MS };
          const name = batchKey(customer, began_ms, `p${key}`);
          await LEDGER.put(documents, name, packRows(recovered), 0, options);
          const written_rows = { customer, rows: recovered.length };
          log.warn("Rows of requests whose gateway died are in the ledger", written_rows);
        }
        for (const row of [...written.values(), ...recovered]) await onRow?.(row);
      }
      await PENDING_REQUESTS.remove(documents, key, version);
    }
    if (found.length < DOCUMENTS_AT_ONCE) return;
  }
}

/** The rows of these requests that the ledger has. */
async function rowsInLedger(
  documents: Documents,
  customer: string,
  requests: readonly LedgerRow[],
  now_ms: number,
): Promise<ReadonlyMap<string, LedgerRow>> {
  const missing = new Set(requests.map(({ request_id }) => request_id));
  const found = new Map<string, LedgerRow>();
  const at = (ms: number): string => `${customer}:${String(Math.floor(ms)).padStart(13, "0")}`;
  const to = at(now_ms + 60_000);
  for (let from = at(Math.min(...requests.map(({ at_ms }) => at_ms))); missing.size > 0;) {
    const page = await LEDGER.list(documents, { from, to, limit: 100 });
    for (const { value } of page)
      for (const row of rowsOf(value)) if (missing.delete(row.request_id)) found.set(row.request_id, row);
    if (page.length < 100) break;
    from = `${page.at(-1)!.key}\0`;
  }
  return found;
}
