/**
 * The ledger as this gateway writes it: rows gather for a moment and are stored together, one document for each customer. The
 * answer to a request that went upstream is sent after its row is stored; rows of answers from the cache follow within 100
 * ms. While the store is away rows are kept and written under the same key, so that none is lost or written twice.
 */
import type { Node } from "../cluster/node-record.ts";
import { Fault } from "../cluster/ports/fault.ts";
import {
  batchKey,
  LEDGER_RETENTION_MS,
  type LedgerRow,
  newBatchTag,
  UsageTotals,
} from "../schemas/ledger.ts";
import { addRow, noRows, packColumns, type RowColumns, type RowHead } from "../schemas/ledger-batch.ts";
import { FULL_GROUP_ROWS } from "./pending-requests.ts";
import { LEDGER } from "../records/collections.ts";

/** The fields of a row that belong to one answer only. */
export type RowAnswer = Pick<LedgerRow, "request_id" | "at_ms" | "latency_ms">;

export interface Ledger {
  /** Stored within 100 ms. Throws Fault when the store has been away for so long that no further row can be kept. */
  readonly record: (customer: string, head: RowHead, answer: RowAnswer) => void;
  /** Resolves when the row is stored. Throws Fault; the row is stored later then. */
  readonly store: (
    customer: string,
    head: RowHead,
    answer: RowAnswer,
    options: StoreOptions,
  ) => Promise<void>;
  /** Stores everything recorded so far. Throws Fault. */
  readonly flush: (customer: string) => Promise<void>;
  /** Stores everything. Rows that cannot be stored are logged. */
  readonly drain: () => Promise<void>;
  /** The rows that are not stored yet, and for how long the oldest of them. */
  readonly lag: () => { readonly rows: number; readonly lag_ms: number };
}

interface StoreOptions {
  /** How long the row waits for others that share its document at most; 0: it is written at once. */
  readonly within_ms: number;
}

/** With the time of a write this stays below 100 ms. */
const GATHER_MS = 80;
const RETRY_MS = 500;
/** Rows in one document: some 100 kB. */
const MAX_BATCH_ROWS = 2_000;
/** Rows in memory while the store is away. After that requests are refused with 503. */
const MAX_ROWS = 50_000;
/** The Usage actor hears of new batches this often. */
const TELL_EVERY_MS = 2_000;

interface Batch {
  readonly rows: RowColumns;
  /** Rows whose answers wait for them. */
  awaited: number;
  /** Set when it is first written, so that it is repeated under the same key. */
  key: string | null;
  readonly stored: PromiseWithResolvers<void>;
}

interface Customer {
  readonly name: string;
  /** Oldest first. The last one still gathers. */
  readonly batches: Batch[];
  /** When what gathers is written. */
  due_ms: number;
  /** How long that was ahead when it was set: a row that may wait as long has no say in it, and need not read the clock. */
  within_ms: number;
  isWriting: boolean;
  /** The gathered rows are written after the write under way: its time has come, or a reader waits for it. */
  isUrgent: boolean;
  told_ms: number;
}

export function openLedger({
  documents,
  ask,
  clock,
  log,
  writer,
}: Pick<Node, "documents" | "ask" | "clock" | "log"> & {
  /** Unlike every other and every earlier writer. */
  readonly writer: () => string;
}): Ledger {
  const customers = new Map<string, Customer>();
  let kept_rows = 0;
  let last_ms = 0;

  function newBatch(): Batch {
    const stored = Promise.withResolvers<void>();
    // Most rows have no caller that waits for them; all are repeated until they are stored.
    stored.promise.catch(() => {});
    return { rows: noRows(), awaited: 0, key: null, stored };
  }

  function append(name: string, head: RowHead, answer: RowAnswer, within_ms: number): Batch {
    if (kept_rows >= MAX_ROWS)
      throw new Fault("documents_unreachable", `Cannot keep more than ${MAX_ROWS} rows of the ledger`);
    let customer = customers.get(name);
    if (!customer) {
      customer = {
        name,
        batches: [],
        due_ms: Infinity,
        within_ms: Infinity,
        isWriting: false,
        isUrgent: false,
        told_ms: -Infinity,
      };
      customers.set(name, customer);
    }
    let batch = customer.batches.at(-1);
    if (!batch || batch.key !== null || batch.rows.request_id.length >= MAX_BATCH_ROWS)
      customer.batches.push((batch = newBatch()));
    addRow(batch.rows, head, answer);
    kept_rows++;
    if (within_ms < customer.within_ms) arm(customer, within_ms);
    return batch;
  }

  function arm(customer: Customer, within_ms: number): void {
    const due_ms = clock.mono() + within_ms;
    if (customer.due_ms <= due_ms) return;
    customer.due_ms = due_ms;
    customer.within_ms = within_ms;
    clock.at(clock.now() + Math.max(0, due_ms - clock.mono()), () => {
      if (customer.due_ms > due_ms) return;
      customer.due_ms = Infinity;
      customer.within_ms = Infinity;
      if (customer.isWriting) customer.isUrgent = true;
      void write(customer);
    });
  }

  /** Throws Fault; the batch is written again under the same key then. */
  async function store(customer: Customer, batch: Batch): Promise<void> {
    last_ms = Math.max(clock.now(), last_ms + 1);
    batch.key ??= batchKey(customer.name, Math.floor(last_ms), writer());
    const options = {
      tag: newBatchTag(customer.name),
      expires_at_ms: Math.floor(last_ms) + LEDGER_RETENTION_MS,
    };
    // False: an earlier attempt was stored after all.
    await LEDGER.put(documents, batch.key, packColumns(batch.rows), 0, options);
    customer.batches.splice(customer.batches.indexOf(batch), 1);
    kept_rows -= batch.rows.request_id.length;
    batch.stored.resolve();
  }

  /** Writes what there is. Never throws. */
  async function write(customer: Customer): Promise<void> {
    if (customer.isWriting) return;
    customer.isWriting = true;
    customer.isUrgent = false;
    try {
      // Rows that arrive meanwhile gather for their own time. A store that groups writes commits and syncs these once.
      const writes = customer.batches.slice().map((batch) => store(customer, batch));
      const failed = (await Promise.allSettled(writes)).find(({ status }) => status === "rejected");
      if (failed) throw (failed as PromiseRejectedResult).reason;
      if (clock.mono() - customer.told_ms >= TELL_EVERY_MS) {
        customer.told_ms = clock.mono();
        // When the message is lost, the next reader adds up what is new.
        void ask(UsageTotals, customer.name, "written", null).catch(() => {});
      }
    } catch (problem) {
      if (!(problem instanceof Fault)) throw problem;
      log.warn("Cannot write the ledger", { customer: customer.name, problem: problem.message });
      for (const batch of customer.batches) {
        const { stored } = batch;
        stored.reject(problem);
        Object.assign(batch, { stored: newBatch().stored });
      }
      arm(customer, RETRY_MS);
    } finally {
      customer.isWriting = false;
      if (customer.batches.length > 0 && customer.isUrgent) void write(customer);
    }
  }

  /** Writes what gathers now, or after the write under way. */
  function hurry(customer: Customer): void {
    customer.isUrgent = true;
    void write(customer);
  }

  const flush = async (name: string): Promise<void> => {
    const customer = customers.get(name);
    if (!customer) return;
    const stored = customer.batches.map((batch) => batch.stored.promise);
    hurry(customer);
    await Promise.all(stored);
  };

  return {
    record: (customer, head, answer) => void append(customer, head, answer, GATHER_MS),
    store(name, head, answer, { within_ms }) {
      const batch = append(name, head, answer, within_ms);
      if (++batch.awaited >= FULL_GROUP_ROWS || within_ms === 0) hurry(customers.get(name)!);
      return batch.stored.promise;
    },
    flush,
    lag() {
      const oldest_ms = [...customers.values()].map(({ batches }) => batches[0]?.rows.at_ms[0] ?? Infinity);
      const now_ms = clock.now();
      return { rows: kept_rows, lag_ms: now_ms - Math.min(now_ms, ...oldest_ms) };
    },
    drain: async () => {
      for (const name of customers.keys())
        await flush(name).catch((problem: Error) => {
          const rows = kept_rows;
          log.error("Cannot write the last rows of the ledger", { rows, problem: problem.message });
        });
    },
  };
}
