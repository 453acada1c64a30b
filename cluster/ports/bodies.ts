/** Bytes by their SHA-256, written once. */
export interface StoredBody {
  readonly sha256: string;
  readonly bytes: number;
}

/** First and last byte, both included, as in RFC 9110; within the size. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Throws Fault "bodies_unreachable" and nothing else. */
export interface Bodies {
  /** Stores what comes, whole or not at all; storing it again changes nothing. The digest is of exactly these bytes. */
  put(content: Buffer | AsyncIterable<Buffer>): Promise<StoredBody>;
  /** Its size, or null when there is none. */
  head(sha256: string): Promise<{ readonly bytes: number } | null>;
  /** The exact bytes, in pieces of at most 1 MiB that are read as they are asked for; null when there is none. */
  get(sha256: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | null>;
  /** Removes it; nothing happens when there is none. */
  remove(sha256: string): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
