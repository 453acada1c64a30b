/**
 * Writes to MongoDB, batched by collection: those that arrive while a batch is in flight go with the next one, unless the batch hangs.
 * Never two writes of one document are in flight. A write that waits 3 s for its batch ends in a fault; whether a write of a
 * batch without an answer was stored is unknown.
 */
import type { Document, WriteConcernSettings } from "mongodb";
import type { Fault } from "../../ports/fault.ts";
import type { MongoServer } from "./server.mongo.ts";
import type { StoredDocument } from "./stored.mongo.ts";

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
const DUPLICATE_KEY = 11_000;

interface PendingWrite {
  readonly document: StoredDocument;
  readonly queued_ms: number;
  readonly resolve: (stored: boolean) => void;
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

/** All writers must lock the same keys in the same order, or they wait for each other. */
const byKey = (a: PendingWrite, b: PendingWrite): number => (a.document._id < b.document._id ? -1 : 1);

/** Resolves with the first settled promise, or after the time-out. */
function firstSettled(batches: Iterable<Promise<void>>, timeout_ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, timeout_ms);
  return Promise.race([promise, ...batches]).finally(() => clearTimeout(timer));
}

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
  async function send(part: readonly number[], what: (documents: readonly StoredDocument[]) => Document) {
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

export interface BatchedWrites {
  /** Whether the version was the next one. Rejects with a Fault. */
  readonly write: (collection: string, document: StoredDocument) => Promise<boolean>;
  /** Resolves when no write waits any more. */
  readonly drained: () => Promise<void>;
}

export function batchedWrites(server: MongoServer): BatchedWrites {
  const { fault } = server;
  const queues = new Map<string, WriteQueue>();
  let waiting = 0;

  function writeQueueOf(name: string): WriteQueue {
    const existing = queues.get(name);
    if (existing) return existing;
    const created: WriteQueue = { name, waiting: [], in_flight: new Set(), draining: null, indexes: null };
    queues.set(name, created);
    return created;
  }

  async function write(name: string, document: StoredDocument): Promise<boolean> {
    const what = `write "${name}/${document._id}"`;
    server.assertOpen(what);
    if (waiting >= MAX_WAITING) throw fault(what, new Error(`${MAX_WAITING} writes are waiting`));
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
      await prepare(server, lane);
      const send = (command: Document) => server.withTimeout(server.database().command(command));
      const outcome = await sendBatch(send, name, batch, server.writeConcernOf(name));
      for (const [index, { code, errmsg }] of outcome.errors) {
        const { document, resolve, reject } = batch[index]!;
        if (code === DUPLICATE_KEY) resolve(false);
        else reject(fault(`write "${name}/${document._id}"`, new Error(`${errmsg} (${code})`)));
      }
      for (const [index, { document, resolve }] of batch.entries())
        if (document.v === 1 && !outcome.errors.has(index)) resolve(true);
      const replaced = batch.filter(({ document }, index) => document.v > 1 && !outcome.errors.has(index));
      if (outcome.matched === replaced.length) for (const { resolve } of replaced) resolve(true);
      else await resolveAmbiguous(server, name, replaced, outcome.matched);
    } catch (cause) {
      // Writes that are settled already ignore this.
      const problem = fault(`write ${batch.length} documents of "${name}"`, cause);
      for (const { reject } of batch) reject(problem);
    }
  }

  return {
    write,
    async drained() {
      for (const lane of queues.values()) await lane.draining;
    },
  };
}

/**
 * Some replacements lost, and the server only reports how many won. A document that carries our write id was ours. A
 * document with another id and a later version (or none at all) may have been ours in between: then only the count
 * can decide, if all or none of those won.
 */
async function resolveAmbiguous(
  { collectionOf, withTimeout, fault }: MongoServer,
  name: string,
  batch: readonly PendingWrite[],
  won: number,
): Promise<void> {
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

async function prepare({ collectionOf, withTimeout }: MongoServer, lane: WriteQueue): Promise<void> {
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
