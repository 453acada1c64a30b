/**
 * Rows of the ledger as one stored document, with their totals. Rows that were written together are much alike and are read as a
 * whole: compressed, 300 of them take a thirtieth. The totals are all that the sums of usage need, so adding a batch up does not read
 * its rows.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { countBill, NO_USAGE, type Usage } from "./accounts.ts";
import { dayOf, type LedgerRow } from "./ledger.ts";

/** Rows of one customer that were written together; the document is written once, and again without its tag when added up. */
export interface LedgerBatch {
  /** Absent: it was written before format 4 of the stored data. */
  readonly totals?: readonly BatchTotal[];
  /** The rows, or JSON of them, compressed with zstd, in base64. */
  readonly rows: readonly LedgerRow[] | string;
}

/** What the rows of one day, project, key and category add up to. */
export interface BatchTotal extends Pick<LedgerRow, "project" | "key" | "category"> {
  readonly day: string;
  readonly usage: Usage;
}

/** Compression costs about 50 µs a document, and fewer rows are small anyway. */
const PACKED_FROM_ROWS = 24;
/** The fastest: a higher level costs ten times as much and saves nothing here. */
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

export const packRows = (rows: readonly LedgerRow[]): LedgerBatch => ({
  totals: addUp(rows),
  rows:
    rows.length < PACKED_FROM_ROWS ? rows : zstdCompressSync(JSON.stringify(rows), LEVEL).toString("base64"),
});

export const rowsOf = ({ rows }: LedgerBatch): readonly LedgerRow[] =>
  typeof rows === "string"
    ? (JSON.parse(zstdDecompressSync(Buffer.from(rows, "base64")).toString()) as LedgerRow[])
    : rows;

export const totalsOf = (batch: LedgerBatch): readonly BatchTotal[] => batch.totals ?? addUp(rowsOf(batch));

function addUp(rows: readonly LedgerRow[]): readonly BatchTotal[] {
  const totals: BatchTotal[] = [];
  for (const row of rows) {
    const day = dayOf(row.at_ms);
    let total = totals.find(
      ({ day: of, project, key, category }) =>
        key === row.key && category === row.category && of === day && project === row.project,
    );
    if (!total) {
      const { project, key, category } = row;
      totals.push((total = { day, project, key, category, usage: { ...NO_USAGE } }));
    }
    countBill(total.usage, row);
  }
  return totals;
}
