/**
 * A filer's submissions and the pages of older ones: fetched, parsed once for the same bytes, and kept parsed in memory
 * by size. What the rows say is submissions.ts.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { padCik } from "./identifiers.ts";
import {
  type CallerContext,
  type Failure,
  failure,
  failureOf,
  invalidAnswer,
  type SourceDocument,
} from "./results.ts";
import type { SourceReader } from "./source-reader.ts";
import { type PageEntry, parseRows, parseSubmissions, type Rows, type Submissions } from "./submissions.ts";

export interface SubmissionsDocument {
  readonly kind: "submissions";
  readonly document: SourceDocument;
  readonly submissions: Submissions;
}

export interface OlderRows {
  readonly kind: "rows";
  readonly entry: PageEntry;
  readonly document: SourceDocument;
  readonly rows: Rows;
}

export interface FilerSubmissions {
  readonly submissionsOf: (cik: number, caller: CallerContext) => Promise<SubmissionsDocument | Failure>;
  readonly olderRowsOf: (entry: PageEntry, caller: CallerContext) => Promise<OlderRows | Failure>;
}

export interface FilerSubmissionsDeps {
  readonly reader: SourceReader;
  readonly documents: Documents;
  readonly clock: Clock;
}

interface Parsed {
  readonly submissions?: Submissions;
  readonly rows?: Rows;
  readonly bytes: number;
}

/** By the bytes the documents were parsed from; parsed they take about twice as much. */
const MAX_PARSED_BYTES = 16 * 2 ** 20;
const YEAR_S = 365 * 24 * 60 * 60;
/** The entry each page of older filings had when the page was read, by the page's name. */
const COLLECTION = "submissions_files";

export function filerSubmissions({ reader, documents, clock }: FilerSubmissionsDeps): FilerSubmissions {
  const parsed = new LRUCache<string, Parsed>({
    maxSize: MAX_PARSED_BYTES,
    sizeCalculation: ({ bytes }) => bytes + 1_024,
  });

  return {
    async submissionsOf(cik, caller) {
      const address = { host: "data", path: `/submissions/CIK${padCik(cik)}.json` } as const;
      const answer = await reader.get({ ...address, kind: "submissions" }, caller);
      if (answer.kind === "failed") return failureOf(answer);
      if (answer.kind === "missing")
        return failure("unknown_identifier", `The filing system knows no filer with CIK ${padCik(cik)}`);
      const cached = parsed.get(answer.sha256)?.submissions;
      if (cached) return { kind: "submissions", document: answer, submissions: cached };
      const json = await reader.jsonOf(answer);
      const submissions = json && parseSubmissions(json.value);
      if (!submissions)
        return reader.discardInvalid(address, answer, "submissions of this filer that make sense");
      parsed.set(answer.sha256, { submissions, bytes: json.bytes });
      return { kind: "submissions", document: answer, submissions };
    },

    async olderRowsOf(entry, caller) {
      const address = { host: "data", path: `/submissions/${entry.name}` } as const;
      // While the filer's list describes a page as it did when the page was read, the page has not changed.
      const stored = await documents.get(COLLECTION, entry.name);
      const is_same = stored !== null && JSON.stringify(stored.value) === JSON.stringify(entry);
      const cache_ttl_s = is_same ? YEAR_S : null;
      const answer = await reader.get({ ...address, kind: "submissions", cache_ttl_s }, caller);
      if (answer.kind === "failed") return failureOf(answer);
      // The filer's own list names the page, so the filing system must have it.
      if (answer.kind === "missing") return invalidAnswer(`page of older filings "${entry.name}"`);
      let rows = parsed.get(answer.sha256)?.rows;
      if (!rows) {
        const json = await reader.jsonOf(answer);
        const read = json && parseRows(json.value);
        if (!read) return reader.discardInvalid(address, answer, "page of older filings that makes sense");
        parsed.set(answer.sha256, { rows: read, bytes: json.bytes });
        rows = read;
      }
      if (!is_same) {
        const expires_at_ms = clock.now() + YEAR_S * 1_000;
        // A lost race needs no retry: the other writer has read the same page.
        await documents.put(COLLECTION, entry.name, entry, stored?.version ?? 0, { expires_at_ms });
      }
      return { kind: "rows", entry, document: answer, rows };
    },
  };
}
