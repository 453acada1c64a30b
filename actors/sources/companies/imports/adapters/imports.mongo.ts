/**
 * Imported rows in MongoDB, in collections of their own. A row is one document with the identifiers that lead to it in an indexed array.
 * A batch is not one transaction: its rows are written before its checkpoint, and writing them again changes nothing.
 */
import { type Collection, MongoClient } from "mongodb";
import { Fault } from "../../../../../cluster/ports/fault.ts";
import {
  type BadRow,
  type ImportedRow,
  type ImportRun,
  type ImportStore,
  MAX_BAD_ROWS,
  type RowWrite,
} from "../store.ts";

const COMMAND_MS = 30_000;
const DUPLICATE_KEY = 11_000;

/** `<kind>\n<key>`: the order of the ids is that of the keys. */
const idOf = (kind: string, key: string): string => `${kind}\n${key}`;

interface StoredRow {
  readonly _id: string;
  readonly digest: string;
  readonly run: number;
  readonly line: number;
  readonly offset: number;
  readonly tuple: string;
  readonly closed_ms: number | null;
  readonly changed_run?: number | null;
  readonly ids?: readonly string[];
}
interface StoredRun {
  readonly _id: number;
  readonly epoch: number;
  readonly value: string;
}
/** Matches the JSON of a run that is running. A quote inside one of its texts is escaped, so that no text has this. */
const RUNNING = /"state":"running"/;
interface StoredBadRow extends BadRow {
  readonly _id: string;
  readonly run: number;
}

const storedOf = ({ digest, run, changed_run, line, offset, tuple, closed_ms }: ImportedRow) => ({
  digest,
  run,
  changed_run: changed_run ?? null,
  line,
  offset,
  tuple,
  closed_ms,
});

const rowOf = ({
  _id,
  digest,
  run,
  changed_run = null,
  line,
  offset,
  tuple,
  closed_ms,
}: StoredRow): ImportedRow => ({
  key: _id.split("\n")[1]!,
  digest,
  run,
  ...(changed_run !== null && { changed_run }),
  line,
  offset,
  tuple,
  closed_ms,
});

interface ImportCollections {
  readonly rows: Collection<StoredRow>;
  readonly earlier: Collection<StoredRow>;
  readonly runs: Collection<StoredRun>;
  readonly bad: Collection<StoredBadRow>;
}

/** The parts of a batch; each may be written again. */
function batchWriter({ rows, earlier, runs, bad }: ImportCollections) {
  /** False: a writer with a later epoch has the run. */
  async function putRun(run: ImportRun): Promise<boolean> {
    const { matchedCount } = await runs.updateOne(
      { _id: run.run, epoch: { $lte: run.epoch } },
      { $set: { epoch: run.epoch, value: JSON.stringify(run) } },
      { writeConcern: { w: "majority" } },
    );
    return matchedCount > 0;
  }

  async function writeRows(kind: string, batch: readonly RowWrite[]): Promise<void> {
    const replaced = batch.flatMap(({ before }) => (before === null ? [] : [before]));
    if (replaced.length > 0)
      await earlier.bulkWrite(
        replaced.map((row) => ({
          updateOne: {
            filter: { _id: `${idOf(kind, row.key)}\n${String(row.run).padStart(10, "0")}` },
            update: { $set: storedOf(row) },
            upsert: true,
          },
        })),
        { ordered: false },
      );
    await rows.bulkWrite(
      batch.map((row) => ({
        updateOne: {
          filter: { _id: idOf(kind, row.key) },
          update: { $set: { ...storedOf(row), ids: [...row.references] } },
          upsert: true,
        },
      })),
      { ordered: false },
    );
  }

  async function writeBad(run: number, batch: readonly BadRow[]): Promise<void> {
    const room = MAX_BAD_ROWS - (await bad.countDocuments({ run }));
    const kept = batch.slice(0, Math.max(0, room));
    if (kept.length === 0) return;
    await bad.bulkWrite(
      kept.map((row) => ({
        updateOne: { filter: { _id: `${run} ${row.line}` }, update: { $set: { run, ...row } }, upsert: true },
      })),
      { ordered: false },
    );
  }

  return { putRun, writeRows, writeBad };
}

export function mongoImports(address: string): ImportStore {
  const client = new MongoClient(address, {
    serverSelectionTimeoutMS: COMMAND_MS,
    socketTimeoutMS: COMMAND_MS,
    connectTimeoutMS: COMMAND_MS,
  });
  const database = client.db(/^[^:]+:\/\/[^/]+\/([^/?]+)/.exec(address)?.[1] ?? "trawl");
  const rows: Collection<StoredRow> = database.collection("company_import_rows");
  const earlier: Collection<StoredRow> = database.collection("company_import_earlier");
  const runs: Collection<StoredRun> = database.collection("company_import_runs");
  const bad: Collection<StoredBadRow> = database.collection("company_import_bad_rows");
  let indexes: Promise<unknown> | null = null;

  async function reach<T>(what: string, command: () => Promise<T>): Promise<T> {
    try {
      indexes ??= rows.createIndexes([{ key: { ids: 1 } }]);
      await indexes;
      return await command();
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      indexes = null;
      throw new Fault("documents_unreachable", `Cannot ${what} in MongoDB`, { cause });
    }
  }

  const runOf = (stored: StoredRun | null): ImportRun | null =>
    stored === null ? null : (JSON.parse(stored.value) as ImportRun);

  const writer = batchWriter({ rows, earlier, runs, bad });
  const listed = (from: Record<string, string>, limit: number) =>
    rows
      .find({ _id: from as never })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray();

  return {
    begin: (run) =>
      reach("begin an import", async () => {
        for (;;) {
          const [last] = await runs.find().sort({ _id: -1 }).limit(1).toArray();
          const begun = { ...run, run: (last?._id ?? 0) + 1 };
          try {
            await runs.insertOne({ _id: begun.run, epoch: run.epoch, value: JSON.stringify(begun) });
            return begun;
          } catch (problem) {
            // The import of another source began at the same time.
            if ((problem as { readonly code?: unknown }).code !== DUPLICATE_KEY) throw problem;
          }
        }
      }),
    commit: ({ run, rows: batch, bad: bad_rows }) =>
      reach(`write ${batch.length} imported rows`, async () => {
        const stored = await runs.findOne({ _id: run.run });
        const isTaken = stored !== null && stored.epoch > run.epoch;
        if (!isTaken) {
          if (batch.length > 0) await writer.writeRows(run.kind, batch);
          if (bad_rows.length > 0) await writer.writeBad(run.run, bad_rows);
        }
        if (isTaken || !(await writer.putRun(run)))
          throw new Fault("lease_lost", `Cannot write import ${run.run}: another node has taken it`);
      }),
    run: (number) => reach("read an import", async () => runOf(await runs.findOne({ _id: number }))),
    runs: (limit, before = Number.MAX_SAFE_INTEGER) =>
      reach("list imports", async () =>
        (
          await runs
            .find({ _id: { $lt: before } })
            .sort({ _id: -1 })
            .limit(limit)
            .toArray()
        ).map((stored) => runOf(stored)!),
      ),
    running: () =>
      reach("find unfinished imports", async () =>
        (await runs.find({ value: RUNNING }).sort({ _id: -1 }).toArray()).map((stored) => runOf(stored)!),
      ),
    badRows: (run, limit) =>
      reach("list bad rows", async () =>
        (await bad.find({ run }).sort({ line: 1 }).limit(limit).toArray()).map(
          ({ line, offset, reason, text }) => ({ line, offset, reason, text }),
        ),
      ),
    rows: (kind, keys) =>
      reach("read imported rows", async () =>
        (await rows.find({ _id: { $in: keys.map((key) => idOf(kind, key)) } }).toArray()).map(rowOf),
      ),
    rowsBelow: (kind, prefix, limit) =>
      reach("read imported rows", async () =>
        (await listed({ $gte: idOf(kind, prefix), $lt: `${idOf(kind, prefix)}\u{10ffff}` }, limit)).map(
          rowOf,
        ),
      ),
    earlier: (kind, key) =>
      reach("read imported rows", async () => {
        const id = `${idOf(kind, key)}\n`;
        const found = await earlier
          .find({ _id: { $gte: id, $lt: `${id}~` } })
          .sort({ _id: 1 })
          .toArray();
        return found.map(rowOf);
      }),
    find: (references) =>
      reach("find imported rows", async () => {
        const wanted = new Set(references);
        const found = await rows
          .find({ ids: { $in: [...wanted] } }, { projection: { _id: 1, ids: 1 } })
          .toArray();
        return found.flatMap(({ _id, ids }) => {
          const [kind, key] = _id.split("\n") as [string, string];
          return (ids ?? [])
            .filter((reference) => wanted.has(reference))
            .map((reference) => ({ reference, kind, key }));
        });
      }),
    scan: (kind, after, limit) =>
      reach("read imported rows", async () =>
        (await listed({ $gt: idOf(kind, after), $lt: `${kind}\n\u{10ffff}` }, limit)).map(rowOf),
      ),
    count: (kind) =>
      reach("count imported rows", () =>
        rows.countDocuments({ _id: { $gte: `${kind}\n`, $lt: `${kind}\n\u{10ffff}` }, closed_ms: null }),
      ),
    close: () => client.close(),
  };
}
