/**
 * Rows of the ledger as one stored document, with their totals. Rows that were written together are much alike and are read as a
 * whole: what several rows have in common is stored once, the rest by columns, compressed. The totals are all that the sums of usage
 * need, so adding a batch up does not read its rows.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { countBills, NO_USAGE, type Usage } from "./accounts.ts";
import { dayOf, type LedgerRow } from "./ledger.ts";

/** Rows of one customer that were written together; the document is written once, and again without its tag when added up. */
export interface LedgerBatch {
  /** Absent: it was written before format 4 of the stored data. */
  readonly totals?: readonly BatchTotal[];
  /** The rows, or JSON of them or of their columns, compressed with zstd, in base64. Columns since format 5 of the stored data. */
  readonly rows: readonly LedgerRow[] | string;
}

/** What rows have in common that tell of the same answer for the same key. */
export type RowHead = Omit<LedgerRow, "request_id" | "at_ms" | "latency_ms">;

/** Rows as columns: a row takes no object of its own while it waits to be written. */
export interface RowColumns {
  readonly heads: RowHead[];
  /** By row its head, as the index in `heads`. */
  readonly head: number[];
  readonly request_id: string[];
  readonly at_ms: number[];
  readonly latency_ms: number[];
}

export const noRows = (): RowColumns => ({ heads: [], head: [], request_id: [], at_ms: [], latency_ms: [] });

/** Adds a row. Rows of one head object that follow each other share it. */
export function addRow(
  { heads, head: head_of, request_id, at_ms, latency_ms }: RowColumns,
  head: RowHead,
  {
    request_id: id,
    at_ms: answered_ms,
    latency_ms: took_ms,
  }: Pick<LedgerRow, "request_id" | "at_ms" | "latency_ms">,
): void {
  // A few keys and pages make most of the rows of a moment.
  let index = heads.lastIndexOf(head);
  if (index < 0) index = heads.push(head) - 1;
  head_of.push(index);
  request_id.push(id);
  at_ms.push(answered_ms);
  latency_ms.push(took_ms);
}

const rowsOfColumns = ({ heads, head, request_id, at_ms, latency_ms }: RowColumns): readonly LedgerRow[] =>
  head.map((index, row) => ({
    ...heads[index]!,
    request_id: request_id[row]!,
    at_ms: at_ms[row]!,
    latency_ms: latency_ms[row]!,
  }));

/** What the rows of one day, project, key and category add up to. */
export interface BatchTotal extends Pick<LedgerRow, "project" | "key" | "category"> {
  readonly day: string;
  readonly usage: Usage;
}

/** Compression costs about 50 µs a document, and fewer rows are small anyway. */
const PACKED_FROM_ROWS = 24;
/** The fastest: a higher level costs ten times as much and saves nothing here. */
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

export function packRows(rows: readonly LedgerRow[]): LedgerBatch {
  const columns = noRows();
  for (const { request_id, at_ms, latency_ms, ...head } of rows)
    addRow(columns, head, { request_id, at_ms, latency_ms });
  return packColumns(columns);
}

export function packColumns(columns: RowColumns): LedgerBatch {
  const totals = addUp(columns);
  if (columns.head.length < PACKED_FROM_ROWS) return { totals, rows: rowsOfColumns(columns) };
  const { at_ms } = columns;
  // As differences they are short.
  const stored = { ...columns, at_ms: at_ms.map((at, row) => (row === 0 ? at : at - at_ms[row - 1]!)) };
  return { totals, rows: zstdCompressSync(JSON.stringify(stored), LEVEL).toString("base64") };
}

export function rowsOf({ rows }: LedgerBatch): readonly LedgerRow[] {
  if (typeof rows !== "string") return rows;
  const text = zstdDecompressSync(Buffer.from(rows, "base64")).toString();
  const stored = JSON.parse(text) as LedgerRow[] | RowColumns;
  if (Array.isArray(stored)) return stored;
  let at = 0;
  return rowsOfColumns({ ...stored, at_ms: stored.at_ms.map((difference) => (at += difference)) });
}

export const totalsOf = (batch: LedgerBatch): readonly BatchTotal[] =>
  batch.totals ?? packRows(rowsOf(batch)).totals!;

function addUp({ heads, head, at_ms }: RowColumns): readonly BatchTotal[] {
  const totals: BatchTotal[] = [];
  const add = (index: number, day: string, rows: number): void => {
    const { project, key, category } = heads[index]!;
    let total = totals.find(
      (one) => one.key === key && one.category === category && one.day === day && one.project === project,
    );
    if (!total) totals.push((total = { day, project, key, category, usage: { ...NO_USAGE } }));
    countBills(total.usage, heads[index]!, rows);
  };
  /** Rows of a head on the day of the first row. */
  const counts = heads.map(() => 0);
  const first_day = dayOf(at_ms[0] ?? 0);
  for (const [row, index] of head.entries()) {
    const day = dayOf(at_ms[row]!);
    if (day === first_day) counts[index]!++;
    else add(index, day, 1);
  }
  for (const [index, rows] of counts.entries()) if (rows > 0) add(index, first_day, rows);
  return totals;
}
