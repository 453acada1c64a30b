/**
 * Documents in a map: for tests, and for the simulator, which keeps nothing else when it kills a node. Values are
 * stored as JSON text.
 */
import assert from "node:assert/strict";
import {
  MAX_DOCUMENT_BYTES,
  type Documents,
  type DocumentEntry,
  type PutOptions,
  type Versioned,
} from "../../ports/documents.ts";

interface Stored {
  readonly text: string;
  readonly version: number;
  readonly options: PutOptions | undefined;
}

interface Collection {
  readonly name: string;
  readonly documents: Map<string, Stored>;
  /** Sorted keys; null: a key was added or removed since they were sorted. */
  keys: string[] | null;
}

/** A document that was stored, or removed. */
export interface DocumentChange {
  readonly collection: string;
  readonly key: string;
  /** Null: it was removed. */
  readonly value: unknown;
  /** Takes the change back, when every later change of the document was taken back. Returns the value that is there again, or null. */
  readonly undo: () => unknown;
}

/**
 * The order of UTF-8 bytes, which is the order of code points. It differs from UTF-16 for U+E000 to U+FFFF and
 * surrogate pairs.
 */
export function compareKeys(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (left === right) continue;
    const [isLeftSurrogate, isRightSurrogate] = [
      left >= 0xd800 && left < 0xe000,
      right >= 0xd800 && right < 0xe000,
    ];
    return isLeftSurrogate === isRightSurrogate ? left - right : isLeftSurrogate ? 1 : -1;
  }
  return a.length - b.length;
}

/** Index of the first key that is not below this one. */
function indexOfKey(keys: readonly string[], key: string): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareKeys(keys[middle]!, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

const read = (stored: Stored | undefined): Versioned | null =>
  stored ? { value: JSON.parse(stored.text) as unknown, version: stored.version } : null;

/** `onChange` is called with each change, before its write resolves. Default: nothing. */
export function memoryDocuments(onChange: (change: DocumentChange) => void = () => {}): Documents {
  const collections = new Map<string, Collection>();

  function collectionOf(name: string): Collection {
    const existing = collections.get(name);
    if (existing) return existing;
    const created: Collection = { name, documents: new Map(), keys: null };
    collections.set(name, created);
    return created;
  }

  function keysOf(collection: Collection, from: string | undefined, to: string | undefined): string[] {
    collection.keys ??= [...collection.documents.keys()].toSorted(compareKeys);
    return collection.keys.slice(
      from === undefined ? 0 : indexOfKey(collection.keys, from),
      to === undefined ? undefined : indexOfKey(collection.keys, to),
    );
  }

  function assign(collection: Collection, key: string, stored: Stored | undefined): void {
    const isKnown = collection.documents.has(key);
    if (stored) collection.documents.set(key, stored);
    else collection.documents.delete(key);
    if (isKnown !== (stored !== undefined)) collection.keys = null;
  }

  function change(collection: Collection, key: string, stored: Stored | undefined, value: unknown): void {
    const before = collection.documents.get(key);
    assign(collection, key, stored);
    const undo = (): unknown => {
      assign(collection, key, before);
      return read(before)?.value ?? null;
    };
    onChange({ collection: collection.name, key, value, undo });
  }

  const drop = (collection: Collection, key: string): void => change(collection, key, undefined, null);

  return {
    get: async (collection, key) => read(collections.get(collection)?.documents.get(key)),
    async getMany(collection, keys) {
      assert(keys.length <= 1_000, "At most 1,000 documents are read at once");
      return keys.map((key) => read(collections.get(collection)?.documents.get(key)));
    },
    async put(collection, key, value, version, options) {
      const text = JSON.stringify(value);
      assert(Buffer.byteLength(text) <= MAX_DOCUMENT_BYTES, `Document "${collection}/${key}" is too large`);
      const into = collectionOf(collection);
      if ((into.documents.get(key)?.version ?? 0) !== version) return false;
      change(into, key, { text, version: version + 1, options }, value);
      return true;
    },
    async remove(collection, key, version) {
      const from = collectionOf(collection);
      if (version === 0 || from.documents.get(key)?.version !== version) return false;
      drop(from, key);
      return true;
    },
    async list(collection, { tag, tags, tag_prefix, from, to, limit, reverse }) {
      assert(limit >= 1 && limit <= 1_000, "Between 1 and 1,000 documents are listed at once");
      const stored_in = collectionOf(collection);
      const keys = keysOf(stored_in, from, to);
      const entries: DocumentEntry[] = [];
      const tagOf = (key: string): string => stored_in.documents.get(key)!.options?.tag ?? "";
      const ordered =
        tag_prefix === undefined
          ? keys
          : keys
              .filter((key) => tagOf(key).startsWith(tag_prefix))
              .toSorted((a, b) => compareKeys(tagOf(a), tagOf(b)));
      for (const key of reverse ? ordered.toReversed() : ordered) {
        const stored = stored_in.documents.get(key)!;
        if (tag !== undefined && stored.options?.tag !== tag) continue;
        if (tags && !tags.includes(stored.options?.tag ?? "")) continue;
        entries.push({ key, ...read(stored)! });
        if (entries.length === limit) break;
      }
      return entries;
    },
    async removeRange(collection, from, to) {
      const among = collectionOf(collection);
      const keys = keysOf(among, from, to);
      for (const key of keys) drop(among, key);
      return keys.length;
    },
    async removeExpired(collection, before_ms, limit) {
      const among = collectionOf(collection);
      let removed = 0;
      for (const [key, { options: extra }] of among.documents) {
        if (removed === limit) break;
        if (extra?.expires_at_ms === undefined || extra.expires_at_ms >= before_ms) continue;
        drop(among, key);
        removed++;
      }
      return removed;
    },
    synced: async () => {},
    // Memory has no checksums.
    verify: async () => ({ looked: 0, damaged: [], last: null }),
    isEmpty: async () => [...collections.values()].every(({ documents }) => documents.size === 0),
    ping: async () => {},
    close: async () => {},
  };
}
