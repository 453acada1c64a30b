/**
 * Requests that are answered without asking anything: a malformed field, or no identity. The empty answer of each
 * operation is here, too; an operation fills it when a document is missing.
 */
import { EMPTY_ANSWER, EMPTY_RECORD, type PageRecord } from "../../../schemas/fetch.ts";
import type {
  FactsAnswer,
  FilingSearchAnswer,
  FilingsCall,
  FilingsReply,
  IndexAnswer,
  LatestAnswer,
  ResolveAnswer,
  SubmissionsAnswer,
} from "../../../schemas/filings.ts";
import type { ParseResult } from "./identifiers.ts";
import { parseCall } from "./parse-request.ts";
import {
  answerReply,
  documentReply,
  type DocumentResult,
  errorResult,
  type Failure,
  failure,
  isFailure,
  type OwnFields,
} from "./results.ts";

const NOT_CONFIGURED = failure(
  "filings_not_configured",
  "The filing system is not configured: the operator must set TRAWL_FILINGS_IDENTITY",
);

/**
 * The parsed request, or the error it is answered with before any document is requested. `isConfigured` false: the
 * operator declared no identity.
 */
export function validated<R>(
  { isConfigured }: { readonly isConfigured: boolean },
  parsed: ParseResult<R>,
): R | Failure {
  if (!isConfigured) return NOT_CONFIGURED;
  return parsed.kind === "invalid" ? failure("invalid_identifier", parsed.message) : parsed.value;
}

export const NO_FILER: OwnFields<ResolveAnswer> = {
  cik: null,
  cik_padded: null,
  title: null,
  tickers: [],
  exchanges: [],
  ambiguous: false,
  candidates: [],
};

export const NO_SUBMISSIONS: OwnFields<SubmissionsAnswer> = {
  cik: null,
  cik_padded: null,
  name: null,
  title: null,
  tickers: [],
  exchanges: [],
  entity_type: null,
  sic: null,
  sic_description: null,
  category: null,
  fiscal_year_end: null,
  state_of_incorporation: null,
  ein: null,
  lei: null,
  website: null,
  phone: null,
  business_address: null,
  former_names: [],
  filings: [],
  filings_total: null,
  truncated: false,
  files: [],
};

export const NO_FILING: OwnFields<LatestAnswer> = {
  accession: null,
  form: null,
  filing_date: null,
  report_date: null,
  acceptance_datetime: null,
  act: null,
  file_number: null,
  film_number: null,
  items: null,
  core_type: null,
  size: null,
  is_xbrl: null,
  is_inline_xbrl: null,
  primary_document: null,
  primary_document_description: null,
  primary_document_url: null,
  index_url: null,
  is_amendment: null,
  cik: null,
  cik_padded: null,
  name: null,
  tickers: [],
  exchanges: [],
};

export const NO_FACTS: OwnFields<FactsAnswer> = {
  cik: null,
  cik_padded: null,
  name: null,
  taxonomies: {},
  concepts: null,
  bytes: null,
};

export const NO_INDEX: OwnFields<IndexAnswer> = {
  form: null,
  filing_date: null,
  report_date: null,
  accepted: null,
  company: null,
  is_amendment: null,
  index_url: null,
  folder_url: null,
  accession: null,
  accession_nodash: null,
  index_source: null,
  documents: [],
};

export const NO_HITS: OwnFields<FilingSearchAnswer> = {
  query: null,
  total: null,
  total_relation: null,
  hits: [],
};

const EMPTY_ANSWERS = {
  resolve: NO_FILER,
  submissions: NO_SUBMISSIONS,
  latest: NO_FILING,
  facts: NO_FACTS,
  filing: NO_INDEX,
  search: NO_HITS,
} as const;

/** The reply to a call that no operation needs to see; null: the call is sound. */
export function refusalOf(
  { op, fields }: Pick<FilingsCall, "op" | "fields">,
  node: { readonly isConfigured: boolean; readonly now_ms: number },
): FilingsReply | null {
  const request = validated(node, parseCall(op, fields, node.now_ms));
  if (!isFailure(request)) return null;
  if (op === "document") return documentReply(documentError("", request));
  const result = errorResult<object>(EMPTY_ANSWERS[op], request);
  return answerReply(result, { answer: { ...result.answer } });
}

/**
 * An error in the form of a fetch; an empty `url` means that the request was refused before any attempt. `cached`: the cache
 * knew of it, and nothing was requested.
 */
export function documentError(
  url: string,
  { error, message, retry_after_s, is_busy }: Failure,
  record: PageRecord = EMPTY_RECORD,
  { ms, cached }: { readonly ms: number; readonly cached: boolean } = { ms: 0, cached: false },
): DocumentResult {
  const attempts =
    url === "" || cached
      ? []
      : [{ tier: "direct", status: record.status, reason: error, ms, detail: message }];
  return {
    url,
    answer: { ...EMPTY_ANSWER, record, attempts, cached, error, error_detail: message, retry_after_s },
    bodies: [],
    ...(is_busy && { is_busy }),
  };
}
