/**
 * Writes to one SQLite file: those that arrive in the same tick share a transaction, and with the durability `power` they
 * are acknowledged when its log is synced. Shared by the adapters that keep a SQLite file; tables and statements belong
 * to each of them.
 *
 * WAL with `synchronous = NORMAL`: what was written survives the end of the process, also kill -9, and a power cut never
 * damages the file. The log is synced here and not by SQLite (`synchronous = FULL`): SQLite would stop the event loop for
 * each sync, 2 ms on this project's machines, and sync every transaction. Here the loop goes on, and all transactions that
 * were committed meanwhile share the next sync. Readers see a write before it is synced. The log is one for all processes, and a
 * power cut takes its end: what was committed later never survives without what was committed before.
 *
 * Other processes may read and write the file at the same time.
 */
import { accessSync, closeSync, constants, openSync } from "node:fs";
import { dirname, resolve as resolvePath } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Durability, groupCommit, makeFolder, syncContent } from "./durable-files.ts";
import { transactions } from "./transactions.sqlite.ts";

/** How long to wait for the lock of another process. The event loop is blocked meanwhile. */
const BUSY_MS = 2_000;

export interface SqliteWrites {
  readonly database: DatabaseSync;
  /**
   * Has `run` execute statements in the next transaction. Resolves with the number of rows that it says it changed, and
   * where `isSynced` and that is not 0, after they are synced. Rejects with `unwritable` of the reason.
   */
  readonly write: (run: () => number, isSynced: boolean) => Promise<number>;
  /** Resolves when everything that was committed before the call is synced. Rejects with `unwritable` of the reason. */
  readonly synced: () => Promise<void>;
  /** Throws why the log could not be synced, if that ever happened: what it holds since is not believed. */
  readonly assertSynced: () => void;
  readonly close: () => Promise<void>;
}

export interface SqliteWritesOptions {
  readonly durability: Durability;
  /** Statements that make the tables. */
  readonly schema: string;
  /** Pages of SQLite in memory. */
  readonly cache_kib: number;
  /** The error of so many writes that failed together. */
  readonly unwritable: (writes: number, cause: unknown) => Error;
  /** Called before each transaction; what it throws fails the writes. Default: nothing. */
  readonly beforeCommit?: () => void;
}

interface Write {
  readonly run: () => number;
  readonly isSynced: boolean;
  readonly resolve: (changed: number) => void;
  readonly reject: (fault: Error) => void;
}

/** One algorithm: transactions of the writes of a tick, acknowledged when they are synced. */
export function sqliteWrites(
  path: string,
  { durability, schema, cache_kib, unwritable, beforeCommit }: SqliteWritesOptions,
): SqliteWrites {
  const folder = dirname(resolvePath(path));
  makeFolder(folder, durability);
  const database = new DatabaseSync(path);
  database.exec(
    `PRAGMA busy_timeout = ${BUSY_MS};
     PRAGMA journal_mode = WAL;
     PRAGMA synchronous = NORMAL;
     PRAGMA cache_size = -${cache_kib};
     ${schema}`,
  );
  // Once more, for the names of the files that were just created.
  makeFolder(folder, durability);
  const inTransaction = transactions(database);
  /** The log. It stays the same file while the database is open, and SQLite sets no locks on it that a close would end. */
  const log = durability === "power" ? openSync(`${path}-wal`, "r+") : null;
  const syncLog = log === null ? null : groupCommit(() => syncContent(log));
  /** Why the log could not be synced. The kernel forgets what it could not write, so no later sync can be believed. */
  let sync_failure: { readonly cause: unknown } | null = null;
  let waiting: Write[] = [];
  const syncing = new Set<Promise<void>>();

  const failed = (writes: number, cause: unknown): Error => unwritable(writes, withReason(cause, folder));

  function flush(): void {
    const writes = waiting;
    waiting = [];
    let changes: readonly number[];
    try {
      changes = commit(writes);
    } catch (cause) {
      const fault = failed(writes.length, cause);
      for (const { reject } of writes) reject(fault);
      return;
    }
    const unsynced: { readonly write: Write; readonly changed: number }[] = [];
    for (const [index, write] of writes.entries()) {
      const changed = changes[index]!;
      if (syncLog !== null && write.isSynced && changed > 0) unsynced.push({ write, changed });
      else write.resolve(changed);
    }
    if (unsynced.length === 0) return;
    const acknowledged = sync().then(
      () => unsynced.forEach(({ write, changed }) => write.resolve(changed)),
      (cause: unknown) => {
        const fault = failed(unsynced.length, cause);
        for (const { write } of unsynced) write.reject(fault);
      },
    );
    syncing.add(acknowledged);
    void acknowledged.finally(() => syncing.delete(acknowledged));
  }

  async function sync(): Promise<void> {
    try {
      await syncLog?.();
      // This sync succeeded, but perhaps not the one before, which was to write the same pages.
      assertSynced();
    } catch (cause) {
      sync_failure ??= { cause };
      throw cause;
    }
  }

  /** Throws what SQLite throws. */
  function commit(writes: readonly Write[]): readonly number[] {
    assertSynced();
    beforeCommit?.();
    return inTransaction(() => writes.map(({ run }) => run()));
  }

  function assertSynced(): void {
    if (sync_failure) throw sync_failure.cause;
  }

  return {
    database,
    assertSynced,
    synced: () =>
      sync().catch((cause: unknown) => {
        throw failed(1, cause);
      }),
    write: (run, isSynced) =>
      new Promise((resolve, reject) => {
        if (waiting.push({ run, isSynced, resolve, reject }) === 1) setImmediate(flush);
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

/** SQLite says no more than "disk I/O error" of a disk that turned read-only; the file system says why. */
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
