/** Bytes by their SHA-256, written once. */
export interface StoredBlob {
  readonly sha256: string;
  readonly bytes: number;
}

export interface ListedBlob {
  readonly sha256: string;
  /** When it was stored last, Unix milliseconds, not more than AGAIN_MS behind. */
  readonly stored_ms: number;
}

/** Storing what is there already is noted once it is this old. */
export const TOUCH_AFTER_MS = 12 * 60 * 60_000;

/** First and last byte, both included, as in RFC 9110; within the size. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Throws Fault "bodies_unreachable" and nothing else. */
export interface Blobs {
  /**
   * Stores what comes, whole or not at all; storing it again changes nothing but when it was stored. The digest is of
   * exactly these bytes.
   */
  put(content: Buffer | AsyncIterable<Buffer>): Promise<StoredBlob>;
  /** Its size, or null when there is none. */
  head(sha256: string): Promise<{ readonly bytes: number } | null>;
  /** The exact bytes, in pieces of at most 1 MiB that are read as they are asked for; null when there is none. */
  get(sha256: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | null>;
  /**
   * Removes it, unless it was stored (again) since the time given, Unix milliseconds. False: it is still there, or there
   * is none.
   */
  remove(sha256: string, stored_before_ms?: number): Promise<boolean>;
  /** Those whose digest begins with these two hexadecimal digits, in any order. */
  list(digits: string): AsyncIterable<ListedBlob>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
