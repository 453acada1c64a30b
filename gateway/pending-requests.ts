/**
 * Requests that this gateway has sent to actors and that have no row of the ledger yet. They are stored before the work
 * begins, many in one document, so that a gateway that is killed leaves no request without a row: another node, or the next
 * start of a single process, writes the rows that are missing.
 */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { Log } from "../cluster/ports/log.ts";
import { batchKey, LEDGER_RETENTION_MS, type LedgerRow, newBatchTag } from "../schemas/ledger.ts";
import { type LedgerBatch, packRows, rowsOf } from "../schemas/ledger-batch.ts";

/** The row that a request gets if its gateway dies before it has an answer. */
export interface PendingRow {
  readonly customer: string;
  readonly row: LedgerRow;
}

/** What the attempts of a request have cost, or have reserved where they are not settled. Throws Fault. */
export type SpentBy = (request_id: string) => Promise<number>;

export interface PendingRequests {
  /** Resolves when the request is stored as pending. Throws Fault; then it is not. */
  readonly begin: (pending: PendingRow) => Promise<void>;
  /** Whether at most one request has begun and not ended. */
  readonly isAlone: () => boolean;
  /** Its row is stored, or it needs none. */
  readonly end: (request_id: string) => void;
  /** Resolves when every removal under way is over. */
  readonly drain: () => Promise<void>;
}

interface PendingDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly log: Log;
  /** Unlike every other and every earlier gateway. */
  readonly gateway: () => string;
}

interface Batch {
  readonly key: string;
  readonly rows: PendingRow[];
  /** Requests without an end. */
  open: number;
}

export const PENDING_REQUESTS = "pending_requests";
const MAX_BATCH_ROWS = 1_000;
const REMOVE_AGAIN_MS = 1_000;
const MAX_REMOVALS = 10;

/** One document is written at a time; requests that begin meanwhile share the next one. */
export function pendingRequests({ documents, clock, log, gateway }: PendingDeps): PendingRequests {
  const batches = new Map<string, Batch>();
  const removals = new Set<Promise<void>>();
  let waiting: { readonly pending: PendingRow; readonly stored: PromiseWithResolvers<void> }[] = [];
  let isWriting = false;
  let written = 0;

  async function write(): Promise<void> {
    if (isWriting) return;
    isWriting = true;
    while (waiting.length > 0) {
      const group = waiting.slice(0, MAX_BATCH_ROWS);
      waiting = waiting.slice(MAX_BATCH_ROWS);
      const rows = group.map(({ pending }) => pending);
      const at = String(Math.floor(clock.now())).padStart(13, "0");
      const batch: Batch = { key: `${at}:${gateway()}:${++written}`, rows, open: rows.length };
      try {
        await documents.put(PENDING_REQUESTS, batch.key, { rows }, 0);
        for (const { row } of rows) batches.set(row.request_id, batch);
        for (const { stored } of group) stored.resolve();
      } catch (problem) {
        // The write may have reached the store.
        remove(batch.key);
        for (const { stored } of group) stored.reject(problem);
      }
    }
    isWriting = false;
  }

  /** What cannot be removed is removed by `recoverPending`. */
  function remove(key: string): void {
    const removal = removeAgain(key).finally(() => removals.delete(removal));
    removals.add(removal);
  }

  async function removeAgain(key: string): Promise<void> {
    for (let attempt = 1; attempt <= MAX_REMOVALS; attempt++) {
      try {
        await documents.remove(PENDING_REQUESTS, key, 1);
        return;
      } catch (problem) {
        if (!(problem instanceof Fault)) throw problem;
        await new Promise<void>((resolve) => void clock.at(clock.now() + REMOVE_AGAIN_MS, resolve));
      }
    }
    log.warn("Cannot remove pending requests", { key });
  }

  return {
    begin(pending) {
      const stored = Promise.withResolvers<void>();
      waiting.push({ pending, stored });
      void write();
      return stored.promise;
    },
    isAlone: () => batches.size <= 1,
    end(request_id) {
      const batch = batches.get(request_id);
      if (!batch) return;
      batches.delete(request_id);
      if (--batch.open === 0) remove(batch.key);
    },
    drain: async () => void (await Promise.all(removals)),
  };
}

type RecoveryDeps = Omit<PendingDeps, "gateway"> & { readonly spentBy: SpentBy };

/** Longer than a gateway waits for an answer and for the store of its row. */
export const PENDING_TTL_MS = 10 * 60_000;
/** A gateway that could not reach the store writes its rows within this time after it can. */
const SETTLE_MS = 5_000;
const DOCUMENTS_AT_ONCE = 100;

/**
 * Writes the rows of requests that began `older_than_ms` ago and whose gateway has died. All nodes may run it at the same
 * time: a row is written under a key made of its document's, with what the request's attempts have cost. Throws Fault.
 */
export async function recoverPending(
  { documents, clock, log, spentBy }: RecoveryDeps,
  older_than_ms: number,
): Promise<void> {
  const to = String(Math.max(0, Math.floor(clock.now() - older_than_ms))).padStart(13, "0");
  const range = { to: `${to};`, limit: DOCUMENTS_AT_ONCE };
  if ((await documents.list(PENDING_REQUESTS, range)).length === 0) return;
  if (older_than_ms > 0)
    await new Promise<void>((resolve) => void clock.at(clock.now() + SETTLE_MS, resolve));
  for (;;) {
    const found = await documents.list(PENDING_REQUESTS, range);
    for (const { key, value, version } of found) {
      const { rows } = value as { readonly rows: readonly PendingRow[] };
      for (const [customer, pending] of Map.groupBy(rows, (row) => row.customer)) {
        const missing = await withoutRow(
          documents,
          customer,
          pending.map(({ row }) => row),
          clock.now(),
        );
        if (missing.length === 0) continue;
        const recovered: LedgerRow[] = [];
        for (const row of missing) recovered.push({ ...row, cost_micros: await spentBy(row.request_id) });
        const began_ms = Math.min(...missing.map(({ at_ms }) => at_ms));
        const options = {
          tag: newBatchTag(customer),
          expires_at_ms: began_ms + LEDGER_RETENTION_MS,
        };
        await documents.put(
          "ledger",
          batchKey(customer, began_ms, `p${key}`),
          packRows(recovered),
          0,
          options,
        );
        log.warn("Rows of requests whose gateway died are in the ledger", { customer, rows: missing.length });
      }
      await documents.remove(PENDING_REQUESTS, key, version);
    }
    if (found.length < DOCUMENTS_AT_ONCE) return;
  }
}

/** The rows whose requests have none in the ledger. */
async function withoutRow(
  documents: Documents,
  customer: string,
  rows: readonly LedgerRow[],
  now_ms: number,
): Promise<readonly LedgerRow[]> {
  const missing = new Map(rows.map((row) => [row.request_id, row]));
  const at = (ms: number): string => `${customer}:${String(Math.floor(ms)).padStart(13, "0")}`;
  const to = at(now_ms + 60_000);
  for (let from = at(Math.min(...rows.map(({ at_ms }) => at_ms))); missing.size > 0;) {
    const page = await documents.list("ledger", { from, to, limit: 100 });
    for (const { value } of page)
      for (const { request_id } of rowsOf(value as LedgerBatch)) missing.delete(request_id);
    if (page.length < 100) break;
    from = `${page.at(-1)!.key}\0`;
  }
  return [...missing.values()];
}
