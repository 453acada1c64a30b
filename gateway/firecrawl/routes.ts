/** The operations of Firecrawl's API, version 2. Each asks this API in the caller's name, and says the answer in their words. */
import type { Route } from "../route.ts";
import { beginBatch, keyOf } from "./begin-batch.ts";
import { BATCH_OPTIONS, crawlBodyOf, mapBodyOf } from "./crawl-options.ts";
import { askedFor, documentOf } from "./document.ts";
import { badRequest, failureOf, Refused } from "./errors.ts";
import { extract, extractStatus } from "./extract.ts";
import { formatNames } from "./formats.ts";
import { activeCrawls, cancelJob, jobErrors, jobStatus, jobUrl, type TheirKind } from "./jobs.ts";
import {
  createMonitor,
  deleteMonitor,
  getCheck,
  getMonitor,
  listChecks,
  listMonitors,
  runMonitor,
  updateMonitor,
} from "./monitors.ts";
import { contentOf, type FirecrawlDeps, operation, type TheirCall } from "./operation.ts";
import { taken } from "./option.ts";
import { fetchOptionsOf } from "./scrape-options.ts";
import { search } from "./search.ts";
import { concurrency, creditUsage, queueStatus } from "./team.ts";
import { unservedRoutes } from "./unserved.ts";

export function firecrawlRoutes(deps: FirecrawlDeps): readonly Route[] {
  const one = operation(deps);
  const jobs = (kind: TheirKind, name: string): readonly Route[] => [
    one({
      method: "GET",
      path: `/v2/${kind}/{id}`,
      operationId: `firecrawl${name}Status`,
      summary: "The state of a job, and its pages",
      answer: (call) => jobStatus(call, kind),
    }),
    one({
      method: "GET",
      path: `/v2/${kind}/{id}/errors`,
      operationId: `firecrawl${name}Errors`,
      summary: "The addresses of a job without a page",
      answer: (call) => jobErrors(call, kind),
    }),
    one({
      method: "DELETE",
      path: `/v2/${kind}/{id}`,
      operationId: `firecrawl${name}Cancel`,
      summary: "Cancel a job",
      answer: (call) => cancelJob(call, kind),
    }),
  ];
  return [
    one({
      method: "POST",
      path: "/v2/scrape",
      operationId: "firecrawlScrape",
      summary: "Fetch a page",
      answer: scrape,
    }),
    one({
      method: "POST",
      path: "/v2/map",
      operationId: "firecrawlMap",
      summary: "List a site's addresses",
      answer: map,
    }),
    one({
      method: "POST",
      path: "/v2/crawl",
      operationId: "firecrawlCrawl",
      summary: "Fetch a site as a job",
      answer: crawl,
    }),
    ...["active", "ongoing"].map((word) =>
      one({
        method: "GET",
        path: `/v2/crawl/${word}`,
        operationId: `firecrawlCrawls${word === "active" ? "Active" : "Ongoing"}`,
        summary: "The crawls that go on",
        answer: activeCrawls,
      }),
    ),
    ...jobs("crawl", "Crawl"),
    one({
      method: "POST",
      path: "/v2/batch/scrape",
      operationId: "firecrawlBatch",
      summary: "Fetch many pages as a job",
      answer: batch,
    }),
    ...jobs("batch/scrape", "Batch"),
    one({
      method: "POST",
      path: "/v2/extract",
      operationId: "firecrawlExtract",
      summary: "Take values out of pages, as a job",
      answer: extract,
    }),
    one({
      method: "GET",
      path: "/v2/extract/{id}",
      operationId: "firecrawlExtractStatus",
      summary: "The state of a job, and the values of its pages",
      answer: extractStatus,
    }),
    one({
      method: "POST",
      path: "/v2/search",
      operationId: "firecrawlSearch",
      summary: "Search",
      answer: search,
    }),
    one({
      method: "GET",
      path: "/v2/team/credit-usage",
      operationId: "firecrawlCredits",
      summary: "What is left of the month's quota",
      answer: creditUsage,
    }),
    one({
      method: "GET",
      path: "/v2/concurrency-check",
      operationId: "firecrawlConcurrency",
      summary: "The work that goes on",
      answer: concurrency,
    }),
    one({
      method: "GET",
      path: "/v2/team/queue-status",
      operationId: "firecrawlQueue",
      summary: "The work that waits",
      answer: queueStatus,
    }),
    ...monitorRoutes(one),
    ...unservedRoutes(),
  ];
}

function addressIn({ url }: TheirCall["body"]): string {
  if (typeof url !== "string" || url === "") throw badRequest("Bad Request: url: Field required");
  // As theirs: an address without a scheme is one of HTTP.
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? url : `http://${url}`;
}

const MONITORS = "/v2/monitor";
const MONITOR = `${MONITORS}/{id}`;

const monitorRoutes = (one: ReturnType<typeof operation>): readonly Route[] =>
  (
    [
      ["POST", MONITORS, "firecrawlMonitorCreate", "Watch a page for changes", createMonitor],
      ["GET", MONITORS, "firecrawlMonitors", "The project's monitors, oldest first", listMonitors],
      ["GET", MONITOR, "firecrawlMonitor", "A monitor and its last check", getMonitor],
      ["PATCH", MONITOR, "firecrawlMonitorUpdate", "Change, pause or resume a monitor", updateMonitor],
      ["DELETE", MONITOR, "firecrawlMonitorDelete", "End a monitor", deleteMonitor],
      ["POST", `${MONITOR}/run`, "firecrawlMonitorRun", "Visit the page now", runMonitor],
      ["GET", `${MONITOR}/checks`, "firecrawlMonitorChecks", "The checks of a monitor", listChecks],
      ["GET", `${MONITOR}/checks/{check}`, "firecrawlMonitorCheck", "A check, and its page", getCheck],
    ] as const
  ).map(([method, path, operationId, summary, answer]) =>
    one({ method, path, operationId, summary, answer, isList: path === MONITORS && method === "GET" }),
  );

async function scrape({ ask, base, body }: TheirCall): Promise<object> {
  const { url: _, ...options } = body;
  // An option that is not served is the first thing to say: tools of theirs are called without an address.
  const fetch = { ...fetchOptionsOf(options), url: addressIn(body) };
  const page = await contentOf(ask, { method: "POST", path: "/v1/fetch", body: fetch });
  const formats = formatNames((options["formats"] as readonly unknown[] | undefined) ?? ["markdown"]);
  const data = documentOf(page, { ...askedFor(fetch, base), formats });
  return { success: true, data, scrape_id: page.request_id };
}

async function map({ ask, body }: TheirCall): Promise<object> {
  const asked = mapBodyOf({ ...body, url: addressIn(body) });
  const found = await contentOf(ask, { method: "POST", path: "/v1/map", body: asked });
  if (found.error !== null && found.links.length === 0) throw new Refused(mapFailure(found));
  const links = (found.links as { url: string; title: string | null }[]).map(({ url, title }) => ({
    url,
    ...(title !== null && { title }),
  }));
  return { success: true, id: found.request_id, links };
}

function mapFailure(found: { readonly error: string }) {
  const failure = failureOf(found);
  return failure.status === 408 ? { ...failure, code: "MAP_TIMEOUT" } : failure;
}

async function crawl({ ask, base, body, head }: TheirCall): Promise<object> {
  const asked = { ...crawlBodyOf({ ...body, url: addressIn(body) }), ...keyOf(head) };
  const { job_id, webhook_secret } = await contentOf(ask, { method: "POST", path: "/v1/crawl", body: asked });
  const url = jobUrl(base, "crawl", job_id);
  return { success: true, id: job_id, url, ...secretField(webhook_secret) };
}

const secretField = (secret: string | undefined): object => (secret ? { webhookSecret: secret } : {});

async function batch(call: TheirCall): Promise<object> {
  const { urls, ignores_invalid = true, webhook, ...options } = taken(BATCH_OPTIONS, call.body);
  if (urls === undefined) throw badRequest("Bad Request: urls: Field required");
  const wishes = { ...fetchOptionsOf({}), ...options };
  const { job_id, webhook_secret, invalid } = await beginBatch(
    call,
    urls as string[],
    wishes,
    ignores_invalid === true,
    webhook === undefined ? {} : { webhook },
  );
  return {
    success: true,
    id: job_id,
    url: jobUrl(call.base, "batch/scrape", job_id),
    ...(ignores_invalid === true && { invalidURLs: invalid }),
    ...secretField(webhook_secret),
  };
}
