/**
 * /v1/filings as clients see it: the fields of each request and of each answer. An error is answered with HTTP 200, too:
 * then the operation's own fields are null or empty. How documents are requested from the filing system is
 * filing-source.ts.
 */
import { type Static, type TProperties, type TSchema, Type } from "typebox";
import { Nullable, Sha256, Timestamp } from "./common.ts";
import { ask, contract, Deadline, tell } from "./contract.ts";
import { ContentKind, FetchAnswer, MAX_BYTES_CEILING, MIN_TIMEOUT_S, MAX_TIMEOUT_S } from "./fetch.ts";

export const SUBMISSIONS_LIMIT_DEFAULT = 100;
export const MAX_SUBMISSIONS_LIMIT = 10_000;
export const LATEST_FORMS_DEFAULT = "10-K,20-F,40-F";
export const DOCUMENT_BYTES_DEFAULT = MAX_BYTES_CEILING;
export const MAX_CANDIDATES = 10;

/** A copy of the schema; it stands inside Type.Optional, whose mark a copy does not keep. */
const withDescription = <S extends TSchema>(schema: S, description: string): S => ({
  ...schema,
  description,
});
const Text = Nullable(Type.String());
const Cik = Nullable(Type.Integer());

const CallOptions = {
  project_ref: Type.Optional(Nullable(Type.String({ maxLength: 500 }))),
  timeout_s: Type.Optional(Nullable(Type.Number({ minimum: MIN_TIMEOUT_S, maximum: MAX_TIMEOUT_S }))),
};

/** Dates and form types are parsed by the service, and answered with invalid_identifier. */
const Period = {
  forms: Type.Optional(
    withDescription(
      Type.String(),
      "Comma-separated form types, each whole: 10-K is neither 10-K/A nor 10-K405",
    ),
  ),
  since: Type.Optional(withDescription(Type.String(), "First filing date, YYYY-MM-DD")),
  until: Type.Optional(withDescription(Type.String(), "Last filing date, YYYY-MM-DD")),
};

export const CikPath = Type.Object({ cik: Type.String() });
export const FilingPath = Type.Object({ cik: Type.String(), accession: Type.String() });

export const ResolveQuery = Type.Object({
  ticker: Type.Optional(
    withDescription(
      Type.String(),
      "`BRK.B` and `BRK-B` are the same. The list of filers wins over other countries' suffixes: `ALB.PA` is a " +
        "preferred share in it; `XPAR:ALB` asks for Paris",
    ),
  ),
  cik: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
  isin: Type.Optional(Type.String()),
  ...CallOptions,
});
export type ResolveQuery = Static<typeof ResolveQuery>;

export const SubmissionsQuery = Type.Object({
  ...Period,
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_SUBMISSIONS_LIMIT, default: SUBMISSIONS_LIMIT_DEFAULT }),
  ),
  history: Type.Optional(
    withDescription(
      Type.Boolean({ default: true }),
      "false: the recent list only, about the last 1000 filings",
    ),
  ),
  ...CallOptions,
});
export type SubmissionsQuery = Static<typeof SubmissionsQuery>;

export const LatestQuery = Type.Object({
  forms: Type.Optional(
    withDescription(Type.String({ default: LATEST_FORMS_DEFAULT }), "Amendments only when they are listed"),
  ),
  ...CallOptions,
});
export type LatestQuery = Static<typeof LatestQuery>;

export const CallOptionsQuery = Type.Object(CallOptions);
export type CallOptionsQuery = Static<typeof CallOptionsQuery>;

export const DocumentBody = Type.Object({
  cik: Type.Union([Type.Integer(), Type.String()]),
  accession: Type.String(),
  document: withDescription(Type.String(), "A file name in the filing's own folder"),
  max_bytes: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_BYTES_CEILING, default: DOCUMENT_BYTES_DEFAULT }),
  ),
  include_html: Type.Optional(Nullable(Type.Boolean({ default: true }))),
  accept_pdf: Type.Optional(Type.Boolean({ default: true })),
  cache_ttl_s: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
  ...CallOptions,
});
export type DocumentBody = Static<typeof DocumentBody>;

export const FilingSearchQuery = Type.Object({
  q: Type.Optional(
    withDescription(
      Type.String(),
      "Words; a phrase in quotes, OR between words, a minus before what is unwanted",
    ),
  ),
  forms: Type.Optional(
    withDescription(
      Type.String(),
      "Comma-separated; unlike elsewhere `10-K` finds `10-K/A` as well: `form` tells",
    ),
  ),
  dateRange: Type.Optional(
    withDescription(
      Type.String(),
      "`all`, `10y`, `5y`, `1y`, `30d` (which win over dates), or `custom` with both dates",
    ),
  ),
  startdt: Type.Optional(Type.String()),
  enddt: Type.Optional(Type.String()),
  from: Type.Optional(withDescription(Type.String(), "How many hits to skip: 0 to 9900, in pages of 100")),
  ...CallOptions,
});
export type FilingSearchQuery = Static<typeof FilingSearchQuery>;

export const FILINGS_OPS = ["resolve", "submissions", "latest", "facts", "filing", "document"] as const;
export type FilingsOp = (typeof FILINGS_OPS)[number];

const Given = <S extends TSchema>(schema: S) => Type.Optional(Nullable(schema));

/** An item of a batch: one operation and its fields, which are checked when the job is created. */
export const FilingsItem = Type.Object({
  op: withDescription(Type.String(), `One of ${FILINGS_OPS.join(", ")}`),
  ticker: Given(Type.String()),
  cik: Given(Type.Union([Type.Integer(), Type.String()])),
  name: Given(withDescription(Type.String(), "resolve only")),
  isin: Given(Type.String()),
  forms: Given(Type.String()),
  since: Given(Type.String()),
  until: Given(Type.String()),
  limit: Given(Type.Integer({ minimum: 1, maximum: MAX_SUBMISSIONS_LIMIT })),
  history: Given(Type.Boolean()),
  accession: Given(withDescription(Type.String(), "filing and document")),
  document: Given(Type.String()),
  max_bytes: Given(Type.Integer({ minimum: 1, maximum: MAX_BYTES_CEILING })),
  accept_pdf: Given(Type.Boolean()),
  include_html: Given(
    withDescription(Type.Boolean({ default: false }), "document: default false in a batch"),
  ),
  cache_ttl_s: Given(Type.Integer({ minimum: 0 })),
  project_ref: Given(Type.String({ maxLength: 500 })),
});
export type FilingsItem = Static<typeof FilingsItem>;

/** The stored answer of an item. The texts of a document are bodies of their own. */
export interface StoredFiling {
  readonly op: string;
  readonly answer: object | null;
  readonly document: { readonly url: string; readonly answer: FetchAnswer } | null;
}

/** A filer as the lists of filers describe it. */
export const FilerCompany = Type.Object({
  cik: Cik,
  cik_padded: Text,
  title: Text,
  tickers: withDescription(Type.Array(Type.String()), "The primary one first"),
  exchanges: withDescription(Type.Array(Text), "Parallel to tickers; null where the list does not say"),
});
export type FilerCompany = Static<typeof FilerCompany>;

export const HintedCompany = Type.Object({
  id: Text,
  name: Text,
  country: Text,
  listings: Type.Array(Type.String()),
  lei: Text,
  isins: Type.Array(Type.String()),
});

/** A company the register knows, but which does not file under the requested name. */
export const FilerHint = Type.Object({
  company: HintedCompany,
  listing: Text,
  filer_candidates: Type.Array(FilerCompany),
});
export type FilerHint = Static<typeof FilerHint>;

const Common = {
  error: Text,
  message: Text,
  retry_after_s: Nullable(Type.Integer({ minimum: 1 })),
  cached: withDescription(Type.Boolean(), "Every document of this answer came from the cache"),
  retrieved_at: withDescription(Nullable(Timestamp), "When the oldest of them came from the filing system"),
  source_url: Text,
  body_url: Text,
  sha256: withDescription(Nullable(Sha256), "Of the exact bytes of the main document"),
  request_id: Type.String(),
};

/** The operation's own fields first, then the common ones. */
const answer = <P extends TProperties>(properties: P) => Type.Object({ ...properties, ...Common });

export const ResolveAnswer = answer({
  ...FilerCompany.properties,
  ambiguous: Type.Boolean(),
  candidates: Type.Array(FilerCompany),
  hint: Type.Optional(FilerHint),
});
export type ResolveAnswer = Static<typeof ResolveAnswer>;

export const Filing = Type.Object({
  accession: Type.String(),
  form: Type.String(),
  filing_date: Type.String(),
  report_date: Text,
  acceptance_datetime: withDescription(
    Text,
    "As the filing system sends it: it ends in Z, but is Eastern time in most rows and UTC in some",
  ),
  act: Text,
  file_number: Text,
  film_number: Text,
  items: Text,
  core_type: Text,
  size: Nullable(Type.Integer()),
  is_xbrl: Type.Boolean(),
  is_inline_xbrl: Type.Boolean(),
  primary_document: Text,
  primary_document_description: Text,
  primary_document_url: withDescription(
    Text,
    "Null when the document lies in a sub-folder, as ownership forms do",
  ),
  index_url: Text,
  is_amendment: Type.Boolean(),
});
export type Filing = Static<typeof Filing>;

export const FilerAddress = Type.Object({
  street1: Text,
  street2: Text,
  city: Text,
  state_or_country: Text,
  zip_code: Text,
  state_or_country_description: Text,
});

export const FormerName = Type.Object({ name: Text, from: Text, to: Text });

/** The filer as its submissions describe it. */
export const FilerDetails = Type.Object({
  cik: Cik,
  cik_padded: Text,
  name: Text,
  title: Text,
  tickers: Type.Array(Type.String()),
  exchanges: Type.Array(Text),
  entity_type: Text,
  sic: Text,
  sic_description: Text,
  category: Text,
  fiscal_year_end: Text,
  state_of_incorporation: Text,
  ein: Text,
  lei: Text,
  website: Text,
  phone: Text,
  business_address: Nullable(FilerAddress),
  former_names: Type.Array(FormerName),
});
export type FilerDetails = Static<typeof FilerDetails>;

export const OlderPage = Type.Object({
  name: Type.String(),
  filing_count: Nullable(Type.Integer()),
  filing_from: Text,
  filing_to: Text,
  url: Type.String(),
  fetched: Type.Boolean(),
  body_url: Text,
});
export type OlderPage = Static<typeof OlderPage>;

export const SubmissionsAnswer = answer({
  ...FilerDetails.properties,
  filings: withDescription(Type.Array(Filing), "Newest first"),
  filings_total: withDescription(Nullable(Type.Integer()), "All that match, before the limit"),
  truncated: Type.Boolean(),
  files: Type.Array(OlderPage),
});
export type SubmissionsAnswer = Static<typeof SubmissionsAnswer>;

/** The same fields, null in an error. */
type OrNull<P extends TProperties> = { [K in keyof P]: ReturnType<typeof Nullable<P[K]>> };
const orNull = <P extends TProperties>(properties: P): OrNull<P> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [name, Nullable(field)]),
  ) as unknown as OrNull<P>;

export const LatestAnswer = answer({
  ...orNull(Filing.properties),
  cik: Cik,
  cik_padded: Text,
  name: Text,
  tickers: Type.Array(Type.String()),
  exchanges: Type.Array(Text),
});
export type LatestAnswer = Static<typeof LatestAnswer>;

export const FilingDocument = Type.Object({
  sequence: Text,
  description: Text,
  document: withDescription(
    Text,
    "Its file name; null where the index names none, as in filings before 2001",
  ),
  type: Text,
  size: Nullable(Type.Integer()),
  url: Text,
});
export type FilingDocument = Static<typeof FilingDocument>;

export const IndexAnswer = answer({
  form: Text,
  filing_date: Text,
  report_date: Text,
  accepted: withDescription(Text, "In UTC"),
  company: Text,
  is_amendment: Nullable(Type.Boolean()),
  index_url: Text,
  folder_url: Text,
  accession: Text,
  accession_nodash: Text,
  index_source: Nullable(Type.Enum(["index_htm", "index_json"])),
  documents: Type.Array(FilingDocument),
});
export type IndexAnswer = Static<typeof IndexAnswer>;

export const FactsAnswer = answer({
  cik: Cik,
  cik_padded: Text,
  name: Text,
  taxonomies: withDescription(Type.Record(Type.String(), Type.Integer()), "Concepts by taxonomy"),
  concepts: Nullable(Type.Integer()),
  bytes: Nullable(Type.Integer()),
});
export type FactsAnswer = Static<typeof FactsAnswer>;

export const FilingHit = Type.Object({
  accession: Text,
  ciks: Type.Array(Type.Integer()),
  display_names: Type.Array(Type.String()),
  form: Text,
  root_forms: Type.Array(Type.String()),
  file_type: Text,
  file_description: Text,
  file_date: Text,
  period_ending: Text,
  document: Text,
  url: Text,
  index_url: Text,
  score: Nullable(Type.Number()),
});
export type FilingHit = Static<typeof FilingHit>;

export const FilingSearchAnswer = answer({
  query: Text,
  total: Nullable(Type.Integer()),
  total_relation: withDescription(Text, "`eq`, or `gte` when there are more than 10000"),
  hits: Type.Array(FilingHit),
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

/** One actor per document and way of reading it; its key is `textKey` in actors/filings/text.actor.ts. */
export const FilingTextExtractor = contract(
  "filing_text",
  { extract: ask(FilingTextRequest, FilingText) },
  { extracted: tell(Type.Object({ extraction: Type.Integer(), text: FilingText })) },
);

const BodyReferences = Type.Array(Type.Object({ sha256: Sha256, content_type: Text }));

/** One operation of the API, with its fields as the client sent them. */
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

/** One actor per filer: its key is the CIK, or the digest of the fields where they name no CIK. */
export const Filings = contract(
  "filings",
  { run: ask(FilingsCall, FilingsReply) },
  { completed: tell(Type.Object({ call: Type.Integer(), reply: FilingsReply })) },
);
