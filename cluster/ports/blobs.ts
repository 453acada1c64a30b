/** Content-addressed storage: bytes under their SHA-256, written once. Bodies of pages and documents are kept here. */
import { hash } from "node:crypto";

export interface StoredBlob {
  readonly sha256: string;
  readonly bytes: number;
}

export interface ListedBlob {
  readonly sha256: string;
  /** When it was stored last, in Unix milliseconds; up to TOUCH_AFTER_MS too early. */
  readonly stored_ms: number;
  /** A first call of `remove` was made, and the next one removes it for good. */
  readonly is_set_aside?: boolean;
}

/** Storing a blob again updates its time only when the recorded time is older than this. */
export const TOUCH_AFTER_MS = 12 * 60 * 60_000;

/** Which documents the blobs belong to, kept beside them. ops/store-identity.ts reads and writes it. */
export interface StoreMark {
  /** The identity that both stores carry. */
  readonly id: string;
  /** Changes at least every hour that a node runs; the documents have the same. */
  readonly turn: string;
  /** Two document stores with this id were found: neither of their services may remove blobs. */
  readonly disputed?: boolean;
}

/** Counts of a sweep of the objects that bodies share. */
export interface SweptObjects {
  /** Objects in which no body was known, of which bodies are found again. */
  readonly indexed: number;
  /** Objects of which little was used, and whose bodies were written anew. */
  readonly rewritten: number;
  /** Objects that were deleted, those that were written anew included. */
  readonly removed: number;
}

const digests = new WeakMap<Buffer, string>();

/**
 * The SHA-256 of content, in hexadecimal digits. It is computed once for each buffer, because a record names the content
 * that the store digests as well (260 KB take 0.25 ms): the buffer must not change afterwards.
 */
export function sha256Of(content: Buffer): string {
  const known = digests.get(content);
  if (known !== undefined) return known;
  const digest = hash("sha256", content, "hex");
  digests.set(content, digest);
  return digest;
}

/** First and last byte, both included, as in RFC 9110 §14.1.2; within the blob's size. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** All methods throw Fault "bodies_unreachable" and nothing else; reading also Fault "body_damaged". */
export interface Blobs {
  /**
   * Stores the content completely or not at all. The digest is of exactly these bytes. Storing a blob again only
   * updates its time, and replaces what is stored when it is torn or wrong.
   */
  put(content: Buffer | AsyncIterable<Buffer>): Promise<StoredBlob>;
  /** Its size; null when there is no such blob. */
  head(sha256: string): Promise<{ readonly bytes: number } | null>;
  /**
   * The exact bytes in pieces of at most 1 MiB, each read when the caller asks for it; null when there is no such blob.
   * Without a range the digest is proved: a stored blob that is torn or wrong is Fault "body_damaged" before its last
   * piece, and stored again it is as new.
   */
  get(sha256: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | null>;
  /**
   * Removes the blob unless it was stored (again) at or after `stored_before_ms`, in Unix milliseconds; a blob that is
   * stored meanwhile stays. False: the blob is still there, or there is none. A store may need a second call: after the
   * first one the blob is there as before, and listed as stored when it was called.
   */
  remove(sha256: string, stored_before_ms?: number): Promise<boolean>;
  /** The blobs whose digest begins with these two hexadecimal digits, in any order. */
  list(digits: string): AsyncIterable<ListedBlob>;
  /**
   * Only of a store whose bodies may share an object: looks after objects whose names begin with these hexadecimal digits and that were stored before this
   * time, in Unix milliseconds, and gives back room that no body uses. So many as one call may take; all of them in several.
   */
  sweep?(digits: string, stored_before_ms: number): Promise<SweptObjects>;
  /** Null: none was written. */
  readMark(): Promise<StoreMark | null>;
  /** Replaces it, completely or not at all. */
  writeMark(mark: StoreMark): Promise<void>;
  /** Whether there is no blob at all; the mark is none. */
  isEmpty(): Promise<boolean>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
