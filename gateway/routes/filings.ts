/**
 * /v1/filings: checked parameters to a question to the filing system, and its answer to JSON (2-adapters.md, part A). What
 * is malformed in an identifier is part of the answer, HTTP 200; what is no parameter at all is 422. Who is asked, how
 * fast and how often, is decided elsewhere and handed in.
 */
import type { Bodies } from "../../cluster/ports/blobs.ts";
import type { Breathe } from "../../cluster/ports/event-loop.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Meters } from "../../cluster/ports/meters.ts";
import { type FetchAnswer, FetchResponse } from "../../schemas/fetch.ts";
import {
  AsideQuery,
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
} from "../../schemas/filings.ts";
import type { BatchKind } from "../batch.ts";
import type { Bill } from "../../schemas/accounts.ts";
import { patiently, WAIT_MS } from "../with-deadline.ts";
import { invalid, json, JSON_TYPE, timedOut } from "../http-errors.ts";
import type { Retrievals } from "../body-access.ts";
import { type Answer, type Call, type Route, route } from "../route.ts";
import { responseOf, textsOf, WAIT_BEYOND_TIMEOUT_MS } from "./fetch.ts";

/** On whose behalf, and until when. */
interface Asker {
  readonly project: string;
  readonly lane: "sync";
  readonly deadline_ms: number;
  readonly id: string;
}

interface Told<A> {
  readonly answer: Omit<A, "request_id">;
  /** What the project has retrieved by it. */
  readonly bodies: readonly { readonly sha256: string; readonly content_type: string | null }[];
}

interface ToldDocument {
  readonly url: string;
  readonly answer: FetchAnswer;
  readonly bodies: Told<unknown>["bodies"];
}

type Cik = { readonly cik: string | number };
type Asks<Q> = Omit<Q, "project_ref" | "timeout_s">;

/** Throw Fault and nothing else; fields are handed on as they came. */
export interface Filings {
  readonly resolve: (named: Asks<ResolveQuery>, asker: Asker) => Promise<Told<ResolveAnswer>>;
  readonly submissions: (
    named: Cik,
    query: Asks<SubmissionsQuery>,
    asker: Asker,
  ) => Promise<Told<SubmissionsAnswer>>;
  readonly latest: (named: Cik, query: Asks<LatestQuery>, asker: Asker) => Promise<Told<LatestAnswer>>;
  readonly facts: (named: Cik, asker: Asker) => Promise<Told<FactsAnswer>>;
  readonly filing: (filed: Cik & { readonly accession: string }, asker: Asker) => Promise<Told<IndexAnswer>>;
  readonly search: (query: Asks<FilingSearchQuery>, asker: Asker) => Promise<Told<FilingSearchAnswer>>;
  readonly document: (filed: Asks<DocumentBody>, asker: Asker) => Promise<ToldDocument>;
}

export interface FilingsServices {
  readonly filings: Filings;
  readonly decode: (bytes: Buffer, charset: string) => string;
  readonly bodies: Bodies;
  readonly retrievals: Retrievals;
  readonly clock: Clock;
  readonly meters: Meters;
  readonly breathe: Breathe;
}

interface Timed {
  readonly timeout_s?: number | null;
}

/** Whoever is out of time still says so in the shape of an answer. */
const LAST_WORDS_MS = 5_000;

const ERRORS =
  "Answers 200 also when there is no answer: look at `error`, `message` and `retry_after_s`. A malformed identifier is " +
  "`invalid_identifier`, and nothing was asked of the filing system.";

export function filingsRoutes(services: FilingsServices): readonly Route[] {
  const { filings, clock, meters, retrievals, breathe } = services;

  /** Null: nobody waits any more, or it took much longer than it may. */
  async function patient<T>(
    { request_id, gone, caller, now_ms }: Call,
    { timeout_s }: Timed,
    work: (asker: Asker) => Promise<T>,
  ): Promise<T | null> {
    const time_ms = timeout_s == null ? WAIT_MS - LAST_WORDS_MS : timeout_s * 1_000;
    const wait_ms = timeout_s == null ? WAIT_MS : time_ms + WAIT_BEYOND_TIMEOUT_MS;
    const asker: Asker = {
      project: caller.grant.project.name,
      lane: "sync",
      deadline_ms: Math.round(now_ms + time_ms),
      id: request_id,
    };
    return patiently({ clock, meters }, { id: request_id, wait_ms, gone }, () => work(asker));
  }

  /** First that the project retrieved the bodies, then their addresses. */
  async function note({ caller }: Call, bodies: Told<unknown>["bodies"]): Promise<void> {
    const { name } = caller.grant.project;
    for (const { sha256, content_type } of bodies)
      await retrievals.note(name, { sha256, content_type, body_kind: "origin" });
  }

  function counted(operation: string, bill: Bill, error: string | null): void {
    const outcome = error === null ? "ok" : error.startsWith("http_") ? `http_${error.charAt(5)}xx` : error;
    meters.count("trawl_filings_answers_total", { operation, outcome, cached: String(isCached(bill)) });
  }

  async function answered(
    operation: string,
    call: Call,
    timed: Timed,
    ask: (asker: Asker) => Promise<Told<Common>>,
  ): Promise<Answer> {
    const { request_id } = call;
    const told = await patient(call, timed, ask);
    if (told === null) return timedOut(request_id);
    await note(call, told.bodies);
    const bill = billOf(told.answer.cached, told.answer.error, 0);
    counted(operation, bill, told.answer.error);
    const { filings: rows = [], ...rest } = told.answer as { readonly filings?: readonly unknown[] };
    if (rows.length <= ROWS_AT_ONCE) return { ...json(200, { ...told.answer, request_id }), bill };
    const chunks = inRows({ ...rest, request_id }, rows, breathe);
    return { status: 200, headers: JSON_TYPE, body: { length: null, chunks }, bill };
  }

  const common = { tags: ["filings"], category: "fetch" } as const;
  return [
    route({
      ...common,
      method: "GET",
      path: "/v1/filings/companies/resolve",
      operationId: "resolveFiler",
      summary: "Find a filer by ticker, CIK, name or ISIN",
      description:
        "Exactly one of them. A name is looked for as a whole title, then as a beginning, then anywhere; when several " +
        `filers fit, \`ambiguous\` is true and up to ten are listed. ${ERRORS}`,
      query: ResolveQuery,
      replies: { 200: { description: "The filer, or in `error` why there is none", schema: ResolveAnswer } },
      handle: async (call) => {
        const { ticker, cik, name, isin, ...timed } = call.query;
        const named = { ticker, cik, name, isin };
        const given = Object.values(named).filter((text) => text !== undefined);
        if (given.length !== 1) return invalid([ONE_OF_FOUR]);
        return answered("resolve", call, timed, async (asker) => filings.resolve(defined(named), asker));
      },
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/filings/companies/{cik}/submissions",
      operationId: "listSubmissions",
      summary: "List a company's filings",
      description:
        "Newest first. Older pages are read as far as they can hold filings of the time asked for; when one of them " +
        `cannot be had, there is no answer rather than one with gaps. ${ERRORS}`,
      params: CikPath,
      query: SubmissionsQuery,
      replies: {
        200: { description: "The filings, or in `error` why there are none", schema: SubmissionsAnswer },
      },
      handle: async (call) =>
        answered("submissions", call, call.query, async (asker) =>
          filings.submissions(call.params, call.query, asker),
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
        answered("latest", call, call.query, async (asker) => filings.latest(call.params, call.query, asker)),
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/filings/index/{cik}/{accession}",
      operationId: "listFilingDocuments",
      summary: "List the documents of a filing",
      description: `From its index page, or from the folder's listing where there is none. ${ERRORS}`,
      params: FilingPath,
      query: AsideQuery,
      replies: {
        200: { description: "The documents, or in `error` why there are none", schema: IndexAnswer },
      },
      handle: async (call) =>
        answered("index", call, call.query, async (asker) => filings.filing(call.params, asker)),
    }),
    route({
      ...common,
      method: "POST",
      path: "/v1/filings/documents/fetch",
      operationId: "fetchFilingDocument",
      summary: "Fetch a document of a filing",
      description:
        "In the shape of a fetch. `text` is all the text of the document, a row of a table a line with tabs; the lines " +
        "of the SGML wrapper are left out of it and kept in the bytes. Only documents in the filing's own folder. " +
        ERRORS,
      body: DocumentBody,
      replies: {
        200: { description: "The document, or in `error` why there is none", schema: FetchResponse },
      },
      handle: async (call) => {
        const { body, request_id, caller } = call;
        const told = await patient(call, body, async (asker) => filings.document(body, asker));
        if (told === null) return timedOut(request_id);
        const { url, answer, bodies } = told;
        await note(call, bodies);
        const bill = billOf(answer.cached, answer.error, answer.record.bytes);
        counted("document", bill, answer.error);
        const reader = { request_id, external: caller.grant.customer.external };
        const response = await presented(services, { url, answer }, body.include_html ?? true, reader);
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
      query: AsideQuery,
      replies: { 200: { description: "The summary, or in `error` why there is none", schema: FactsAnswer } },
      handle: async (call) =>
        answered("facts", call, call.query, async (asker) => filings.facts(call.params, asker)),
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
        answered("search", call, call.query, async (asker) => filings.search(call.query, asker)),
    }),
  ];
}

/** Items of a batch; `check` says what is wrong with one, and in which field. */
export const filingsBatch = (
  services: Pick<FilingsServices, "bodies" | "decode">,
  check: (item: FilingsItem) => { readonly field: string; readonly message: string } | null,
): BatchKind => ({
  name: "filings",
  item: FilingsItem,
  category: "fetch",
  check(item) {
    const problem = check(item as FilingsItem);
    return problem && { ...problem, type: "invalid_item" };
  },
  async present(input, stored, reader) {
    const { op, answer, document } = stored as StoredFiling;
    if (document === null) return { op, ...answer, request_id: reader.request_id };
    return { op, ...(await presented(services, document, input["include_html"] === true, reader)) };
  },
});

/** A document in the words of a fetch. */
async function presented(
  services: Pick<FilingsServices, "bodies" | "decode">,
  { url, answer }: Pick<ToldDocument, "url" | "answer">,
  include_html: boolean,
  reader: { readonly request_id: string; readonly external: boolean },
): Promise<FetchResponse> {
  const texts = await textsOf(services, answer.record, include_html);
  const { category } = billOf(answer.cached, answer.error, answer.record.bytes);
  return { ...responseOf({ url, include_html }, answer, texts, reader), billing_category: category };
}

/** Thousands of filings are megabytes of JSON: written a slice at a time. */
const ROWS_AT_ONCE = 500;

async function* inRows(rest: object, filings: readonly unknown[], breathe: Breathe): AsyncGenerator<Buffer> {
  yield Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"filings":[`);
  for (let at = 0; at < filings.length; at += ROWS_AT_ONCE) {
    const rows = JSON.stringify(filings.slice(at, at + ROWS_AT_ONCE)).slice(1, -1);
    yield Buffer.from(at === 0 ? rows : `,${rows}`);
    await breathe();
  }
  yield Buffer.from("]}");
}

interface Common {
  readonly error: string | null;
  readonly cached: boolean;
  readonly request_id: string;
}

const ONE_OF_FOUR = {
  loc: ["query"],
  msg: "Value error, exactly one of ticker, cik, name and isin is needed",
  type: "value_error",
} as const;

/** Without the fields that were not given. */
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
