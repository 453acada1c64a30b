/**
 * The search index in an SQLite file of its own. Postings are rows (key, company) without a rowid, so a key's companies
 * lie side by side. Writes that arrive in the same tick share a transaction; the file can be made again, so a power cut may
 * lose the last of them.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { keysOfNames, MAX_POSTINGS, rankByKeys } from "../search-keys.ts";
import {
  type CompanyIndex,
  fitsFilter,
  type IndexedCompany,
  type IndexFilter,
  namesOf,
} from "../search-index.ts";

const BUSY_MS = 2_000;
/** Candidates are read before they are filtered, so that a filter finds enough of them. */
const FILTERED_FACTOR = 8;

const SCHEMA = `
  PRAGMA busy_timeout = ${BUSY_MS};
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -65536;
  CREATE TABLE IF NOT EXISTS companies (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    entry TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS postings (
    key INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (key, number)
  ) STRICT, WITHOUT ROWID`;

type Change =
  | { readonly kind: "put"; readonly company: IndexedCompany }
  | { readonly kind: "remove"; readonly id: string };
interface Waiting {
  readonly change: Change;
  readonly resolve: () => void;
  readonly reject: (fault: Fault) => void;
}

export function sqliteCompanyIndex(path: string): CompanyIndex {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  try {
    database.exec(SCHEMA);
    // A file that is cut in half has its tables.
    database.exec("SELECT count(*) FROM companies; SELECT count(*) FROM postings");
  } catch (problem) {
    database.close();
    throw problem;
  }
  const find = database.prepare("SELECT number, version, entry FROM companies WHERE id = ?");
  const insert = database.prepare("INSERT INTO companies (id, version, entry) VALUES (?, ?, ?)");
  const update = database.prepare("UPDATE companies SET version = ?, entry = ? WHERE number = ?");
  const forget = database.prepare("DELETE FROM companies WHERE number = ?");
  const post = database.prepare("INSERT OR IGNORE INTO postings VALUES (?, ?)");
  const unpost = database.prepare("DELETE FROM postings WHERE key = ? AND number = ?");
  const numbersOf = database.prepare(`SELECT number FROM postings WHERE key = ? LIMIT ${MAX_POSTINGS + 1}`);
  const entryOf = database.prepare("SELECT entry FROM companies WHERE number = ?");
  const count = database.prepare("SELECT count(*) AS n FROM companies");
  let waiting: Waiting[] = [];

  function apply(change: Change): void {
    const id = change.kind === "put" ? change.company.id : change.id;
    const row = find.get(id);
    if (change.kind === "put" && row && Number(row["version"]) > change.company.version) return;
    const before = new Set(
      row ? keysOfNames(namesOf(JSON.parse(String(row["entry"])) as IndexedCompany)) : [],
    );
    const after = new Set(change.kind === "put" ? keysOfNames(namesOf(change.company)) : []);
    let number = row ? Number(row["number"]) : null;
    if (change.kind === "put") {
      const entry = JSON.stringify(change.company);
      if (number === null) number = Number(insert.run(id, change.company.version, entry).lastInsertRowid);
      else update.run(change.company.version, entry, number);
    } else if (number !== null) forget.run(number);
    if (number === null) return;
    for (const key of before.difference(after)) unpost.run(key, number);
    for (const key of after.difference(before)) post.run(key, number);
  }

  function flush(): void {
    const changes = waiting;
    waiting = [];
    try {
      database.exec("BEGIN IMMEDIATE");
      for (const { change } of changes) apply(change);
      database.exec("COMMIT");
      for (const { resolve } of changes) resolve();
    } catch (cause) {
      if (database.isOpen && database.isTransaction) database.exec("ROLLBACK");
      const fault = unreachable(`write ${changes.length} companies`, path, cause);
      for (const { reject } of changes) reject(fault);
    }
  }

  function write(change: Change): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (waiting.push({ change, resolve, reject }) === 1) setImmediate(flush);
    return promise;
  }

  async function reading<T>(what: string, read: () => T): Promise<T> {
    try {
      return read();
    } catch (cause) {
      throw unreachable(what, path, cause);
    }
  }

  return {
    put: (company) => write({ kind: "put", company }),
    remove: (id) => write({ kind: "remove", id }),
    candidates: (names, filter, limit) =>
      reading("search companies", () => {
        const postings = keysOfNames(names).map((key) => ({
          key,
          companies: numbersOf.all(key).map((row) => Number(row["number"])),
        }));
        const isFiltered = Object.values(filter satisfies IndexFilter).some((value) => value !== null);
        const found: IndexedCompany[] = [];
        for (const number of rankByKeys(postings, isFiltered ? limit * FILTERED_FACTOR : limit)) {
          const company = JSON.parse(String(entryOf.get(number)!["entry"])) as IndexedCompany;
          if (fitsFilter(company, filter)) found.push(company);
          if (found.length === limit) break;
        }
        return found;
      }),
    size: () => reading("count companies", () => Number(count.get()!["n"])),
    async close() {
      if (waiting.length > 0) flush();
      if (database.isOpen) database.close();
    },
  };
}

const unreachable = (what: string, path: string, cause: unknown): Fault =>
  new Fault("documents_unreachable", `Cannot ${what} in "${path}"`, { cause });
