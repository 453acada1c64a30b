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
import {
  type Collection,
  type Document,
  type FindCursor,
  MongoClient,
  type MongoClientOptions,
  MongoNetworkError,
  MongoServerError,
  ObjectId,
  type WriteConcernSettings,
} from "mongodb";
import {
  type DocumentPlace,
  MAX_DOCUMENT_BYTES,
  type Documents,
  type PutOptions,
  type Versioned,
} from "../../ports/documents.ts";
import { Fault } from "../../ports/fault.ts";
import { checksumOf, isSound, readVersioned } from "./checksum.ts";

/** Time-out of one command. */
const COMMAND_MS = 5_000;
/**
 * How long the driver looks for a server or a free connection. A server that comes back within this time causes no
 * fault.
 */
const CONNECT_MS = 3_000;
/**
 * After this time without any answer the client is recreated: after some restarts of a server the monitor of driver 7.9
 * stops for ever and reports no server.
 */
const RECREATE_CLIENT_MS = 10_000;
/** How long a write may wait for its batch. */
const MAX_QUEUED_MS = 3_000;
/** A batch without an answer for this long no longer delays the next ones, except those with the same documents. */
const SLOW_BATCH_MS = 300;
/** Concurrent batches of one collection, when some hang. */
const BATCHES_AT_ONCE = 4;
/** Maximum number of waiting writes in all collections; one more is refused at once. */
const MAX_WAITING = 1_000;
/** Maximum writes per command, and maximum JSON bytes unless it is a single write. */
const MAX_BATCH = 100;
const MAX_BATCH_BYTES = 4 * 2 ** 20;
const MAX_KEYS = 1_000;
/** Maximum reads per command. A large document among them delays the others. */
const MAX_READS_PER_COMMAND = 50;
const DUPLICATE_KEY = 11_000;

/** Options in the operator's address take precedence. */
const DEFAULTS: MongoClientOptions = {
  appName: "trawl",
  // Only replica sets support it, and then the address says so.
  retryWrites: false,
  maxPoolSize: 32,
  connectTimeoutMS: CONNECT_MS,
  serverSelectionTimeoutMS: CONNECT_MS,
  waitQueueTimeoutMS: CONNECT_MS,
  socketTimeoutMS: COMMAND_MS,
};
const MAJORITY = { w: "majority", journal: true } as const;
const ONE_SERVER = { w: 1 } as const;

interface Stored {
  readonly _id: string;
  readonly v: number;
  /**
   * Id of the write that stored this version. The server only reports how many writes of a batch won; this id shows
   * which.
   */
  readonly w: ObjectId;
  readonly json: string;
  /** Of `json`. Absent: an earlier version stored it. */
  readonly checksum?: number;
  readonly tag?: string;
  readonly expires_at?: number;
}

interface PendingWrite {
  readonly document: Stored;
  readonly queued_ms: number;
  readonly resolve: (stored: boolean) => void;
  readonly reject: (fault: Fault) => void;
}

interface PendingRead {
  readonly key: string;
  readonly resolve: (found: Versioned | null) => void;
  readonly reject: (fault: Fault) => void;
}

/** Pending writes of one collection. */
interface WriteQueue {
  readonly name: string;
  waiting: PendingWrite[];
  /** Keys of the writes in flight. */
  readonly in_flight: Set<string>;
  /** Resolves when no write waits any more; null: none waits. */
  draining: Promise<void> | null;
  /** The creation of its indexes; null: not started yet. */
  indexes: Promise<unknown> | null;
}

export interface MongoOptions {
  /** Collections whose content can be rebuilt: their writes wait for one server only. */
  readonly rebuildable?: readonly string[];
}

const READ = { projection: { v: 1, json: 1, checksum: 1 } } as const;
const VERIFIED_AT_ONCE = 50;
/** Of one call of `verify`. */
const MAX_VERIFIED_CHARS = 2 * 2 ** 20;

const versioned = (collection: string, { _id, v, json, checksum }: Stored): Versioned =>
  readVersioned({ collection, key: _id }, json, v, checksum);

/** Parsed for each caller, because a caller may modify its copy. */
const versionedOf = (
  collection: string,
  stored_by_key: ReadonlyMap<string, Stored>,
  key: string,
): Versioned | null => {
  const document = stored_by_key.get(key);
  return document ? versioned(collection, document) : null;
};

const between = (from: string | undefined, to: string | undefined) => ({
  ...(from === undefined ? {} : { $gte: from }),
  ...(to === undefined ? {} : { $lt: to }),
});

/** All writers must lock the same keys in the same order, or they wait for each other. */
const byKey = (a: PendingWrite, b: PendingWrite): number => (a.document._id < b.document._id ? -1 : 1);

function orTimeout<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`There was no answer within ${COMMAND_MS / 1_000} s`)),
      COMMAND_MS,
    );
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Resolves with the first settled promise, or after the time-out. */
function firstSettled(batches: Iterable<Promise<void>>, timeout_ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, timeout_ms);
  return Promise.race([promise, ...batches]).finally(() => clearTimeout(timer));
}

/** A refused write is an answer, too. */
const isAnswer = (problem: unknown): boolean => problem instanceof MongoServerError;

/**
 * The next batch, oldest first. It never holds two writes of one key, because the result of the first decides the
 * second.
 */
function nextBatch(lane: WriteQueue): PendingWrite[] {
  const keys = new Set(lane.in_flight);
  let bytes = 0;
  const [batch, remaining]: [PendingWrite[], PendingWrite[]] = [[], []];
  for (const write of lane.waiting) {
    const { _id, json } = write.document;
    const fits = batch.length === 0 || (batch.length < MAX_BATCH && bytes + json.length <= MAX_BATCH_BYTES);
    if (!fits || keys.has(_id)) remaining.push(write);
    else {
      batch.push(write);
      bytes += json.length;
    }
    keys.add(_id);
  }
  lane.waiting = remaining;
  return batch.toSorted(byKey);
}

/** The result of a batch: how many documents were replaced, and the error of each failed write by its index. */
interface BulkOutcome {
  readonly matched: number;
  readonly errors: ReadonlyMap<number, { readonly code: number; readonly errmsg?: string | undefined }>;
}

interface WriteAnswer {
  readonly n: number;
  readonly writeErrors?: readonly {
    readonly index: number;
    readonly code: number;
    readonly errmsg?: string;
  }[];
  readonly writeConcernError?: { readonly errmsg?: string };
}

/** Plain commands: the driver's bulk API costs a third more. */
async function sendBatch(
  command: (command: Document) => Promise<Document>,
  name: string,
  batch: readonly PendingWrite[],
  writeConcern: WriteConcernSettings,
): Promise<BulkOutcome> {
  const errors = new Map<number, { code: number; errmsg?: string | undefined }>();
  const indexes = [...batch.keys()];
  const how = { ordered: false, writeConcern } as const;
  async function send(part: readonly number[], what: (documents: readonly Stored[]) => Document) {
    if (part.length === 0) return 0;
    const reply = await command({ ...what(part.map((index) => batch[index]!.document)), ...how });
    const { n, writeErrors = [], writeConcernError } = reply as unknown as WriteAnswer;
    if (writeConcernError) throw new Error(`The write was not replicated: ${writeConcernError.errmsg}`);
    for (const { index, code, errmsg } of writeErrors) errors.set(part[index]!, { code, errmsg });
    return n;
  }
  const [, matched] = await Promise.all([
    send(
      indexes.filter((index) => batch[index]!.document.v === 1),
      (documents) => ({ insert: name, documents }),
    ),
    send(
      indexes.filter((index) => batch[index]!.document.v > 1),
      (documents) => ({
        update: name,
        updates: documents.map(({ _id, ...u }) => ({ q: { _id, v: u.v - 1 }, u })),
      }),
    ),
  ]);
  return { matched, errors };
}

/** A secondary may be behind: an actor would start from an old state, and its every put be refused. */
function assertReadsPrimary(address: string): void {
  for (const [name, value] of new URLSearchParams(address.split("?")[1]))
    if (name.toLowerCase() === "readpreference" && value.toLowerCase() !== "primary")
      throw new TypeError(
        `Cannot use the address of MongoDB: readPreference is "${value}", and only "primary" reads what was stored last`,
      );
}

function connect(address: string): MongoClient {
  assertReadsPrimary(address);
  const given = new Set(
    [...new URLSearchParams(address.split("?")[1]).keys()].map((name) => name.toLowerCase()),
  );
  const defaults = Object.entries(DEFAULTS).filter(([name]) => !given.has(name.toLowerCase()));
  try {
    return new MongoClient(address, Object.fromEntries(defaults));
  } catch (problem) {
    // The driver's message quotes the address with its password.
    const message = (problem as Error).message.replaceAll(address, "…");
    // oxlint-disable-next-line preserve-caught-error
    throw new TypeError(`Cannot use the address of MongoDB: ${message}`);
  }
}

/**
 * Throws TypeError when the address is invalid. Connects with the first command.
 * One algorithm: batched writes, with one write of a document in flight.
 */
export function mongoDocuments(address: string, { rebuildable = [] }: MongoOptions = {}): Documents {
  let client = connect(address);
  const name_of_database = /^[^:]+:\/\/[^/]+\/([^/?]+)/.exec(address)?.[1] ?? "trawl";
  let database = client.db(name_of_database);
  const location = `${client.options.srvHost ?? client.options.hosts.join(",")}/${database.databaseName}`;
  const write_queues = new Map<string, WriteQueue>();
  const pending_reads = new Map<string, PendingRead[]>();
  let waiting = 0;
  let closed = false;
  /** Since when no command was answered; null: the last one was answered. */
  let silent_since_ms: number | null = null;

  const collectionOf = (name: string): Collection<Stored> =>
    database.collection<Stored>(name, { readConcern: readConcernOf(name) });

  /** A command's answer within its time-out. */
  async function withTimeout<T>(work: Promise<T>): Promise<T> {
    try {
      const reply = await orTimeout(work);
      silent_since_ms = null;
      return reply;
    } catch (problem) {
      if (isAnswer(problem)) silent_since_ms = null;
      else onSilence();
      throw problem;
    }
  }

  function onSilence(): void {
    const now_ms = performance.now();
    silent_since_ms ??= now_ms;
    if (closed || now_ms - silent_since_ms < RECREATE_CLIENT_MS) return;
    silent_since_ms = now_ms;
    const previous = client;
    client = connect(address);
    database = client.db(name_of_database);
    void previous.close().catch(() => {});
  }

  const fault = (what: string, cause?: unknown): Fault =>
    new Fault(
      "documents_unreachable",
      `Cannot ${what} in "${location}"`,
      cause === undefined ? {} : { cause },
    );

  /** One command, with errors as faults. */
  async function reach<T>(what: string, command: () => Promise<T>): Promise<T> {
    if (closed) throw fault(what, new Error("The store is closed"));
    try {
      return await withTimeout(command());
    } catch (cause) {
      throw fault(what, cause);
    }
  }

  /** What a majority has is what a majority was asked to write: nothing is read that an election or a power cut may still take. */
  const readConcernOf = (name: string) =>
    ({ level: rebuildable.includes(name) ? "local" : "majority" }) as const;
  const concernOf = (name: string) => (rebuildable.includes(name) ? ONE_SERVER : MAJORITY);

  function writeQueueOf(name: string): WriteQueue {
    const existing = write_queues.get(name);
    if (existing) return existing;
    const created: WriteQueue = { name, waiting: [], in_flight: new Set(), draining: null, indexes: null };
    write_queues.set(name, created);
    return created;
  }

  function write(name: string, document: Stored): Promise<boolean> {
    const what = `write "${name}/${document._id}"`;
    if (closed) return Promise.reject(fault(what, new Error("The store is closed")));
    if (waiting >= MAX_WAITING)
      return Promise.reject(fault(what, new Error(`${MAX_WAITING} writes are waiting`)));
    const lane = writeQueueOf(name);
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    waiting++;
    lane.waiting.push({ document, queued_ms: performance.now(), resolve, reject });
    lane.draining ??= drainQueue(lane);
    return promise.finally(() => waiting--);
  }

  async function drainQueue(lane: WriteQueue): Promise<void> {
    // Other writes of this tick join the batch.
    await new Promise(setImmediate);
    const running = new Set<Promise<void>>();
    while (lane.waiting.length > 0 || running.size > 0) {
      const oldest_ms = performance.now() - MAX_QUEUED_MS;
      const expired = lane.waiting.filter(({ queued_ms: asked_ms }) => asked_ms < oldest_ms);
      if (expired.length > 0)
        lane.waiting = lane.waiting.filter(({ queued_ms: asked_ms }) => asked_ms >= oldest_ms);
      for (const { document, reject } of expired)
        reject(
          fault(
            `write "${lane.name}/${document._id}"`,
            new Error(`The write waited ${MAX_QUEUED_MS / 1_000} s`),
          ),
        );
      const batch = running.size < BATCHES_AT_ONCE ? nextBatch(lane) : [];
      if (batch.length > 0) {
        for (const { document } of batch) lane.in_flight.add(document._id);
        const sending = writeBatch(lane, batch).finally(() => {
          for (const { document } of batch) lane.in_flight.delete(document._id);
          running.delete(sending);
        });
        running.add(sending);
      }
      if (running.size > 0) await firstSettled(running, SLOW_BATCH_MS);
    }
    lane.draining = null;
  }

  /** Sends a batch and settles each of its writes. */
  async function writeBatch(lane: WriteQueue, batch: readonly PendingWrite[]): Promise<void> {
    const { name } = lane;
    try {
      await prepare(lane);
      const send = (command: Document) => withTimeout(database.command(command));
      const outcome = await sendBatch(send, name, batch, concernOf(name));
      for (const [index, { code, errmsg }] of outcome.errors) {
        const { document, resolve, reject } = batch[index]!;
        if (code === DUPLICATE_KEY) resolve(false);
        else reject(fault(`write "${name}/${document._id}"`, new Error(`${errmsg} (${code})`)));
      }
      for (const [index, { document, resolve }] of batch.entries())
        if (document.v === 1 && !outcome.errors.has(index)) resolve(true);
      const replaced = batch.filter(({ document }, index) => document.v > 1 && !outcome.errors.has(index));
      if (outcome.matched === replaced.length) for (const { resolve } of replaced) resolve(true);
      else await resolveAmbiguous(name, replaced, outcome.matched);
    } catch (cause) {
      // Writes that are settled already ignore this.
      const problem = fault(`write ${batch.length} documents of "${name}"`, cause);
      for (const { reject } of batch) reject(problem);
    }
  }

  /**
   * Some replacements lost, and the server only reports how many won. A document that carries our write id was ours. A
   * document with another id and a later version (or none at all) may have been ours in between: then only the count
   * can decide, if all or none of those won.
   */
  async function resolveAmbiguous(name: string, batch: readonly PendingWrite[], won: number): Promise<void> {
    const keys = batch.map(({ document }) => document._id);
    const stored_documents = await withTimeout(
      collectionOf(name)
        .find({ _id: { $in: keys } }, { projection: { v: 1, w: 1 } })
        .toArray(),
    );
    const stored_by_key = new Map(stored_documents.map((document) => [document._id, document]));
    const mine = batch.filter(({ document }) => stored_by_key.get(document._id)?.w.equals(document.w));
    const unknown = batch.filter(
      ({ document }) => (stored_by_key.get(document._id)?.v ?? Infinity) > document.v,
    );
    const unaccounted = won - mine.length;
    for (const { resolve } of mine) resolve(true);
    if (unaccounted === unknown.length) for (const { resolve } of unknown) resolve(true);
    else if (unaccounted !== 0)
      for (const { document, reject } of unknown)
        reject(
          fault(
            `write "${name}/${document._id}"`,
            new Error(
              "Another writer stored it at the same moment, and it is not known whether this write was stored",
            ),
          ),
        );
    // The remaining writes lost.
    for (const { resolve } of batch) resolve(false);
  }

  async function prepare(lane: WriteQueue): Promise<void> {
    lane.indexes ??= withTimeout(
      collectionOf(lane.name).createIndexes([{ key: { tag: 1, _id: 1 } }, { key: { expires_at: 1 } }]),
    );
    try {
      await lane.indexes;
    } catch (problem) {
      lane.indexes = null;
      throw problem;
    }
  }

  /** Each batch of the cursor has its own time-out: a thousand large documents take several. */
  async function readAll(what: string, cursor: FindCursor<Stored>): Promise<Stored[]> {
    const documents: Stored[] = [];
    try {
      while (await reach(what, () => cursor.hasNext())) documents.push(...cursor.readBufferedDocuments());
      return documents;
    } finally {
      // Not awaited: a server that hangs would not answer this either.
      void cursor.close().catch(() => {});
    }
  }

  /** A plain command: a cursor for one document costs half as much again. */
  async function loadOne(name: string, key: string): Promise<readonly Stored[]> {
    const command = {
      find: name,
      filter: { _id: key },
      ...READ,
      limit: 1,
      singleBatch: true,
      readConcern: readConcernOf(name),
    };
    const find = () => database.command(command);
    const { cursor } = await reach(`read "${name}/${key}"`, () =>
      // Retried once on another connection, as the driver does for cursors.
      find().catch((problem: unknown) => {
        if (problem instanceof MongoNetworkError) return find();
        throw problem;
      }),
    );
    return (cursor as { firstBatch: Stored[] }).firstBatch;
  }

  async function load(name: string, keys: readonly string[]): Promise<ReadonlyMap<string, Stored>> {
    const cursor = () => collectionOf(name).find({ _id: { $in: [...new Set(keys)] } }, READ);
    const documents = await (keys.length === 1
      ? loadOne(name, keys[0]!)
      : readAll(`read ${keys.length} of "${name}"`, cursor()));
    return new Map(documents.map((document) => [document._id, document]));
  }

  async function answer(name: string, reads: readonly PendingRead[]): Promise<void> {
    try {
      const stored_by_key = await load(
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

  const stored = (key: string, json: string, version: number, options: PutOptions = {}): Stored => ({
    _id: key,
    v: version + 1,
    w: new ObjectId(),
    json,
    checksum: checksumOf(json),
    ...(options.tag === undefined ? {} : { tag: options.tag }),
    ...(options.expires_at_ms === undefined ? {} : { expires_at: options.expires_at_ms }),
  });

  return {
    get(collection, key) {
      if (closed)
        return Promise.reject(fault(`read "${collection}/${key}"`, new Error("The store is closed")));
      const { promise, resolve, reject } = Promise.withResolvers<Versioned | null>();
      const reads = pending_reads.get(collection) ?? [];
      if (reads.push({ key, resolve, reject }) === 1) {
        pending_reads.set(collection, reads);
        setImmediate(() => {
          pending_reads.delete(collection);
          for (let from = 0; from < reads.length; from += MAX_READS_PER_COMMAND)
            void answer(collection, reads.slice(from, from + MAX_READS_PER_COMMAND));
        });
      }
      return promise;
    },
    async getMany(collection, keys) {
      assert(keys.length <= MAX_KEYS, "At most 1,000 documents are read at once");
      if (keys.length === 0) return [];
      const stored_by_key = await load(collection, keys);
      return keys.map((key) => versionedOf(collection, stored_by_key, key));
    },
    async put(collection, key, value, version, options) {
      const json = JSON.stringify(value);
      assert(Buffer.byteLength(json) <= MAX_DOCUMENT_BYTES, `Document "${collection}/${key}" is too large`);
      return write(collection, stored(key, json, version, options));
    },
    async remove(collection, key, version) {
      if (version === 0) return false;
      const { deletedCount } = await reach(`remove "${collection}/${key}"`, () =>
        collectionOf(collection).deleteOne({ _id: key, v: version }, { writeConcern: concernOf(collection) }),
      );
      return deletedCount === 1;
    },
    async list(collection, { tag, from, to, limit, reverse }) {
      assert(limit >= 1 && limit <= MAX_KEYS, "Between 1 and 1,000 documents are listed at once");
      const key_filter = from === undefined && to === undefined ? {} : { _id: between(from, to) };
      const found = await readAll(
        `list "${collection}"`,
        collectionOf(collection)
          .find({ ...(tag === undefined ? {} : { tag }), ...key_filter }, READ)
          .sort({ _id: reverse ? -1 : 1 })
          .limit(limit),
      );
      return found.map((document) => ({ key: document._id, ...versioned(collection, document) }));
    },
    async removeRange(collection, from, to) {
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
          documents.deleteMany(filter, { writeConcern: concernOf(collection) }),
        );
        removed += deletedCount;
        first = next;
      }
      return removed;
    },
    async removeExpired(collection, before_ms, limit) {
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
          documents.deleteMany({ _id: { $in: keys }, ...expired }, { writeConcern: concernOf(collection) }),
        );
        removed += deletedCount;
      }
      return removed;
    },
    async verify(after, limit) {
      const what = "look through the documents";
      const listed = await reach(what, () => database.listCollections({}, { nameOnly: true }).toArray());
      const names = listed.map(({ name }) => name).filter((name) => !name.startsWith("system."));
      const damaged: DocumentPlace[] = [];
      let last: DocumentPlace | null = null;
      let [looked, chars] = [0, 0];
      for (const name of names.filter((each) => each >= (after?.collection ?? "")).toSorted()) {
        const behind = after?.collection === name ? { _id: { $gt: after.key } } : {};
        const cursor = collectionOf(name)
          .find(behind, READ)
          .sort({ _id: 1 })
          .limit(limit - looked);
        cursor.batchSize(VERIFIED_AT_ONCE);
        try {
          while (chars <= MAX_VERIFIED_CHARS && (await reach(what, () => cursor.hasNext())))
            for (const { _id, json, checksum } of cursor.readBufferedDocuments()) {
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
    },
    // Writes go over several connections, so none is ordered before another: each is acknowledged and read when it is durable.
    synced: async () => {},
    async isEmpty() {
      const what = "look for documents";
      const collections = await reach(what, () => database.listCollections({}, { nameOnly: true }).toArray());
      for (const { name } of collections) {
        if (name.startsWith("system.")) continue;
        const first = await reach(what, () => collectionOf(name).findOne({}, { projection: { _id: 1 } }));
        if (first !== null) return false;
      }
      return true;
    },
    ping: async () => void (await reach("ask", () => database.command({ ping: 1 }))),
    async close() {
      closed = true;
      for (const lane of write_queues.values()) await lane.draining;
      await client.close();
    },
  };
}
