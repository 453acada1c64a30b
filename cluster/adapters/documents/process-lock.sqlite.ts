/**
 * A lock file for one process: SQLite's exclusive lock on an empty database, because Node has no file locks of its own.
 * The operating system releases it when the process ends, also after kill -9, so no stale lock has to be removed by hand.
 */
import { DatabaseSync } from "node:sqlite";

/** Null when another process, or another holder in this one, has the lock. Throws when the file cannot be made. */
export function lockFile(path: string): Disposable | null {
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE");
  } catch (problem) {
    database.close();
    if ((problem as { errcode?: number }).errcode === SQLITE_BUSY) return null;
    throw problem;
  }
  return { [Symbol.dispose]: () => database.close() };
}

const SQLITE_BUSY = 5;
