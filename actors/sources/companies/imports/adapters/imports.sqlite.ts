/**
 * Imported rows in an SQLite file of their own, so that an import never waits for a live write and the other way around. A batch is one
 * transaction with its checkpoint. `WITHOUT ROWID`: a row lies under its key, and an identifier under itself.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { Fault } from "../../../../../cluster/ports/fault.ts";
import {
  type BadRow,
  type ImportBatch,
  type ImportedRow,
  type ImportRun,
  type ImportStore,
  MAX_BAD_ROWS,
} from "../store.ts";

const BUSY_MS = 2_000;

const SCHEMA = `
  PRAGMA busy_timeout = ${BUSY_MS};
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -65536;
  CREATE TABLE IF NOT EXISTS runs (run INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS running ON runs (run) WHERE value ->> 'state' = 'running';
  CREATE TABLE IF NOT EXISTS kinds (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE IF NOT EXISTS rows (
    kind INTEGER NOT NULL,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    run INTEGER NOT NULL,
    line INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    tuple TEXT NOT NULL,
    closed_ms INTEGER,
    PRIMARY KEY (kind, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS earlier (
    kind INTEGER NOT NULL,
    key TEXT NOT NULL,
    run INTEGER NOT NULL,
    digest BLOB NOT NULL,
    line INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    tuple TEXT NOT NULL,
    closed_ms INTEGER,
    PRIMARY KEY (kind, key, run)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS ids (
    reference TEXT NOT NULL,
    kind INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (reference, kind, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS bad_rows (
    run INTEGER NOT NULL,
    line INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    reason TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run, line)
  ) STRICT, WITHOUT ROWID`;

const ROW = "key, digest, run, line, offset, tuple, closed_ms";
/** Columns of rows that stand; older files of the database have no `changed_run`. */
const CURRENT_ROW = `${ROW}, changed_run`;

function addColumns(database: DatabaseSync): void {
  const columns = database.prepare("SELECT name FROM pragma_table_info('rows')").all();
  if (columns.some(({ name }) => name === "changed_run")) return;
  database.exec("ALTER TABLE rows ADD COLUMN changed_run INTEGER");
}

type SqlRow = Record<string, SQLOutputValue>;

const rowOf = (row: SqlRow): ImportedRow => ({
  key: String(row["key"]),
  digest: Buffer.from(row["digest"] as Uint8Array).toString("hex"),
  run: Number(row["run"]),
  line: Number(row["line"]),
  offset: Number(row["offset"]),
  tuple: String(row["tuple"]),
  closed_ms: row["closed_ms"] === null ? null : Number(row["closed_ms"]),
  ...(row["changed_run"] != null && { changed_run: Number(row["changed_run"]) }),
});

/** The first text behind all that begin with the prefix. */
const behind = (prefix: string): string => `${prefix}\u{10ffff}`;

function statementsOf(database: DatabaseSync) {
  return {
    putRun: database.prepare(
      "INSERT INTO runs (run, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    ),
    run: database.prepare("SELECT value FROM runs WHERE run = ?"),
    runs: database.prepare("SELECT value FROM runs WHERE run < ? ORDER BY run DESC LIMIT ?"),
    running: database.prepare("SELECT value FROM runs WHERE value ->> 'state' = 'running' ORDER BY run DESC"),
    lastRun: database.prepare("SELECT max(run) AS run FROM runs"),
    addKind: database.prepare("INSERT OR IGNORE INTO kinds (name) VALUES (?)"),
    kinds: database.prepare("SELECT number, name FROM kinds"),
    version: database.prepare("PRAGMA data_version"),
    put: database.prepare(`
      INSERT INTO rows (kind, ${CURRENT_ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET digest = excluded.digest, run = excluded.run, line = excluded.line,
        offset = excluded.offset, tuple = excluded.tuple, closed_ms = excluded.closed_ms, changed_run = excluded.changed_run`),
    keep: database.prepare(`INSERT OR REPLACE INTO earlier (kind, ${ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
    addId: database.prepare("INSERT OR IGNORE INTO ids (reference, kind, key) VALUES (?, ?, ?)"),
    dropId: database.prepare("DELETE FROM ids WHERE reference = ? AND kind = ? AND key = ?"),
    addBad: database.prepare(
      "INSERT OR REPLACE INTO bad_rows (run, line, offset, reason, text) VALUES (?, ?, ?, ?, ?)",
    ),
    countBad: database.prepare("SELECT count(*) AS n FROM bad_rows WHERE run = ?"),
    bad: database.prepare(
      "SELECT line, offset, reason, text FROM bad_rows WHERE run = ? ORDER BY line LIMIT ?",
    ),
    row: database.prepare(`SELECT ${CURRENT_ROW} FROM rows WHERE kind = ? AND key = ?`),
    below: database.prepare(
      `SELECT ${CURRENT_ROW} FROM rows WHERE kind = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?`,
    ),
    scan: database.prepare(`SELECT ${CURRENT_ROW} FROM rows WHERE kind = ? AND key > ? ORDER BY key LIMIT ?`),
    earlier: database.prepare(`SELECT ${ROW} FROM earlier WHERE kind = ? AND key = ? ORDER BY run`),
    find: database.prepare("SELECT kind, key FROM ids WHERE reference = ?"),
    count: database.prepare("SELECT count(*) AS n FROM rows WHERE kind = ? AND closed_ms IS NULL"),
  };
}

export function sqliteImports(path: string): ImportStore {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  database.exec(SCHEMA);
  addColumns(database);
  const statements = statementsOf(database);
  const numbers = new Map<string, number>();
  const names = new Map<number, string>();

  /** Kinds of which no row was there when the file had this version: another process may have written one since. */
  const absent = new Set<string>();
  let version: SQLOutputValue = null;

  function isAbsent(kind: string): boolean {
    const now = statements.version.get()!["data_version"]!;
    if (now !== version) absent.clear();
    version = now;
    return absent.has(kind);
  }

  function readKinds(): void {
    for (const { number, name } of statements.kinds.all()) {
      numbers.set(String(name), Number(number));
      names.set(Number(number), String(name));
    }
  }

  /** The number of a kind; null: no row is of this kind. */
  function numberOf(kind: string): number | null {
    const known = numbers.get(kind);
    if (known !== undefined) return known;
    if (isAbsent(kind)) return null;
    readKinds();
    if (!numbers.has(kind)) absent.add(kind);
    return numbers.get(kind) ?? null;
  }

  function nameOf(kind: number): string {
    if (!names.has(kind)) readKinds();
    return names.get(kind)!;
  }

  const runOf = (row: SqlRow | undefined): ImportRun | null =>
    row === undefined ? null : (JSON.parse(String(row["value"])) as ImportRun);

  async function reach<T>(what: string, work: () => T): Promise<T> {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      throw new Fault("documents_unreachable", `Cannot ${what} in "${path}"`, { cause });
    }
  }

  function inTransaction<T>(work: () => T): T {
    database.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      database.exec("COMMIT");
      return result;
    } catch (problem) {
      if (database.isOpen && database.isTransaction) database.exec("ROLLBACK");
      throw problem;
    }
  }

  function write({ run, rows, bad }: ImportBatch): void {
    const stored = runOf(statements.run.get(run.run));
    if (stored !== null && stored.epoch > run.epoch)
      throw new Fault("lease_lost", `Cannot write import ${run.run}: another node has taken it`);
    statements.addKind.run(run.kind);
    absent.delete(run.kind);
    const kind = numberOf(run.kind)!;
    const ids: string[][] = [];
    for (const row of rows) {
      if (row.before !== null) statements.keep.run(kind, ...valuesOf(row.before));
      statements.put.run(kind, ...valuesOf(row), row.changed_run ?? null);
      for (const reference of row.dropped) statements.dropId.run(reference, kind, row.key);
      for (const reference of row.references) ids.push([reference, row.key]);
    }
    // Neighbours in the table are written together.
    for (const [reference, key] of ids.toSorted(([a], [b]) => (a! < b! ? -1 : 1)))
      statements.addId.run(reference!, kind, key!);
    if (bad.length > 0) {
      let room = MAX_BAD_ROWS - Number(statements.countBad.get(run.run)!["n"]);
      for (const { line, offset, reason, text } of bad)
        if (room-- > 0) statements.addBad.run(run.run, line, offset, reason, text);
    }
    statements.putRun.run(run.run, JSON.stringify(run));
  }

  return {
    begin: (run) =>
      reach("begin an import", () =>
        inTransaction(() => {
          const begun = { ...run, run: Number(statements.lastRun.get()!["run"] ?? 0) + 1 };
          statements.putRun.run(begun.run, JSON.stringify(begun));
          return begun;
        }),
      ),
    commit: (batch) =>
      reach(`write ${batch.rows.length} imported rows`, () => inTransaction(() => write(batch))),
    run: (number) => reach("read an import", () => runOf(statements.run.get(number))),
    runs: (limit, before = Number.MAX_SAFE_INTEGER) =>
      reach("list imports", () => statements.runs.all(before, limit).map((row) => runOf(row)!)),
    running: () => reach("find unfinished imports", () => statements.running.all().map((row) => runOf(row)!)),
    badRows: (run, limit) =>
      reach("list bad rows", () => statements.bad.all(run, limit) as unknown as readonly BadRow[]),
    rows: (kind, keys) =>
      reach("read imported rows", () => {
        const number = numberOf(kind);
        if (number === null) return [];
        return keys.flatMap((key) => {
          const row = statements.row.get(number, key);
          return row ? [rowOf(row)] : [];
        });
      }),
    rowsBelow: (kind, prefix, limit) =>
      reach("read imported rows", () => {
        const number = numberOf(kind);
        return number === null ? [] : statements.below.all(number, prefix, behind(prefix), limit).map(rowOf);
      }),
    earlier: (kind, key) =>
      reach("read imported rows", () => {
        const number = numberOf(kind);
        return number === null ? [] : statements.earlier.all(number, key).map(rowOf);
      }),
    find: (references) =>
      reach("find imported rows", () =>
        references.flatMap((reference) =>
          statements.find
            .all(reference)
            .map(({ kind, key }) => ({ reference, kind: nameOf(Number(kind)), key: String(key) })),
        ),
      ),
    scan: (kind, after, limit) =>
      reach("read imported rows", () => {
        const number = numberOf(kind);
        return number === null ? [] : statements.scan.all(number, after, limit).map(rowOf);
      }),
    count: (kind) =>
      reach("count imported rows", () => {
        const number = numberOf(kind);
        return number === null ? 0 : Number(statements.count.get(number)!["n"]);
      }),
    async close() {
      if (database.isOpen) database.close();
    },
  };
}

const valuesOf = ({ key, digest, run, line, offset, tuple, closed_ms }: ImportedRow) =>
  [key, Buffer.from(digest, "hex"), run, line, offset, tuple, closed_ms] as const;
