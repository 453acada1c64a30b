/** Copies of SQLite files that a service writes: SQLite's online backup, and a look at a file that no service uses. */
import { backup, DatabaseSync } from "node:sqlite";

/** All pages in one step: between two steps SQLite would see the writes of the service, and begin again. */
const ALL_PAGES = 2 ** 31 - 1;

/** Copies one moment of the database into one file without a log beside it. Throws what SQLite throws, or that the copy is not sound. */
export async function copySqlite(path: string, target: string): Promise<void> {
  const source = new DatabaseSync(path, { readOnly: true });
  try {
    await backup(source, target, { rate: ALL_PAGES });
  } finally {
    source.close();
  }
  const copy = new DatabaseSync(target);
  try {
    copy.exec("PRAGMA journal_mode = DELETE");
    const [result] = copy.prepare("PRAGMA quick_check(1)").all();
    if (result?.["quick_check"] !== "ok")
      throw new Error(`The copy is not sound: ${String(result?.["quick_check"])}`);
  } finally {
    copy.close();
  }
}

/** A stored value; null: it is not there. */
export function readSqliteDocument(path: string, collection: string, key: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const row = database
      .prepare("SELECT value FROM documents WHERE collection = ? AND key = ?")
      .get(collection, key);
    return row ? JSON.parse(String(row["value"])) : null;
  } finally {
    database.close();
  }
}
