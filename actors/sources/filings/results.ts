/**
 * The form of every answer of the filings service: what an answer says of its documents, and how an error fills the
 * fields of an answer. Which documents an answer needs is decided in operations/.
 */
import type { FetchAnswer } from "../../../schemas/fetch.ts";
import type { SourceAnswer } from "../../../schemas/upstream.ts";
import type { FilerHint, FilingsReply } from "../../../schemas/filings.ts";

/** The caller's project and lane, and the moment at which the caller stops waiting. */
export interface CallerContext {
  readonly project: string;
  readonly lane: "sync" | "batch";
  readonly deadline_ms: number;
  /** Identifies the request: a repetition with the same id is the same request. */
  readonly id: string;
  /** Cancels the readings of the request. Default: they end by their own limits. */
  readonly signal?: AbortSignal;
}

export type SourceDocument = Extract<SourceAnswer, { kind: "got" }>;

/** The documents an answer was read from, the main one first. */
export type SourceDocuments = readonly [SourceDocument, ...SourceDocument[]];

interface BodyReference {
  readonly sha256: string;
  readonly content_type: string | null;
}

/** The answer the API describes, before the gateway adds the id of the HTTP request. */
type WithoutRequestId<A> = Omit<A, "request_id">;

export interface ServiceResult<A> {
  readonly answer: WithoutRequestId<A>;
  /** The value of the answer's `filings`, as JSON; absent: it is in the answer. */
  readonly filings_json?: Uint8Array;
  /** The bodies this answer gives the caller's project access to. */
  readonly bodies: readonly BodyReference[];
  /** The error says nothing about the requested document: no slot was free, or the filing system is paused. */
  readonly is_busy?: true;
}

/** A document is answered in the form of a fetch, from which the gateway writes a FetchResponse. */
export interface DocumentResult {
  readonly url: string;
  readonly answer: FetchAnswer;
  readonly bodies: readonly BodyReference[];
  readonly is_busy?: true;
}

/** Fields of every answer about how it came about. */
export interface AnswerOutcome {
  readonly error: string | null;
  readonly retry_after_s: number | null;
  readonly cached: boolean;
}

/** The message that carries an answer: the answer itself, or the digest of the body that it is. */
export const answerReply = (
  {
    answer: { error, retry_after_s, cached },
    bodies,
    is_busy,
  }: Omit<ServiceResult<AnswerOutcome>, "answer"> & {
    readonly answer: AnswerOutcome;
  },
  content: { readonly answer: Record<string, unknown> } | { readonly answer_sha256: string },
): FilingsReply => ({
  kind: "answer",
  answer: null,
  answer_sha256: null,
  ...content,
  error,
  retry_after_s,
  cached,
  bodies: [...bodies],
  is_busy: is_busy === true,
});

export const documentReply = ({ url, answer, bodies, is_busy }: DocumentResult): FilingsReply => ({
  kind: "document",
  url,
  answer,
  bodies: [...bodies],
  is_busy: is_busy === true,
});

/** The hint of requests that name a filer by ticker, name or ISIN. */
export interface WithHint {
  readonly hint?: FilerHint;
}

/** Why there is no answer; the codes of schemas/errors.ts. */
export interface Failure {
  readonly kind: "failure";
  readonly error: string;
  readonly message: string;
  readonly retry_after_s: number | null;
  readonly is_busy?: true;
  readonly hint?: FilerHint;
}

export const failure = (error: string, message: string, retry_after_s: number | null = null): Failure => ({
  kind: "failure",
  error,
  message,
  retry_after_s,
});

export const isFailure = (value: object): value is Failure => "kind" in value && value.kind === "failure";

/** The filing system sent an invalid document; a later request may get a valid one. */
const INVALID_RETRY_S = 60;

export const invalidAnswer = (what: string): Failure =>
  failure("filings_unavailable", `The filing system answered no ${what}`, INVALID_RETRY_S);

/** The failure of a document that the source could not get. */
export function failureOf({
  error,
  message,
  retry_after_s,
  paused,
}: Extract<SourceAnswer, { kind: "failed" }>): Failure {
  // Callers limit the size of a document only; every other size limit is the service's own.
  if (error === "too_large") return failure("filings_unavailable", message, INVALID_RETRY_S);
  const problem = failure(error, message, retry_after_s);
  return paused || error === "rate_limited" ? { ...problem, is_busy: true } : problem;
}

export const bodyUrl = ({ sha256 }: SourceDocument): string => `/v1/bodies/${sha256}`;

interface CommonFields {
  readonly error: string | null;
  readonly message: string | null;
  readonly retry_after_s: number | null;
  readonly cached: boolean;
  readonly retrieved_at: string | null;
  readonly source_url: string | null;
  readonly body_url: string | null;
  readonly sha256: string | null;
}

const NO_COMMON_FIELDS: CommonFields = {
  error: null,
  message: null,
  retry_after_s: null,
  cached: false,
  retrieved_at: null,
  source_url: null,
  body_url: null,
  sha256: null,
};

/** The fields of an answer that belong to its operation. */
export type OwnFields<A> = Omit<WithoutRequestId<A>, keyof CommonFields | "hint">;

function commonFieldsOf(documents: SourceDocuments): CommonFields {
  const [main] = documents;
  return {
    ...NO_COMMON_FIELDS,
    cached: documents.every(({ cached }) => cached),
    retrieved_at: documents.map(({ retrieved_at }) => retrieved_at).toSorted()[0]!,
    source_url: main.url,
    body_url: bodyUrl(main),
    sha256: main.sha256,
  };
}

/** `problem`: the documents were read, and their content is an error (no such filing, for example). */
export const successResult = <F>(
  fields: F,
  documents: SourceDocuments,
  problem: Partial<Pick<CommonFields, "error" | "message">> = {},
): { answer: F & CommonFields; bodies: BodyReference[] } => ({
  answer: { ...fields, ...commonFieldsOf(documents), ...problem },
  bodies: documents.map(({ sha256, content_type }) => ({ sha256, content_type })),
});

export function errorResult<F>(
  emptyFields: F,
  { error, message, retry_after_s, hint, is_busy }: Failure,
): { answer: F & CommonFields; bodies: BodyReference[]; is_busy?: true } {
  return {
    answer: { ...emptyFields, ...NO_COMMON_FIELDS, error, message, retry_after_s, ...(hint && { hint }) },
    bodies: [],
    ...(is_busy && { is_busy }),
  };
}
