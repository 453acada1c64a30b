/**
 * Documents in one SQLite file. Writes that arrive in the same tick share a transaction.
 *
 * WAL with `synchronous = NORMAL`: stored documents survive the end of the process, also kill -9, and a power cut never
 * damages the file. With the durability `power` a write is acknowledged once the log is synced, which is done here and
 * not by SQLite (`synchronous = FULL`): SQLite would stop the event loop for each sync, 2 ms on this project's machines,
 * and sync every transaction. Here the loop goes on, and all transactions that were committed meanwhile share the next
 * sync. Writes to rebuildable collections do not wait for it. Readers see a write before it is synced.
 *
 * Other processes may read and write the file at the same time (`trawl key`).
 */
import assert from "node:assert/strict";
import { accessSync, closeSync, constants, openSync } from "node:fs";
import { dirname, resolve as resolvePath } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { MAX_DOCUMENT_BYTES, type Documents, type Versioned } from "../../ports/documents.ts";
import { Fault } from "../../ports/fault.ts";
import { type Durability, groupCommit, makeFolder, syncContent } from "../files/durable-files.ts";

/** How long to wait for the lock of another process. The event loop is blocked meanwhile. */
const BUSY_MS = 2_000;

const SCHEMA = `
  PRAGMA busy_timeout = ${BUSY_MS};
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -65536;
  CREATE TABLE IF NOT EXISTS documents (
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    value TEXT NOT NULL,
    tag TEXT,
    expires_at_ms INTEGER,
    PRIMARY KEY (collection, key)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS documents_by_tag ON documents (collection, tag, key) WHERE tag IS NOT NULL;
  CREATE INDEX IF NOT EXISTS documents_by_end ON documents (collection, expires_at_ms) WHERE expires_at_ms IS NOT NULL`;

export interface SqliteOptions {
  /** Default `power`. */
  readonly durability?: Durability;
  /** Collections that are only caches: `process` is enough for them. */
  readonly rebuildable?: readonly string[];
}

interface Write {
  /** How many documents it changed. */
  readonly run: () => number;
  /** Whether it is acknowledged only when it is synced. */
  readonly synced: boolean;
  readonly resolve: (changed: number) => void;
  readonly reject: (fault: Fault) => void;
}

const versioned = (row: Record<string, unknown> | undefined): Versioned | null =>
  row ? { version: Number(row["version"]), value: JSON.parse(String(row["value"])) } : null;

/** One algorithm: transactions of the writes of a tick, acknowledged when they are synced. */
export function sqliteDocuments(
  path: string,
  { durability = "power", rebuildable = [] }: SqliteOptions = {},
): Documents {
  const folder = dirname(resolvePath(path));
  makeFolder(folder, durability);
  const database = new DatabaseSync(path);
  database.exec(SCHEMA);
  // Once more, for the names of the files that were just created.
  makeFolder(folder, durability);
  /** The log. It stays the same file while the database is open, and SQLite sets no locks on it that a close would end. */
  const log = durability === "power" ? openSync(`${path}-wal`, "r+") : null;
  const syncLog = log === null ? null : groupCommit(() => syncContent(log));
  /** Why the log could not be synced. The kernel forgets what it could not write, so no later sync can be believed. */
  let sync_failure: { readonly cause: unknown } | null = null;
  const prepared = new Map<string, StatementSync>();
  const sql = (text: string): StatementSync => {
    const existing = prepared.get(text);
    if (existing) return existing;
    const created = database.prepare(text);
    prepared.set(text, created);
    return created;
  };
  const read = database.prepare("SELECT version, value FROM documents WHERE collection = ? AND key = ?");
  const create = database.prepare("INSERT OR IGNORE INTO documents VALUES (?, ?, 1, ?, ?, ?)");
  const replace = database.prepare(
    `UPDATE documents SET value = ?, version = version + 1, tag = ?, expires_at_ms = ?
     WHERE collection = ? AND key = ? AND version = ?`,
  );

  let waiting: Write[] = [];
  const syncing = new Set<Promise<void>>();

  const unwritable = (count: number, cause: unknown): Fault =>
    new Fault("documents_unreachable", `Cannot write ${count} documents to "${path}"`, {
      cause: withReason(cause, folder),
    });

  function flush(): void {
    const writes = waiting;
    waiting = [];
    let changes: readonly number[];
    try {
      changes = commit(writes);
    } catch (cause) {
      if (database.isOpen && database.isTransaction) database.exec("ROLLBACK");
      const fault = unwritable(writes.length, cause);
      for (const { reject } of writes) reject(fault);
      return;
    }
    const unsynced: { readonly write: Write; readonly changed: number }[] = [];
    for (const [index, write] of writes.entries()) {
      const changed = changes[index]!;
      if (write.synced && changed > 0) unsynced.push({ write, changed });
      else write.resolve(changed);
    }
    if (unsynced.length === 0) return;
    const acknowledged = syncLog!().then(
      () => unsynced.forEach(({ write, changed }) => write.resolve(changed)),
      (cause: unknown) => {
        sync_failure ??= { cause };
        const fault = unwritable(unsynced.length, cause);
        for (const { write } of unsynced) write.reject(fault);
      },
    );
    syncing.add(acknowledged);
    void acknowledged.finally(() => syncing.delete(acknowledged));
  }

  /** Throws what SQLite throws. */
  function commit(writes: readonly Write[]): readonly number[] {
    if (sync_failure) throw sync_failure.cause;
    // A single statement is a transaction by itself.
    if (writes.length === 1) return [writes[0]!.run()];
    database.exec("BEGIN IMMEDIATE");
    const changes = writes.map(({ run }) => run());
    database.exec("COMMIT");
    return changes;
  }

  function enqueue(collection: string, run: () => number): Promise<number> {
    const synced = syncLog !== null && !rebuildable.includes(collection);
    return new Promise((resolve, reject) => {
      if (waiting.push({ run, synced, resolve, reject }) === 1) setImmediate(flush);
    });
  }

  function orFault<T>(what: string, run: () => T): T {
    try {
      return run();
    } catch (cause) {
      throw new Fault("documents_unreachable", `Cannot ${what} in "${path}"`, { cause });
    }
  }

  return {
    get: async (collection, key) =>
      orFault(`read "${collection}/${key}"`, () => versioned(read.get(collection, key))),
    async getMany(collection, keys) {
      assert(keys.length <= 1_000, "At most 1,000 documents are read at once");
      return orFault(`read ${keys.length} of "${collection}"`, () =>
        keys.map((key) => versioned(read.get(collection, key))),
      );
    },
    async put(collection, key, value, version, options) {
      const text = JSON.stringify(value);
      assert(Buffer.byteLength(text) <= MAX_DOCUMENT_BYTES, `Document "${collection}/${key}" is too large`);
      const [tag, expires] = [options?.tag ?? null, options?.expires_at_ms ?? null];
      const changed = await enqueue(collection, () =>
        Number(
          (version === 0
            ? create.run(collection, key, text, tag, expires)
            : replace.run(text, tag, expires, collection, key, version)
          ).changes,
        ),
      );
      return changed === 1;
    },
    async remove(collection, key, version) {
      const text = "DELETE FROM documents WHERE collection = ? AND key = ? AND version = ?";
      return (await enqueue(collection, () => Number(sql(text).run(collection, key, version).changes))) === 1;
    },
    async list(collection, { tag, from, to, limit, reverse }) {
      assert(limit >= 1 && limit <= 1_000, "Between 1 and 1,000 documents are listed at once");
      const conditions: [string, SQLInputValue | undefined][] = [
        ["tag = ?", tag],
        ["key >= ?", from],
        ["key < ?", to],
      ];
      const given = conditions.filter(([, value]) => value !== undefined);
      const where = ["collection = ?", ...given.map(([text]) => text)].join(" AND ");
      const text = `SELECT key, version, value FROM documents WHERE ${where} ORDER BY key ${reverse ? "DESC" : "ASC"} LIMIT ?`;
      return orFault(`list "${collection}"`, () =>
        sql(text)
          .all(collection, ...given.map(([, value]) => value!), limit)
          .map((row) => ({ key: String(row["key"]), ...versioned(row)! })),
      );
    },
    removeRange(collection, from, to) {
      const text = "DELETE FROM documents WHERE collection = ? AND key >= ? AND key < ?";
      return enqueue(collection, () => Number(sql(text).run(collection, from, to).changes));
    },
    removeExpired(collection, before_ms, limit) {
      const text = `DELETE FROM documents WHERE rowid IN
         (SELECT rowid FROM documents WHERE collection = ? AND expires_at_ms < ? LIMIT ?)`;
      return enqueue(collection, () => Number(sql(text).run(collection, before_ms, limit).changes));
    },
    isEmpty: async () =>
      orFault("look for documents", () => sql("SELECT 1 FROM documents LIMIT 1").get() === undefined),
    ping: async () =>
      orFault("ask", () => {
        if (sync_failure) throw sync_failure.cause;
        sql("SELECT 1").get();
      }),
    async close() {
      if (waiting.length > 0) flush();
      await Promise.all(syncing);
      database.close();
      if (log !== null) closeSync(log);
    },
  };
}

const SQLITE_IOERR = 10;

/** Of a disk that turned read-only SQLite says no more than "disk I/O error"; the file system says why. */
function withReason(cause: unknown, folder: string): unknown {
  const { errcode = 0 } = cause as { readonly errcode?: number };
  if ((errcode & 0xff) !== SQLITE_IOERR) return cause;
  try {
    accessSync(folder, constants.W_OK);
    return cause;
  } catch (reason) {
    return reason;
  }
}
