/**
 * The search index in an SQLite file of its own. The companies of a key are one row: how many they are, and the first thousand and
 * one as a packed list (packed-list.ts), which takes a quarter of the room of a row for each and is read in one step. A write
 * goes into `recent`, a row for each key and company; when `recent` has grown to a tenth of the index it is packed, a few
 * thousand rows at a time between other work. A company whose names or country change gets a new number, so lists are only appended to; the
 * old number is in lists and leads nowhere. Writes that arrive in the same tick share a transaction; the file can be made again,
 * so a power cut may lose the last of them.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { transactions } from "../../../../cluster/adapters/files/transactions.sqlite.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { packAfter, unpack } from "../packed-list.ts";
import {
  frequenciesOf,
  type KeyPostings,
  keysOfNames,
  MAX_LOOKED_AT,
  MAX_POSTINGS,
  rankByKeys,
} from "../search-keys.ts";
import {
  type CompanyEntry,
  type CompanyIndex,
  fitsFilter,
  INDEX_LAYOUT,
  type IndexFilter,
  namesOf,
} from "../search-index.ts";

const BUSY_MS = 2_000;
/** Candidates are read before they are filtered, so that a filter finds enough of them. */
const FILTERED_FACTOR = 8;
/** The numbers of a key beyond these are counted and not listed: such a key is common. */
const LISTED = MAX_POSTINGS + 1;
const MIN_RECENT = 100_000;
/** Keys of a company, about. */
const KEYS_OF_COMPANY = 25;
/**
 * `recent` is packed when it has more than this share of all postings; beyond twice as much writers wait for it. All lists are
 * touched each time, so an index that grows by puts alone is written ten times over.
 */
const RECENT_SHARE = 1 / 10;
/** Rows in one statement: a call for each costs twice as much. */
const POSTED_AT_ONCE = 64;
/**
 * A company's number ends with a hash of its country, so that those of other countries are passed over without being read. Of so
 * many groups several countries share one; each doubling costs a bit a posting.
 */
const COUNTRY_GROUPS = 64;
/** The layout of the tables; a file of another layout is made again. */
const FILE_LAYOUT = INDEX_LAYOUT * 100 + 1;
/** Companies in one statement: a call for each costs twice as much. */
const READ_AT_ONCE = 32;
/** Rows in one step: some 20 ms. */
const PACKED_AT_ONCE = 10_000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS companies (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    entry TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS packed (
    key INTEGER PRIMARY KEY,
    companies INTEGER NOT NULL,
    last INTEGER NOT NULL,
    list BLOB NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS recent (
    key INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (key, number)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    layout INTEGER NOT NULL,
    through TEXT
  ) STRICT;`;

/** The tables of earlier layouts: what is in them is made again from the documents. */
const DROP = ["postings", "companies", "packed", "recent", "state"]
  .map((table) => `DROP TABLE IF EXISTS ${table};`)
  .join("");

function openFile(path: string): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536`);
    if (database.prepare("PRAGMA user_version").get()!["user_version"] !== FILE_LAYOUT)
      transactions(database)(() => database.exec(`${DROP} PRAGMA user_version = ${FILE_LAYOUT}`));
    database.exec(SCHEMA);
    // A file that is cut in half has its tables.
    database.exec("SELECT count(*) FROM companies; SELECT count(*) FROM recent; SELECT max(key) FROM packed");
    return database;
  } catch (problem) {
    database.close();
    throw problem;
  }
}

/** The keys are 32-bit integers; one without a sign is stored in five bytes, a negative one in nine. */
const storedKey = (key: number): number => key >>> 0;

/** The group of an ISO 3166-1 alpha-2 code; null: not known. */
const groupOf = (country: string | null): number =>
  country === null ? 0 : (country.charCodeAt(0) * 26 + country.charCodeAt(1)) % COUNTRY_GROUPS;

/** That a company has a key. */
interface Posting {
  readonly key: number;
  readonly number: number;
}

/** The stored postings of one key. */
interface PackedRow {
  readonly companies: number;
  readonly last: number;
  readonly list: Uint8Array;
}

/** The postings of a file, in both tables. */
function postingsOf(database: DatabaseSync) {
  const find = database.prepare("SELECT companies, last, list FROM packed WHERE key = ?");
  // The list of a common key is a page of the file, and is read only where no rarer key finds anything.
  const findRare = database.prepare(
    `SELECT companies, CASE WHEN companies < ${LISTED} THEN list END AS list FROM packed WHERE key = ?`,
  );
  const insert = database.prepare("INSERT INTO packed (companies, last, list, key) VALUES (?, ?, ?, ?)");
  const update = database.prepare("UPDATE packed SET companies = ?, last = ?, list = ? WHERE key = ?");
  // As one text: a row for each number costs more.
  const recentOf = database.prepare(
    `SELECT group_concat(number) AS numbers FROM (SELECT number FROM recent WHERE key = ? LIMIT ${LISTED})`,
  );
  const inserting = (rows: number) =>
    database.prepare(`INSERT OR IGNORE INTO recent VALUES ${Array(rows).fill("(?, ?)").join(", ")}`);
  const [postOne, postMany] = [inserting(1), inserting(POSTED_AT_ONCE)];
  const next = database.prepare(
    `SELECT key, number FROM recent WHERE key >= ? ORDER BY key, number LIMIT ${PACKED_AT_ONCE}`,
  );
  const unpost = database.prepare(
    "DELETE FROM recent WHERE (key, number) >= (?, ?) AND (key, number) <= (?, ?)",
  );
  const countOf = database.prepare("SELECT count(*) AS n FROM recent");

  const packedOf = (key: number): PackedRow | undefined => find.get(key) as unknown as PackedRow | undefined;

  function append(key: number, numbers: readonly number[]): void {
    const row = packedOf(key);
    const { companies, last, list } = row ?? { companies: 0, last: 0, list: new Uint8Array() };
    const listed = numbers.slice(0, Math.max(0, LISTED - companies));
    const write = row ? update : insert;
    const whole = listed.length === 0 ? list : Buffer.concat([list, packAfter(last, listed)]);
    write.run(companies + numbers.length, listed.at(-1) ?? last, whole, key);
  }

  return {
    recent: () => Number(countOf.get()!["n"]),
    add(added: Posting[]): void {
      // In the order of the table, so that neighbours are on one page.
      added.sort((a, b) => a.key - b.key || a.number - b.number);
      const whole = added.length - (added.length % POSTED_AT_ONCE);
      for (let at = 0; at < whole; at += POSTED_AT_ONCE)
        postMany.run(...added.slice(at, at + POSTED_AT_ONCE).flatMap(({ key, number }) => [key, number]));
      for (const { key, number } of added.slice(whole)) postOne.run(key, number);
    },
    /** `group`: companies of other groups are left out; null: none are. */
    of(signed_key: number, group: number | null): KeyPostings<number> & { readonly total: number } {
      const key = storedKey(signed_key);
      const row = findRare.get(key) as unknown as Pick<PackedRow, "companies" | "list"> | undefined;
      const total = row?.companies ?? 0;
      const inGroup = (numbers: readonly number[]): readonly number[] =>
        group === null ? numbers : numbers.filter((number) => number % COUNTRY_GROUPS === group);
      // With a common key the lists are not compared, so that the rest of it is not read.
      if (total >= LISTED)
        return { total, count: LISTED, companies: () => inGroup(unpack(packedOf(key)!.list)) };
      const packed = (): readonly number[] => (row ? unpack(row.list) : []);
      const numbers = recentOf.get(key)!["numbers"];
      const recent = numbers === null ? [] : String(numbers).split(",").map(Number);
      return {
        total: total + recent.length,
        count: Math.min(LISTED, total + recent.length),
        companies: () => inGroup(recent.length === 0 ? packed() : [...packed(), ...recent].slice(0, LISTED)),
      };
    },
    /** Packs the next rows of `recent` from this key on. Answers how many, and where to go on; null: it was the end. */
    packFrom(from: number): { readonly rows: number; readonly next_key: number | null } {
      const rows = next.all(from) as unknown as Posting[];
      const [first] = rows;
      const last = rows.at(-1);
      if (!first || !last) return { rows: 0, next_key: null };
      for (const [key, group] of Map.groupBy(rows, (row) => row.key))
        append(
          key,
          group.map(({ number }) => number),
        );
      unpost.run(first.key, first.number, last.key, last.number);
      return { rows: rows.length, next_key: rows.length < PACKED_AT_ONCE ? null : last.key };
    },
  };
}

type Change =
  | { readonly kind: "put"; readonly company: CompanyEntry }
  | { readonly kind: "remove"; readonly id: string };
interface Waiting {
  readonly changes: readonly Change[];
  readonly resolve: () => void;
  readonly reject: (fault: Fault) => void;
}

/** The companies of a file; a change answers the keys that a new number has. */
function companiesOf(database: DatabaseSync) {
  const find = database.prepare("SELECT number, version, entry FROM companies WHERE id = ?");
  const insert = database.prepare(`INSERT INTO companies (number, id, version, entry) VALUES (
    (coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'companies'), 0) / ${COUNTRY_GROUPS} + 1) * ${COUNTRY_GROUPS} + ?,
    ?, ?, ?)`);
  const update = database.prepare("UPDATE companies SET version = ?, entry = ? WHERE number = ?");
  const forget = database.prepare("DELETE FROM companies WHERE id = ?");
  const places = Array(READ_AT_ONCE).fill("?").join(", ");
  // The text of a company in another country is not returned: parsing it takes longer than all that is done with most entries.
  const entriesOf = database.prepare(
    `SELECT number, entry FROM companies WHERE number IN (${places}) AND instr(entry, ?) > 0`,
  );
  const countOf = database.prepare("SELECT count(*) AS n FROM companies");
  const stored = (): number => Number(countOf.get()!["n"]);
  let count = stored();

  const removed = (id: string): void => {
    count -= Number(forget.run(id).changes);
  };
  const haveEqualNames = (a: CompanyEntry, b: CompanyEntry): boolean =>
    JSON.stringify(namesOf(a)) === JSON.stringify(namesOf(b));

  /** The number of the company if its names or its country are new. */
  function put(company: CompanyEntry): number | null {
    const { id, version = 0, country = null } = company;
    const group = groupOf(country);
    const row = find.get(id);
    if (row && Number(row["version"]) > version) return null;
    const entry = JSON.stringify(company);
    const isInGroup = row !== undefined && Number(row["number"]) % COUNTRY_GROUPS === group;
    if (isInGroup && haveEqualNames(JSON.parse(String(row["entry"])) as CompanyEntry, company)) {
      update.run(version, entry, row["number"]!);
      return null;
    }
    if (row) removed(id);
    count++;
    return Number(insert.run(group, id, version, entry).lastInsertRowid);
  }

  return {
    put,
    remove: removed,
    count: () => count,
    recount(): void {
      count = stored();
    },
    /** At most READ_AT_ONCE, in their order; without former numbers and companies that do not fit. */
    some(numbers: readonly number[], filter: IndexFilter): readonly CompanyEntry[] {
      const part = filter.country === null ? "{" : `"country":"${filter.country}"`;
      const asked = [...numbers, ...Array<number>(READ_AT_ONCE - numbers.length).fill(0)];
      const rows = new Map(entriesOf.all(...asked, part).map(({ number, entry }) => [number, entry]));
      return numbers.flatMap((number) => {
        const text = rows.get(number);
        if (text === undefined) return [];
        const company = JSON.parse(String(text)) as CompanyEntry;
        return fitsFilter(company, filter) ? company : [];
      });
    },
  };
}

export function sqliteCompanyIndex(path: string): CompanyIndex {
  const database = openFile(path);
  const inTransaction = transactions(database);
  const companies = companiesOf(database);
  const postings = postingsOf(database);
  const findState = database.prepare("SELECT layout, through FROM state");
  const putState = database.prepare("INSERT OR REPLACE INTO state VALUES (1, ?, ?)");
  let waiting: Waiting[] = [];
  let recent = postings.recent();
  /** The last question since the last write: who asks for more candidates of it gets those behind the ones that were read. */
  let last: (ReturnType<typeof ranking> & { key: string; entries: CompanyEntry[]; read: number }) | null =
    null;
  /** Where packing goes on; null: it does not run. */
  let pack_from: number | null = null;

  const maxRecent = (): number => Math.max(MIN_RECENT, companies.count() * KEYS_OF_COMPANY * RECENT_SHARE);

  /** The postings that the change adds. */
  function apply(change: Change): readonly Posting[] {
    if (change.kind === "remove") {
      companies.remove(change.id);
      return [];
    }
    const number = companies.put(change.company);
    if (number === null) return [];
    return keysOfNames(namesOf(change.company)).map((key) => ({ key: storedKey(key), number }));
  }

  /** The companies that share keys with the names, most telling first, and how frequent their words are. */
  function ranking(names: readonly string[], { country }: IndexFilter) {
    const group = country === null ? null : groupOf(country);
    const read = new Map(keysOfNames(names).map((key) => [key, postings.of(key, group)]));
    return {
      ranked: rankByKeys([...read.values()], MAX_LOOKED_AT),
      frequencies: frequenciesOf(names, (key) => (read.get(key) ?? postings.of(key, group)).total),
    };
  }

  function applyAll(changes: readonly Change[]): void {
    last = null;
    const added = changes.flatMap(apply);
    postings.add(added);
    recent += added.length;
  }

  function packSome(): void {
    inTransaction(() => {
      const { rows, next_key } = postings.packFrom(pack_from ?? 0);
      recent -= rows;
      pack_from = next_key;
    });
  }

  /** Other work runs between two steps. A step that fails is tried again after the next write. */
  function packOn(): void {
    if (!database.isOpen || pack_from === null) return;
    try {
      packSome();
      setImmediate(packOn);
    } catch {
      pack_from = null;
    }
  }

  function flush(): void {
    const writers = waiting;
    waiting = [];
    const changes = writers.flatMap((each) => each.changes);
    try {
      while (pack_from !== null && recent > 2 * maxRecent()) packSome();
      inTransaction(() => applyAll(changes));
      for (const { resolve } of writers) resolve();
    } catch (cause) {
      if (database.isOpen) recount();
      const fault = unreachable(`write ${changes.length} companies`, path, cause);
      for (const { reject } of writers) reject(fault);
    }
    if (pack_from === null && recent > maxRecent()) {
      pack_from = 0;
      setImmediate(packOn);
    }
  }

  /** After a transaction that was undone. */
  function recount(): void {
    companies.recount();
    recent = postings.recent();
  }

  function write(changes: readonly Change[]): Promise<void> {
    if (changes.length === 0) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (waiting.push({ changes, resolve, reject }) === 1) setImmediate(flush);
    return promise;
  }

  async function reach<T>(what: string, command: () => T): Promise<T> {
    try {
      return command();
    } catch (cause) {
      throw unreachable(what, path, cause);
    }
  }

  return {
    put: (entries) => write(entries.map((company) => ({ kind: "put", company }))),
    remove: (ids) => write(ids.map((id) => ({ kind: "remove", id }))),
    candidates: ({ names, filter }, limit) =>
      reach("search companies", () => {
        const key = JSON.stringify([names, filter]);
        if (last?.key !== key) last = { key, ...ranking(names, filter), entries: [], read: 0 };
        const { ranked, entries, frequencies } = last;
        const isFiltered = Object.values(filter satisfies IndexFilter).some((value) => value !== null);
        const most = Math.min(ranked.length, isFiltered ? limit * FILTERED_FACTOR : limit);
        while (last.read < most && entries.length < limit) {
          const next = ranked.slice(last.read, Math.min(most, last.read + READ_AT_ONCE));
          entries.push(...companies.some(next, filter));
          last.read += next.length;
        }
        return { entries: entries.slice(0, limit), frequencies, companies: companies.count() };
      }),
    count: () =>
      reach("count companies", () => {
        database.prepare("SELECT 1 FROM companies LIMIT 1").get();
        return companies.count();
      }),
    readState: () =>
      reach("read how far the index is made", () => {
        const row = findState.get();
        if (!row) return null;
        const { layout, through } = row;
        return { layout: Number(layout), through: through === null ? null : String(through) };
      }),
    writeState: ({ layout, through }) =>
      reach("write how far the index is made", () => void putState.run(layout, through)),
    async close() {
      if (waiting.length > 0) flush();
      if (database.isOpen) database.close();
    },
  };
}

const unreachable = (what: string, path: string, cause: unknown): Fault =>
  new Fault("documents_unreachable", `Cannot ${what} in "${path}"`, { cause });
