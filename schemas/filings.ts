/**
 * /v1/filings as clients see it: the fields of each request and of each answer. An error is answered with HTTP 200, too:
 * then the operation's own fields are null or empty. How documents are requested from the filing system is
 * filing-source.ts.
 */
import { type Static, type TProperties, type TSchema, Type } from "typebox";
import { Component, Field, Nullable, Sha256, Timestamp, ProjectRef } from "./common.ts";
import { ask, contract, Deadline, tell } from "../cluster/contracts/contract.ts";
import {
  ContentKind,
  FetchAnswer,
  FetchResponse,
  MAX_BYTES_CEILING,
  MIN_TIMEOUT_S,
  MAX_TIMEOUT_S,
} from "./fetch.ts";
import { FilingDocumentErrorCode, FilingsErrorCode } from "./errors.ts";

export const SUBMISSIONS_LIMIT_DEFAULT = 100;
export const MAX_SUBMISSIONS_LIMIT = 10_000;
export const LATEST_FORMS_DEFAULT = "10-K,20-F,40-F";
export const DOCUMENT_BYTES_DEFAULT = MAX_BYTES_CEILING;
export const MAX_CANDIDATES = 10;

const Text = Nullable(Type.String());
const Cik = Field(Nullable(Type.Integer()), "The number of the filer", 320193);
const PaddedCik = Field(Text, "The same with ten digits", "0000320193");
const ListedTitle = Field(Text, "Its name in the list of filers", "Apple Inc.");
const Tickers = Field(Type.Array(Type.String()), "The primary one first", ["AAPL"]);
const Exchanges = Field(Type.Array(Text), "Parallel to tickers; null where the list does not say", [
  "Nasdaq",
]);
const FilerName = Field(Text, "The filer's name", "Apple Inc.");

const GivenCik = Field(Type.String(), "The number of the filer, with or without leading zeros", "320193");
const GivenAccession = Field(
  Type.String(),
  "The number of the filing, with or without dashes",
  "0000320193-24-000123",
);
const Isin = Field(Type.String(), "ISIN of a security of the company", "US0378331005");
const FORMS = "Comma-separated form types, each whole: 10-K is neither 10-K/A nor 10-K405";
const Forms = Field(Type.String(), FORMS, "10-K,10-K/A");
const Since = Field(Type.String(), "First filing date, YYYY-MM-DD", "2018-01-01");
const Until = Field(Type.String(), "Last filing date, YYYY-MM-DD", "2024-12-31");

const FOLDER_URL = "https://www.sec.gov/Archives/edgar/data/320193/000032019324000123/";
const DOCUMENT_URL = `${FOLDER_URL}aapl-20240928.htm`;
const Accession = Field(Type.String(), "The number of the filing", "0000320193-24-000123");
const IndexUrl = Field(Text, "The index page of the filing", `${FOLDER_URL}0000320193-24-000123-index.htm`);

const CallOptions = {
  project_ref: Type.Optional(ProjectRef),
  timeout_s: Type.Optional(Nullable(Type.Number({ minimum: MIN_TIMEOUT_S, maximum: MAX_TIMEOUT_S }))),
};

/** Dates and form types are parsed by the service, and answered with invalid_identifier. */
const Period = {
  forms: Type.Optional(Forms),
  since: Type.Optional(Since),
  until: Type.Optional(Until),
};

export const CikPath = Type.Object({ cik: GivenCik });
export const FilingPath = Type.Object({ cik: GivenCik, accession: GivenAccession });

export const ResolveQuery = Type.Object({
  ticker: Type.Optional(
    Field(
      Type.String(),
      "`BRK.B` and `BRK-B` are the same. The list of filers wins over other countries' suffixes: `ALB.PA` is a " +
        "preferred share in it; `XPAR:ALB` asks for Paris",
      "AAPL",
    ),
  ),
  cik: Type.Optional(Field(Type.String(), "The number of the filer", "320193")),
  name: Type.Optional(Field(Type.String(), "A name or a part of one", "apple")),
  isin: Type.Optional(Isin),
  ...CallOptions,
});
export type ResolveQuery = Static<typeof ResolveQuery>;

export const SubmissionsQuery = Type.Object({
  ...Period,
  limit: Type.Optional(
    Field(
      Type.Integer({ minimum: 1, maximum: MAX_SUBMISSIONS_LIMIT, default: SUBMISSIONS_LIMIT_DEFAULT }),
      "The most filings",
    ),
  ),
  history: Type.Optional(
    Field(Type.Boolean({ default: true }), "false: the recent list only, about the last 1000 filings"),
  ),
  ...CallOptions,
});
export type SubmissionsQuery = Static<typeof SubmissionsQuery>;

export const LatestQuery = Type.Object({
  forms: Type.Optional(
    Field(
      Type.String({ default: LATEST_FORMS_DEFAULT }),
      `${FORMS}. Amendments only when they are listed`,
      "10-K,10-K/A",
    ),
  ),
  ...CallOptions,
});
export type LatestQuery = Static<typeof LatestQuery>;

export const CallOptionsQuery = Type.Object(CallOptions);
export type CallOptionsQuery = Static<typeof CallOptionsQuery>;

export const DocumentBody = Component("DocumentBody", {
  cik: Field(Type.Union([Type.Integer(), Type.String()]), "The number of the filer", 320193),
  accession: GivenAccession,
  document: Field(Type.String(), "A file name in the filing's own folder", "aapl-20240928.htm"),
  max_bytes: Type.Optional(
    Field(
      Type.Integer({ minimum: 1, maximum: MAX_BYTES_CEILING, default: DOCUMENT_BYTES_DEFAULT }),
      "The largest body that is accepted",
    ),
  ),
  include_html: Type.Optional(
    Field(Nullable(Type.Boolean({ default: true })), "Whether the answer has `html`"),
  ),
  accept_pdf: Type.Optional(Field(Type.Boolean({ default: true }), "Whether PDFs are read")),
  cache_ttl_s: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
  ...CallOptions,
});
export type DocumentBody = Static<typeof DocumentBody>;

export const FilingSearchQuery = Type.Object({
  q: Type.Optional(
    Field(
      Type.String(),
      "Words; a phrase in quotes, OR between words, a minus before what is unwanted",
      '"supply chain"',
    ),
  ),
  forms: Type.Optional(
    Field(
      Type.String(),
      "Comma-separated; unlike elsewhere `10-K` finds `10-K/A` as well: `form` tells",
      "10-K",
    ),
  ),
  dateRange: Type.Optional(
    Field(
      Type.String(),
      "`all`, `10y`, `5y`, `1y`, `30d` (which win over dates), or `custom` with both dates",
      "1y",
    ),
  ),
  startdt: Type.Optional(
    Field(Type.String(), "With dateRange=custom: first filing date, YYYY-MM-DD", "2024-01-01"),
  ),
  enddt: Type.Optional(
    Field(Type.String(), "With dateRange=custom: last filing date, YYYY-MM-DD", "2024-12-31"),
  ),
  from: Type.Optional(Field(Type.String(), "How many hits to skip: 0 to 9900, in pages of 100", "0")),
  ...CallOptions,
});
export type FilingSearchQuery = Static<typeof FilingSearchQuery>;

export const FILINGS_OPS = ["resolve", "submissions", "latest", "facts", "filing", "document"] as const;
export type FilingsOp = (typeof FILINGS_OPS)[number];

const Given = <S extends TSchema>(schema: S) => Type.Optional(Nullable(schema));

/** An item of a batch: one operation and its fields, which are checked when the job is created. */
export const FilingsItem = Component("FilingsItem", {
  op: Field(Type.String(), `One of ${FILINGS_OPS.join(", ")}`, "latest"),
  ticker: Given(Field(Type.String(), "A ticker symbol", "AAPL")),
  cik: Field(Given(Type.Union([Type.Integer(), Type.String()])), "The number of the filer", 320193),
  name: Field(Given(Type.String()), "With op resolve: a name or a part of one", "apple"),
  isin: Given(Isin),
  forms: Given(Forms),
  since: Given(Since),
  until: Given(Until),
  limit: Field(
    Given(Type.Integer({ minimum: 1, maximum: MAX_SUBMISSIONS_LIMIT })),
    "With op submissions: the most filings",
    100,
  ),
  history: Field(Given(Type.Boolean()), "false: the recent list only", true),
  accession: Field(
    Given(Type.String()),
    "With op filing and document: the number of the filing",
    "0000320193-24-000123",
  ),
  document: Field(
    Given(Type.String()),
    "With op document: a file name in the filing's own folder",
    "aapl-20240928.htm",
  ),
  max_bytes: Field(
    Given(Type.Integer({ minimum: 1, maximum: MAX_BYTES_CEILING })),
    "The largest body that is accepted",
    52428800,
  ),
  accept_pdf: Given(Field(Type.Boolean(), "Whether PDFs are read")),
  include_html: Field(
    Given(Type.Boolean({ default: false })),
    "With op document: whether the result has `html`; default false in a batch",
  ),
  cache_ttl_s: Given(Type.Integer({ minimum: 0 })),
  project_ref: Given(Type.String({ maxLength: 500 })),
});
export type FilingsItem = Static<typeof FilingsItem>;

/** A document in the form of a fetch. */
export const FilingDocumentResponse = Component("FilingDocumentResponse", {
  ...FetchResponse.properties,
  error: Field(FilingDocumentErrorCode, "Null: there is a document", "http_404"),
});

/** The stored answer of an item. The texts of a document are bodies of their own. */
export interface StoredFiling {
  readonly op: string;
  readonly answer: object | null;
  readonly document: { readonly url: string; readonly answer: FetchAnswer } | null;
}

/** A filer as the lists of filers describe it. */
export const FilerCompany = Component("FilerCompany", {
  cik: Cik,
  cik_padded: PaddedCik,
  title: ListedTitle,
  tickers: Tickers,
  exchanges: Exchanges,
});
export type FilerCompany = Static<typeof FilerCompany>;

export const HintedCompany = Component("HintedCompany", {
  id: Field(Text, "Its id in the register", "cmp_wyvsfbx2x89mpyyv"),
  name: Field(Text, "Its name", "PUMA SE"),
  country: Field(Text, "ISO 3166-1 alpha-2", "DE"),
  listings: Field(Type.Array(Type.String()), "Where its shares are listed, as MIC:symbol", ["XETR:PUM"]),
  lei: Field(Text, "Its LEI", "529900GRZ2BQY5ZM9N49"),
  isins: Field(Type.Array(Type.String()), "Its ISINs", ["DE0006969603"]),
});

/** A company the register knows, but which does not file under the requested name. */
export const FilerHint = Component("FilerHint", {
  company: Field(HintedCompany, "The company of the register"),
  listing: Field(Text, "The listing that was asked for", "XPAR:ALB"),
  filer_candidates: Field(Type.Array(FilerCompany), "Filers with a similar name"),
});
export type FilerHint = Static<typeof FilerHint>;

const Common = {
  error: FilingsErrorCode,
  message: Text,
  retry_after_s: Nullable(Type.Integer({ minimum: 1 })),
  cached: Field(Type.Boolean(), "Every document of this answer came from the cache"),
  retrieved_at: Field(Nullable(Timestamp), "When the oldest of them came from the filing system"),
  source_url: Field(Text, "The address of the main document in the filing system", DOCUMENT_URL),
  body_url: Text,
  sha256: Field(Nullable(Sha256), "Of the exact bytes of the main document"),
  request_id: Type.String(),
};

/** The operation's own fields first, then the common ones. */
const answer = <P extends TProperties>(title: string, properties: P) =>
  Component(title, { ...properties, ...Common });

export const ResolveAnswer = answer("ResolveAnswer", {
  ...FilerCompany.properties,
  ambiguous: Field(Type.Boolean(), "Whether several filers match", false),
  candidates: Field(Type.Array(FilerCompany), "The filers that match, at most ten"),
  hint: Type.Optional(Field(FilerHint, "What the company register knows; absent where it was not asked")),
});
export type ResolveAnswer = Static<typeof ResolveAnswer>;

export const Filing = Component("Filing", {
  accession: Accession,
  form: Field(Type.String(), "The form type", "10-K"),
  filing_date: Field(Type.String(), "The day it was filed", "2024-11-01"),
  report_date: Field(Text, "The end of the period it reports on", "2024-09-28"),
  acceptance_datetime: Field(
    Text,
    "As the filing system sends it: it ends in Z, but is Eastern time in most rows and UTC in some",
    "2024-11-01T06:01:36.000Z",
  ),
  act: Field(Text, "The act it is filed under", "34"),
  file_number: Field(Text, "The file number of the registrant", "001-36743"),
  film_number: Field(Text, "The film number", "241416806"),
  items: Field(Text, "The items of a current report", "2.02,9.01"),
  core_type: Field(Text, "The core type of the form", "XBRL"),
  size: Field(Nullable(Type.Integer()), "Bytes of the filing", 9759333),
  is_xbrl: Field(Type.Boolean(), "Whether it has XBRL"),
  is_inline_xbrl: Field(Type.Boolean(), "Whether the XBRL is inline"),
  primary_document: Field(Text, "The file name of the main document", "aapl-20240928.htm"),
  primary_document_description: Field(Text, "What it is, in the filer's words", "10-K"),
  primary_document_url: Field(
    Text,
    "Null when the document lies in a sub-folder, as ownership forms do",
    DOCUMENT_URL,
  ),
  index_url: IndexUrl,
  is_amendment: Field(Type.Boolean(), "Whether the form amends another", false),
});
export type Filing = Static<typeof Filing>;

export const FilerAddress = Component("FilerAddress", {
  street1: Field(Text, "Street", "One Apple Park Way"),
  street2: Field(Text, "Street, second line", "Suite 100"),
  city: Field(Text, "City", "Cupertino"),
  state_or_country: Field(Text, "Code of a state or country", "CA"),
  zip_code: Field(Text, "Postal code", "95014"),
  state_or_country_description: Field(Text, "The same in words", "CA"),
});

export const FormerName = Component("FormerName", {
  name: Field(Text, "The name", "APPLE COMPUTER INC"),
  from: Field(Text, "Since when", "1994-01-26T05:00:00.000Z"),
  to: Field(Text, "Until when", "2007-01-04T05:00:00.000Z"),
});

/** The filer as its submissions describe it. */
export const FilerDetails = Type.Object({
  cik: Cik,
  cik_padded: PaddedCik,
  name: Field(Text, "Its name as the filing system has it", "Apple Inc."),
  title: ListedTitle,
  tickers: Tickers,
  exchanges: Exchanges,
  entity_type: Field(Text, "The kind of entity", "operating"),
  sic: Field(Text, "Standard industrial classification", "3571"),
  sic_description: Field(Text, "The same in words", "Electronic Computers"),
  category: Field(Text, "The filer category", "Large accelerated filer"),
  fiscal_year_end: Field(Text, "MMDD", "0928"),
  state_of_incorporation: Field(Text, "Code of a state or country", "CA"),
  ein: Field(Text, "Employer identification number", "942404110"),
  lei: Field(Text, "LEI", "HWUPKR0MPOU8FGXBT394"),
  website: Field(Text, "Its website", "https://www.apple.com"),
  phone: Field(Text, "Its phone number", "(408) 996-1010"),
  business_address: Field(Nullable(FilerAddress), "Where it is; null where the filing system does not say"),
  former_names: Field(Type.Array(FormerName), "Earlier names"),
});
export type FilerDetails = Static<typeof FilerDetails>;

export const OlderPage = Component("OlderPage", {
  name: Field(Type.String(), "Its file name", "CIK0000320193-submissions-001.json"),
  filing_count: Field(Nullable(Type.Integer()), "Filings on it", 1250),
  filing_from: Field(Text, "The first filing date on it", "1994-01-26"),
  filing_to: Field(Text, "The last filing date on it", "2015-03-30"),
  url: Field(
    Type.String(),
    "Its address",
    "https://data.sec.gov/submissions/CIK0000320193-submissions-001.json",
  ),
  fetched: Field(Type.Boolean(), "Whether it was read for this answer", false),
  body_url: Text,
});
export type OlderPage = Static<typeof OlderPage>;

export const SubmissionsAnswer = answer("SubmissionsAnswer", {
  ...FilerDetails.properties,
  filings: Field(Type.Array(Filing), "Newest first"),
  filings_total: Field(Nullable(Type.Integer()), "All that match, before the limit", 1),
  truncated: Field(Type.Boolean(), "More filings match than the limit", false),
  files: Field(Type.Array(OlderPage), "The older pages of the filer's list"),
});
export type SubmissionsAnswer = Static<typeof SubmissionsAnswer>;

/** The fields of an answer, null in an error. */
type OrNull<P extends TProperties> = { [K in keyof P]: ReturnType<typeof Nullable<P[K]>> };
const orNull = <P extends TProperties>(properties: P): OrNull<P> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [name, Nullable(field)]),
  ) as unknown as OrNull<P>;

export const LatestAnswer = answer("LatestAnswer", {
  ...orNull(Filing.properties),
  cik: Cik,
  cik_padded: PaddedCik,
  name: FilerName,
  tickers: Tickers,
  exchanges: Exchanges,
});
export type LatestAnswer = Static<typeof LatestAnswer>;

export const FilingDocument = Component("FilingDocument", {
  sequence: Field(Text, "Its place in the filing", "1"),
  description: Field(Text, "What it is, in the filer's words", "10-K"),
  document: Field(
    Text,
    "Its file name; null where the index names none, as in filings before 2001",
    "aapl-20240928.htm",
  ),
  type: Field(Text, "Its type", "10-K"),
  size: Field(Nullable(Type.Integer()), "Bytes", 1532000),
  url: Field(Text, "Its address", DOCUMENT_URL),
});
export type FilingDocument = Static<typeof FilingDocument>;

export const IndexAnswer = answer("IndexAnswer", {
  form: Field(Text, "The form type", "10-K"),
  filing_date: Field(Text, "The day it was filed", "2024-11-01"),
  report_date: Field(Text, "The end of the period it reports on", "2024-09-28"),
  accepted: Field(Text, "In UTC", "2024-11-01T10:01:36Z"),
  company: FilerName,
  is_amendment: Field(Nullable(Type.Boolean()), "Whether the form amends another", false),
  index_url: IndexUrl,
  folder_url: Field(Text, "The folder of the filing", FOLDER_URL),
  accession: Field(Text, "The number of the filing", "0000320193-24-000123"),
  accession_nodash: Field(Text, "The number without dashes", "000032019324000123"),
  index_source: Field(
    Nullable(Type.Enum(["index_htm", "index_json"])),
    "What the list was read from: the index page, or the folder's listing",
  ),
  documents: Field(Type.Array(FilingDocument), "In the order of the index"),
});
export type IndexAnswer = Static<typeof IndexAnswer>;

export const FactsAnswer = answer("FactsAnswer", {
  cik: Cik,
  cik_padded: PaddedCik,
  name: FilerName,
  taxonomies: Field(Type.Record(Type.String(), Type.Integer()), "Concepts by taxonomy", {
    "us-gaap": 503,
    dei: 2,
  }),
  concepts: Field(Nullable(Type.Integer()), "All concepts", 505),
  bytes: Field(Nullable(Type.Integer()), "Bytes of the whole document, which is at `body_url`", 3800000),
});
export type FactsAnswer = Static<typeof FactsAnswer>;

export const FilingHit = Component("FilingHit", {
  accession: Field(Text, "The number of the filing", "0000320193-24-000123"),
  ciks: Field(Type.Array(Type.Integer()), "The filers", [320193]),
  display_names: Field(Type.Array(Type.String()), "Their names", ["Apple Inc.  (AAPL)  (CIK 0000320193)"]),
  form: Field(Text, "The form type", "10-K"),
  root_forms: Field(Type.Array(Type.String()), "The form without its amendment", ["10-K"]),
  file_type: Field(Text, "The type of the document", "10-K"),
  file_description: Field(Text, "What it is, in the filer's words", "10-K"),
  file_date: Field(Text, "The day it was filed", "2024-11-01"),
  period_ending: Field(Text, "The end of the period it reports on", "2024-09-28"),
  document: Field(Text, "Its file name", "aapl-20240928.htm"),
  url: Field(Text, "Its address", DOCUMENT_URL),
  index_url: IndexUrl,
  score: Field(Nullable(Type.Number()), "How well it fits", 12.4),
});
export type FilingHit = Static<typeof FilingHit>;

export const FilingSearchAnswer = answer("FilingSearchAnswer", {
  query: Field(Text, "As it was asked", '"supply chain"'),
  total: Field(Nullable(Type.Integer()), "All hits", 1480),
  total_relation: Field(Text, "`eq`, or `gte` when there are more than 10000", "eq"),
  hits: Field(Type.Array(FilingHit), "At most 100"),
});
export type FilingSearchAnswer = Static<typeof FilingSearchAnswer>;

/** The text of a document; it depends on the bytes alone, so it is stored under their digest. */
export const FilingText = Type.Object({
  content_kind: ContentKind,
  charset: Text,
  title: Text,
  /** Null when the text is too long for a message: then it is the body `text_sha256`. */
  text: Text,
  text_sha256: Nullable(Sha256),
  text_chars: Type.Integer(),
  text_truncated: Type.Boolean(),
  pdf_pages_sha256: Nullable(Sha256),
  pdf_page_count: Nullable(Type.Integer()),
  note: Text,
});
export type FilingText = Static<typeof FilingText>;

export const FilingTextRequest = Type.Object({
  sha256: Sha256,
  bytes: Type.Integer(),
  url: Type.String(),
  content_type: Text,
  /** The caller's. Readers are shared fairly between projects. */
  project: Type.String(),
  /** The request or item that this is for, for lines of the log. */
  work_id: Type.Optional(Type.String()),
});
export type FilingTextRequest = Static<typeof FilingTextRequest>;

/** The FilingTextExtractor actor: one per document and way of reading it; its key is `textKey` in actors/sources/filings/text.actor.ts. */
export const FilingTextExtractor = contract(
  "filing_text",
  { extract: ask(FilingTextRequest, FilingText) },
  { extracted: tell(Type.Object({ extraction: Type.Integer(), text: FilingText })) },
);

const BodyReferences = Type.Array(Type.Object({ sha256: Sha256, content_type: Text }));

/** An operation of the API, with its fields as the client sent them. */
export const FilingsCall = Type.Object({
  op: Type.Enum([...FILINGS_OPS, "search"]),
  fields: Type.Record(Type.String(), Type.Unknown()),
  project: Type.String(),
  lane: Type.Enum(["sync", "batch"]),
  deadline_ms: Deadline(),
  /** Names the body of a long answer. */
  call_id: Type.String(),
});
export type FilingsCall = Static<typeof FilingsCall>;

export const FilingsReply = Type.Union([
  Type.Object({
    kind: Type.Literal("answer"),
    /** The answer of the API without `request_id`. Null: it is too long for a message, and is the body `answer_sha256`. */
    answer: Nullable(Type.Record(Type.String(), Type.Unknown())),
    answer_sha256: Nullable(Sha256),
    error: Text,
    retry_after_s: Nullable(Type.Number()),
    cached: Type.Boolean(),
    /** The bodies this answer gives the caller's project access to. */
    bodies: BodyReferences,
    /** The error says nothing about the request: no slot was free, or the filing system is paused. */
    is_busy: Type.Boolean(),
  }),
  Type.Object({
    kind: Type.Literal("document"),
    url: Type.String(),
    answer: FetchAnswer,
    bodies: BodyReferences,
    is_busy: Type.Boolean(),
  }),
  /** An engine or a node of ours failed: a Fault of the caller's. */
  Type.Object({ kind: Type.Literal("fault"), code: Type.String(), message: Type.String() }),
]);
export type FilingsReply = Static<typeof FilingsReply>;

/** The Filings actor: one per filer; its key is the CIK, or the digest of the fields where they name no CIK. */
export const Filings = contract(
  "filings",
  { run: ask(FilingsCall, FilingsReply) },
  { completed: tell(Type.Object({ call: Type.Integer(), reply: FilingsReply })) },
);
