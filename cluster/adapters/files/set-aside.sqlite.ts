/**
 * SQLite files that are made again from other stores: one that is damaged, was made from another installation's stores, or has the
 * tables of another version, is renamed, so that the service starts without it and an operator can look at it.
 */
import { existsSync, renameSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

/** Error of an open file whose tables do not fit what is asked of it. */
const SQLITE_ERROR = 1;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
const LOGS = ["", "-wal", "-shm"] as const;

interface SetAsideDeps {
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** Id of the documents that the file is made from. It is written into a file that has none. */
  readonly store_id: string;
}

class OfOtherStores extends Error {
  override readonly name = "OfOtherStores";
}

const IDENTITY = `
  PRAGMA busy_timeout = 2000;
  CREATE TABLE IF NOT EXISTS store_identity (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL) STRICT`;

/** Throws OfOtherStores, and what SQLite throws. */
function assertOfStore(path: string, store_id: string): void {
  const database = new DatabaseSync(path);
  try {
    database.exec(IDENTITY);
    database.prepare("INSERT OR IGNORE INTO store_identity VALUES (1, ?)").run(store_id);
    const { id } = database.prepare("SELECT id FROM store_identity").get()!;
    if (id !== store_id) throw new OfOtherStores(`It was made from stores with the id "${String(id)}"`);
  } finally {
    database.close();
  }
}

/** The result of `open` for the path. `isNew`: the file was set aside. */
export function openOrSetAside<T>(
  path: string,
  open: () => T,
  { clock, log, store_id }: SetAsideDeps,
): { readonly opened: T; readonly isNew: boolean } {
  const openOwn = (): T => {
    assertOfStore(path, store_id);
    return open();
  };
  try {
    return { opened: openOwn(), isNew: false };
  } catch (problem) {
    const reason = reasonOf(problem);
    if (reason === null) throw problem;
    const date = new Date(clock.now()).toISOString().replaceAll(/[:.]/g, "-");
    const aside = `${path}.${reason}-${date}`;
    for (const end of LOGS) if (existsSync(path + end)) renameSync(path + end, aside + end);
    log.error("An index was set aside and is made again", { path, aside, problem: String(problem) });
    return { opened: openOwn(), isNew: true };
  }
}

/** Null: the file is not to blame. */
function reasonOf(problem: unknown): "of-other-stores" | "of-another-version" | "damaged" | null {
  if (problem instanceof OfOtherStores) return "of-other-stores";
  const { errcode = 0 } = problem as { readonly errcode?: number };
  const code = errcode & 0xff;
  if (code === SQLITE_ERROR) return "of-another-version";
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB ? "damaged" : null;
}
