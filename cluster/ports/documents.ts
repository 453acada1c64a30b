/** A stored value and the version it was read at. */
export interface Versioned {
  readonly value: unknown;
  readonly version: number;
}

export interface DocumentEntry extends Versioned {
  readonly key: string;
}

/** What a document carries beside its value, for whoever looks for it. */
export interface PutOptions {
  /** One word to find documents by, together with the order of their keys; absent: not findable by tag. */
  readonly tag?: string;
  /** When `forget` may remove it, Unix milliseconds; absent: never. */
  readonly expires_at_ms?: number;
}

/** Documents of one collection in the order of their keys (bytes of UTF-8). */
export interface KeyRange {
  /** Only those with this tag. */
  readonly tag?: string;
  /** First key, included. */
  readonly from?: string;
  /** Last key, excluded. */
  readonly to?: string;
  /** At most so many, 1 to 1,000. */
  readonly limit: number;
  readonly reverse?: boolean;
}

/** A document's JSON is at most so many UTF-8 bytes; a larger one is a mistake in our code (an assertion). */
export const MAX_DOCUMENT_BYTES = 12 * 2 ** 20;

/**
 * Documents by collection and key, at most 12 MB each as JSON. The only uniqueness is the key, the only
 * condition is the version (cluster.md, section 10). Throws Fault "documents_unreachable" and nothing else.
 */
export interface Documents {
  get(collection: string, key: string): Promise<Versioned | null>;
  /** In the order asked, null where there is none; at most 1,000 keys. */
  getMany(collection: string, keys: readonly string[]): Promise<readonly (Versioned | null)[]>;
  /**
   * Stores when the version is still the one read, 0 for a new key; the stored version is one more.
   * False: someone else wrote, nothing changed. `extra` replaces what was there.
   */
  put(
    collection: string,
    key: string,
    value: unknown,
    version: number,
    options?: PutOptions,
  ): Promise<boolean>;
  /** Removes when the version is still the one read. False: someone else wrote, or it is gone. */
  remove(collection: string, key: string, version: number): Promise<boolean>;
  list(collection: string, range: KeyRange): Promise<readonly DocumentEntry[]>;
  /** Removes everything in a range of keys; how many. */
  removeRange(collection: string, from: string, to: string): Promise<number>;
  /** Removes at most `limit` of what expired before the time given; how many. */
  removeExpired(collection: string, before_ms: number, limit: number): Promise<number>;
  /** Resolves when the store answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
