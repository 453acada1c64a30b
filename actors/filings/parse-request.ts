/**
 * What callers ask of the filing system, from loose fields to a question that can be answered, or to the sentence that
 * says what is wrong: the one place where a field is read, for the endpoints and for the items of a batch alike.
 */
import {
  type DocumentBody,
  DOCUMENT_BYTES_DEFAULT,
  type FilingSearchQuery,
  LATEST_FORMS_DEFAULT,
  type LatestQuery,
  SUBMISSIONS_LIMIT_DEFAULT,
  type SubmissionsQuery,
} from "../../schemas/filings.ts";
import { type FullText, readFullText } from "./full-text.ts";
import {
  type Checked,
  readAccession,
  readCik,
  readDate,
  readDocument,
  readForms,
  readIsin,
  readName,
  readTicker,
  type Ticker,
} from "./identifiers.ts";
import type { Wanted } from "./submissions.ts";

/** How a filer is named. */
export type Who =
  | { readonly by: "cik"; readonly cik: number }
  | { readonly by: "ticker"; readonly ticker: Ticker }
  | { readonly by: "name"; readonly name: string }
  | { readonly by: "isin"; readonly isin: string };

export type FilingsQuestion =
  | { readonly op: "resolve"; readonly who: Who }
  | {
      readonly op: "submissions";
      readonly who: Who;
      readonly wanted: Wanted;
      readonly limit: number;
      readonly history: boolean;
    }
  | { readonly op: "latest"; readonly who: Who; readonly forms: readonly string[] }
  | { readonly op: "facts"; readonly who: Who }
  | { readonly op: "filing"; readonly cik: number; readonly accession: string }
  | {
      readonly op: "document";
      readonly cik: number;
      readonly accession: string;
      readonly document: string;
      readonly max_bytes: number;
      readonly accept_pdf: boolean;
      readonly cache_ttl_s: number | null;
    }
  | ({ readonly op: "search" } & FullText);

type Question<Op extends FilingsQuestion["op"]> = Extract<FilingsQuestion, { op: Op }>;

type Read<Op extends FilingsQuestion["op"]> = Checked<Question<Op>>;

const sound = <T>(value: T): Checked<T> => ({ kind: "sound", value });

/** The first of the names that is given; that it is the only one is checked before. */
export interface Named {
  readonly ticker?: string | undefined;
  readonly cik?: string | number | undefined;
  readonly name?: string | undefined;
  readonly isin?: string | undefined;
}

export function readWho({ ticker, cik, name, isin }: Named): Checked<Who> {
  const given = <T>(read: Checked<T>, who: (value: T) => Who): Checked<Who> =>
    read.kind === "wrong" ? read : sound(who(read.value));
  if (cik !== undefined) return given(readCik(cik), (value) => ({ by: "cik", cik: value }));
  if (ticker !== undefined) return given(readTicker(ticker), (value) => ({ by: "ticker", ticker: value }));
  if (isin !== undefined) return given(readIsin(isin), (value) => ({ by: "isin", isin: value }));
  return given(readName(name ?? ""), (value) => ({ by: "name", name: value }));
}

export function readResolve(query: Named): Read<"resolve"> {
  const who = readWho(query);
  return who.kind === "wrong" ? who : sound({ op: "resolve", who: who.value });
}

export type SubmissionsFields = Pick<SubmissionsQuery, "forms" | "since" | "until" | "limit" | "history">;

export function readSubmissionsAsk(named: Named, query: SubmissionsFields): Read<"submissions"> {
  const who = readWho(named);
  if (who.kind === "wrong") return who;
  const forms = query.forms === undefined ? null : readForms(query.forms);
  if (forms?.kind === "wrong") return forms;
  const since = query.since === undefined ? null : readDate("since", query.since);
  if (since?.kind === "wrong") return since;
  const until = query.until === undefined ? null : readDate("until", query.until);
  if (until?.kind === "wrong") return until;
  const wanted = {
    forms: forms?.value ?? null,
    since: since?.value ?? null,
    until: until?.value ?? null,
  };
  if (wanted.since !== null && wanted.until !== null && wanted.since > wanted.until)
    return { kind: "wrong", message: "since is after until" };
  const { limit = SUBMISSIONS_LIMIT_DEFAULT, history = true } = query;
  return sound({ op: "submissions", who: who.value, wanted, limit, history });
}

export type LatestFields = Pick<LatestQuery, "forms">;

export function readLatest(named: Named, query: LatestFields): Read<"latest"> {
  const who = readWho(named);
  if (who.kind === "wrong") return who;
  const forms = readForms(query.forms ?? LATEST_FORMS_DEFAULT);
  return forms.kind === "wrong" ? forms : sound({ op: "latest", who: who.value, forms: forms.value });
}

export function readFacts(named: Named): Read<"facts"> {
  const who = readWho(named);
  return who.kind === "wrong" ? who : sound({ op: "facts", who: who.value });
}

export interface FilingFields {
  readonly cik: string | number;
  readonly accession: string;
}

export function readFiling(asked: FilingFields): Read<"filing"> {
  const cik = readCik(asked.cik);
  if (cik.kind === "wrong") return cik;
  const accession = readAccession(asked.accession);
  if (accession.kind === "wrong") return accession;
  return sound({ op: "filing", cik: cik.value, accession: accession.value });
}

export type DocumentFields = FilingFields &
  Pick<DocumentBody, "document" | "max_bytes" | "accept_pdf" | "cache_ttl_s">;

export function readDocumentAsk(asked: DocumentFields): Read<"document"> {
  const filing = readFiling(asked);
  if (filing.kind === "wrong") return filing;
  const document = readDocument(asked.document);
  if (document.kind === "wrong") return document;
  return sound({
    ...filing.value,
    op: "document",
    document: document.value,
    max_bytes: asked.max_bytes ?? DOCUMENT_BYTES_DEFAULT,
    accept_pdf: asked.accept_pdf ?? true,
    cache_ttl_s: asked.cache_ttl_s ?? null,
  });
}

export type SearchFields = Omit<FilingSearchQuery, "project_ref" | "timeout_s">;

export function readSearch(query: SearchFields, now_ms: number): Read<"search"> {
  const read = readFullText(query, now_ms);
  return read.kind === "wrong" ? read : sound({ op: "search", ...read.value });
}
