/** Records that a file that is imported is cut into. */

/** The file cannot be read as what it seems to be. */
export class UnreadableFile extends Error {
  override readonly name = "UnreadableFile";
}

export interface FileRecord<Record> {
  /** Null: it cannot be read. */
  readonly record: Record | null;
  /** Why the record cannot be read; null: it can. */
  readonly reason: string | null;
  readonly text: string;
  /** From 1; the header of a CSV file is none. */
  readonly line: number;
  readonly offset: number;
  /** The first byte behind it. */
  readonly end: number;
}

/** Where reading goes on: behind this many records. */
export interface FilePlace {
  readonly line: number;
  readonly offset: number;
}
