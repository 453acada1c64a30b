/**
 * Rows of the ledger as one stored document, with their totals. Rows that were written together are much alike and are read as a
 * whole: what several rows have in common is stored once, the rest by columns. The totals are all that the sums of usage
 * need, so adding a batch up does not read its rows.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { countBills, NO_USAGE, type Usage } from "./accounts.ts";
import { dayOf, type LedgerRow } from "./ledger.ts";

/** Rows of one customer that were written together; the document is written once, and again without its tag when added up. */
export interface LedgerBatch {
  /** Absent: it was written before format 4 of the stored data. */
  readonly totals?: readonly BatchTotal[];
  /** A text is JSON of rows or of their columns, compressed with zstd, in base64, as formats 4 and 5 of the stored data have it. */
  readonly rows: readonly LedgerRow[] | StoredColumns | string;
}

/** Fields that rows of the same answer for the same key have in common. */
export type RowHead = Omit<LedgerRow, "request_id" | "at_ms" | "latency_ms">;

/** A column of numbers as runs of equal ones: a value, how many rows have it, the next value, … */
type Runs = number[];

/** Rows as columns: a row takes no object of its own while it waits to be written, and mostly no number either. */
export interface RowColumns {
  readonly heads: RowHead[];
  readonly request_id: string[];
  /** The head of a row, as the index in `heads`. */
  readonly head: Runs;
  readonly at_ms: Runs;
  readonly latency_ms: Runs;
}

export const noRows = (): RowColumns => ({ heads: [], request_id: [], head: [], at_ms: [], latency_ms: [] });

/** Adds a row. Rows of one head object that follow each other share it. */
export function addRow(
  columns: RowColumns,
  head: RowHead,
  { request_id, at_ms, latency_ms }: Pick<LedgerRow, "request_id" | "at_ms" | "latency_ms">,
): void {
  const { heads } = columns;
  // A few keys and pages make most of the rows of a moment.
  let index = heads.lastIndexOf(head);
  if (index < 0) index = heads.push(head) - 1;
  columns.request_id.push(request_id);
  addToRuns(columns.head, index);
  addToRuns(columns.at_ms, at_ms);
  addToRuns(columns.latency_ms, latency_ms);
}

function addToRuns(runs: Runs, value: number): void {
  const last = runs.length - 2;
  if (last >= 0 && runs[last] === value) runs[last + 1]!++;
  else runs.push(value, 1);
}

function valuesOf(runs: Runs): readonly number[] {
  const values: number[] = [];
  for (let run = 0; run < runs.length; run += 2)
    for (let row = 0; row < runs[run + 1]!; row++) values.push(runs[run]!);
  return values;
}

function rowsOfColumns({ heads, request_id, ...runs }: RowColumns): readonly LedgerRow[] {
  const [head, at_ms, latency_ms] = [valuesOf(runs.head), valuesOf(runs.at_ms), valuesOf(runs.latency_ms)];
  return request_id.map((id, row) => ({
    ...heads[head[row]!]!,
    request_id: id,
    at_ms: at_ms[row]!,
    latency_ms: latency_ms[row]!,
  }));
}

/** Sum of the rows of one day, project, key and category. */
export interface BatchTotal extends Pick<LedgerRow, "project" | "key" | "category"> {
  readonly day: string;
  readonly usage: Usage;
}

/** Fewer rows are small anyway. */
const PACKED_FROM_ROWS = 24;
/** Compression costs about 50 µs a document. */
const MAX_PLAIN_CHARS = 4_096;
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
  if (columns.request_id.length < PACKED_FROM_ROWS) return { totals, rows: rowsOfColumns(columns) };
  const { heads, request_id, head, at_ms, latency_ms } = columns;
  const text = JSON.stringify({ heads, runs: { head, at_ms: differences(at_ms), latency_ms } });
  return {
    totals,
    rows: { columns: text.length <= MAX_PLAIN_CHARS ? text : packed(text), request_id: joined(request_id) },
  };
}

function packed(text: string): string {
  const bytes = Buffer.from(text);
  // With the length zstd allocates what it needs instead of a window of half a megabyte.
  return zstdCompressSync(bytes, { ...LEVEL, pledgedSrcSize: bytes.length }).toString("base64");
}

const unpacked = (base64: string): string => zstdDecompressSync(Buffer.from(base64, "base64")).toString();

export function rowsOf({ rows }: LedgerBatch): readonly LedgerRow[] {
  if (typeof rows === "string") {
    const stored = JSON.parse(unpacked(rows)) as LedgerRow[] | ColumnsOfFormat5;
    return Array.isArray(stored) ? stored : rowsOfFormat5(stored);
  }
  if (!("columns" in rows)) return rows;
  const { columns, request_id } = rows;
  const { heads, runs } = JSON.parse(columns.startsWith("{") ? columns : unpacked(columns)) as HeadsAndRuns;
  return rowsOfColumns({ heads, ...runs, at_ms: sums(runs.at_ms), request_id: separate(request_id) });
}

/** Columns as they are stored since format 6 of the stored data. */
interface StoredColumns {
  /** JSON of HeadsAndRuns, where it is long compressed with zstd, in base64. */
  readonly columns: string;
  readonly request_id: JoinedIds | string[];
}

/** Ids of one length as one text, without what all of them begin with. Most of an id is chance, which nothing makes shorter. */
interface JoinedIds {
  readonly prefix: string;
  /** Length of each id in the text. */
  readonly chars: number;
  readonly text: string;
}

interface HeadsAndRuns {
  readonly heads: RowHead[];
  /** The times as differences to the run before: so they are short. */
  readonly runs: Pick<RowColumns, "head" | "at_ms" | "latency_ms">;
}

const differences = (runs: Runs): Runs =>
  runs.map((number, at) => (at < 2 || at % 2 === 1 ? number : number - runs[at - 2]!));

function sums(runs: Runs): Runs {
  let value = 0;
  return runs.map((number, at) => (at % 2 === 1 ? number : (value += number)));
}

function joined(ids: string[]): StoredColumns["request_id"] {
  const { length } = ids[0]!;
  let prefix = ids[0]!;
  for (const id of ids) {
    if (id.length !== length) return ids;
    while (!id.startsWith(prefix)) prefix = prefix.slice(0, -1);
  }
  const chars = length - prefix.length;
  if (chars === 0) return ids;
  return { prefix, chars, text: ids.map((id) => id.slice(prefix.length)).join("") };
}

function separate(stored: StoredColumns["request_id"]): string[] {
  if (Array.isArray(stored)) return stored;
  const { prefix, chars, text } = stored;
  return Array.from(
    { length: text.length / chars },
    (_, n) => prefix + text.slice(n * chars, (n + 1) * chars),
  );
}

/** Columns as format 5 of the stored data has them: a number for each row, times as differences to the row before. */
interface ColumnsOfFormat5 {
  readonly heads: RowHead[];
  readonly head: number[];
  readonly request_id: string[];
  readonly at_ms: number[];
  readonly latency_ms: number[];
}

function rowsOfFormat5({ heads, head, request_id, ...stored }: ColumnsOfFormat5): readonly LedgerRow[] {
  const columns = noRows();
  let at_ms = 0;
  for (const [row, index] of head.entries()) {
    at_ms += stored.at_ms[row]!;
    addRow(columns, heads[index]!, {
      request_id: request_id[row]!,
      at_ms,
      latency_ms: stored.latency_ms[row]!,
    });
  }
  return rowsOfColumns(columns);
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
  const first_day = dayOf(at_ms[0] ?? 0);
  const isOneDay = at_ms.every((number, at) => at % 2 === 1 || dayOf(number) === first_day);
  if (isOneDay) for (let run = 0; run < head.length; run += 2) add(head[run]!, first_day, head[run + 1]!);
  else {
    const times = valuesOf(at_ms);
    for (const [row, index] of valuesOf(head).entries()) add(index, dayOf(times[row]!), 1);
  }
  return totals;
}
