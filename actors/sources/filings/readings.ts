/**
 * Readings of documents of the filing system by a reader process: the order and the result of each kind of reading. The
 * tasks are adapters/reader-tasks.ts; source-reader.ts gives them their documents.
 */
import type { FilerCompany, FilerDetails, FilingDocument } from "../../../schemas/filings.ts";
import type { FactsSummary } from "./facts.ts";
import type { FullTextResult } from "./full-text.ts";
import type { FilingLocation, IndexPage } from "./index-page.ts";
import type { FilingFilter, PageEntry } from "./submissions.ts";
import type { FilerQuestion } from "./ticker-lists.ts";

export interface RowsQuery {
  readonly filter: FilingFilter;
  readonly limit: number;
}

/** The filings of a filer's submissions and of pages of older ones that match. */
export interface FilingRows {
  /** Null: the first document is a page of older filings. */
  readonly filer: FilerDetails | null;
  readonly pages: readonly PageEntry[];
  /** How many filings match. */
  readonly total: number;
  /** The newest of them, at most the limit of the query: a JSON array, because nothing but a client needs its values. */
  readonly filings_json: Uint8Array;
}

export interface Readings {
  readonly rows: {
    readonly order: RowsQuery & {
      readonly cik: number;
      readonly www_url: string;
      /** Whether the first document is the filer's submissions; the others are pages of older ones. */
      readonly has_main: boolean;
    };
    readonly result: FilingRows;
  };
  readonly facts: { readonly order: object; readonly result: FactsSummary };
  /** Null: the page is no index page. */
  readonly index_page: { readonly order: FilingLocation; readonly result: IndexPage | null };
  readonly folder: { readonly order: FilingLocation; readonly result: readonly FilingDocument[] };
  readonly search: { readonly order: { readonly www_url: string }; readonly result: FullTextResult };
}

/** A message to the task `document`. */
export type ReadingOrder = {
  readonly [Kind in keyof Readings]: {
    readonly kind: Kind;
    readonly order: Readings[Kind]["order"];
    /** The documents one after another, and the length of each. */
    readonly bytes: Uint8Array;
    readonly lengths: readonly number[];
  };
}[keyof Readings];

export type DocumentReading<T> =
  | { readonly kind: "read"; readonly result: T }
  /** The document at this place makes no sense. */
  | { readonly kind: "invalid"; readonly at: number };

/** A message to the task `filers`: a question to the directory of these lists. */
export interface FilersOrder {
  /** The digests of the lists. */
  readonly key: string;
  /** Null: whether the lists make sense. */
  readonly question: FilerQuestion | null;
  /** Absent: the reader may have read the lists before. */
  readonly bytes?: Uint8Array;
  readonly lengths?: readonly number[];
}

export type FilersReading = DocumentReading<readonly FilerCompany[]> | { readonly kind: "unknown_lists" };
