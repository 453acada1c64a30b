/** Rows of the result table as the table `results` of a new SQLite database. */
import { DatabaseSync } from "node:sqlite";
import { transactions } from "../../../../cluster/adapters/files/transactions.sqlite.ts";
import { type Cell, RESULT_COLUMNS } from "../result-table.ts";

const TYPES = { INT32: "INTEGER", STRING: "TEXT" } as const;

export function sqliteFile(path: string): {
  readonly write: (rows: readonly (readonly Cell[])[]) => void;
  readonly close: () => void;
} {
  const database = new DatabaseSync(path);
  const columns = RESULT_COLUMNS.map(({ name, type }) =>
    name === "index" ? '"index" INTEGER PRIMARY KEY' : `"${name}" ${TYPES[type]}`,
  );
  database.exec(`CREATE TABLE results (${columns.join(", ")}) STRICT`);
  const insert = database.prepare(`INSERT INTO results VALUES (${RESULT_COLUMNS.map(() => "?").join(", ")})`);
  const inTransaction = transactions(database);
  return {
    write: (rows) =>
      inTransaction(() => {
        for (const row of rows) insert.run(...row);
      }),
    close: () => database.close(),
  };
}
