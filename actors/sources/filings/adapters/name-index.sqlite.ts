/**
 * An index of names in memory by SQLite: whole names and beginnings by a B-tree, parts by FTS5's trigrams. 10,000 names
 * take 3 MB and 30 ms of CPU time to build, 800,000 names 74 MB and 2.3 s.
 */
import { DatabaseSync } from "node:sqlite";
import type { NameIndex } from "../ticker-lists.ts";

const SCHEMA = `
  CREATE TABLE names (at INTEGER PRIMARY KEY, folded TEXT NOT NULL);
  CREATE VIRTUAL TABLE grams USING fts5(
    folded, content = 'names', content_rowid = 'at', tokenize = 'trigram', detail = 'none', columnsize = 0);`;

/** Above every character, so that it ends the range of names with a beginning. */
const LAST = "\u{10FFFF}";

export function sqliteNameIndex(folded: readonly string[]): NameIndex {
  const database = new DatabaseSync(":memory:");
  database.exec(`${SCHEMA} BEGIN`);
  const insert = database.prepare("INSERT INTO names VALUES (?, ?)");
  for (const [at, name] of folded.entries()) insert.run(at, name);
  database.exec("CREATE INDEX by_name ON names (folded)");
  database.exec("INSERT INTO grams (grams) VALUES ('rebuild'); COMMIT");
  const whole = database.prepare("SELECT at FROM names WHERE folded = ? ORDER BY at");
  const start = database.prepare("SELECT at FROM names WHERE folded >= ? AND folded < ? ORDER BY at");
  // Folded names have no characters that mean something to LIKE. below three characters it looks through all names.
  const within = database.prepare("SELECT rowid AS at FROM grams WHERE folded LIKE ? ORDER BY rowid");
  return {
    *find(match, name) {
      if (name === "") return;
      const rows =
        match === "whole"
          ? whole.iterate(name)
          : match === "start"
            ? start.iterate(name, `${name}${LAST}`)
            : within.iterate(`%${name}%`);
      for (const { at } of rows) yield at as number;
    },
  };
}
