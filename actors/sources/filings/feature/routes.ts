/**
 * /v1/filings: from checked parameters to an operation of the filings service, and from its answer to JSON. A malformed
 * identifier is part of the answer, with HTTP 200; a parameter of a wrong type is HTTP 422. The service decides how and
 * when the filing system is asked.
 */
import type { Static } from "typebox";
import assert from "node:assert/strict";
import { type TObject, Type } from "typebox";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import type { FetchAnswer, FetchResponse } from "../../../../schemas/fetch.ts";
import {
  CallOptionsQuery,
  CikPath,
  DocumentBody,
  FactsAnswer,
  type FilingsCall,
  FilingPath,
  FilingSearchAnswer,
  FilingSearchQuery,
  FilingDocumentResponse,
  FilingsItem,
  type FilingsOp,
  IndexAnswer,
  LatestAnswer,
  LatestQuery,
  ResolveAnswer,
  ResolveQuery,
  type StoredFiling,
  SubmissionsAnswer,
  SubmissionsQuery,
} from "../../../../schemas/filings.ts";
import type { FilingsAnswer, FilingsClient } from "../client.ts";
import type { CallerContext } from "../results.ts";
import type { BatchKind } from "../../../../gateway/batch.ts";
import type { Bill } from "../../../../schemas/accounts.ts";
import type { JoinedNode } from "../../../../node/feature.ts";
import { WAIT_BEYOND_TIMEOUT_MS, WAIT_MS, withDeadline } from "../../../../gateway/with-deadline.ts";
import { invalid, json, JSON_TYPE, timedOut } from "../../../../gateway/http-errors.ts";
import { type Answer, type Call, type Route, route } from "../../../../gateway/route.ts";
import { responseOf, type TextSource, textsOf } from "../../../crawl/fetch/answer.ts";
import { FETCH_ERRORS, FILINGS_ERRORS, HTTP_STATUS } from "../../../../schemas/errors.ts";
import { Component, Field, OneOf } from "../../../../schemas/common.ts";
import { pascal } from "../../../../gateway/openapi/schemas.ts";

export interface FilingsRouteDeps
  extends TextSource, Pick<JoinedNode, "bodyGrants" | "clock" | "metrics" | "log"> {
  readonly filings: FilingsClient;
}

interface Timed {
  readonly timeout_s?: number | null;
}

/** Time for a caller whose deadline has passed to answer `timeout` in the form of the endpoint. */
const REPLY_MARGIN_MS = 5_000;

const ERRORS =
  "Answers 200 also when there is no answer: look at `error`, `message` and `retry_after_s`. A malformed identifier is " +
  "`invalid_identifier`, and no request was sent to the filing system.";

/** How calls of /v1/filings are answered: within their time, with the right to the bodies they name, counted and billed. */
function filingResponses(deps: FilingsRouteDeps) {
  const { filings, clock, metrics, log, bodyGrants, blobs } = deps;

  /** Null: the client has gone, or the operation took much longer than its limit. */
  async function withTimeout<T>(
    { request_id, signal: gone, caller, now_ms }: Call,
    { timeout_s }: Timed,
    work: (filingsCaller: CallerContext) => Promise<T>,
  ): Promise<T | null> {
    const time_ms = timeout_s == null ? WAIT_MS - REPLY_MARGIN_MS : timeout_s * 1_000;
    const wait_ms = timeout_s == null ? WAIT_MS : time_ms + WAIT_BEYOND_TIMEOUT_MS;
    const filingsCaller: CallerContext = {
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
  async function grantBodies({ caller }: Call, bodies: FilingsAnswer["bodies"]): Promise<void> {
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
    [op, fields]: readonly [Exclude<FilingsCall["op"], "document">, object],
  ): Promise<Answer> {
    const { request_id } = call;
    const reply = await withTimeout(call, timed, async (filingsCaller) =>
      filings(op, fieldsOf(fields), filingsCaller),
    );
    if (reply === null) return timedOut(request_id);
    assert(reply.kind === "answer");
    await grantBodies(call, reply.bodies);
    const { answer, answer_sha256, cached, error } = reply;
    const bill = billOf(cached, error, 0);
    countAnswer(operation, bill, error);
    if (answer !== null) return { ...json(200, { ...answer, request_id }), bill };
    const chunks = withRequestId(await answerPieces(blobs, answer_sha256!), request_id);
    return { status: 200, headers: JSON_TYPE, body: { length: null, chunks }, bill };
  }

  async function respondDocument(
    call: Call & { readonly body: Static<typeof DocumentBody> },
  ): Promise<Answer> {
    const { body, request_id, caller } = call;
    const reply = await withTimeout(call, body, async (filingsCaller) =>
      filings("document", fieldsOf(body), filingsCaller),
    );
    if (reply === null) return timedOut(request_id);
    assert(reply.kind === "document");
    const { url, answer, bodies } = reply;
    await grantBodies(call, bodies);
    const bill = billOf(answer.cached, answer.error, answer.record.bytes);
    countAnswer("document", bill, answer.error);
    const reader = { request_id, external: caller.grant.customer.external };
    const response = await rendered(deps, { url, answer }, body.include_html ?? true, reader);
    return { ...json(200, response), bill };
  }

  return { respond, respondDocument };
}

/** The routes under /v1/filings. */
export function filingsRoutes(deps: FilingsRouteDeps): readonly Route[] {
  const { respond, respondDocument } = filingResponses(deps);
  const common = { tags: ["filings"], category: "fetch", always_begins_work: true } as const;
  return [
    route({
      ...common,
      method: "GET",
      path: "/v1/filings/companies/resolve",
      operationId: "resolveFiler",
      query_example: { ticker: "AAPL" },
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
        return respond("resolve", call, timed, ["resolve", defined(named)]);
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
        respond("submissions", call, call.query, ["submissions", { ...call.params, ...call.query }]),
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
        respond("latest", call, call.query, ["latest", { ...call.params, ...call.query }]),
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
      handle: async (call) => respond("index", call, call.query, ["filing", call.params]),
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
        200: { description: "The document, or in `error` why there is none", schema: FilingDocumentResponse },
      },
      handle: respondDocument,
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
      handle: async (call) => respond("facts", call, call.query, ["facts", call.params]),
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/filings/search",
      operationId: "searchFilings",
      summary: "Search the full text of filings",
      description: `Filings since 2001, 100 hits a page, from the cache for an hour. ${ERRORS}`,
      query: FilingSearchQuery,
      query_example: { q: "lighthouse" },
      replies: {
        200: { description: "The hits, or in `error` why there are none", schema: FilingSearchAnswer },
      },
      handle: async (call) => respond("search", call, call.query, ["search", call.query]),
    }),
  ];
}

const ofOp = (op: FilingsOp, answer: TObject) =>
  Component(`Filings${pascal(op)}Result`, {
    op: Field(Type.Literal(op), "The operation"),
    ...answer.properties,
  });
/** The result of an item, by its operation. */
const FilingsResult = OneOf("FilingsResult", "op", [
  ofOp("resolve", ResolveAnswer),
  ofOp("submissions", SubmissionsAnswer),
  ofOp("latest", LatestAnswer),
  ofOp("facts", FactsAnswer),
  ofOp("filing", IndexAnswer),
  ofOp("document", FilingDocumentResponse),
]);

/** Items of a batch; `check` returns what is wrong with an item, and in which field. */
export const filingsBatch = (
  deps: Pick<FilingsRouteDeps, "blobs" | "decode">,
  check: (item: FilingsItem) => { readonly field: string; readonly message: string } | null,
): BatchKind => ({
  name: "filings",
  item: FilingsItem,
  item_example: { op: "latest", ticker: "AAPL" },
  result: FilingsResult,
  errors: {
    names: [...Object.keys(FILINGS_ERRORS), ...Object.keys(FETCH_ERRORS)],
    patterns: [HTTP_STATUS],
  },
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
  { url, answer }: { readonly url: string; readonly answer: FetchAnswer },
  include_html: boolean,
  reader: { readonly request_id: string; readonly external: boolean },
): Promise<FetchResponse> {
  const texts = await textsOf(deps, answer.record, { with_html: include_html, with_formats: false });
  const { category } = billOf(answer.cached, answer.error, answer.record.bytes);
  return { ...responseOf({ url, include_html }, answer, texts, reader), billing_category: category };
}

/** The fields of a call, without those that concern the call alone. */
function fieldsOf(fields: object): FilingsCall["fields"] {
  const { timeout_s: _timeout_s, project_ref: _project_ref, ...own } = fields as Record<string, unknown>;
  return own;
}

/** An answer that is a body. Throws Fault. */
export async function answerPieces(blobs: Blobs, sha256: string): Promise<AsyncIterable<Buffer>> {
  const pieces = await blobs.get(sha256);
  if (pieces === null) throw new Fault("body_damaged", `Cannot read answer "${sha256}": it is not there`);
  return pieces;
}

/** The JSON of an answer with one field more. */
async function* withRequestId(pieces: AsyncIterable<Buffer>, request_id: string): AsyncGenerator<Buffer> {
  let last: Buffer | null = null;
  for await (const piece of pieces) {
    if (last) yield last;
    last = piece;
  }
  // The closing brace is the last byte.
  if (last) yield last.subarray(0, -1);
  yield Buffer.from(`,"request_id":${JSON.stringify(request_id)}}`);
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
  detail: { status: null, error, reason: null, attempts: [] },
});

const isCached = ({ category }: Bill): boolean => category === "filings_cached";
