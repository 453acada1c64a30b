/**
 * The built-in search engine: full text over the stored pages, in an SQLite file of its own (FTS5). It is the primary engine
 * when no instance is configured. A project finds the pages that it retrieved itself, unless all pages are shared. The
 * index has its own copy of a page's text for each of these projects, so that pages can be found for a while after the
 * page cache has dropped them. It never fetches.
 */
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { normaliseUrl, parseUrl } from "../../../lib/web/url.ts";
import type { Engine, RawResult } from "../engine.ts";
import { millisecondsOf, PERIOD_DAYS } from "../merge.ts";
import { hasDomains, isOfDomains } from "../domains.ts";
import { failed } from "./get-json.ts";
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
import type { Log } from "../../../../cluster/ports/log.ts";

export interface IndexedPage {
  readonly url: string;
  /** The project that finds it; null: every project. */
  readonly project: string | null;
  /** Of its body, by which another project that retrieves the same page is recognised; null: no project is. */
  readonly sha256: string | null;
  readonly title: string | null;
  readonly text: string;
  /** ISO 639-1, or null when it is not known. */
  readonly language: string | null;
  readonly published_at: string | null;
  /** Never evicted: a page of the bundled demo site. */
  readonly pinned?: boolean;
}

export interface LocalIndex {
  readonly engine: Engine;
  /** Replaces the project's page of this address. Written within GATHER_MS, and before the index is asked anything. */
  readonly add: (page: IndexedPage) => void;
  /** The project has retrieved this very page, which may be indexed for another project already. */
  readonly share: (page: Pick<IndexedPage, "url" | "sha256"> & { readonly project: string }) => void;
  readonly remove: (page: Pick<IndexedPage, "url" | "project">) => void;
  /** Pages of an origin that the project finds, at most `limit`. */
  readonly pagesOf: (
    origin: string,
    project: string,
    limit: number,
  ) => readonly { readonly url: string; readonly title: string | null }[];
  /** Forgets every pinned page but these. */
  readonly unpin: (keep: readonly string[]) => void;
  /** Changes with every change of the index. */
  readonly revision: () => string;
  readonly pages: () => number;
  readonly close: () => void;
}

export interface IndexLimits {
  /** The most pages; the oldest of the project with the most are removed first. */
  readonly pages: number;
  /** Characters of all texts together. */
  readonly chars: number;
  /** Of one page; the rest is not searched. */
  readonly text_chars: number;
  readonly retention_ms: number;
}

const LIMITS: IndexLimits = {
  pages: 100_000,
  chars: 256 * 2 ** 20,
  text_chars: 50_000,
  retention_ms: 30 * 86_400_000,
};
/** Pages removed in one go to make room. */
const MAX_EVICT = 256;
/** A search blocks the event loop: 16 words of 5,000 pages each take about 60 ms. */
const MAX_TERMS = 16;
/**
 * A word on more pages than this is used only when the query has no rarer word, and then only on the pages stored last.
 */
const COMMON_PAGES = 5_000;
const BUSY_MS = 2_000;
/**
 * Changes share a transaction: sixteen real pages together take two thirds of the CPU time of sixteen alone, small ones half.
 * A process that is killed loses what waits. When the limits of what gathers are too large, a transaction blocks the event
 * loop for more than its 10 ms.
 */
const GATHER_MS = 500;
const MAX_GATHERED = 64;
const MAX_GATHERED_CHARS = 256 * 1024;
/** The engine's name in results, as the API defines it. */
export const LOCAL_INDEX = "local_index";

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

/** Beside all words: a word in a title is worth so many in the text. */
const TITLE_WEIGHT = 6;
/** Pages that a search of certain hosts looks through. */
const MAX_FILTERED = 1_000;
const SNIPPET_TOKENS = 40;
const RANKED = `SELECT * FROM (SELECT rowid AS id, bm25(words, ${TITLE_WEIGHT}, 1, 0) AS score FROM words
  WHERE words MATCH ? ORDER BY rowid DESC LIMIT ${COMMON_PAGES})`;
const DAY_MS = 86_400_000;

/** Pages of all projects have this owner. */
const EVERYONE = "everyone";
/** One token, whatever the name of the project is. */
const ownerOf = (project: string | null): string =>
  project === null ? EVERYONE : `p${createHash("sha256").update(project).digest("hex").slice(0, 24)}`;

interface LocalIndexDeps {
  readonly path: string;
  /** Whether all projects find all pages; false: what was indexed for all projects before is removed. */
  readonly isShared: boolean;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly limits?: Partial<IndexLimits>;
}

/**
 * node:sqlite binds numbers as REAL, and FTS5 takes `rowid = 4.0` for no condition at all: it finds, and deletes, every
 * row. A bigint is bound as INTEGER.
 */
const idOf = (row: Record<string, unknown>): bigint => BigInt(row["id"] as number);

type Change =
  | { readonly kind: "add"; readonly page: IndexedPage }
  | { readonly kind: "share"; readonly page: Pick<IndexedPage, "url" | "sha256" | "project"> }
  | { readonly kind: "remove"; readonly page: Pick<IndexedPage, "url" | "project"> };

export function localIndex({
  path,
  isShared,
  clock,
  metrics,
  log,
  limits: overrides,
}: LocalIndexDeps): LocalIndex {
  const limits = { ...LIMITS, ...overrides };
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
  const begin = database.prepare("BEGIN IMMEDIATE");
  const end = database.prepare("COMMIT");
  const find = database.prepare("SELECT id, chars FROM pages WHERE key = ? AND owner = ?");
  const findSame = database.prepare(
    `SELECT pages.url, language, published_at, words.title AS title, words.text AS text
     FROM pages JOIN words ON words.rowid = pages.id WHERE key = ? AND sha256 = ? LIMIT 1`,
  );
  const forgetPage = database.prepare("DELETE FROM pages WHERE id = ?");
  const forgetWords = database.prepare("DELETE FROM words WHERE rowid = ?");
  const insertPage = database.prepare(
    `INSERT INTO pages (owner, key, sha256, url, language, published_at, dated_ms, stored_ms, chars, pinned)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertWords = database.prepare("INSERT INTO words (rowid, title, text, owner) VALUES (?, ?, ?, ?)");
  const oldest = database.prepare(
    `SELECT id, chars, owner FROM pages WHERE pinned = 0 AND stored_ms < ? ORDER BY stored_ms LIMIT ${MAX_EVICT}`,
  );
  const oldestOf = database.prepare(
    `SELECT id, chars, owner FROM pages WHERE pinned = 0 AND owner = ? ORDER BY stored_ms LIMIT ${MAX_EVICT}`,
  );
  const howMany = database.prepare(
    `SELECT count(*) AS n FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ${COMMON_PAGES + 1})`,
  );
  const selectHit = database.prepare(
    `SELECT url, published_at, words.title AS title, snippet(words, 1, '', '', ' … ', ${SNIPPET_TOKENS}) AS snippet
     FROM words JOIN pages ON pages.id = words.rowid WHERE words MATCH ? AND words.rowid = ?`,
  );
  const largestOwner = database.prepare(
    "SELECT owner, count(*) AS n FROM pages WHERE pinned = 0 GROUP BY owner ORDER BY n DESC LIMIT 1",
  );
  const forEveryone = database.prepare("SELECT id, chars FROM pages WHERE pinned = 0 AND owner = ?");
  const pinned = database.prepare("SELECT id, key, chars FROM pages WHERE pinned = 1");
  const ofOrigin = database.prepare(
    `SELECT pages.url, words.title AS title FROM pages JOIN words ON words.rowid = pages.id
     WHERE key >= ? AND key < ? AND pages.owner IN (?, ?) ORDER BY key LIMIT ?`,
  );
  const saveState = database.prepare("UPDATE state SET revision = ?, chars = ? WHERE one = 1");
  const state = database.prepare("SELECT revision, chars FROM state").get()!;
  let revision = Number(state["revision"]);
  let chars = Number(state["chars"]);
  /** Pages that were put or forgotten. */
  let changed = 0;
  let count = Number(database.prepare("SELECT count(*) AS n FROM pages").get()!["n"]);
  let waiting: Change[] = [];
  let waiting_chars = 0;
  let alarm: Disposable | null = null;

  function forget(row: Record<string, unknown>): void {
    const id = idOf(row);
    forgetPage.run(id);
    forgetWords.run(id);
    chars -= Number(row["chars"]);
    count--;
    changed++;
  }

  function drop(key: string, owner: string): void {
    const existing = find.get(key, owner);
    if (existing) forget(existing);
  }

  function put(page: IndexedPage, key: string): void {
    const owner = ownerOf(page.project);
    drop(key, owner);
    const text = page.text.slice(0, limits.text_chars);
    const title = page.title ?? "";
    const now_ms = clock.now();
    const published_ms = page.published_at === null ? Number.NaN : millisecondsOf(page.published_at);
    const { lastInsertRowid } = insertPage.run(
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
    insertWords.run(BigInt(lastInsertRowid), title, text, owner);
    chars += text.length + title.length;
    count++;
    changed++;
  }

  /** The project has what another project has of this address, if it is the same. */
  function shareSame(
    { url, sha256, project }: Extract<Change, { kind: "share" }>["page"],
    key: string,
  ): void {
    const row = find.get(key, ownerOf(project)) ? undefined : findSame.get(key, sha256);
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
    for (const row of oldest.all(clock.now() - limits.retention_ms)) forget(row);
    if (!isFull()) return;
    // No project makes room with the pages of a smaller one.
    const largest = largestOwner.get()?.["owner"];
    for (const row of typeof largest === "string" ? oldestOf.all(largest) : []) {
      if (!isFull()) return;
      forget(row);
    }
  }

  /** `work` says whether it changed anything. */
  function transaction(work: () => boolean): void {
    const previous = { revision, chars, count };
    try {
      begin.run();
      if (work()) {
        revision++;
        saveState.run(revision, chars);
      }
      end.run();
      metrics.gauge("trawl_search_index_pages", {}, count);
    } catch (problem) {
      ({ revision, chars, count } = previous);
      if (database.isOpen && database.isTransaction) database.exec("ROLLBACK");
      // The page itself is stored; only the index misses it.
      log.warn("Cannot write the search index", { problem: String(problem) });
    }
  }

  function flush(): void {
    const changes = waiting;
    waiting = [];
    waiting_chars = 0;
    alarm?.[Symbol.dispose]();
    alarm = null;
    if (changes.length === 0 || !database.isOpen) return;
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
            drop(key, ownerOf(change.page.project));
        }
      }
      evict();
      return changed > before;
    });
  }

  function enqueue(next: Change): void {
    waiting_chars += next.kind === "add" ? Math.min(next.page.text.length, limits.text_chars) : 0;
    const isFullBatch = waiting.push(next) >= MAX_GATHERED || waiting_chars >= MAX_GATHERED_CHARS;
    if (isFullBatch) setImmediate(flush);
    else alarm ??= clock.at(clock.now() + GATHER_MS, flush);
  }

  const engine: Engine = {
    name: LOCAL_INDEX,
    async ask({ query, project, language, freshness, max_results, ...domains }) {
      flush();
      const isFiltered = hasDomains(domains);
      const terms = termsOf(query);
      if (terms.length === 0) return { kind: "answered", results: [], unresponsive: [], billed: 0 };
      const conditions: string[] = [];
      const values: (string | number)[] = [];
      if (language !== null) {
        // A page without a declared language matches every language.
        conditions.push("(language IS NULL OR language = ?)");
        values.push(language.toLowerCase().split("-")[0]!);
      }
      if (freshness !== null) {
        conditions.push("dated_ms >= ?");
        values.push(clock.now() - PERIOD_DAYS[freshness] * DAY_MS);
      }
      try {
        // The pages of the project are ranked among themselves: another project's do not crowd them out.
        const visible = isShared ? "" : `owner : (${ownerOf(project)} OR ${EVERYONE}) AND `;
        const matching = (expression: string): string => `${visible}{title text} : (${expression})`;
        const rarest = terms.filter((term) => Number(howMany.get(matching(term))!["n"]) <= COMMON_PAGES);
        const rareTerms = rarest.length > 0 ? rarest : terms;
        // A page's BM25 is the sum of its words'. Ranked first and shown after: a snippet takes longer than a rank.
        const ranked = database
          .prepare(
            `SELECT pages.id, pages.url FROM (${rareTerms.map(() => RANKED).join(" UNION ALL ")}) AS hits
             JOIN pages ON pages.id = hits.id ${conditions.length > 0 ? "WHERE" : ""} ${conditions.join(" AND ")}
             GROUP BY pages.id HAVING count(*) >= ? ORDER BY sum(score) LIMIT ?`,
          )
          .all(
            ...rareTerms.map(matching),
            ...values,
            minTerms(rareTerms.length),
            isFiltered ? MAX_FILTERED : max_results,
          )
          .filter((row) => !isFiltered || isOfDomains(String(row["url"]), domains))
          .slice(0, max_results);
        const results = ranked.map((row): RawResult => {
          const hit = selectHit.get(matching(rareTerms.join(" OR ")), idOf(row))!;
          const snippet = String(hit["snippet"]);
          const published = hit["published_at"];
          return {
            url: String(hit["url"]),
            title: String(hit["title"]) || null,
            snippets: snippet === "" ? [] : [snippet],
            engines: [LOCAL_INDEX],
            published: typeof published === "string" ? published : null,
          };
        });
        return { kind: "answered", results, unresponsive: [], billed: 0 };
      } catch (problem) {
        return failed("unreachable", `Cannot search "${path}": ${String(problem)}`);
      }
    },
  };

  const left = isShared ? [] : forEveryone.all(EVERYONE);
  if (left.length > 0)
    transaction(() => {
      for (const row of left) forget(row);
      return true;
    });

  return {
    engine,
    add: (page) => enqueue({ kind: "add", page }),
    share(page) {
      if (!isShared) enqueue({ kind: "share", page });
    },
    remove: (page) => enqueue({ kind: "remove", page }),
    pagesOf(origin, project, limit) {
      flush();
      const owner = isShared ? EVERYONE : ownerOf(project);
      const rows = ofOrigin.all(`${origin}/`, `${origin}0`, owner, EVERYONE, limit);
      return rows.map(({ url, title }) => ({ url: String(url), title: String(title) || null }));
    },
    unpin(keep) {
      flush();
      const keys = new Set(keep.map((url) => normaliseUrl(new URL(url))));
      const removed = pinned.all().filter(({ key }) => !keys.has(String(key)));
      if (removed.length === 0) return;
      transaction(() => {
        for (const row of removed) forget(row);
        return true;
      });
    },
    revision() {
      flush();
      return String(revision);
    },
    pages() {
      flush();
      return count;
    },
    close() {
      flush();
      database.close();
    },
  };
}

/**
 * A query as FTS5 terms, each quoted so that none is an operator: words, and phrases between quotation marks. What is
 * asked for twice counts once.
 */
function termsOf(query: string): string[] {
  const phrases = [...query.matchAll(/"([^"]+)"/g)].map(([, phrase]) => phrase!);
  const words = query.replaceAll(/"[^"]*"/g, " ").split(/[^\p{L}\p{M}\p{N}]+/u);
  const clean = [
    ...phrases.map((phrase) => phrase.replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, " ").trim()),
    ...words,
  ];
  const terms = new Set(clean.filter((term) => term !== "").map((term) => `"${term.toLowerCase()}"`));
  return [...terms].slice(0, MAX_TERMS);
}

/** How many of so many terms a page must have: 1 of 1, 2 of 2, 2 of 3, 3 of 5, … Little words are among them. */
const minTerms = (terms: number): number => (terms <= 2 ? terms : Math.ceil(terms * 0.6));
