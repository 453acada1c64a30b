/** The events of a job, made of what it has stored: one for each page that has a result, in the order of items, and one for the end. */
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import type { Secrets } from "../../../../cluster/ports/secrets.ts";
import { JOB_ITEMS } from "../../../../records/collections.ts";
import type { CompletedEvent, PageEvent } from "../../../../schemas/job-events.ts";
import { EMPTY_RECORD, type FetchAnswer } from "../../../../schemas/fetch.ts";
import type { Input } from "../../../../schemas/job-inputs.ts";
import { decodeStates, statusOf } from "../../../../schemas/job-states.ts";
import {
  CHUNK_ITEMS,
  chunkKey,
  type JobKind,
  type JobRecord,
  resultKey,
  type StoredResult,
} from "../../../../schemas/jobs.ts";
import { JOB_RESULTS, JOBS } from "../collections.ts";
import { inputOrNull } from "../stored-inputs.ts";
import { endEvent, pageEvent as theirPageEvent, startedEvent } from "../../../../gateway/firecrawl/events.ts";
import type { BatchKind } from "../../../../gateway/batch.ts";
import type { JobWebhookDeps } from "../webhook/webhook.actor.ts";

interface EventDeps {
  readonly documents: Documents;
  readonly secrets: Pick<Secrets, "open">;
  /** The address at which clients see the service. */
  readonly publicUrl: () => string;
  readonly kinds: readonly BatchKind[];
}

type Webhook = NonNullable<BatchKind["webhook"]>;

/** Names of the kinds in Firecrawl's API. */
const THEIR_NAMES = { crawl: "crawl", batch: "batch_scrape" } as const;

export function jobEvents(deps: EventDeps): JobWebhookDeps["nextEvent"] {
  const kinds = new Map<JobKind, BatchKind>(deps.kinds.map((kind) => [kind.name, kind]));
  return async (job_id, { cursor, events, form, metadata = {} }) => {
    const job = await JOBS.get(deps.documents, job_id);
    const kind = job && kinds.get(job.spec.kind);
    if (job === null || !kind?.webhook) return { kind: "over" };
    const { webhook, render } = kind;
    const isOver = job.phase === "completed" || job.phase === "cancelled";
    const from = Math.max(0, cursor);
    const about = form && { type: THEIR_NAMES[webhook.name], job_id, metadata };
    if (about && cursor < 0) {
      const id = `${job_id}:start`;
      return { kind: "event", id, event: startedEvent({ ...about, id }), index: -1, isLast: false };
    }
    const page = events.includes("page") ? await nextPage(deps, webhook, job_id, job, from, isOver) : null;
    if (page !== null) {
      const { index } = page;
      const id = `${job_id}:${index}`;
      const event = about
        ? theirPageEvent({ ...about, id }, await renderedPage(render, id, page), deps.publicUrl())
        : ourPageEvent(deps, webhook.name, job_id, page);
      return { kind: "event", id, event, index, isLast: false };
    }
    if (!isOver) return { kind: "none" };
    const { total } = job.counts;
    const name = about && job.phase === "cancelled" ? "failed" : "completed";
    if (!events.includes(name) || from > total) return { kind: "over" };
    const id = `${job_id}:end`;
    const event = about ? endEvent({ ...about, id }, name) : completedEvent(deps, webhook.name, job_id, job);
    return { kind: "event", id, event, index: total, isLast: true };
  };
}

interface StoredPage {
  readonly index: number;
  readonly input: Input;
  readonly result: StoredResult;
  /** Fields of its event beside the fields of every kind. */
  readonly more: object;
}

/** As `POST /v1/fetch` answers it. */
async function renderedPage(render: BatchKind["render"], request_id: string, { input, result }: StoredPage) {
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

/** The first item from this number on that has a result. Null: there is none yet, or none any more. Throws Fault. */
async function nextPage(
  { documents, secrets }: EventDeps,
  { page }: Webhook,
  job_id: string,
  job: JobRecord,
  from: number,
  isOver: boolean,
): Promise<StoredPage | null> {
  const { total } = job.counts;
  // Frozen items have results.
  const frozen = job.frozen?.items ?? 0;
  const states = isOver ? decodeStates(job.states, total - frozen) : null;
  for (let index = from; index < total; index++) {
    // Cancelled items of a job that is over have no result.
    if (states !== null && index >= frozen && statusOf(states[index - frozen]!) === "cancelled") continue;
    const result = await JOB_RESULTS.get(documents, resultKey(job_id, index));
    if (result === null && !isOver) return null;
    if (result === null || result.status === "cancelled") continue;
    const stored = (await JOB_ITEMS.get(documents, chunkKey(job_id, index)))?.items[index % CHUNK_ITEMS];
    const input = (stored && inputOrNull(secrets, stored, job_id, index)) ?? {};
    const more = page ? page(input, result.answer) : {};
    if (more !== null) return { index, input, result, more };
  }
  return null;
}

function ourPageEvent(
  { publicUrl }: EventDeps,
  name: Webhook["name"],
  job_id: string,
  { index, input, result: { error, answer }, more }: StoredPage,
): PageEvent {
  const item_url = `${publicUrl()}/v1/jobs/${job_id}?include=items&limit=1${index === 0 ? "" : `&after=${index - 1}`}`;
  const record = (answer as FetchAnswer | null)?.record ?? EMPTY_RECORD;
  const { final_url, status, title, content_type, sha256, retrieved_at } = record;
  const page = { final_url, status, title, content_type, sha256, retrieved_at };
  return {
    id: `${job_id}:${index}`,
    type: `${name}.page`,
    job_id,
    index,
    url: typeof input["url"] === "string" ? input["url"] : "",
    error,
    ...page,
    ...more,
    item_url,
  } as PageEvent;
}

const completedEvent = (
  { publicUrl }: EventDeps,
  name: Webhook["name"],
  job_id: string,
  { phase, counts, finished_ms }: JobRecord,
): CompletedEvent => ({
  id: `${job_id}:end`,
  type: `${name}.completed`,
  job_id,
  status: phase as CompletedEvent["status"],
  counts,
  finished_at: new Date(finished_ms!).toISOString(),
  job_url: `${publicUrl()}/v1/jobs/${job_id}`,
});
