/**
 * Transactions of one SQLite connection: all of what a call writes or none of it. They do not nest. Which writes share one, and
 * what an error becomes, is decided by the adapter that keeps the file.
 */
import type { DatabaseSync } from "node:sqlite";

/** Runs `work` in a transaction that holds the lock of writers from its begin; rethrows what `work` or SQLite throws. */
export function transactions(database: DatabaseSync): <T>(work: () => T) => T {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  return (work) => {
    begin.run();
    try {
      const result = work();
      commit.run();
      return result;
    } catch (problem) {
      // SQLite has ended the transaction itself where the disk is full; `work` may have closed the file.
      if (database.isOpen && database.isTransaction) database.exec("ROLLBACK");
      throw problem;
    }
  };
}
