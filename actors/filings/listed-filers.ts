/**
 * The two lists of filers with tickers, fetched and kept as one directory in memory. Requests for the same lists share
 * one directory, and within a minute no request asks the source for them again.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { YieldToEventLoop } from "../../cluster/ports/event-loop.ts";
import {
  type CallerContext,
  type Failure,
  failureOf,
  invalidAnswer,
  isFailure,
  type SourceDocument,
  type SourceDocuments,
} from "./results.ts";
import type { SourceAddress, SourceReader } from "./source-reader.ts";
import { parseTickerList, type TickerDirectory, tickerDirectory } from "./ticker-lists.ts";

/** The list with exchanges; it decides first. */
const EXCHANGES: SourceAddress = { host: "www", path: "/files/company_tickers_exchange.json" };
const TICKERS: SourceAddress = { host: "www", path: "/files/company_tickers.json" };

/** Lists checked within this time are used without a request to the source. */
const RECENT_MS = 60_000;
/** A ticker that is on no list may be new: then the lists may be this old. */
const MAX_AGE_FOR_MISSES_S = 60 * 60;

export interface Lists {
  readonly directory: TickerDirectory;
  readonly documents: SourceDocuments;
}

export interface ListedFilers {
  /** `is_miss`: the filer is on no list, so both lists are read, an hour old at most. */
  readonly lists: (caller: CallerContext, is_miss?: boolean) => Promise<Lists | Failure>;
  /** The directory of the latest lists, whatever their age; null: none was read yet. */
  readonly latest: () => TickerDirectory | null;
}

export interface ListedFilersDeps {
  readonly reader: SourceReader;
  readonly clock: Clock;
  readonly yieldToEventLoop: YieldToEventLoop;
}

export function listedFilers({ reader, clock, yieldToEventLoop }: ListedFilersDeps): ListedFilers {
  /** By the digests of their lists; three, so that a refresh does not remove the directory in use. */
  const directories = new LRUCache<string, Promise<TickerDirectory | Failure>>({ max: 3 });
  let recent: { readonly lists: Lists; readonly checked_ms: number } | null = null;

  /** Null: the filing system has no such list. */
  async function getList(
    address: SourceAddress,
    cache_ttl_s: number | null,
    caller: CallerContext,
  ): Promise<SourceDocument | Failure | null> {
    const answer = await reader.get({ ...address, kind: "tickers", cache_ttl_s }, caller);
    switch (answer.kind) {
      case "got":
        return answer;
      case "missing":
        return null;
      case "failed":
        return failureOf(answer);
    }
  }

  async function build(documents: readonly SourceDocument[]): Promise<TickerDirectory | Failure> {
    const lists = [];
    for (const document of documents) {
      const json = await reader.jsonOf(document);
      const rows = json && parseTickerList(json.value);
      const address = document.url.endsWith(TICKERS.path) ? TICKERS : EXCHANGES;
      if (rows === null) return reader.discardInvalid(address, document, "list of filers");
      lists.push(rows);
    }
    return tickerDirectory(lists, yieldToEventLoop);
  }

  /** Builds the directory of the same documents once; requests that come meanwhile wait for it. */
  async function directoryOf(documents: readonly SourceDocument[]): Promise<TickerDirectory | Failure> {
    const key = documents.map(({ sha256 }) => sha256).join(" ");
    const under_way = directories.get(key);
    if (under_way) return under_way;
    const building = build(documents);
    directories.set(key, building);
    const forget = (): void => void (directories.peek(key) === building && directories.delete(key));
    building.then((built) => isFailure(built) && forget(), forget);
    return building;
  }

  return {
    latest: () => recent?.lists.directory ?? null,
    async lists(caller, is_miss = false) {
      if (!is_miss && recent && clock.mono() - recent.checked_ms < RECENT_MS) return recent.lists;
      const max_age_s = is_miss ? MAX_AGE_FOR_MISSES_S : null;
      const exchanges = await getList(EXCHANGES, max_age_s, caller);
      if (exchanges?.kind === "failure") return exchanges;
      const tickers = is_miss || exchanges === null ? await getList(TICKERS, max_age_s, caller) : null;
      if (tickers?.kind === "failure") return tickers;
      const [main, ...more] = [exchanges, tickers].filter((document) => document !== null);
      if (!main) return invalidAnswer("list of filers");
      const directory = await directoryOf([main, ...more]);
      if (isFailure(directory)) return directory;
      // Answers from memory within the next minute cost no request, so their list counts as cached.
      if (!is_miss)
        recent = {
          lists: { directory, documents: [{ ...main, cached: true }] },
          checked_ms: clock.mono(),
        };
      return { directory, documents: [main, ...more] };
    },
  };
}
