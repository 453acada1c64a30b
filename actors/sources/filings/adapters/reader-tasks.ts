/**
 * Documents of the filing system, read in reader processes (cluster/ports/workers.ts): submissions, facts, index pages,
 * listings and search results by `document`; the lists of filers by `filers`, which keeps the directories it has built.
 */
import { LRUCache } from "lru-cache";
import { parseFullTextAnswer } from "../full-text.ts";
import { parseFolderListing, parseIndexPage } from "../index-page.ts";
import { factsCounter } from "../facts.ts";
import type {
  FilersOrder,
  FilersReading,
  FilingRows,
  DocumentReading,
  ReadingOrder,
  Readings,
} from "../readings.ts";
import { filingOf, parseRows, parseSubmissions, type Rows, select } from "../submissions.ts";
import { answerOf, parseTickerList, type TickerDirectory, tickerDirectory } from "../ticker-lists.ts";
import { sqliteNameIndex } from "./name-index.sqlite.ts";

export const tasks = {
  document: async () => async (order: ReadingOrder) => readDocument(order),
  filers: async () => {
    // Three, so that a refresh does not remove the directory in use.
    const directories = new LRUCache<string, TickerDirectory>({ max: 3 });
    return async (order: FilersOrder) => readFilers(directories, order);
  },
};

/** Thrown when a document makes no sense. */
class Invalid extends Error {
  readonly at: number;
  constructor(at: number) {
    super(`Document ${at} makes no sense`);
    this.at = at;
  }
}

function attempted<T>(read: () => T): DocumentReading<T> {
  try {
    return { kind: "read", result: read() };
  } catch (problem) {
    if (problem instanceof Invalid) return { kind: "invalid", at: problem.at };
    throw problem;
  }
}

function piecesOf(bytes: Uint8Array, lengths: readonly number[]): readonly Buffer[] {
  let from = 0;
  return lengths.map((length) =>
    Buffer.from(bytes.buffer, bytes.byteOffset + (from += length) - length, length),
  );
}

/** The parsed document at this place. Throws Invalid. */
function jsonAt<T>(documents: readonly Buffer[], at: number, parse: (value: unknown) => T | null): T {
  let value: unknown;
  try {
    value = JSON.parse(documents[at]!.toString());
  } catch {
    throw new Invalid(at);
  }
  const parsed = parse(value);
  if (parsed === null) throw new Invalid(at);
  return parsed;
}

function readDocument({
  kind,
  order,
  bytes,
  lengths,
}: ReadingOrder): DocumentReading<Readings[keyof Readings]["result"]> {
  const documents = piecesOf(bytes, lengths);
  return attempted(() => {
    switch (kind) {
      case "rows":
        return readRows(documents, order);
      case "facts": {
        const counter = factsCounter();
        counter.push(documents[0]!);
        const summary = counter.end();
        if (summary === null) throw new Invalid(0);
        return summary;
      }
      case "index_page":
        return parseIndexPage(documents[0]!.toString(), order);
      case "folder":
        return jsonAt(documents, 0, (value) => parseFolderListing(value, order));
      case "search":
        return jsonAt(documents, 0, (value) => parseFullTextAnswer(value, order.www_url));
    }
  });
}

function readRows(
  documents: readonly Buffer[],
  { has_main, filter, limit, cik, www_url }: Readings["rows"]["order"],
): FilingRows {
  const main = has_main ? jsonAt(documents, 0, parseSubmissions) : null;
  const pages = documents.flatMap((_, at): readonly Rows[] =>
    has_main && at === 0 ? [] : [jsonAt(documents, at, parseRows)],
  );
  const { total, rows } = select(main ? [main.recent, ...pages] : pages, filter, limit);
  const filings = rows.map((row) => filingOf(row, cik, www_url));
  return {
    filer: main?.filer ?? null,
    pages: main?.pages ?? [],
    total,
    filings_json: Buffer.from(JSON.stringify(filings)),
  };
}

function readFilers(
  directories: LRUCache<string, TickerDirectory>,
  { key, question, bytes, lengths }: FilersOrder,
): FilersReading {
  if (!bytes && !directories.has(key)) return { kind: "unknown_lists" };
  return attempted(() => {
    let directory = directories.get(key);
    if (!directory) {
      const documents = piecesOf(bytes!, lengths!);
      const lists = documents.map((_, at) => jsonAt(documents, at, parseTickerList));
      directory = tickerDirectory(lists, sqliteNameIndex);
      directories.set(key, directory);
    }
    return question === null ? [] : answerOf(directory, question);
  });
}
