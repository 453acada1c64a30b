/** Tools for jobs: crawl_site, job. */
import { Type } from "typebox";
import { withQuery } from "../api.ts";
import { factLine, inline, link } from "../markdown.ts";
import { digestOf } from "../cursor.ts";
import { contentOf, refused } from "../tool-errors.ts";
import { type ToolContext, type Tool, tool } from "../tool.ts";

/** The official client gives up after 60 s. */
const MAX_WAIT_S = 50;
const POLL_MS = 1000;
const LIMIT = 10;
const ENDED: ReadonlySet<string> = new Set(["completed", "cancelled"]);

/** A crawl for a conversation; a larger one is begun by the API. */
const CRAWL_LIMIT = 20;
const MAX_CRAWL_LIMIT = 500;
/** Pages that the answer names: their texts are read with `job`. */
const NAMED_PAGES = 50;
const CRAWL_WAIT_S = 30;

const Patterns = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 512 }), { maxItems: 20, description }));

const crawlSite = tool({
  name: "crawl_site",
  title: "Fetch the pages of a site",
  description:
    "Fetch the pages of a site by its links and sitemaps, as a job. Names what it has; read the texts with job. The same call is the same crawl, unless `again`.",
  is_read_only: false,
  input: Type.Object({
    url: Type.String({ minLength: 1, maxLength: 2048, description: "Where it begins" }),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_CRAWL_LIMIT, default: CRAWL_LIMIT })),
    include: Patterns("Globs over path and query, as /blog/**"),
    exclude: Patterns("In the same form"),
    max_depth: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: "Links from url" })),
    wait_s: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_WAIT_S, default: CRAWL_WAIT_S })),
    again: Type.Optional(Type.Boolean()),
  }),
  async tell({ wait_s = CRAWL_WAIT_S, again = false, ...args }, context) {
    const asked = { limit: CRAWL_LIMIT, ...args, fetch: { formats: ["markdown"] } };
    const body = again ? asked : { ...asked, idempotency_key: `mcp ${digestOf(JSON.stringify(asked))}` };
    const begun = await context.ask({ method: "POST", path: "/v1/crawl", body });
    if (begun.status !== 200 && begun.status !== 202) throw refused(begun);
    const { job_id, created } = begun.content;
    const status = await waited(job_id, wait_s, context);
    const items = await pageOf(job_id, { from: 0, limit: NAMED_PAGES }, context);
    const { done = 0, failed = 0, total = 0 } = status.counts;
    const pages = items.map(
      ({ index, input, result, status: state, error }) =>
        `${index}. ${link(result?.title ?? null, input.url)} (${error ?? state}${result?.duplicate_of ? `, repeats ${inline(result.duplicate_of.url)}` : ""})`,
    );
    const before = created ? "" : " It was begun before: `again` begins a new one.";
    return {
      markdown: `Crawl of ${args.url}, job ${job_id}, is ${status.status}: ${done} done and ${failed} failed of ${total} so far.${before} Read texts with job, by job_id and from.\n\n${pages.join("\n")}`,
      facts: { job_id, created, status: status.status, counts: status.counts },
    };
  },
});

const job = tool({
  name: "job",
  title: "Wait for a job and read its results",
  description:
    "The state of a job and its results; `wait_s` waits for its end, `from` is the first result to show.",
  input: Type.Object({
    job_id: Type.String({ minLength: 1, maxLength: 100 }),
    wait_s: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_WAIT_S })),
    from: Type.Optional(Type.Integer({ minimum: 0 })),
    limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, default: LIMIT })),
  }),
  async tell({ job_id, wait_s = 0, from = 0, limit = LIMIT }, context) {
    const status = await waited(job_id, wait_s, context);
    const items = limit === 0 ? [] : await pageOf(job_id, { from, limit }, context);
    const { done = 0, failed = 0, total = 0 } = status.counts;
    const next = items.length === limit && limit > 0 && from + limit < total ? from + limit : null;
    const more = next === null ? "" : `\n\nMore results: call job with from: ${next}.`;
    return {
      markdown: `Job ${status.job_id} (${status.kind}) is ${status.status}: ${done} done and ${failed} failed of ${total}.\n\n${items.map(tellItem).join("\n\n")}${more}`,
      facts: { job_id: status.job_id, status: status.status, counts: status.counts, next_from: next },
    };
  },
});

async function waited(
  job_id: string,
  wait_s: number,
  { ask, sleep, signal, onProgress }: ToolContext,
): Promise<any> {
  const path = `/v1/jobs/${encodeURIComponent(job_id)}`;
  for (let left_ms = wait_s * 1000; ; left_ms -= POLL_MS) {
    const status = await contentOf(ask, { method: "GET", path });
    if (ENDED.has(status.status) || left_ms <= 0 || signal.aborted) return status;
    const { done = 0, failed = 0, total = 0 } = status.counts;
    onProgress(`${done + failed} of ${total} items`);
    await sleep(POLL_MS);
  }
}

async function pageOf(
  job_id: string,
  { from, limit }: { readonly from: number; readonly limit: number },
  { ask }: ToolContext,
): Promise<Record<string, any>[]> {
  const path = withQuery(`/v1/jobs/${encodeURIComponent(job_id)}`, { include: "items", offset: from, limit });
  return (await contentOf(ask, { method: "GET", path })).items;
}

/** An item's input in one line, and what its result says first. */
function tellItem({ index, status, input, result, error }: Record<string, any>): string {
  const name = input?.url ? link(result?.title ?? null, input.url) : inline(JSON.stringify(input));
  const text: string = result?.markdown ?? result?.text ?? "";
  const about = factLine({ status, error });
  return `### ${index}. ${name}\n\n${about}${text === "" ? "" : `\n\n${text}`}`;
}

export const JOB_TOOLS: readonly Tool[] = [crawlSite, job];
