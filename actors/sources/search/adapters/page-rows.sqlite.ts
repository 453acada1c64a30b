/**
 * The rows of the built-in index: stored pages and their words, for each project that finds them, in an SQLite file of its own (FTS5).
 * The oldest pages make room. What gathers before it is written, and how it is searched: engine.local.sqlite.ts.
 */
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { transactions } from "../../../../cluster/adapters/files/transactions.sqlite.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
import { normaliseUrl, parseUrl } from "../../../lib/web/url.ts";
import { millisecondsOf } from "../merge.ts";

export interface IndexedPage {
  readonly url: string;
  /** The project that finds it; null: every project. */
  readonly project: string | null;
  /** The digest of the page's body, by which another project that retrieves the same page is recognised; null: no project is. */
  readonly sha256: string | null;
  readonly title: string | null;
  readonly text: string;
  /** ISO 639-1, or null when it is not known. */
  readonly language: string | null;
  readonly published_at: string | null;
  /** Never evicted: a page of the bundled demo site. */
  readonly pinned?: boolean;
  /** With project null: of an import that serves every project, in an index that shows each project its own pages. */
  readonly is_imported?: boolean;
}

export interface IndexLimits {
  /** The most pages; the oldest of the project with the most are removed first. */
  readonly pages: number;
  /** Characters of all texts together. */
  readonly chars: number;
  /** Characters of the text of one page; the rest is not searched. */
  readonly text_chars: number;
  readonly retention_ms: number;
}

/** Pages removed in one go to make room. */
const MAX_EVICT = 256;
const BUSY_MS = 2_000;

const SCHEMA = `
  PRAGMA busy_timeout = ${BUSY_MS};
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS pages (
    id INTEGER PRIMARY KEY,
    /** The token of the project in its words, or that of all. */
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    sha256 TEXT,
    url TEXT NOT NULL,
    language TEXT,
    published_at TEXT,
    /** For the period: when it was published, else when it was stored. */
    dated_ms INTEGER NOT NULL,
    stored_ms INTEGER NOT NULL,
    chars INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    UNIQUE (key, owner)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS pages_by_age ON pages (pinned, owner, stored_ms);
  CREATE INDEX IF NOT EXISTS pages_by_time ON pages (pinned, stored_ms);
  CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(title, text, owner, tokenize = 'unicode61 remove_diacritics 2');
  CREATE TABLE IF NOT EXISTS state (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL, chars INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO state VALUES (1, 0, 0)`;

/** Pages of all projects have this owner. */
export const EVERYONE = "everyone";
/** Pages of imports that serve every project: unlike those of all, they stay when the index is opened for pages of projects. */
export const IMPORTED = "imported";
/** A project as one token, whatever its name is. */
export const ownerOf = (project: string | null): string =>
  project === null ? EVERYONE : `p${createHash("sha256").update(project).digest("hex").slice(0, 24)}`;

export interface PageRowsDeps {
  readonly path: string;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly limits: IndexLimits;
}

/**
 * node:sqlite binds numbers as REAL, and FTS5 takes `rowid = 4.0` for no condition at all: it finds, and deletes, every
 * row. A bigint is bound as INTEGER.
 */
export const idOf = (row: Record<string, unknown>): bigint => BigInt(row["id"] as number);

/** `sha256`: only the page with this body; the address may have another one by now. */
export type RemovedPage = Pick<IndexedPage, "url" | "project" | "is_imported"> & { readonly sha256?: string };

export type Change =
  | { readonly kind: "add"; readonly page: IndexedPage }
  | { readonly kind: "share"; readonly page: Pick<IndexedPage, "url" | "sha256" | "project"> }
  | { readonly kind: "remove"; readonly page: RemovedPage };

export interface PageRows {
  /** For searches. */
  readonly database: DatabaseSync;
  /** Writes them in one transaction, and makes room. What cannot be written is told in the log; only the index misses it. */
  readonly apply: (changes: readonly Change[]) => void;
  readonly forgetOwner: (owner: string) => void;
  /** Forgets every pinned page but those of these keys. */
  readonly unpin: (keep: ReadonlySet<string>) => void;
  /** Changes with every change of the index. */
  readonly revision: () => number;
  readonly count: () => number;
}

/** Throws what SQLite throws of a damaged file. */
function openDatabase(path: string): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  try {
    database.exec(SCHEMA);
    // A file that is cut in half has its tables.
    database.exec("SELECT count(*) FROM pages; SELECT count(*) FROM words");
  } catch (problem) {
    database.close();
    throw problem;
  }
  return database;
}

function statementsOf(database: DatabaseSync) {
  return {
    find: database.prepare("SELECT id, chars, sha256 FROM pages WHERE key = ? AND owner = ?"),
    findSame: database.prepare(
      `SELECT pages.url, language, published_at, words.title AS title, words.text AS text
       FROM pages JOIN words ON words.rowid = pages.id WHERE key = ? AND sha256 = ? LIMIT 1`,
    ),
    forgetPage: database.prepare("DELETE FROM pages WHERE id = ?"),
    forgetWords: database.prepare("DELETE FROM words WHERE rowid = ?"),
    insertPage: database.prepare(
      `INSERT INTO pages (owner, key, sha256, url, language, published_at, dated_ms, stored_ms, chars, pinned)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertWords: database.prepare("INSERT INTO words (rowid, title, text, owner) VALUES (?, ?, ?, ?)"),
    oldest: database.prepare(
      `SELECT id, chars, owner FROM pages WHERE pinned = 0 AND stored_ms < ? ORDER BY stored_ms LIMIT ${MAX_EVICT}`,
    ),
    oldestOf: database.prepare(
      `SELECT id, chars, owner FROM pages WHERE pinned = 0 AND owner = ? ORDER BY stored_ms LIMIT ${MAX_EVICT}`,
    ),
    largestOwner: database.prepare(
      "SELECT owner, count(*) AS n FROM pages WHERE pinned = 0 GROUP BY owner ORDER BY n DESC LIMIT 1",
    ),
    ofOwner: database.prepare("SELECT id, chars FROM pages WHERE pinned = 0 AND owner = ?"),
    pinned: database.prepare("SELECT id, key, chars FROM pages WHERE pinned = 1"),
    saveState: database.prepare("UPDATE state SET revision = ?, chars = ? WHERE one = 1"),
  };
}

/** Throws what SQLite throws of a damaged file. */
export function pageRows({ path, clock, metrics, log, limits }: PageRowsDeps): PageRows {
  const database = openDatabase(path);
  const inTransaction = transactions(database);
  const sql = statementsOf(database);
  const state = database.prepare("SELECT revision, chars FROM state").get()!;
  let revision = Number(state["revision"]);
  let chars = Number(state["chars"]);
  /** Pages that were put or forgotten. */
  let changed = 0;
  let count = Number(database.prepare("SELECT count(*) AS n FROM pages").get()!["n"]);

  function forget(row: Record<string, unknown>): void {
    const id = idOf(row);
    sql.forgetPage.run(id);
    sql.forgetWords.run(id);
    chars -= Number(row["chars"]);
    count--;
    changed++;
  }

  function drop(key: string, owner: string, sha256?: string): void {
    const existing = sql.find.get(key, owner);
    if (existing === undefined) return;
    // Pages that were imported before their digest was kept have none.
    if (sha256 === undefined || existing["sha256"] === sha256 || existing["sha256"] === null)
      forget(existing);
  }

  function put(page: IndexedPage, key: string): void {
    const owner = page.is_imported ? IMPORTED : ownerOf(page.project);
    drop(key, owner);
    const text = page.text.slice(0, limits.text_chars);
    const title = page.title ?? "";
    const now_ms = clock.now();
    const published_ms = page.published_at === null ? Number.NaN : millisecondsOf(page.published_at);
    const { lastInsertRowid } = sql.insertPage.run(
      owner,
      key,
      page.sha256,
      page.url,
      page.language?.toLowerCase().split("-")[0] ?? null,
      page.published_at,
      Number.isNaN(published_ms) ? now_ms : published_ms,
      now_ms,
      text.length + title.length,
      page.pinned ? 1 : 0,
    );
    sql.insertWords.run(BigInt(lastInsertRowid), title, text, owner);
    chars += text.length + title.length;
    count++;
    changed++;
  }

  /** The project has what another project has of this address, if it is the same. */
  function shareSame(
    { url, sha256, project }: Extract<Change, { kind: "share" }>["page"],
    key: string,
  ): void {
    const row = sql.find.get(key, ownerOf(project)) ? undefined : sql.findSame.get(key, sha256);
    if (!row) return;
    const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
    put(
      {
        url,
        project,
        sha256,
        title: text(row["title"]),
        text: text(row["text"]) ?? "",
        language: text(row["language"]),
        published_at: text(row["published_at"]),
      },
      key,
    );
  }

  const isFull = (): boolean => count > limits.pages || chars > limits.chars;

  function evict(): void {
    for (const row of sql.oldest.all(clock.now() - limits.retention_ms)) forget(row);
    if (!isFull()) return;
    // No project makes room with the pages of a smaller one.
    const largest = sql.largestOwner.get()?.["owner"];
    for (const row of typeof largest === "string" ? sql.oldestOf.all(largest) : []) {
      if (!isFull()) return;
      forget(row);
    }
  }

  /** `work` says whether it changed anything. */
  function transaction(work: () => boolean): void {
    const previous = { revision, chars, count };
    try {
      inTransaction(() => {
        if (!work()) return;
        revision++;
        sql.saveState.run(revision, chars);
      });
      metrics.gauge("trawl_search_index_pages", {}, count);
    } catch (problem) {
      ({ revision, chars, count } = previous);
      // The page itself is stored; only the index misses it.
      log.warn("Cannot write the search index", { problem: String(problem) });
    }
  }

  function forgetAll(rows: readonly Record<string, unknown>[]): void {
    if (rows.length === 0) return;
    transaction(() => {
      for (const row of rows) forget(row);
      return true;
    });
  }

  function apply(changes: readonly Change[]): void {
    transaction(() => {
      const before = changed;
      for (const change of changes) {
        const url = parseUrl(change.page.url);
        if (url === null) continue;
        const key = normaliseUrl(url);
        switch (change.kind) {
          case "add":
            put(change.page, key);
            break;
          case "share":
            shareSame(change.page, key);
            break;
          case "remove":
            drop(key, change.page.is_imported ? IMPORTED : ownerOf(change.page.project), change.page.sha256);
        }
      }
      evict();
      return changed > before;
    });
  }

  return {
    database,
    apply,
    forgetOwner: (owner) => forgetAll(sql.ofOwner.all(owner)),
    unpin: (keep) => forgetAll(sql.pinned.all().filter(({ key }) => !keep.has(String(key)))),
    revision: () => revision,
    count: () => count,
  };
}
