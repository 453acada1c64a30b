/**
 * /v1/filings: from checked parameters to an operation of the filings service, and from its answer to JSON. A malformed
 * identifier is part of the answer, with HTTP 200; a parameter of a wrong type is HTTP 422. The service decides how and
 * when the filing system is asked.
 */
import type { YieldToEventLoop } from "../../../cluster/ports/event-loop.ts";
import { type FetchAnswer, FetchResponse } from "../../../schemas/fetch.ts";
import {
  CallOptionsQuery,
  CikPath,
  DocumentBody,
  FactsAnswer,
  FilingPath,
  FilingSearchAnswer,
  FilingSearchQuery,
  FilingsItem,
  IndexAnswer,
  LatestAnswer,
  LatestQuery,
  ResolveAnswer,
  ResolveQuery,
  type StoredFiling,
  SubmissionsAnswer,
  SubmissionsQuery,
} from "../../../schemas/filings.ts";
import type { BatchKind } from "../../../gateway/batch.ts";
import type { Bill } from "../../../schemas/accounts.ts";
import { withDeadline, WAIT_MS } from "../../../gateway/with-deadline.ts";
import { invalid, json, JSON_TYPE, timedOut } from "../../../gateway/http-errors.ts";
import { type Answer, type Call, type Route, route } from "../../../gateway/route.ts";
import {
  type FetchServices,
  responseOf,
  textsOf,
  WAIT_BEYOND_TIMEOUT_MS,
} from "../../fetch/feature/routes.ts";

/** The caller's project and lane, and the moment at which the caller stops waiting. */
interface FilingsCaller {
  readonly project: string;
  readonly lane: "sync";
  readonly deadline_ms: number;
  readonly id: string;
}

interface FilingsResult<A> {
  readonly answer: Omit<A, "request_id">;
  /** The bodies this answer gives the project access to. */
  readonly bodies: readonly { readonly sha256: string; readonly content_type: string | null }[];
}

interface FilingsDocumentResult {
  readonly url: string;
  readonly answer: FetchAnswer;
  readonly bodies: FilingsResult<unknown>["bodies"];
}

type Cik = { readonly cik: string | number };
type RequestFields<Q> = Omit<Q, "project_ref" | "timeout_s">;

/** Operations throw only Fault; fields are passed on as the client sent them. */
export interface FilingsApi {
  readonly resolve: (
    named: RequestFields<ResolveQuery>,
    filingsCaller: FilingsCaller,
  ) => Promise<FilingsResult<ResolveAnswer>>;
  readonly submissions: (
    named: Cik,
    query: RequestFields<SubmissionsQuery>,
    filingsCaller: FilingsCaller,
  ) => Promise<FilingsResult<SubmissionsAnswer>>;
  readonly latest: (
    named: Cik,
    query: RequestFields<LatestQuery>,
    filingsCaller: FilingsCaller,
  ) => Promise<FilingsResult<LatestAnswer>>;
  readonly facts: (named: Cik, filingsCaller: FilingsCaller) => Promise<FilingsResult<FactsAnswer>>;
  readonly filing: (
    filed: Cik & { readonly accession: string },
    filingsCaller: FilingsCaller,
  ) => Promise<FilingsResult<IndexAnswer>>;
  readonly search: (
    query: RequestFields<FilingSearchQuery>,
    filingsCaller: FilingsCaller,
  ) => Promise<FilingsResult<FilingSearchAnswer>>;
  readonly document: (
    filed: RequestFields<DocumentBody>,
    filingsCaller: FilingsCaller,
  ) => Promise<FilingsDocumentResult>;
}

export interface FilingsRouteDeps extends Pick<
  FetchServices,
  "decode" | "blobs" | "bodyGrants" | "clock" | "metrics" | "log"
> {
  readonly filings: FilingsApi;
  readonly yieldToEventLoop: YieldToEventLoop;
}

interface Timed {
  readonly timeout_s?: number | null;
}

/** Time for a caller whose deadline has passed to answer `timeout` in the form of the endpoint. */
const REPLY_MARGIN_MS = 5_000;

const ERRORS =
  "Answers 200 also when there is no answer: look at `error`, `message` and `retry_after_s`. A malformed identifier is " +
  "`invalid_identifier`, and no request was sent to the filing system.";

/** One algorithm: the table of the routes under /v1/filings. */
export function filingsRoutes(deps: FilingsRouteDeps): readonly Route[] {
  const { filings, clock, metrics, log, bodyGrants, yieldToEventLoop } = deps;

  /** Null: the client has gone, or the operation took much longer than its limit. */
  async function withTimeout<T>(
    { request_id, signal: gone, caller, now_ms }: Call,
    { timeout_s }: Timed,
    work: (filingsCaller: FilingsCaller) => Promise<T>,
  ): Promise<T | null> {
    const time_ms = timeout_s == null ? WAIT_MS - REPLY_MARGIN_MS : timeout_s * 1_000;
    const wait_ms = timeout_s == null ? WAIT_MS : time_ms + WAIT_BEYOND_TIMEOUT_MS;
    const filingsCaller: FilingsCaller = {
      project: caller.grant.project.name,
      lane: "sync",
      deadline_ms: Math.round(now_ms + time_ms),
      id: request_id,
    };
    return withDeadline({ clock, log }, { id: request_id, timeout_ms: wait_ms, signal: gone }, () =>
      work(filingsCaller),
    );
  }

  /** Grants the project access to the bodies before the answer names them. */
  async function grantBodies({ caller }: Call, bodies: FilingsResult<unknown>["bodies"]): Promise<void> {
    const { name } = caller.grant.project;
    for (const { sha256, content_type } of bodies)
      await bodyGrants.record(name, { sha256, content_type, body_kind: "origin" });
  }

  function countAnswer(operation: string, bill: Bill, error: string | null): void {
    const outcome = error === null ? "ok" : error.startsWith("http_") ? `http_${error.charAt(5)}xx` : error;
    metrics.count("trawl_filings_answers_total", { operation, outcome, cached: String(isCached(bill)) });
  }

  async function respond(
    operation: string,
    call: Call,
    timed: Timed,
    ask: (filingsCaller: FilingsCaller) => Promise<FilingsResult<CommonAnswer>>,
  ): Promise<Answer> {
    const { request_id } = call;
    const result = await withTimeout(call, timed, ask);
    if (result === null) return timedOut(request_id);
    await grantBodies(call, result.bodies);
    const bill = billOf(result.answer.cached, result.answer.error, 0);
    countAnswer(operation, bill, result.answer.error);
    const { filings: rows = [], ...rest } = result.answer as { readonly filings?: readonly unknown[] };
    if (rows.length <= ROWS_AT_ONCE) return { ...json(200, { ...result.answer, request_id }), bill };
    const chunks = inRows({ ...rest, request_id }, rows, yieldToEventLoop);
    return { status: 200, headers: JSON_TYPE, body: { length: null, chunks }, bill };
  }

  const common = { tags: ["filings"], category: "fetch", always_begins_work: true } as const;
  return [
    route({
      ...common,
      method: "GET",
      path: "/v1/filings/companies/resolve",
      operationId: "resolveFiler",
      summary: "Find a filer by ticker, CIK, name or ISIN",
      description:
        "Exactly one of the four parameters. A name is compared with whole titles, then with their beginnings, then with any " +
        `part of them. If several filers match, \`ambiguous\` is true and up to ten are listed. ${ERRORS}`,
      query: ResolveQuery,
      replies: { 200: { description: "The filer, or in `error` why there is none", schema: ResolveAnswer } },
      handle: async (call) => {
        const { ticker, cik, name, isin, ...timed } = call.query;
        const named = { ticker, cik, name, isin };
        const values = Object.values(named).filter((text) => text !== undefined);
        if (values.length !== 1) return invalid([ONE_OF_FOUR]);
        return respond("resolve", call, timed, async (filingsCaller) =>
          filings.resolve(defined(named), filingsCaller),
        );
      },
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/filings/companies/{cik}/submissions",
      operationId: "listSubmissions",
      summary: "List a company's filings",
      description:
        "Newest first. Older pages are read when they can contain filings of the requested time. If such a page cannot be " +
        `read, the whole request fails, so that no filings are missing from an answer. ${ERRORS}`,
      params: CikPath,
      query: SubmissionsQuery,
      replies: {
        200: { description: "The filings, or in `error` why there are none", schema: SubmissionsAnswer },
      },
      handle: async (call) =>
        respond("submissions", call, call.query, async (filingsCaller) =>
          filings.submissions(call.params, call.query, filingsCaller),
        ),
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/filings/companies/{cik}/filings/latest",
      operationId: "latestFiling",
      summary: "The latest filing of some form, by default the annual report",
      description: `Older pages are searched when the recent list has none; \`not_found\` when nobody has. ${ERRORS}`,
      params: CikPath,
      query: LatestQuery,
      replies: { 200: { description: "The filing, or in `error` why there is none", schema: LatestAnswer } },
      handle: async (call) =>
        respond("latest", call, call.query, async (filingsCaller) =>
          filings.latest(call.params, call.query, filingsCaller),
        ),
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/filings/index/{cik}/{accession}",
      operationId: "listFilingDocuments",
      summary: "List the documents of a filing",
      description: `From its index page, or from the folder's listing where there is none. ${ERRORS}`,
      params: FilingPath,
      query: CallOptionsQuery,
      replies: {
        200: { description: "The documents, or in `error` why there are none", schema: IndexAnswer },
      },
      handle: async (call) =>
        respond("index", call, call.query, async (filingsCaller) =>
          filings.filing(call.params, filingsCaller),
        ),
    }),
    route({
      ...common,
      method: "POST",
      path: "/v1/filings/documents/fetch",
      operationId: "fetchFilingDocument",
      summary: "Fetch a document of a filing",
      description:
        "Answers in the form of a fetch. `text` is all the text of the document, with each row of a table as a line with " +
        "tabs. It leaves out the lines of the SGML wrapper; the bytes have them. Only documents in the filing's own " +
        "folder can be fetched. " +
        ERRORS,
      body: DocumentBody,
      body_example: { cik: 320193, accession: "0000320193-24-000123", document: "aapl-20240928.htm" },
      replies: {
        200: { description: "The document, or in `error` why there is none", schema: FetchResponse },
      },
      handle: async (call) => {
        const { body, request_id, caller } = call;
        const result = await withTimeout(call, body, async (filingsCaller) =>
          filings.document(body, filingsCaller),
        );
        if (result === null) return timedOut(request_id);
        const { url, answer, bodies } = result;
        await grantBodies(call, bodies);
        const bill = billOf(answer.cached, answer.error, answer.record.bytes);
        countAnswer("document", bill, answer.error);
        const reader = { request_id, external: caller.grant.customer.external };
        const response = await rendered(deps, { url, answer }, body.include_html ?? true, reader);
        return { ...json(200, response), bill };
      },
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/filings/companies/{cik}/facts",
      operationId: "summariseFacts",
      summary: "Sum up a company's XBRL facts",
      description: `How many concepts there are by taxonomy; the complete JSON is at \`body_url\`. ${ERRORS}`,
      params: CikPath,
      query: CallOptionsQuery,
      replies: { 200: { description: "The summary, or in `error` why there is none", schema: FactsAnswer } },
      handle: async (call) =>
        respond("facts", call, call.query, async (filingsCaller) =>
          filings.facts(call.params, filingsCaller),
        ),
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/filings/search",
      operationId: "searchFilings",
      summary: "Search the full text of filings",
      description: `Filings since 2001, 100 hits a page, from the cache for an hour. ${ERRORS}`,
      query: FilingSearchQuery,
      replies: {
        200: { description: "The hits, or in `error` why there are none", schema: FilingSearchAnswer },
      },
      handle: async (call) =>
        respond("search", call, call.query, async (filingsCaller) =>
          filings.search(call.query, filingsCaller),
        ),
    }),
  ];
}

/** Items of a batch; `check` returns what is wrong with an item, and in which field. */
export const filingsBatch = (
  deps: Pick<FilingsRouteDeps, "blobs" | "decode">,
  check: (item: FilingsItem) => { readonly field: string; readonly message: string } | null,
): BatchKind => ({
  name: "filings",
  item: FilingsItem,
  item_example: { op: "latest", ticker: "AAPL" },
  category: "fetch",
  check(item) {
    const problem = check(item as FilingsItem);
    return problem && { ...problem, type: "invalid_item" };
  },
  async render(input, stored, reader) {
    const { op, answer, document } = stored as StoredFiling;
    if (document === null) return { op, ...answer, request_id: reader.request_id };
    return { op, ...(await rendered(deps, document, input["include_html"] === true, reader)) };
  },
});

/** A document in the form of a fetch. */
async function rendered(
  deps: Pick<FilingsRouteDeps, "blobs" | "decode">,
  { url, answer }: Pick<FilingsDocumentResult, "url" | "answer">,
  include_html: boolean,
  reader: { readonly request_id: string; readonly external: boolean },
): Promise<FetchResponse> {
  const texts = await textsOf(deps, answer.record, { with_html: include_html, with_formats: false });
  const { category } = billOf(answer.cached, answer.error, answer.record.bytes);
  return { ...responseOf({ url, include_html }, answer, texts, reader), billing_category: category };
}

/** Thousands of filings are megabytes of JSON, so they are written in slices. */
const ROWS_AT_ONCE = 500;

async function* inRows(
  rest: object,
  filings: readonly unknown[],
  yieldToEventLoop: YieldToEventLoop,
): AsyncGenerator<Buffer> {
  yield Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"filings":[`);
  for (let at = 0; at < filings.length; at += ROWS_AT_ONCE) {
    const rows = JSON.stringify(filings.slice(at, at + ROWS_AT_ONCE)).slice(1, -1);
    yield Buffer.from(at === 0 ? rows : `,${rows}`);
    await yieldToEventLoop();
  }
  yield Buffer.from("]}");
}

interface CommonAnswer {
  readonly error: string | null;
  readonly cached: boolean;
  readonly request_id: string;
}

const ONE_OF_FOUR = {
  loc: ["query"],
  msg: "Value error, exactly one of ticker, cik, name and isin is needed",
  type: "value_error",
} as const;

/** Without the fields that are undefined. */
const defined = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

export const billOf = (cached: boolean, error: string | null, bytes: number): Bill => ({
  category: cached ? "filings_cached" : "filings",
  ok: error === null,
  bytes,
  paid: false,
  cost_micros: 0,
});

const isCached = ({ category }: Bill): boolean => category === "filings_cached";
