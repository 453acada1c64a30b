/** The events of a crawl, made of what its job has stored: one for each page that has a result, in the order of items, and one for the end. */
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import type { Secrets } from "../../../../cluster/ports/secrets.ts";
import { JOB_ITEMS } from "../../../../records/collections.ts";
import type { CrawlCompletedEvent, CrawlPageEvent } from "../../../../schemas/crawl-events.ts";
import { EMPTY_RECORD, type FetchAnswer } from "../../../../schemas/fetch.ts";
import { decodeStates, statusOf } from "../../../../schemas/job-states.ts";
import {
  CHUNK_ITEMS,
  chunkKey,
  type JobRecord,
  resultKey,
  type StoredResult,
} from "../../../../schemas/jobs.ts";
import { JOB_RESULTS, JOBS } from "../../../work/jobs/collections.ts";
import { inputOrNull } from "../../../work/jobs/stored-inputs.ts";
import { endEvent, pageEvent as theirPageEvent, startedEvent } from "../../../../gateway/firecrawl/events.ts";
import type { BatchKind } from "../../../../gateway/batch.ts";
import type { CrawlWebhookDeps } from "../webhook/webhook.actor.ts";
import type { CrawledAnswer } from "./crawl-items.ts";

interface EventDeps {
  readonly documents: Documents;
  readonly secrets: Pick<Secrets, "open">;
  /** The address at which clients see the service. */
  readonly publicUrl: () => string;
  /** A page's result as `POST /v1/fetch` answers it. */
  readonly render: BatchKind["render"];
}

type Input = Readonly<Record<string, unknown>>;

export const crawlEvents =
  (deps: EventDeps): CrawlWebhookDeps["nextEvent"] =>
  async (job_id, { cursor, events, form, metadata = {} }) => {
    const job = await JOBS.get(deps.documents, job_id);
    if (job === null) return { kind: "over" };
    const isOver = job.phase === "completed" || job.phase === "cancelled";
    const from = Math.max(0, cursor);
    const about = form && { type: "crawl" as const, job_id, metadata };
    if (about && cursor < 0) {
      const id = `${job_id}:start`;
      return { kind: "event", id, event: startedEvent({ ...about, id }), index: -1, isLast: false };
    }
    const page = events.includes("page") ? await nextPage(deps, job_id, job, from, isOver) : null;
    if (page !== null) {
      const { index } = page;
      const id = `${job_id}:${index}`;
      const event = about
        ? theirPageEvent({ ...about, id }, await renderedPage(deps, id, page), deps.publicUrl())
        : ourPageEvent(deps, job_id, page);
      return { kind: "event", id, event, index, isLast: false };
    }
    if (!isOver) return { kind: "none" };
    const { total } = job.counts;
    const name = about && job.phase === "cancelled" ? "failed" : "completed";
    if (!events.includes(name) || from > total) return { kind: "over" };
    const id = `${job_id}:end`;
    const event = about ? endEvent({ ...about, id }, name) : completedEvent(deps, id, job_id, job);
    return { kind: "event", id, event, index: total, isLast: true };
  };

interface StoredPage {
  readonly index: number;
  readonly input: Input;
  readonly result: StoredResult;
}

async function renderedPage({ render }: EventDeps, request_id: string, { input, result }: StoredPage) {
  const { answer, error } = result;
  if (answer === null) return { input, error, result: null };
  try {
    const page = await render(input, answer, { request_id, external: true });
    return { input, error, result: page as Record<string, unknown> };
  } catch (problem) {
    // The store is asked again; what cannot be read at all would hold back the events behind it.
    if (problem instanceof Fault) throw problem;
    return { input, error: "result_unavailable", result: null };
  }
}

/** Of the first item from this number on that has a result. Null: there is none yet, or none any more. Throws Fault. */
async function nextPage(
  { documents, secrets }: EventDeps,
  job_id: string,
  job: JobRecord,
  from: number,
  isOver: boolean,
): Promise<StoredPage | null> {
  const { total } = job.counts;
  const states = isOver ? decodeStates(job.states, total) : null;
  for (let index = from; index < total; index++) {
    // Of the items of a job that is over, those that were cancelled have none.
    if (states !== null && statusOf(states[index]!) === "cancelled") continue;
    const result = await JOB_RESULTS.get(documents, resultKey(job_id, index));
    if (result === null && !isOver) return null;
    if (result === null || result.status === "cancelled") continue;
    const stored = (await JOB_ITEMS.get(documents, chunkKey(job_id, index)))?.items[index % CHUNK_ITEMS];
    const input = (stored && inputOrNull(secrets, stored, job_id, index)) ?? {};
    // robots.txt and sitemaps are items of the crawl, and no pages of it.
    if (input["sitemap"] === true) continue;
    return { index, input, result };
  }
  return null;
}

function ourPageEvent(
  { publicUrl }: EventDeps,
  job_id: string,
  { index, input, result: { error, answer } }: StoredPage,
): CrawlPageEvent {
  const item_url = `${publicUrl()}/v1/jobs/${job_id}?include=items&limit=1${index === 0 ? "" : `&after=${index - 1}`}`;
  const { duplicate_of, change } = (answer ?? {}) as Partial<CrawledAnswer>;
  const record = (answer as FetchAnswer | null)?.record ?? EMPTY_RECORD;
  const { final_url, status, title, content_type, sha256, retrieved_at } = record;
  const page = { final_url, status, title, content_type, sha256, retrieved_at };
  return {
    id: `${job_id}:${index}`,
    type: "crawl.page",
    job_id,
    index,
    url: typeof input["url"] === "string" ? input["url"] : "",
    depth: Number(input["depth"] ?? 0),
    error,
    ...page,
    ...(duplicate_of && { duplicate_of }),
    ...(change && { change }),
    item_url,
  };
}

const completedEvent = (
  { publicUrl }: EventDeps,
  id: string,
  job_id: string,
  { phase, counts, finished_ms }: JobRecord,
): CrawlCompletedEvent => ({
  id,
  type: "crawl.completed",
  job_id,
  status: phase as CrawlCompletedEvent["status"],
  counts,
  finished_at: new Date(finished_ms!).toISOString(),
  job_url: `${publicUrl()}/v1/jobs/${job_id}`,
});
