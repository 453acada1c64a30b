/**
 * A page of the ledger's rows, newest first, by filters. The totals of a batch tell which rows it has, so a batch without a row
 * that is wanted is not unpacked: a rare filter passes over many batches. Reads documents and changes nothing.
 */
import type { Documents } from "../../../cluster/ports/documents.ts";
import { dayOf, type LedgerRow } from "../../../schemas/ledger.ts";
import { type BatchTotal, rowsOf } from "../../../schemas/ledger-batch.ts";
import { LEDGER } from "../../../records/collections.ts";

/** Which rows are wanted; null: all. */
export interface RowFilter {
  /** Included. */
  readonly since_ms: number;
  /** Not included; Infinity: no end. */
  readonly until_ms: number;
  /** The key that asks, where it sees only itself. */
  readonly own: { readonly project: string; readonly prefix: string } | null;
  /** The prefix of a key. */
  readonly key: string | null;
  readonly ok: boolean | null;
  /** A billing category, or the beginning of several: fetch is fetch_own, fetch_paid and fetch_cached. */
  readonly category: string | null;
}

/** Where a page ended: after so many rows of a batch. */
export interface RowCursor {
  readonly batch: string;
  readonly skip: number;
}

export interface RowPage {
  readonly rows: readonly LedgerRow[];
  /** Null: there are no further rows. */
  readonly next: RowCursor | null;
}

/** Batches unpacked for one page, each of at most 2,000 rows; after that a page ends early. A larger number makes a page slow. */
const MAX_UNPACKED = 100;
/** Batches read for one page, unpacked or not. */
const MAX_READ = 500;
/** Totals looked at for one page: batches of many keys have about as many totals as rows. */
const MAX_TOTALS = 50_000;
const BATCHES_AT_ONCE = 10;

const DAY_MS = 24 * 3_600_000;
/** A batch is written at most this long after its oldest row was answered: also after an outage of the store. */
const MAX_LATE_MS = DAY_MS;
/** The latest time with 13 digits, in the year 2286: later ones would be sorted before it. */
const MAX_TIME_MS = 9_999_999_999_999;

/** Throws Fault. */
export async function readRows(
  documents: Documents,
  customer: string,
  filter: RowFilter,
  { cursor, limit }: { readonly cursor: RowCursor | null; readonly limit: number },
): Promise<RowPage> {
  const { since_ms, until_ms } = filter;
  const at = (ms: number): string =>
    `${customer}:${String(Math.min(Math.max(0, ms), MAX_TIME_MS)).padStart(13, "0")}`;
  const from = at(since_ms);
  // The range ends with the cursor's batch, included.
  let to = until_ms === Infinity ? `${customer};` : at(until_ms + MAX_LATE_MS);
  if (cursor !== null && `${cursor.batch}!` < to) to = `${cursor.batch}!`;
  const days = { first: dayOf(since_ms), last: until_ms === Infinity ? NO_LAST_DAY : dayOf(until_ms - 1) };
  const rows: LedgerRow[] = [];
  let last: RowCursor | null = null;
  let unpacked = 0;
  let compared = 0;
  for (let read = 0; read < MAX_READ && unpacked < MAX_UNPACKED && compared < MAX_TOTALS;) {
    const page = await LEDGER.list(documents, { from, to, limit: BATCHES_AT_ONCE, reverse: true });
    for (const { key: batch, value } of page) {
      to = batch;
      read++;
      const { totals } = value;
      compared += totals?.length ?? 0;
      if (totals && !totals.some((total) => mayHaveWanted(total, filter, days))) {
        last = { batch, skip: totals.reduce((sum, { usage }) => sum + usage.requests, 0) };
        continue;
      }
      unpacked++;
      const newestFirst = [...rowsOf(value)].toSorted((a, b) => b.at_ms - a.at_ms);
      for (const [n, row] of newestFirst.entries()) {
        if (batch === cursor?.batch && n < cursor.skip) continue;
        if (!isWanted(row, filter)) continue;
        if (rows.length === limit) return { rows, next: { batch, skip: n } };
        rows.push(row);
      }
      last = { batch, skip: newestFirst.length };
    }
    if (page.length < BATCHES_AT_ONCE) return { rows, next: null };
  }
  return { rows, next: last };
}

type Named = Pick<LedgerRow, "project" | "key" | "category">;

const isOfWanted = ({ project, key, category }: Named, filter: RowFilter): boolean =>
  (filter.own === null || (key === filter.own.prefix && project === filter.own.project)) &&
  (filter.key === null || key === filter.key) &&
  (filter.category === null || category === filter.category || category.startsWith(`${filter.category}_`));

const isWanted = (row: LedgerRow, filter: RowFilter): boolean =>
  row.at_ms >= filter.since_ms &&
  row.at_ms < filter.until_ms &&
  (filter.ok === null || row.ok === filter.ok) &&
  isOfWanted(row, filter);

interface Days {
  readonly first: string;
  /** Included. */
  readonly last: string;
}
/** After every day. */
const NO_LAST_DAY = ":";

function mayHaveWanted(total: BatchTotal, filter: RowFilter, { first, last }: Days): boolean {
  const { day, usage } = total;
  const counted = filter.ok === null ? usage.requests : usage.succeeded;
  const rows = filter.ok === false ? usage.requests - counted : counted;
  return rows > 0 && day >= first && day <= last && isOfWanted(total, filter);
}
