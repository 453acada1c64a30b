/**
 * A filer's submissions and the pages of older ones: fetched, and the matching filings read from them in a reader
 * process. Readings are kept by the digests of their documents, so that a question that is repeated is read once. What
 * the rows say is submissions.ts.
 */
import { LRUCache } from "lru-cache";
import { type CacheLimits, cacheLimits } from "../../../cluster/cache-limits.ts";
import { FILING_CACHES } from "./caches.ts";
import type { Node } from "../../../cluster/node-record.ts";
import type { FilerDetails } from "../../../schemas/filings.ts";
import { padCik } from "./identifiers.ts";
import type { FilingRows, RowsQuery } from "./readings.ts";
import {
  type CallerContext,
  type Failure,
  failure,
  failureOf,
  invalidAnswer,
  isFailure,
  type SourceDocument,
} from "./results.ts";
import type { SourceReader } from "./source-reader.ts";
import type { PageEntry } from "./submissions.ts";
import { SUBMISSIONS_FILES } from "./collections.ts";

export interface FilerFilings {
  readonly kind: "submissions";
  readonly document: SourceDocument;
  readonly filer: FilerDetails;
  /** The filings of the recent list; those on `rows.pages` are older. */
  readonly rows: FilingRows;
}

/** A page of older filings that was fetched. */
export interface OlderDocument {
  readonly kind: "page";
  readonly entry: PageEntry;
  readonly document: SourceDocument;
  /** Whether the filer's list describes the page as it did when the page was read before. */
  readonly is_known: boolean;
}

export interface FilerSubmissions {
  readonly submissionsOf: (
    cik: number,
    query: RowsQuery,
    caller: CallerContext,
  ) => Promise<FilerFilings | Failure>;
  readonly olderPage: (entry: PageEntry, caller: CallerContext) => Promise<OlderDocument | Failure>;
  /** The matching filings of the recent list, where `main` is given, and of these pages. */
  readonly rowsOf: (
    filer: { readonly cik: number; readonly main?: SourceDocument },
    pages: readonly OlderDocument[],
    query: RowsQuery,
    caller: CallerContext,
  ) => Promise<FilingRows | Failure>;
}

/** A query without filings: the filer alone. */
export const NO_ROWS: RowsQuery = { filter: { forms: [], since: null, until: null }, limit: 0 };

const YEAR_S = 365 * 24 * 60 * 60;

export function filerSubmissions({
  reader,
  documents,
  clock,
  www_url,
  caches = cacheLimits(FILING_CACHES),
}: Pick<Node, "documents" | "clock"> & {
  readonly reader: SourceReader;
  readonly www_url: string;
  readonly caches?: Pick<CacheLimits, "filings">;
}): FilerSubmissions {
  /** By the digests of the documents, the CIK and the query. */
  const readings = new LRUCache<string, FilingRows>({
    maxSize: caches.filings,
    sizeCalculation: ({ filings_json }) => filings_json.length + 4_096,
  });

  const rowsOf: FilerSubmissions["rowsOf"] = async ({ cik, main }, pages, query, caller) => {
    const sources = [...(main ? [main] : []), ...pages.map(({ document }) => document)];
    const key = JSON.stringify([cik, main !== undefined, sources.map(({ sha256 }) => sha256), query]);
    const known = readings.get(key);
    if (known) {
      await rememberAll(pages);
      return known;
    }
    const order = { ...query, cik, www_url, has_main: main !== undefined };
    const reading = await reader.read("rows", order, sources, caller);
    if (reading.kind === "invalid") {
      const page = pages[reading.at - (main ? 1 : 0)];
      return page
        ? reader.discardInvalid(
            addressOf(page.entry),
            page.document,
            "page of older filings that makes sense",
          )
        : reader.discardInvalid(mainAddress(cik), main!, "submissions of this filer that make sense");
    }
    readings.set(key, reading.result);
    await rememberAll(pages);
    return reading.result;
  };

  async function rememberAll(pages: readonly OlderDocument[]): Promise<void> {
    await Promise.all(pages.filter(({ is_known }) => !is_known).map(remember));
  }

  async function remember({ entry }: OlderDocument): Promise<void> {
    const options = { expires_at_ms: clock.now() + YEAR_S * 1_000 };
    await SUBMISSIONS_FILES.update(documents, entry.name, () => ({ value: entry, options }));
  }

  return {
    rowsOf,
    async submissionsOf(cik, query, caller) {
      const answer = await reader.get({ ...mainAddress(cik), kind: "submissions" }, caller);
      if (answer.kind === "failed") return failureOf(answer);
      if (answer.kind === "missing")
        return failure("unknown_identifier", `The filing system knows no filer with CIK ${padCik(cik)}`);
      const rows = await rowsOf({ cik, main: answer }, [], query, caller);
      return isFailure(rows) ? rows : { kind: "submissions", document: answer, filer: rows.filer!, rows };
    },
    async olderPage(entry, caller) {
      // While the filer's list describes a page as it did when the page was read, the page has not changed.
      const stored = await SUBMISSIONS_FILES.get(documents, entry.name);
      const is_known = stored !== null && JSON.stringify(stored) === JSON.stringify(entry);
      const cache_ttl_s = is_known ? YEAR_S : null;
      const answer = await reader.get({ ...addressOf(entry), kind: "submissions", cache_ttl_s }, caller);
      if (answer.kind === "failed") return failureOf(answer);
      // The filer's own list names the page, so the filing system must have it.
      if (answer.kind === "missing") return invalidAnswer(`page of older filings "${entry.name}"`);
      return { kind: "page", entry, document: answer, is_known };
    },
  };
}

const mainAddress = (cik: number) => ({ host: "data", path: `/submissions/CIK${padCik(cik)}.json` }) as const;
const addressOf = ({ name }: PageEntry) => ({ host: "data", path: `/submissions/${name}` }) as const;
