/**
 * Reads from MongoDB: those of one tick are batched; each command, and each batch of a cursor, has its own time-out and ends in a fault.
 */
import { type FindCursor, MongoNetworkError } from "mongodb";
import type { Versioned } from "../../ports/documents.ts";
import type { Fault } from "../../ports/fault.ts";
import type { MongoServer } from "./server.mongo.ts";
import { READ, type StoredDocument, versioned } from "./stored.mongo.ts";

/** Maximum reads per command. A large document among them delays the others. */
const MAX_READS_PER_COMMAND = 50;

interface PendingRead {
  readonly key: string;
  readonly resolve: (found: Versioned | null) => void;
  readonly reject: (fault: Fault) => void;
}

const versionedOf = (
  collection: string,
  stored_by_key: ReadonlyMap<string, StoredDocument>,
  key: string,
): Versioned | null => {
  const document = stored_by_key.get(key);
  return document ? versioned(collection, document) : null;
};

export interface BatchedReads {
  readonly get: (collection: string, key: string) => Promise<Versioned | null>;
  readonly getMany: (collection: string, keys: readonly string[]) => Promise<(Versioned | null)[]>;
}

export function batchedReads(server: MongoServer): BatchedReads {
  const pending = new Map<string, PendingRead[]>();

  async function answer(name: string, reads: readonly PendingRead[]): Promise<void> {
    try {
      const stored_by_key = await load(
        server,
        name,
        reads.map(({ key }) => key),
      );
      for (const { key, resolve, reject } of reads)
        try {
          resolve(versionedOf(name, stored_by_key, key));
        } catch (problem) {
          reject(problem as Fault);
        }
    } catch (problem) {
      for (const { reject } of reads) reject(problem as Fault);
    }
  }

  return {
    async get(collection, key) {
      server.assertOpen(`read "${collection}/${key}"`);
      const { promise, resolve, reject } = Promise.withResolvers<Versioned | null>();
      const reads = pending.get(collection) ?? [];
      if (reads.push({ key, resolve, reject }) === 1) {
        pending.set(collection, reads);
        setImmediate(() => {
          pending.delete(collection);
          for (let from = 0; from < reads.length; from += MAX_READS_PER_COMMAND)
            void answer(collection, reads.slice(from, from + MAX_READS_PER_COMMAND));
        });
      }
      return promise;
    },
    async getMany(collection, keys) {
      const stored_by_key = await load(server, collection, keys);
      return keys.map((key) => versionedOf(collection, stored_by_key, key));
    },
  };
}

/** Each batch of the cursor has its own time-out: a thousand large documents take several. */
export async function readAll(
  { reach }: MongoServer,
  what: string,
  cursor: FindCursor<StoredDocument>,
): Promise<StoredDocument[]> {
  const documents: StoredDocument[] = [];
  try {
    while (await reach(what, () => cursor.hasNext())) documents.push(...cursor.readBufferedDocuments());
    return documents;
  } finally {
    // Not awaited: a server that hangs would not answer this either.
    void cursor.close().catch(() => {});
  }
}

/** A plain command: a cursor for one document costs half as much again. */
async function loadOne(
  { reach, database, readConcernOf }: MongoServer,
  name: string,
  key: string,
): Promise<readonly StoredDocument[]> {
  const command = {
    find: name,
    filter: { _id: key },
    ...READ,
    limit: 1,
    singleBatch: true,
    readConcern: readConcernOf(name),
  };
  const find = () => database().command(command);
  const { cursor } = await reach(`read "${name}/${key}"`, () =>
    // Retried once on another connection, as the driver does for cursors.
    find().catch((problem: unknown) => {
      if (problem instanceof MongoNetworkError) return find();
      throw problem;
    }),
  );
  return (cursor as { firstBatch: StoredDocument[] }).firstBatch;
}

async function load(
  server: MongoServer,
  name: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, StoredDocument>> {
  const cursor = () => server.collectionOf(name).find({ _id: { $in: [...new Set(keys)] } }, READ);
  const documents = await (keys.length === 1
    ? loadOne(server, name, keys[0]!)
    : readAll(server, `read ${keys.length} of "${name}"`, cursor()));
  return new Map(documents.map((document) => [document._id, document]));
}
