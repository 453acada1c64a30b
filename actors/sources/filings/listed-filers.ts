/**
 * The two lists of filers with tickers, fetched, and asked as one directory in a reader process. Within a minute no
 * request asks the source for them again.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { FilerCompany } from "../../../schemas/filings.ts";
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
import type { FilerQuestion } from "./ticker-lists.ts";

/** The list with exchanges; it decides first. */
const EXCHANGES: SourceAddress = { host: "www", path: "/files/company_tickers_exchange.json" };
const TICKERS: SourceAddress = { host: "www", path: "/files/company_tickers.json" };

/** Lists checked within this time are used without a request to the source. */
const RECENT_MS = 60_000;
/** A ticker that is on no list may be new: then the lists may be this old. */
const MAX_AGE_FOR_MISSES_S = 60 * 60;

export interface Lists {
  readonly documents: SourceDocuments;
  /** At most ten filers. */
  readonly find: (
    question: FilerQuestion,
    caller: CallerContext,
  ) => Promise<{ readonly kind: "filers"; readonly filers: readonly FilerCompany[] } | Failure>;
}

export interface ListedFilers {
  /** `is_miss`: the filer is on no list, so both lists are read, an hour old at most. */
  readonly lists: (caller: CallerContext, is_miss?: boolean) => Promise<Lists | Failure>;
  /** The latest lists, whatever their age; null: none were read yet. */
  readonly latest: () => Lists | null;
}

export interface ListedFilersDeps {
  readonly reader: SourceReader;
  readonly clock: Clock;
}

export function listedFilers({ reader, clock }: ListedFilersDeps): ListedFilers {
  /** By the digests of the lists, whether they make sense; three, so that a refresh does not remove those in use. */
  const checks = new LRUCache<string, ReturnType<typeof askFilers>>({ max: 3 });
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

  async function askFilers(
    question: FilerQuestion | null,
    documents: readonly SourceDocument[],
    caller: CallerContext,
  ): Promise<{ readonly kind: "filers"; readonly filers: readonly FilerCompany[] } | Failure> {
    const reading = await reader.askFilers(question, documents, caller);
    if (reading.kind === "read") return { kind: "filers", filers: reading.result };
    const document = documents[reading.at]!;
    const address = document.url.endsWith(TICKERS.path) ? TICKERS : EXCHANGES;
    return reader.discardInvalid(address, document, "list of filers");
  }

  async function listsOf(documents: SourceDocuments, caller: CallerContext): Promise<Lists | Failure> {
    const key = documents.map(({ sha256 }) => sha256).join(" ");
    const check = checks.get(key) ?? askFilers(null, documents, caller);
    checks.set(key, check);
    const forget = (): void => void (checks.peek(key) === check && checks.delete(key));
    const checked = await check.catch((problem: unknown) => {
      forget();
      throw problem;
    });
    if (isFailure(checked)) {
      forget();
      return checked;
    }
    return { documents, find: (question, asking) => askFilers(question, documents, asking) };
  }

  return {
    latest: () => recent?.lists ?? null,
    async lists(caller, is_miss = false) {
      if (!is_miss && recent && clock.mono() - recent.checked_ms < RECENT_MS) return recent.lists;
      const max_age_s = is_miss ? MAX_AGE_FOR_MISSES_S : null;
      const exchanges = await getList(EXCHANGES, max_age_s, caller);
      if (exchanges?.kind === "failure") return exchanges;
      const tickers = is_miss || exchanges === null ? await getList(TICKERS, max_age_s, caller) : null;
      if (tickers?.kind === "failure") return tickers;
      const [main, ...more] = [exchanges, tickers].filter((document) => document !== null);
      if (!main) return invalidAnswer("list of filers");
      const lists = await listsOf([main, ...more], caller);
      if (isFailure(lists)) return lists;
      // Answers from memory within the next minute cost no request, so their list counts as cached.
      if (!is_miss)
        recent = {
          lists: { ...lists, documents: [{ ...main, cached: true }] },
          checked_ms: clock.mono(),
        };
      return lists;
    },
  };
}
