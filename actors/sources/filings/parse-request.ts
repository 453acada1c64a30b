/**
 * From the fields of a call to a request that can be answered, or to the message that says what is wrong with them.
 * Endpoints and batch items are both parsed here, and no field is parsed anywhere else.
 */
import {
  type DocumentBody,
  DOCUMENT_BYTES_DEFAULT,
  type FilingsCall,
  type FilingSearchQuery,
  LATEST_FORMS_DEFAULT,
  type LatestQuery,
  SUBMISSIONS_LIMIT_DEFAULT,
  type SubmissionsQuery,
} from "../../../schemas/filings.ts";
import { type FullTextRequest, parseFullTextRequest } from "./full-text.ts";
import {
  type ParseResult,
  parseAccession,
  parseCik,
  parseDate,
  parseDocumentName,
  parseForms,
  parseIsin,
  parseName,
  parseTicker,
  type Ticker,
} from "./identifiers.ts";
import type { FilingFilter } from "./submissions.ts";

/** The name the caller uses for a filer. */
export type FilerRef =
  | { readonly by: "cik"; readonly cik: number }
  | { readonly by: "ticker"; readonly ticker: Ticker }
  | { readonly by: "name"; readonly name: string }
  | { readonly by: "isin"; readonly isin: string };

export type FilingsRequest =
  | { readonly op: "resolve"; readonly filer: FilerRef }
  | {
      readonly op: "submissions";
      readonly filer: FilerRef;
      readonly filter: FilingFilter;
      readonly limit: number;
      readonly history: boolean;
    }
  | { readonly op: "latest"; readonly filer: FilerRef; readonly forms: readonly string[] }
  | { readonly op: "facts"; readonly filer: FilerRef }
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
  | ({ readonly op: "search" } & FullTextRequest);

type RequestOf<Op extends FilingsRequest["op"]> = Extract<FilingsRequest, { op: Op }>;

type ParsedRequest<Op extends FilingsRequest["op"]> = ParseResult<RequestOf<Op>>;

const valid = <T>(value: T): ParseResult<T> => ({ kind: "valid", value });

/** The first name that is set counts; the caller has checked that it is the only one. */
export interface FilerFields {
  readonly ticker?: string | undefined;
  readonly cik?: string | number | undefined;
  readonly name?: string | undefined;
  readonly isin?: string | undefined;
}

export function parseFiler({ ticker, cik, name, isin }: FilerFields): ParseResult<FilerRef> {
  const withFiler = <T>(parsed: ParseResult<T>, toRef: (value: T) => FilerRef): ParseResult<FilerRef> =>
    parsed.kind === "invalid" ? parsed : valid(toRef(parsed.value));
  if (cik !== undefined) return withFiler(parseCik(cik), (value) => ({ by: "cik", cik: value }));
  if (ticker !== undefined)
    return withFiler(parseTicker(ticker), (value) => ({ by: "ticker", ticker: value }));
  if (isin !== undefined) return withFiler(parseIsin(isin), (value) => ({ by: "isin", isin: value }));
  return withFiler(parseName(name ?? ""), (value) => ({ by: "name", name: value }));
}

export function parseResolveRequest(query: FilerFields): ParsedRequest<"resolve"> {
  const filer = parseFiler(query);
  return filer.kind === "invalid" ? filer : valid({ op: "resolve", filer: filer.value });
}

export type SubmissionsFields = Pick<SubmissionsQuery, "forms" | "since" | "until" | "limit" | "history">;

export function parseSubmissionsRequest(
  named: FilerFields,
  query: SubmissionsFields,
): ParsedRequest<"submissions"> {
  const filer = parseFiler(named);
  if (filer.kind === "invalid") return filer;
  const forms = query.forms === undefined ? null : parseForms(query.forms);
  if (forms?.kind === "invalid") return forms;
  const since = query.since === undefined ? null : parseDate("since", query.since);
  if (since?.kind === "invalid") return since;
  const until = query.until === undefined ? null : parseDate("until", query.until);
  if (until?.kind === "invalid") return until;
  const filter = {
    forms: forms?.value ?? null,
    since: since?.value ?? null,
    until: until?.value ?? null,
  };
  if (filter.since !== null && filter.until !== null && filter.since > filter.until)
    return { kind: "invalid", message: "since is after until" };
  const { limit = SUBMISSIONS_LIMIT_DEFAULT, history = true } = query;
  return valid({ op: "submissions", filer: filer.value, filter, limit, history });
}

export type LatestFields = Pick<LatestQuery, "forms">;

export function parseLatestRequest(named: FilerFields, query: LatestFields): ParsedRequest<"latest"> {
  const filer = parseFiler(named);
  if (filer.kind === "invalid") return filer;
  const forms = parseForms(query.forms ?? LATEST_FORMS_DEFAULT);
  return forms.kind === "invalid" ? forms : valid({ op: "latest", filer: filer.value, forms: forms.value });
}

export function parseFactsRequest(named: FilerFields): ParsedRequest<"facts"> {
  const filer = parseFiler(named);
  return filer.kind === "invalid" ? filer : valid({ op: "facts", filer: filer.value });
}

export interface FilingFields {
  readonly cik: string | number;
  readonly accession: string;
}

export function parseFilingRequest(fields: FilingFields): ParsedRequest<"filing"> {
  const cik = parseCik(fields.cik);
  if (cik.kind === "invalid") return cik;
  const accession = parseAccession(fields.accession);
  if (accession.kind === "invalid") return accession;
  return valid({ op: "filing", cik: cik.value, accession: accession.value });
}

export type DocumentFields = FilingFields &
  Pick<DocumentBody, "document" | "max_bytes" | "accept_pdf" | "cache_ttl_s">;

export function parseDocumentRequest(fields: DocumentFields): ParsedRequest<"document"> {
  const filing = parseFilingRequest(fields);
  if (filing.kind === "invalid") return filing;
  const document = parseDocumentName(fields.document);
  if (document.kind === "invalid") return document;
  return valid({
    ...filing.value,
    op: "document",
    document: document.value,
    max_bytes: fields.max_bytes ?? DOCUMENT_BYTES_DEFAULT,
    accept_pdf: fields.accept_pdf ?? true,
    cache_ttl_s: fields.cache_ttl_s ?? null,
  });
}

export type SearchFields = Omit<FilingSearchQuery, "project_ref" | "timeout_s">;

export function parseSearchRequest(query: SearchFields, now_ms: number): ParsedRequest<"search"> {
  const parsed = parseFullTextRequest(query, now_ms);
  return parsed.kind === "invalid" ? parsed : valid({ op: "search", ...parsed.value });
}

/** Any operation, with its fields as the client sent them. */
export function parseCall(
  op: FilingsCall["op"],
  fields: FilingsCall["fields"],
  now_ms: number,
): ParseResult<FilingsRequest> {
  const named = fields as FilerFields;
  switch (op) {
    case "resolve":
      return parseResolveRequest(named);
    case "submissions":
      return parseSubmissionsRequest(named, fields as SubmissionsFields);
    case "latest":
      return parseLatestRequest(named, fields as LatestFields);
    case "facts":
      return parseFactsRequest(named);
    case "filing":
      return parseFilingRequest(fields as unknown as FilingFields);
    case "document":
      return parseDocumentRequest(fields as unknown as DocumentFields);
    case "search":
      return parseSearchRequest(fields as SearchFields, now_ms);
  }
}
