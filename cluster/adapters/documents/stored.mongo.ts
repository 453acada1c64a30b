/** A document as MongoDB stores it. */
import { ObjectId } from "mongodb";
import type { PutOptions, Versioned } from "../../ports/documents.ts";
import { checksumOf, readVersioned } from "./checksum.ts";

export interface StoredDocument {
  readonly _id: string;
  readonly v: number;
  /**
   * Id of the write that stored this version. The server only reports how many writes of a batch won; this id shows
   * which.
   */
  readonly w: ObjectId;
  readonly json: string;
  /** Checksum of `json`. Absent: an earlier version stored it. */
  readonly checksum?: number;
  readonly tag?: string;
  readonly expires_at?: number;
}

/** The fields of a read. */
export const READ = { projection: { v: 1, json: 1, checksum: 1 } } as const;

/** Parsed for each caller, because a caller may modify its copy. Throws the Fault of a damaged document. */
export const versioned = (collection: string, { _id, v, json, checksum }: StoredDocument): Versioned =>
  readVersioned({ collection, key: _id }, json, v, checksum);

/** The next version. */
export const storedDocument = (
  key: string,
  json: string,
  version: number,
  options: PutOptions = {},
): StoredDocument => ({
  _id: key,
  v: version + 1,
  w: new ObjectId(),
  json,
  checksum: checksumOf(json),
  ...(options.tag === undefined ? {} : { tag: options.tag }),
  ...(options.expires_at_ms === undefined ? {} : { expires_at: options.expires_at_ms }),
});
