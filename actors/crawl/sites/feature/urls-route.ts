/** GET /v1/jobs/{job_id}/urls: every address that a crawl has seen, read from what is stored: it takes no turn of an actor. */
import { Type } from "typebox";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Caller } from "../../../../gateway/authenticate.ts";
import { preferredType } from "../../../../gateway/accept.ts";
import { JOB_NOT_FOUND, json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { Field, Nullable } from "../../../../schemas/common.ts";
import {
  type AddressRow,
  CrawlUrl,
  type CrawlUrlChange,
  CrawlUrlPage,
  URL_CHANGES,
  URL_STATES,
} from "../../../../schemas/crawl.ts";
import { type States, statusOf } from "../../../../schemas/job-states.ts";
import { type ItemStatus, JobId, type JobRecord } from "../../../../schemas/jobs.ts";
import { csvLines } from "../../../../gateway/csv-lines.ts";
import type { JoinedSites } from "../../../lib/web/url.ts";
import type { JobFinder } from "../../../work/jobs/feature/tokens.ts";
import { readStates } from "../../../work/jobs/stored-states.ts";
import { storedResults } from "../../../work/jobs/results.ts";
import { FRONTIERS } from "../frontier/collections.ts";
import { rowsOfRecord, storedOrder, storedRows } from "../frontier/load.ts";
import { type FrontierRecord, NEW_RECORD, orderOf, ROWS_IN_CHUNK, rowsOf } from "../frontier/record.ts";
import { type GonePages, gonePages } from "./gone-pages.ts";

interface UrlsDeps {
  readonly documents: Documents;
  readonly joined: JoinedSites;
  readonly reader: JobFinder;
}

const MAX_PAGE = 1_000;
const PAGE_DEFAULT = 100;
/** Addresses looked at for one page: a filter that fits few of them gives a short page and a cursor. */
const MAX_LOOKED_AT = 50_000;
const NONE = -1;
const TYPES = ["application/json", "application/x-ndjson", "text/csv"] as const;
const CSV_TYPE = "text/csv; charset=utf-8";
const COLUMNS = Object.keys(CrawlUrl.properties) as (keyof CrawlUrl)[];
const NOT_FOUND = {
  description: "The project has no such job, it is no crawl, or its retention is over",
  schema: Type.Object({ detail: Type.String() }),
};
const FILTERS = {
  state: Type.Optional(Field(Nullable(Type.Enum([...URL_STATES])), "Only addresses of this state")),
  change: Type.Optional(
    Field(Nullable(Type.Enum([...URL_CHANGES])), "Only pages of which a crawl with `since_job` says so"),
  ),
  reason: Type.Optional(
    Field(Nullable(Type.String({ maxLength: 100 })), "Only addresses with this reason", "out_of_scope"),
  ),
};

interface Filters {
  readonly change?: CrawlUrlChange | null;
  readonly state?: CrawlUrl["state"] | null;
  readonly reason?: string | null;
}

/** A crawl as it is stored at one moment. */
interface Crawl {
  readonly job_id: string;
  readonly job: JobRecord;
  readonly states: States;
  readonly record: FrontierRecord;
  /** The item of each address; -1: it is none. */
  readonly indexes: Int32Array;
  readonly gone: GonePages;
}

export function urlsRoutes(deps: UrlsDeps): readonly Route[] {
  const goneOf = gonePages(deps.documents, deps.joined);
  const find = async (job_id: string, caller: Caller): Promise<Crawl | null> => {
    const crawl = await open(deps, job_id, await deps.reader.find(job_id, caller));
    return crawl && { ...crawl, gone: await goneOf(crawl) };
  };
  return [
    route({
      method: "GET",
      path: "/v1/jobs/{job_id}/urls",
      operationId: "getJobUrls",
      summary: "Every address that a crawl has seen",
      description:
        "With its state, its depth, the page that named it, and why it was not fetched. A page may be shorter than `limit`, also empty, " +
        "while `next_cursor` is not null. With `Accept: application/x-ndjson` or `text/csv` all of them from `from` on come as one stream.",
      tags: ["jobs"],
      params: Type.Object({ job_id: JobId }),
      query: Type.Object({
        ...FILTERS,
        from: Field(
          Type.Integer({ minimum: 0, default: 0 }),
          "The first address: `next_cursor` of the page before",
          0,
        ),
        limit: Field(
          Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: PAGE_DEFAULT }),
          "The most addresses of the page",
        ),
      }),
      replies: {
        200: { description: "Addresses", schema: CrawlUrlPage, lines: CrawlUrl, also: ["text/csv"] },
        404: NOT_FOUND,
      },
      async handle({ params, query: { from, limit, ...filters }, caller, head, signal }) {
        const crawl = await find(params.job_id.toLowerCase(), caller);
        if (crawl === null) return JOB_NOT_FOUND;
        const type = preferredType(head.headers.get("accept"), [...TYPES]);
        if (type !== "application/json")
          return streamed(deps, crawl, filters, from, type === "text/csv", signal);
        return json(200, await pageOf(deps, crawl, filters, from, limit));
      },
    }),
    route({
      method: "GET",
      path: "/v1/jobs/{job_id}/urls.csv",
      operationId: "getJobUrlsCsv",
      summary: "Every address that a crawl has seen, as CSV",
      description: `Columns: ${COLUMNS.join(", ")}.`,
      tags: ["jobs"],
      params: Type.Object({ job_id: JobId }),
      query: Type.Object(FILTERS),
      replies: {
        200: { description: "Rows of CSV", content_type: "text/csv", schema: Type.String() },
        404: NOT_FOUND,
      },
      async handle({ params, query, caller, signal }) {
        const crawl = await find(params.job_id.toLowerCase(), caller);
        return crawl === null ? JOB_NOT_FOUND : streamed(deps, crawl, query, 0, true, signal);
      },
    }),
  ];
}

/** The job first: what it has the frontier has, too. Null: it is no crawl. */
async function open(
  { documents }: UrlsDeps,
  job_id: string,
  job: JobRecord | null,
): Promise<Omit<Crawl, "gone"> | null> {
  if (job?.spec.kind !== "crawl") return null;
  const record = (await FRONTIERS.get(documents, job_id)) ?? NEW_RECORD;
  const { total } = job.counts;
  const states = await readStates(documents, job_id, job);
  const indexes = new Int32Array(rowsOf(record)).fill(NONE);
  let index = 0;
  for await (const ordinals of storedOrder(documents, job_id, record))
    for (const ordinal of ordinals) if (index < total) indexes[ordinal] = index++;
  return { job_id, job, states, record, indexes };
}

async function pageOf(deps: UrlsDeps, crawl: Crawl, filters: Filters, from: number, limit: number) {
  const items: CrawlUrl[] = [];
  let next_cursor: number | null = null;
  page: for await (const urls of urlsOf(deps, crawl, filters, from)) {
    for (const [ordinal, url] of urls.selected) {
      if (items.length === limit) {
        next_cursor = ordinal;
        break page;
      }
      items.push(url);
    }
    if (urls.end - from < MAX_LOOKED_AT || urls.end >= rowsOf(crawl.record) + crawl.gone.missing) continue;
    next_cursor = urls.end;
    break;
  }
  return { items, next_cursor };
}

function streamed(
  deps: UrlsDeps,
  crawl: Crawl,
  filters: Filters,
  from: number,
  asCsv: boolean,
  signal: AbortSignal,
) {
  async function* chunks(): AsyncGenerator<Buffer> {
    if (asCsv) yield Buffer.from(csvLines([COLUMNS]));
    for await (const { selected } of urlsOf(deps, crawl, filters, from)) {
      if (signal.aborted) return;
      const urls = [...selected.values()];
      const text = asCsv
        ? csvLines(urls.map((url) => COLUMNS.map((name) => url[name])))
        : urls.map((url) => `${JSON.stringify(url)}\n`).join("");
      if (text !== "") yield Buffer.from(text);
    }
  }
  return {
    status: 200,
    headers: { "Content-Type": asCsv ? CSV_TYPE : TYPES[1], "Cache-Control": "no-store" },
    body: { length: null, chunks: chunks() },
  };
}

/** The addresses that fit, by their ordinals, chunk by chunk; `end`: the ordinal behind the last that was looked at. */
async function* urlsOf(
  deps: UrlsDeps,
  crawl: Crawl,
  { state, reason, change }: Filters,
  from: number,
): AsyncGenerator<{ readonly selected: ReadonlyMap<number, CrawlUrl>; readonly end: number }> {
  const { documents } = deps;
  const { job_id, record, gone } = crawl;
  const first_chunk = Math.min(record.rows.chunks, Math.floor(from / ROWS_IN_CHUNK));
  let ordinal = first_chunk * ROWS_IN_CHUNK;
  for await (const rows of storedRows(documents, job_id, record, first_chunk)) {
    const selected = new Map<number, CrawlUrl>();
    for (const row of rows) {
      const url = urlOf(crawl, row, ordinal);
      if (ordinal >= from && (state == null || url.state === state)) selected.set(ordinal, url);
      ordinal++;
    }
    const failed = new Map(
      [...selected].flatMap(([at, url]) => (url.state === "failed" ? [[url.index!, at] as const] : [])),
    );
    await nameOriginals(deps, crawl, rows, ordinal - rows.length, selected);
    for await (const [index, { error }] of storedResults(documents, job_id, [...failed.keys()])) {
      const at = failed.get(index)!;
      selected.set(at, { ...selected.get(at)!, reason: error });
    }
    for (const [at, url] of selected) if (gone.refused.has(at)) selected.set(at, { ...url, change: "gone" });
    if (change != null) for (const [at, url] of selected) if (url.change !== change) selected.delete(at);
    if (reason != null) for (const [at, url] of selected) if (url.reason !== reason) selected.delete(at);
    yield { selected, end: ordinal };
  }
  const fits = (state ?? "gone") === "gone" && (change ?? "gone") === "gone" && reason == null;
  if (!fits) return;
  const end = ordinal + gone.missing;
  for (let at = Math.max(ordinal, from); at < end; at += ROWS_IN_CHUNK) {
    const rows = await gone.missingRows(at - ordinal, ROWS_IN_CHUNK);
    const urls = rows.map((row, n) => [at + n, goneUrl(row)] as const);
    yield { selected: new Map(urls), end: at + rows.length };
  }
}

const goneUrl = ({ url, depth, found_on }: AddressRow): CrawlUrl => ({
  url,
  depth,
  found_on,
  state: "gone",
  reason: null,
  index: null,
  redirected_to: null,
  duplicate_of: null,
  change: "gone",
});

/** Says of the pages of a chunk which ones they repeat; `first`: the ordinal of its first row. Throws Fault. */
async function nameOriginals(
  { documents }: UrlsDeps,
  { job_id, record }: Crawl,
  rows: readonly AddressRow[],
  first: number,
  selected: Map<number, CrawlUrl>,
): Promise<void> {
  const repeating = [...selected].flatMap(([at, url]) => {
    const original = url.state === "done" ? rows[at - first]!.duplicate_of : undefined;
    return original === undefined ? [] : [[at, url, original] as const];
  });
  if (repeating.length === 0) return;
  const ordinals = repeating.map(([, , original]) => original);
  const originals = await rowsOfRecord(documents, job_id, record, ordinals);
  for (const [at, url, original] of repeating)
    selected.set(at, { ...url, duplicate_of: originals.get(original)!.url });
}

const STATES: Record<ItemStatus, CrawlUrl["state"]> = {
  pending: "waiting",
  queued: "in_flight",
  done: "done",
  failed: "failed",
  cancelled: "excluded",
};

function urlOf({ job, states, record, indexes }: Crawl, row: AddressRow, ordinal: number): CrawlUrl {
  const { url, depth, found_on, reason = null, redirected_to = null, seen } = row;
  const { duplicate_by = null, sitemap_error = duplicate_by } = row;
  const address = { url, depth, found_on, index: null, redirected_to, duplicate_of: null, change: null };
  if (reason !== null) return { ...address, state: "excluded", reason };
  const index = indexes[ordinal]!;
  if (index !== NONE) {
    const status = statusOf(states[index]!);
    const said = status === "cancelled" ? "cancelled" : status === "done" ? sitemap_error : null;
    const change = status === "done" ? (seen?.change ?? null) : null;
    return { ...address, index, state: STATES[status], reason: said, change };
  }
  if (orderOf(record) >= job.spec.total) return { ...address, state: "excluded", reason: "over_limit" };
  const isCancelled = job.phase === "cancelled" || job.phase === "cancelling";
  return isCancelled
    ? { ...address, state: "excluded", reason: "cancelled" }
    : { ...address, state: "waiting", reason: null };
}
