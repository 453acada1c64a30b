/** Files that are imported, and the records that they are cut into. */

/** The file cannot be read as what it seems to be. */
export class UnreadableFile extends Error {
  override readonly name = "UnreadableFile";
}

export interface FileDigest {
  readonly sha256: string;
  readonly bytes: number;
}

export interface UnpackedFile {
  readonly bytes: AsyncIterable<Buffer>;
  /** Bytes read so far of the file as it is stored. */
  readonly read: () => number;
}

/** Files on this machine. Both methods throw UnreadableFile, the second one also while it is read. */
export interface ImportFiles {
  readonly digestOf: (path: string, signal: AbortSignal) => Promise<FileDigest>;
  readonly unpackFile: (path: string) => Promise<UnpackedFile>;
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
