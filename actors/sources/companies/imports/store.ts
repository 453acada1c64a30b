/**
 * The port to what imports have stored: rows by kind and key, the identifiers that lead to them, and the runs that wrote them. It
 * is no part of the documents: three million rows are written beside live traffic. One run of a source writes at a time.
 */

/** Counts of the rows of a run, by what the import did with them. */
export interface RunCounts {
  /** Records of the file that were read. */
  readonly records: number;
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Rows that differ in nothing that is the company's, as after the renewal of a number. */
  readonly renewed: number;
  /** Rows of which a newer file was imported already. */
  readonly older: number;
  readonly closed: number;
  readonly skipped: number;
  readonly bad: number;
}

export type RunState = "running" | "done" | "failed";
/** `rows`: the file is read; `absent`: rows that it does not have are closed; `index`: changed rows are given to the index. */
export type RunPhase = "rows" | "absent" | "index";

/** An import of one file. Rows name the file by the number of its run. */
export interface ImportRun {
  readonly run: number;
  readonly source: string;
  readonly kind: string;
  readonly layout: number;
  /** Where the file is on the node. */
  readonly path: string;
  /** The address that it was downloaded from, or one of its name. */
  readonly origin: string;
  readonly sha256: string;
  readonly bytes: number;
  /** When the source published it. */
  readonly publish_ms: number;
  readonly is_full: boolean;
  /** The first whole file of its kind: the change feed has one entry for it. Absent in runs of before: a whole file is one. */
  readonly is_baseline?: boolean;
  readonly licence: string;
  readonly state: RunState;
  readonly phase: RunPhase;
  readonly counts: RunCounts;
  /** The first byte of the unpacked file that was not imported yet. */
  readonly place: number;
  /** Bytes of the file as it is stored that were read up to the checkpoint. */
  readonly bytes_read: number;
  readonly bad_reasons: Readonly<Record<string, number>>;
  /** The last row that was given to the index. */
  readonly indexed_to: string;
  /** Where it was when a node began it or went on with it, for its rate. */
  readonly resumed: { readonly at_ms: number; readonly records: number; readonly bytes: number };
  /** The fencing token of the writer. */
  readonly epoch: number;
  readonly started_ms: number;
  readonly ended_ms: number | null;
  readonly problem: string | null;
  /** Warnings that the operator should look at: many bad rows, rows that were not closed. */
  readonly warnings: readonly string[];
  /** Stated by the rows that the run wrote, as far as they were given to the index; absent: none were. */
  readonly claims?: number;
  /** Records that the file's last one says it has; absent: it was not read, or the file has none. */
  readonly records_expected?: number;
}

/** A row as it is stored. */
export interface ImportedRow {
  readonly key: string;
  /** The digest of the tuple. */
  readonly digest: string;
  /** The run that wrote it. */
  readonly run: number;
  /** The run that last changed the company by it, when later ones renewed a number only. Absent: `run`. */
  readonly changed_run?: number;
  /** The number of its record in the file, from 1; its first byte. */
  readonly line: number;
  readonly offset: number;
  /** JSON of the tuple. */
  readonly tuple: string;
  /** When the source withdrew it; null: it stands. */
  readonly closed_ms: number | null;
}

export interface RowWrite extends ImportedRow {
  /** The identifiers that lead to the row from now on, and those that no longer do. */
  readonly references: readonly string[];
  readonly dropped: readonly string[];
  /** The row that this one replaces; it is kept as an earlier version. */
  readonly before: ImportedRow | null;
}

export interface BadRow {
  readonly line: number;
  readonly offset: number;
  readonly reason: string;
  /** The first 2 KB of the record. */
  readonly text: string;
}

export interface ImportBatch {
  /** After the batch. */
  readonly run: ImportRun;
  readonly rows: readonly RowWrite[];
  readonly bad: readonly BadRow[];
}

export interface FoundReference {
  readonly reference: string;
  readonly kind: string;
  readonly key: string;
}

/** The most bad rows that are kept of a run; all are counted. */
export const MAX_BAD_ROWS = 10_000;
/** Characters that are kept of the text of a bad row. */
export const MAX_BAD_TEXT = 2_048;

/** All methods throw Fault "documents_unreachable"; `commit` also "lease_lost". */
export interface ImportStore {
  /** Answers the run with its number, which is larger than those of all earlier runs. */
  begin(run: Omit<ImportRun, "run">): Promise<ImportRun>;
  /** A writer with an epoch before the stored one is refused, and writes nothing: Fault "lease_lost". */
  commit(batch: ImportBatch): Promise<void>;
  run(number: number): Promise<ImportRun | null>;
  /** Newest first. `before`: those with a smaller number only. */
  runs(limit: number, before?: number): Promise<readonly ImportRun[]>;
  /** All that are running, newest first: one of a source at a time, however many runs came after it. */
  running(): Promise<readonly ImportRun[]>;
  badRows(run: number, limit: number): Promise<readonly BadRow[]>;
  /** In any order; without those that are not there. At most 1,000 keys. */
  rows(kind: string, keys: readonly string[]): Promise<readonly ImportedRow[]>;
  /** Rows whose key begins with this, in the order of their keys. */
  rowsBelow(kind: string, prefix: string, limit: number): Promise<readonly ImportedRow[]>;
  /** Earlier versions of a row, oldest first. */
  earlier(kind: string, key: string): Promise<readonly ImportedRow[]>;
  /** In any order. */
  find(references: readonly string[]): Promise<readonly FoundReference[]>;
  /** Rows behind this key in the order of their keys. */
  scan(kind: string, after: string, limit: number): Promise<readonly ImportedRow[]>;
  count(kind: string): Promise<number>;
  close(): Promise<void>;
}
