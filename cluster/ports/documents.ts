/** A stored value and the version at which it was read. */
export interface Versioned<V = unknown> {
  readonly value: V;
  readonly version: number;
}

export interface DocumentEntry<V = unknown> extends Versioned<V> {
  readonly key: string;
}

/** Stored with a document, beside its value, for queries. */
export interface PutOptions {
  /** A word to list documents by, in the order of their keys; absent: the document is not listed by any tag. */
  readonly tag?: string;
  /** When `removeExpired` may remove the document, in Unix milliseconds; absent: never. */
  readonly expires_at_ms?: number;
  /**
   * The write is acknowledged when no later one can outlive it, which may be before it is durable: for a write that must be
   * there when a later write is. Before anything else may rest on it, await `synced`. Default: acknowledged when durable.
   */
  readonly ordered?: boolean;
}

/** Where a document is. */
export interface DocumentPlace {
  readonly collection: string;
  readonly key: string;
}

/** Some documents that were compared with their checksums. */
export interface Verified {
  readonly looked: number;
  readonly damaged: readonly DocumentPlace[];
  /** The last one; null: there is none behind it. */
  readonly last: DocumentPlace | null;
}

/** Which documents of a collection to list, in the order of their keys (bytes of UTF-8). */
export interface KeyRange {
  /** Only documents with this tag. */
  readonly tag?: string;
  /** Only documents with one of these tags, of which there is at least one. */
  readonly tags?: readonly string[];
  /** Only documents whose tag begins with this, in the order of their tags and then of their keys. Alone, without another condition. */
  readonly tag_prefix?: string;
  /** First key, included. */
  readonly from?: string;
  /** Last key, excluded. */
  readonly to?: string;
  /** Maximum number of documents, 1 to 1,000. */
  readonly limit: number;
  readonly reverse?: boolean;
}

/** Behind every text that begins with this prefix and goes on with an assigned character, in bytes of UTF-8. */
export const endOfPrefix = (prefix: string): string => `${prefix}\u{10ffff}`;

/** Maximum UTF-8 bytes of a document's JSON. A larger document is a bug and fails an assertion. */
export const MAX_DOCUMENT_BYTES = 12 * 2 ** 20;

/**
 * JSON documents by collection and key, at most 12 MB each. Only the key is unique, and writes are conditional on the
 * version alone (compare-and-set): there are no transactions and no other indexes than tag and expiry. All methods
 * throw Fault "documents_unreachable" and nothing else; reading also Fault "document_damaged" where a document is not what was
 * stored.
 */
export interface Documents {
  get(collection: string, key: string): Promise<Versioned | null>;
  /** In the order of `keys`, null where there is no document; at most 1,000 keys. */
  getMany(collection: string, keys: readonly string[]): Promise<readonly (Versioned | null)[]>;
  /**
   * Stores the value if the document still has this version (0: does not exist yet), and increments the version. False:
   * another writer was first and nothing changed. `options` replaces the former tag and expiry.
   */
  put(
    collection: string,
    key: string,
    value: unknown,
    version: number,
    options?: PutOptions,
  ): Promise<boolean>;
  /**
   * Removes the document if it still has this version. False: another writer was first, or the document does not exist.
   */
  remove(collection: string, key: string, version: number): Promise<boolean>;
  list(collection: string, range: KeyRange): Promise<readonly DocumentEntry[]>;
  /** Removes all documents in a range of keys and answers how many. */
  removeRange(collection: string, from: string, to: string): Promise<number>;
  /** Removes at most `limit` documents that expired before `before_ms` and answers how many. */
  removeExpired(collection: string, before_ms: number, limit: number): Promise<number>;
  /**
   * Compares documents behind this one (null: the first ones) with their checksums: at most `limit`, and about 2 MB. The order is that
   * of the store, collection by collection.
   */
  verify(after: DocumentPlace | null, limit: number): Promise<Verified>;
  /** Whether no collection holds a document. */
  isEmpty(): Promise<boolean>;
  /** Resolves when every write that was acknowledged or read before the call is durable, an `ordered` one, too. */
  synced(): Promise<void>;
  /** Resolves when the store answers a request. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
