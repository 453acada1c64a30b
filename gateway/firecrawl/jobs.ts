/** Jobs as theirs: their states, their documents page by page, their errors. The ids are the jobs' own. */
import { JOB_RETENTION_MS } from "../../schemas/jobs.ts";
import { withQuery } from "../mcp/api.ts";
import { askedFor, documentOf, hasPage } from "./document.ts";
import { failureOf, JOB_NOT_FOUND } from "./errors.ts";
import { jobContentOf, type TheirCall } from "./operation.ts";

/** Kinds of jobs by their path. */
const KINDS = { crawl: "crawl", "batch/scrape": "fetch" } as const;
export type TheirKind = keyof typeof KINDS;

export const PAGE_ITEMS = 100;
const MAX_ERRORS = 10_000;
const ERRORS_PAGE = 1_000;
const ENDED = new Set(["done", "failed", "cancelled"]);
/** A job that waits or is paused is one that goes on. */
const STATES: Readonly<Record<string, string>> = { completed: "completed", cancelled: "cancelled" };

export interface Item {
  readonly index: number;
  readonly status: string;
  readonly input: Readonly<Record<string, any>>;
  readonly result: Readonly<Record<string, any>> | null;
  readonly error: string | null;
}

/** Where `watcher()` of their clients wants a WebSocket. Once it is closed they ask by plain requests. */
export const SOCKET_PATHS = (Object.keys(KINDS) as TheirKind[]).map((kind) => `/v2/${kind}/:id` as const);

export const jobUrl = (base: string, kind: TheirKind, id: string): string => `${base}/v2/${kind}/${id}`;

const jobPath = (id: string, query: object): string =>
  withQuery(`/v1/jobs/${encodeURIComponent(id)}`, query as Record<string, unknown>);

export async function jobOf({ ask, id }: TheirCall, kind: TheirKind, query: object): Promise<any> {
  const job = await jobContentOf(ask, { method: "GET", path: jobPath(id, query) });
  if (job.kind !== KINDS[kind]) throw JOB_NOT_FOUND();
  return job;
}

/**
 * A page of a job's documents, in the order of its items. It ends before the first item that is not finished, so that a page never
 * changes: a client that reads on from `next` gets each document once.
 */
export async function jobStatus(call: TheirCall, kind: TheirKind): Promise<object> {
  const { id, skip, base } = call;
  const after = skip === 0 ? undefined : skip - 1;
  const job = await jobOf(call, kind, { include: "items", limit: PAGE_ITEMS, after });
  const items = job.items as Item[];
  const open = items.findIndex(({ status }) => !ENDED.has(status));
  const finished = open < 0 ? items : items.slice(0, open);
  const { counts } = job;
  const next = skip + finished.length;
  const has_more = open < 0 && finished.length > 0 && next < counts.total;
  return {
    success: true,
    status: STATES[job.status] ?? "scraping",
    completed: counts.done + counts.failed,
    total: counts.total,
    creditsUsed: counts.done,
    expiresAt: expiresAt(job),
    ...(has_more && { next: `${jobUrl(base, kind, id)}?skip=${next}` }),
    data: finished.filter(isPage).flatMap((item) => documentsOf(item, base)),
  };
}

export const expiresAt = ({ finished_at, created_at }: any): string =>
  new Date(Date.parse(finished_at ?? created_at) + JOB_RETENTION_MS).toISOString();

/** robots.txt and sitemaps that a crawl has read are items of its job, and no pages. */
const isPage = ({ input }: Item): boolean => input["sitemap"] !== true;

/** None for an item without a page: it is among the errors. */
const documentsOf = ({ input, result, error }: Item, base: string): readonly object[] =>
  result === null || !hasPage(error) ? [] : [documentOf(result, askedFor(input, base))];

export async function jobErrors(call: TheirCall, kind: TheirKind): Promise<object> {
  const errors: object[] = [];
  const robotsBlocked: string[] = [];
  let after: number | undefined;
  do {
    const job = await jobOf(call, kind, { include: "items", status: "failed", limit: ERRORS_PAGE, after });
    const items = job.items as Item[];
    for (const { index, input, result, error } of items.filter(isPage)) {
      if (hasPage(error) && result !== null) continue;
      if (error === "robots_disallowed") robotsBlocked.push(input["url"]);
      else {
        const { code, error: sentence } = failureOf({ ...result, error: error! });
        errors.push({
          id: `${call.id}:${index}`,
          timestamp: job.updated_at,
          url: input["url"],
          code,
          error: sentence,
        });
      }
    }
    after = items.length === 0 ? undefined : items.at(-1)!.index;
  } while (after !== undefined && errors.length + robotsBlocked.length < MAX_ERRORS);
  return { errors, robotsBlocked };
}

export async function cancelJob(call: TheirCall, kind: TheirKind): Promise<object> {
  await jobOf(call, kind, {});
  await jobContentOf(call.ask, { method: "DELETE", path: jobPath(call.id, {}) });
  return { status: "cancelled" };
}

/** Newest first. A crawl that begins between the two lists stands in both, and is answered once. */
export async function activeCrawls({ ask }: TheirCall): Promise<object> {
  const states = ["queued", "running"] as const;
  const pages = await Promise.all(
    states.map((status) =>
      jobContentOf(ask, {
        method: "GET",
        path: withQuery("/v1/jobs", { kind: "crawl", status, limit: 100 }),
      }),
    ),
  );
  const jobs = new Map(
    pages.flatMap(({ items }) => items as Record<string, any>[]).map((job) => [job.job_id, job]),
  );
  const crawls = await Promise.all(
    [...jobs.values()].map(async ({ job_id, created_at }) => {
      const path = withQuery(`/v1/jobs/${job_id}/urls`, { limit: 1 });
      const { items } = await jobContentOf(ask, { method: "GET", path });
      return { id: job_id, teamId: "", url: items[0]?.url ?? "", created_at, options: null };
    }),
  );
  return { success: true, crawls };
}
