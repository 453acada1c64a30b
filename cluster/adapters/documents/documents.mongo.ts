/**
 * Documents in MongoDB: one collection each, `_id` the key, `v` the version, the value as JSON text. It uses only find,
 * insert, update, delete, createIndexes, listCollections and ping, with no transactions, upserts or unique indexes, so
 * that compatible servers (DocumentDB, FerretDB) work.
 *
 * Values are JSON text because it returns exactly what was stored: names with dots and dollars, their order, 12 MB of
 * it. A BSON document costs the same to write and half as much again to read when it is large.
 *
 * Writes to a collection are batched: those that arrive while a batch is in flight go with the next one, unless the
 * batch hangs. Reads of one tick are batched, too. A command without an answer within 5 s, and a write that waits 3 s
 * for its batch, end in a fault; whether such a write was stored is then unknown.
 */
import assert from "node:assert/strict";
import { ObjectId } from "mongodb";
import {
  type DocumentPlace,
  type Documents,
  endOfPrefix,
  MAX_DOCUMENT_BYTES,
} from "../../ports/documents.ts";
import { batchedReads, readAll } from "./batched-reads.mongo.ts";
import { batchedWrites } from "./batched-writes.mongo.ts";
import { isSound } from "./checksum.ts";
import { type MongoServer, mongoServer } from "./server.mongo.ts";
import { READ, type StoredDocument, storedDocument, versioned } from "./stored.mongo.ts";

const MAX_KEYS = 1_000;
const VERIFIED_AT_ONCE = 50;
/** Limit of one call of `verify`. */
const MAX_VERIFIED_CHARS = 2 * 2 ** 20;

export interface MongoOptions {
  /** Collections whose content can be rebuilt: their writes wait for one server only. */
  readonly rebuildable?: readonly string[];
}

const between = (from: string | undefined, to: string | undefined) => ({
  ...(from === undefined ? {} : { $gte: from }),
  ...(to === undefined ? {} : { $lt: to }),
});

async function removeRange(
  { collectionOf, reach, writeConcernOf }: MongoServer,
  collection: string,
  from: string,
  to: string,
): Promise<number> {
  const documents = collectionOf(collection);
  const what = `remove a range of "${collection}"`;
  const nextAfter = async (first: string): Promise<string | undefined> => {
    const keys = await reach(what, () =>
      documents
        .find({ _id: between(first, to) }, { projection: { _id: 1 } })
        .sort({ _id: 1 })
        .limit(MAX_KEYS + 1)
        .toArray(),
    );
    return keys[MAX_KEYS]?._id;
  };
  let removed = 0;
  for (let first: string | undefined = from; first !== undefined;) {
    const next = await nextAfter(first);
    const filter = { _id: between(first, next ?? to) };
    const { deletedCount } = await reach(what, () =>
      documents.deleteMany(filter, { writeConcern: writeConcernOf(collection) }),
    );
    removed += deletedCount;
    first = next;
  }
  return removed;
}

async function removeExpired(
  { collectionOf, reach, writeConcernOf }: MongoServer,
  collection: string,
  before_ms: number,
  limit: number,
): Promise<number> {
  const documents = collectionOf(collection);
  const what = `remove expired documents of "${collection}"`;
  const expired = { expires_at: { $lt: before_ms } };
  let removed = 0;
  for (let remaining = limit; remaining > 0; remaining -= MAX_KEYS) {
    const expired_documents = await reach(what, () =>
      documents
        .find(expired, { projection: { _id: 1 } })
        .limit(Math.min(remaining, MAX_KEYS))
        .toArray(),
    );
    if (expired_documents.length === 0) break;
    const keys = expired_documents.map(({ _id }) => _id).toSorted();
    const { deletedCount } = await reach(what, () =>
      // The condition again: another writer may have extended the document meanwhile.
      documents.deleteMany({ _id: { $in: keys }, ...expired }, { writeConcern: writeConcernOf(collection) }),
    );
    removed += deletedCount;
  }
  return removed;
}

/** Collections of other stores in the same database are among them. */
async function collectionNames({ database, reach }: MongoServer, what: string): Promise<readonly string[]> {
  const listed = await reach(what, () => database().listCollections({}, { nameOnly: true }).toArray());
  return listed.map(({ name }) => name).filter((name) => !name.startsWith("system."));
}

/** Null: the collection is empty. In one of another store it has no `w`, the id of the write of each document. */
const firstOf = (
  { collectionOf, reach }: MongoServer,
  what: string,
  name: string,
): Promise<Partial<StoredDocument> | null> =>
  reach(what, () => collectionOf(name).findOne({}, { projection: { w: 1 } }));

async function verify(
  server: MongoServer,
  after: DocumentPlace | null,
  limit: number,
): ReturnType<Documents["verify"]> {
  const { collectionOf, reach } = server;
  const what = "look through the documents";
  const names = await collectionNames(server, what);
  const damaged: DocumentPlace[] = [];
  let last: DocumentPlace | null = null;
  let [looked, chars] = [0, 0];
  for (const name of names.filter((each) => each >= (after?.collection ?? "")).toSorted()) {
    if (!((await firstOf(server, what, name))?.w instanceof ObjectId)) continue;
    const behind = after?.collection === name ? { _id: { $gt: after.key } } : {};
    const cursor = collectionOf(name)
      .find(behind, READ)
      .sort({ _id: 1 })
      .limit(limit - looked);
    cursor.batchSize(VERIFIED_AT_ONCE);
    try {
      while (chars <= MAX_VERIFIED_CHARS && (await reach(what, () => cursor.hasNext())))
        for (const { _id, json = "", checksum } of cursor.readBufferedDocuments()) {
          last = { collection: name, key: _id };
          if (!isSound(json, checksum)) damaged.push(last);
          looked++;
          chars += json.length;
        }
    } finally {
      void cursor.close().catch(() => {});
    }
    if (looked >= limit || chars > MAX_VERIFIED_CHARS) break;
  }
  return { looked, damaged, last };
}

async function isEmpty(server: MongoServer): Promise<boolean> {
  const what = "look for documents";
  for (const name of await collectionNames(server, what))
    if ((await firstOf(server, what, name)) !== null) return false;
  return true;
}

/** Throws TypeError when the address is invalid. Connects with the first command. */
export function mongoDocuments(address: string, { rebuildable = [] }: MongoOptions = {}): Documents {
  const server = mongoServer(address, rebuildable);
  const { collectionOf, reach, writeConcernOf } = server;
  const reads = batchedReads(server);
  const writes = batchedWrites(server);

  return {
    get: reads.get,
    async getMany(collection, keys) {
      assert(keys.length <= MAX_KEYS, "At most 1,000 documents are read at once");
      return keys.length === 0 ? [] : reads.getMany(collection, keys);
    },
    async put(collection, key, value, version, options) {
      const json = JSON.stringify(value);
      assert(Buffer.byteLength(json) <= MAX_DOCUMENT_BYTES, `Document "${collection}/${key}" is too large`);
      return writes.write(collection, storedDocument(key, json, version, options));
    },
    async remove(collection, key, version) {
      if (version === 0) return false;
      const { deletedCount } = await reach(`remove "${collection}/${key}"`, () =>
        collectionOf(collection).deleteOne(
          { _id: key, v: version },
          { writeConcern: writeConcernOf(collection) },
        ),
      );
      return deletedCount === 1;
    },
    async list(collection, { tag, tags, tag_prefix, from, to, limit, reverse }) {
      assert(limit >= 1 && limit <= MAX_KEYS, "Between 1 and 1,000 documents are listed at once");
      const key_filter = from === undefined && to === undefined ? {} : { _id: between(from, to) };
      const found = await readAll(
        server,
        `list "${collection}"`,
        collectionOf(collection)
          .find(
            {
              ...(tag !== undefined && { tag }),
              ...(tags && { tag: { $in: tags } }),
              ...(tag_prefix !== undefined && { tag: between(tag_prefix, endOfPrefix(tag_prefix)) }),
              ...key_filter,
            },
            READ,
          )
          .sort({
            ...(tag_prefix !== undefined && { tag: 1 }),
            _id: reverse ? -1 : 1,
          })
          .limit(limit),
      );
      return found.map((document) => ({ key: document._id, ...versioned(collection, document) }));
    },
    removeRange: (collection, from, to) => removeRange(server, collection, from, to),
    removeExpired: (collection, before_ms, limit) => removeExpired(server, collection, before_ms, limit),
    verify: (after, limit) => verify(server, after, limit),
    // Writes go over several connections, so none is ordered before another: each is acknowledged and read when it is durable.
    synced: async () => {},
    isEmpty: () => isEmpty(server),
    ping: async () => void (await reach("ask", () => server.database().command({ ping: 1 }))),
    async close() {
      server.shut();
      await writes.drained();
      await server.close();
    },
  };
}
