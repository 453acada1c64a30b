/**
 * The built-in search engine: full text over the stored pages, in an SQLite file of its own (FTS5). It is the primary engine
 * when no instance is configured. It has its own copy of a page's text, so that pages can be found for a while after the
 * page cache has dropped them. It never fetches.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../cluster/ports/clock.ts";
import { normaliseUrl, parseUrl } from "../../lib/web/url.ts";
import type { Engine, RawResult } from "../engine.ts";
import { millisecondsOf, PERIOD_DAYS } from "../merge.ts";
import { failed } from "./get-json.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { Log } from "../../../cluster/ports/log.ts";

export interface IndexedPage {
  readonly url: string;
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
  /** Replaces the page of this address. Written in one transaction with the other changes of this tick. */
  readonly add: (page: IndexedPage) => void;
  readonly remove: (url: string) => void;
  /** Forgets every pinned page but these. */
  readonly unpin: (keep: readonly string[]) => void;
  /** Changes with every change of the index. */
  readonly revision: () => string;
  readonly pages: () => number;
  readonly close: () => void;
}

export interface IndexLimits {
  /** The most pages; the oldest are removed first. */
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
/** The engine's name in results, as the API defines it. */
export const LOCAL_INDEX = "local_index";

const SCHEMA = `
  PRAGMA busy_timeout = ${BUSY_MS};
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS pages (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,
    language TEXT,
    published_at TEXT,
    /** For the period: when it was published, else when it was stored. */
    dated_ms INTEGER NOT NULL,
    stored_ms INTEGER NOT NULL,
    chars INTEGER NOT NULL,
    pinned INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS pages_by_age ON pages (pinned, stored_ms);
  CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(title, text, tokenize = 'unicode61 remove_diacritics 2');
  CREATE TABLE IF NOT EXISTS state (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL, chars INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO state VALUES (1, 0, 0)`;

/** Beside all words: a word in a title is worth so many in the text. */
const TITLE_WEIGHT = 6;
const SNIPPET_TOKENS = 40;
const RANKED = `SELECT * FROM (SELECT rowid AS id, bm25(words, ${TITLE_WEIGHT}, 1) AS score FROM words
  WHERE words MATCH ? ORDER BY rowid DESC LIMIT ${COMMON_PAGES})`;
const DAY_MS = 86_400_000;

interface LocalIndexDeps {
  readonly path: string;
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
  | { readonly kind: "remove"; readonly url: string };

export function localIndex({ path, clock, metrics, log, limits: overrides }: LocalIndexDeps): LocalIndex {
  const limits = { ...LIMITS, ...overrides };
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  database.exec(SCHEMA);
  const find = database.prepare("SELECT id, chars FROM pages WHERE key = ?");
  const forgetPage = database.prepare("DELETE FROM pages WHERE id = ?");
  const forgetWords = database.prepare("DELETE FROM words WHERE rowid = ?");
  const insertPage = database.prepare(
    `INSERT INTO pages (key, url, language, published_at, dated_ms, stored_ms, chars, pinned)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertWords = database.prepare("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)");
  const oldest = database.prepare(
    `SELECT id, chars, stored_ms FROM pages WHERE pinned = 0 ORDER BY stored_ms LIMIT ${MAX_EVICT}`,
  );
  const howMany = database.prepare(
    `SELECT count(*) AS n FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ${COMMON_PAGES + 1})`,
  );
  const selectHit = database.prepare(
    `SELECT url, published_at, words.title AS title, snippet(words, 1, '', '', ' … ', ${SNIPPET_TOKENS}) AS snippet
     FROM words JOIN pages ON pages.id = words.rowid WHERE words MATCH ? AND words.rowid = ?`,
  );
  const pinned = database.prepare("SELECT id, key, chars FROM pages WHERE pinned = 1");
  const saveState = database.prepare("UPDATE state SET revision = ?, chars = ? WHERE one = 1");
  const state = database.prepare("SELECT revision, chars FROM state").get()!;
  let revision = Number(state["revision"]);
  let chars = Number(state["chars"]);
  let count = Number(database.prepare("SELECT count(*) AS n FROM pages").get()!["n"]);
  let waiting: Change[] = [];

  function forget(id: bigint, page_chars: number): void {
    forgetPage.run(id);
    forgetWords.run(id);
    chars -= page_chars;
    count--;
  }

  function drop(key: string): void {
    const existing = find.get(key);
    if (existing) forget(idOf(existing), Number(existing["chars"]));
  }

  function put(page: IndexedPage, key: string): void {
    drop(key);
    const text = page.text.slice(0, limits.text_chars);
    const title = page.title ?? "";
    const now_ms = clock.now();
    const published_ms = page.published_at === null ? Number.NaN : millisecondsOf(page.published_at);
    const { lastInsertRowid } = insertPage.run(
      key,
      page.url,
      page.language?.toLowerCase().split("-")[0] ?? null,
      page.published_at,
      Number.isNaN(published_ms) ? now_ms : published_ms,
      now_ms,
      text.length + title.length,
      page.pinned ? 1 : 0,
    );
    insertWords.run(BigInt(lastInsertRowid), title, text);
    chars += text.length + title.length;
    count++;
  }

  function evict(): void {
    const before_ms = clock.now() - limits.retention_ms;
    for (const row of oldest.all()) {
      if (count <= limits.pages && chars <= limits.chars && Number(row["stored_ms"]) >= before_ms) return;
      forget(idOf(row), Number(row["chars"]));
    }
  }

  function transaction(work: () => void): void {
    const previous = { revision, chars, count };
    try {
      database.exec("BEGIN IMMEDIATE");
      work();
      revision++;
      saveState.run(revision, chars);
      database.exec("COMMIT");
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
    if (changes.length === 0 || !database.isOpen) return;
    transaction(() => {
      for (const change of changes) {
        const url = parseUrl(change.kind === "add" ? change.page.url : change.url);
        if (url === null) continue;
        if (change.kind === "add") put(change.page, normaliseUrl(url));
        else drop(normaliseUrl(url));
      }
      evict();
    });
  }

  function enqueue(next: Change): void {
    if (waiting.push(next) === 1) setImmediate(flush);
  }

  const engine: Engine = {
    name: LOCAL_INDEX,
    async ask({ query, language, freshness, max_results }) {
      flush();
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
        const rarest = terms.filter((term) => Number(howMany.get(term)!["n"]) <= COMMON_PAGES);
        const rareTerms = rarest.length > 0 ? rarest : terms;
        // A page's BM25 is the sum of its words'. Ranked first and shown after: a snippet takes longer than a rank.
        const ranked = database
          .prepare(
            `SELECT pages.id FROM (${rareTerms.map(() => RANKED).join(" UNION ALL ")}) AS hits
             JOIN pages ON pages.id = hits.id ${conditions.length > 0 ? "WHERE" : ""} ${conditions.join(" AND ")}
             GROUP BY pages.id HAVING count(*) >= ? ORDER BY sum(score) LIMIT ?`,
          )
          .all(...rareTerms, ...values, minTerms(rareTerms.length), max_results);
        const results = ranked.map((row): RawResult => {
          const hit = selectHit.get(rareTerms.join(" OR "), idOf(row))!;
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

  return {
    engine,
    add: (page) => enqueue({ kind: "add", page }),
    remove: (url) => enqueue({ kind: "remove", url }),
    unpin(keep) {
      flush();
      const keys = new Set(keep.map((url) => normaliseUrl(new URL(url))));
      const removed = pinned.all().filter(({ key }) => !keys.has(String(key)));
      if (removed.length === 0) return;
      transaction(() => {
        for (const row of removed) forget(idOf(row), Number(row["chars"]));
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
