/**
 * The change feed as it is stored and read. Changes have consecutive numbers, so a reader that stops at the first missing
 * number never passes a change that is still being written.
 */
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { CompanyChangeType } from "../../../../schemas/companies.ts";
import { collection } from "../../../../cluster/collection.ts";

export const CHANGE_RETENTION_MS = 90 * 86_400_000;

export interface StoredChange {
  readonly seq: number;
  readonly company_id: string;
  readonly type: CompanyChangeType;
  /** Top-level fields of the record. */
  readonly fields: readonly string[];
  readonly merged_into: string | null;
  /** The company's version. */
  readonly version: number;
  /** Never less than that of the change before. */
  readonly changed_ms: number;
  /** Countries of the company before and after the change. */
  readonly countries: readonly string[];
  /** An import changed a company that only imports know; absent: the company is stored. */
  readonly is_imported?: true;
}

/** The first whole file of a kind was imported: one entry, and none for each of its companies. */
export interface StoredBaseline {
  readonly seq: number;
  readonly type: "baseline";
  readonly source: string;
  /** The kind of file. */
  readonly kind: string;
  /** The number of the import. */
  readonly run: number;
  /** Rows of the file that are in the register. */
  readonly rows: number;
  /** When the source published the file. */
  readonly publish_ms: number;
  readonly changed_ms: number;
}

export type FeedEntry = StoredChange | StoredBaseline;

export const changeKey = (seq: number): string => String(seq).padStart(15, "0");
export const changeId = (seq: number): string => `chg_${seq.toString(36)}`;

/** The state that the sequencer stores before it writes: after a crash the next sequencer writes the same batch again. */
export interface SequencerState {
  readonly last_seq: number;
  readonly changed_ms: number;
  /** The changes last numbered; they may be written partly. */
  readonly batch: readonly FeedEntry[];
  /** How far the rows of imports are in the feed; absent: none is. */
  readonly imports?: ImportPosition;
}

/** Imports are put into the feed when they have ended, each one from its first row to its last. */
export interface ImportPosition {
  /** All imports up to this number are in the feed. */
  readonly through_run: number;
  /** Later ones that are in the feed, too: imports of several sources end in any order. */
  readonly later_runs: readonly number[];
  /** The import that is being put into the feed, and the key of its last row that is; null: none is. */
  readonly current: { readonly run: number; readonly after: string } | null;
}

export const NO_IMPORTS: ImportPosition = { through_run: 0, later_runs: [], current: null };

/** By number. */
export const COMPANY_CHANGES = collection<FeedEntry>("company_changes", { expires: true });
/** `state`: what the sequencer has numbered. `dispatched`: up to which number changes were handled. */
export const COMPANY_FEED_STATE = collection<SequencerState>("company_sequencer");
export const DISPATCHED = COMPANY_FEED_STATE.of<{ readonly seq: number }>();

export const EMPTY_STATE: SequencerState = { last_seq: 0, changed_ms: 0, batch: [] };

export interface ChangePage {
  readonly changes: readonly StoredChange[];
  /** Baselines of any country. Together with the changes they are at most as many as were asked for. */
  readonly baselines: readonly StoredBaseline[];
  /** The last number that was looked at: the page's cursor, also when the filter dropped it. */
  readonly through_seq: number;
}

const PAGE = 500;
/** Rows that the filter drops, at most, for one page. */
const MAX_SCANNED = 5_000;

/**
 * Changes after a number, oldest first; `expired`: the next change is stored no more. With a country, changes of companies
 * that were or are there. Throws Fault.
 */
export async function readChanges(
  documents: Documents,
  after_seq: number,
  limit: number,
  country: string | null,
): Promise<ChangePage | "expired"> {
  const changes: StoredChange[] = [];
  const baselines: StoredBaseline[] = [];
  const found = (): number => changes.length + baselines.length;
  let through_seq = after_seq;
  while (found() < limit && through_seq - after_seq < MAX_SCANNED) {
    const from = changeKey(through_seq + 1);
    const page = await COMPANY_CHANGES.list(documents, { from, limit: Math.min(PAGE, limit) });
    if (page.length === 0) {
      if (through_seq === after_seq && !(await isBeingWritten(documents, after_seq + 1))) return "expired";
      break;
    }
    for (const { value: change } of page) {
      if (change.seq !== through_seq + 1) {
        if (found() > 0 || through_seq !== after_seq) return { changes, baselines, through_seq };
        return (await isBeingWritten(documents, after_seq + 1))
          ? { changes, baselines, through_seq }
          : "expired";
      }
      through_seq = change.seq;
      if (change.type === "baseline") baselines.push(change);
      else if (country === null || change.countries.includes(country)) changes.push(change);
      if (found() === limit) break;
    }
  }
  return { changes, baselines, through_seq };
}

/** A number the sequencer has given, whose change is on its way. */
async function isBeingWritten(documents: Documents, seq: number): Promise<boolean> {
  const state = await COMPANY_FEED_STATE.get(documents, "state");
  if (!state || seq > state.last_seq) return true;
  if (state.batch.some((change) => change.seq === seq)) return true;
  // It was written between the listing and now, or it is gone.
  return (await COMPANY_CHANGES.get(documents, changeKey(seq))) !== null;
}

/** The number before the first change at or after this time. Throws Fault. */
export async function seqBefore(documents: Documents, since_ms: number): Promise<number> {
  const [first] = await COMPANY_CHANGES.list(documents, { limit: 1 });
  const [last] = await COMPANY_CHANGES.list(documents, { limit: 1, reverse: true });
  if (!first || !last) return (await COMPANY_FEED_STATE.get(documents, "state"))?.last_seq ?? 0;
  let [low, high] = [first.value.seq, last.value.seq + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const found = await COMPANY_CHANGES.get(documents, changeKey(middle));
    // A missing change is the newest, which is being written, or the oldest, which has expired.
    const changed_ms = found?.changed_ms ?? (middle - first.value.seq > 500 ? Infinity : 0);
    if (changed_ms >= since_ms) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}
