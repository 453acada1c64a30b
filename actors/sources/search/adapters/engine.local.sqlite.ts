/**
 * The built-in search engine: full text over the stored pages (page-rows.sqlite.ts). It is the primary engine
 * when no instance is configured. A project finds the pages that it retrieved itself, unless all pages are shared. The
 * index has its own copy of a page's text for each of these projects, so that pages can be found for a while after the
 * page cache has dropped them. It never fetches.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { normaliseUrl } from "../../../lib/web/url.ts";
import type { Engine, EngineAnswer, Question, RawResult } from "../engine.ts";
import { PERIOD_DAYS } from "../merge.ts";
import { hasDomains, isOfDomains } from "../domains.ts";
import { failed } from "./get-json.ts";
import {
  type Change,
  EVERYONE,
  IMPORTED,
  idOf,
  type IndexedPage,
  type IndexLimits,
  ownerOf,
  type PageRows,
  pageRows,
  type PageRowsDeps,
  type RemovedPage,
} from "./page-rows.sqlite.ts";

export interface LocalIndex {
  readonly engine: Engine;
  /** Replaces the project's page of this address. Written within GATHER_MS, and before the index is asked anything. */
  readonly add: (page: IndexedPage) => void;
  /** The project has retrieved this very page, which may be indexed for another project already. */
  readonly share: (page: Pick<IndexedPage, "url" | "sha256"> & { readonly project: string }) => void;
  readonly remove: (page: RemovedPage) => void;
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

const LIMITS: IndexLimits = {
  pages: 100_000,
  chars: 256 * 2 ** 20,
  text_chars: 50_000,
  retention_ms: 30 * 86_400_000,
};
/** A search blocks the event loop: 16 words of 5,000 pages each take about 60 ms. */
const MAX_TERMS = 16;
/**
 * A word on more pages than this is used only when the query has no rarer word, and then only on the pages stored last.
 */
const COMMON_PAGES = 5_000;
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

/** Beside all words: a word in a title is worth so many in the text. */
const TITLE_WEIGHT = 6;
/** Pages that a search of certain hosts looks through. */
const MAX_FILTERED = 1_000;
const SNIPPET_TOKENS = 40;
const RANKED = `SELECT * FROM (SELECT rowid AS id, bm25(words, ${TITLE_WEIGHT}, 1, 0) AS score FROM words
  WHERE words MATCH ? ORDER BY rowid DESC LIMIT ${COMMON_PAGES})`;
const DAY_MS = 86_400_000;

interface LocalIndexDeps extends Omit<PageRowsDeps, "limits"> {
  /** Whether all projects find all pages; false: what was indexed for all projects before is removed. */
  readonly isShared: boolean;
  readonly limits?: Partial<IndexLimits>;
}

export function localIndex({ isShared, limits: overrides, ...deps }: LocalIndexDeps): LocalIndex {
  const { clock } = deps;
  const limits = { ...LIMITS, ...overrides };
  const rows = pageRows({ ...deps, limits });
  const search = pageSearch(rows, { isShared, clock, path: deps.path });
  const ofOrigin = rows.database.prepare(
    `SELECT pages.url, words.title AS title FROM pages JOIN words ON words.rowid = pages.id
     WHERE key >= ? AND key < ? AND pages.owner IN (?, ?, '${IMPORTED}') ORDER BY key LIMIT ?`,
  );
  let waiting: Change[] = [];
  let waiting_chars = 0;
  let alarm: Disposable | null = null;

  function flush(): void {
    const changes = waiting;
    waiting = [];
    waiting_chars = 0;
    alarm?.[Symbol.dispose]();
    alarm = null;
    if (changes.length > 0 && rows.database.isOpen) rows.apply(changes);
  }

  function enqueue(next: Change): void {
    waiting_chars += next.kind === "add" ? Math.min(next.page.text.length, limits.text_chars) : 0;
    const isFullBatch = waiting.push(next) >= MAX_GATHERED || waiting_chars >= MAX_GATHERED_CHARS;
    if (isFullBatch) setImmediate(flush);
    else alarm ??= clock.at(clock.now() + GATHER_MS, flush);
  }

  if (!isShared) rows.forgetOwner(EVERYONE);

  return {
    engine: {
      name: LOCAL_INDEX,
      async ask(asked) {
        flush();
        return search(asked);
      },
    },
    add: (page) => enqueue({ kind: "add", page }),
    share(page) {
      if (!isShared) enqueue({ kind: "share", page });
    },
    remove: (page) => enqueue({ kind: "remove", page }),
    pagesOf(origin, project, limit) {
      flush();
      const owner = isShared ? EVERYONE : ownerOf(project);
      const found = ofOrigin.all(`${origin}/`, `${origin}0`, owner, EVERYONE, limit);
      return found.map(({ url, title }) => ({ url: String(url), title: String(title) || null }));
    },
    unpin(keep) {
      flush();
      rows.unpin(new Set(keep.map((url) => normaliseUrl(new URL(url)))));
    },
    revision() {
      flush();
      return String(rows.revision());
    },
    pages() {
      flush();
      return rows.count();
    },
    close() {
      flush();
      rows.database.close();
    },
  };
}

/** Asks the rows as they are. */
function pageSearch(
  { database }: PageRows,
  { isShared, clock, path }: { readonly isShared: boolean; readonly clock: Clock; readonly path: string },
): (asked: Question) => EngineAnswer {
  const howMany = database.prepare(
    `SELECT count(*) AS n FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ${COMMON_PAGES + 1})`,
  );
  const selectHit = database.prepare(
    `SELECT url, published_at, words.title AS title, snippet(words, 1, '', '', ' … ', ${SNIPPET_TOKENS}) AS snippet
     FROM words JOIN pages ON pages.id = words.rowid WHERE words MATCH ? AND words.rowid = ?`,
  );

  return ({ query, project, language, freshness, max_results, ...domains }) => {
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
      const visible = isShared ? "" : `owner : (${ownerOf(project)} OR ${EVERYONE} OR ${IMPORTED}) AND `;
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
