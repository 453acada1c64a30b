/**
 * GET, PATCH and DELETE /v1/jobs/{job_id}: a job as it is stored, and pages of its items, whose results are rendered while they
 * are sent, ten at a time. Reading takes no turn of the job's actor; its progress, pausing and cancelling ask it.
 */
import { Type } from "typebox";
import type { ActorClient } from "../../../../cluster/actor.ts";
import { wordsOf } from "../../../../gateway/words.ts";
import { invalid, JOB_NOT_FOUND, json, JSON_TYPE } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { unknownWord } from "../../../../gateway/unknown-names.ts";
import { refusedNames } from "../../../../gateway/warnings.ts";
import { Field, Nullable } from "../../../../schemas/common.ts";
import { type States, statusOf } from "../../../../schemas/job-states.ts";
import {
  ITEM_STATUSES,
  Job,
  type JobItem,
  JobPause,
  type JobProgress,
  type JobRecord,
  JobStatus,
  JobId,
} from "../../../../schemas/jobs.ts";
import { readStates } from "../stored-states.ts";
import { type JobReader, jobReader, type JobReaderDeps, RESULTS_AT_ONCE, statusView } from "./job-reader.ts";
import { listRoute } from "./list-route.ts";
import { type CsvResults, resultsRoutes } from "./results-route.ts";

export interface JobServices extends JobReaderDeps {
  readonly ask: ActorClient;
  /** Kinds whose results have a route of their own as CSV. */
  readonly csv_results?: readonly CsvResults[];
  /** Default 32 MB. */
  readonly page_bytes?: number;
}

const INCLUDES: readonly string[] = ["items", "progress"];
const PAGE_DEFAULT = 100;
const MAX_PAGE = 1_000;
/** A page ends behind the item that reaches this size: an item may have megabytes of text. */
const PAGE_BYTES = 32 * 2 ** 20;
const CANCEL_WAIT_MS = 20_000;
/** A job is shown without its progress where that takes longer. */
const PROGRESS_WAIT_MS = 2_000;

const Params = Type.Object({ job_id: JobId });
const NOT_FOUND = {
  description: "The project has no such job, or its retention is over",
  schema: Type.Object({ detail: Type.String() }),
};

const PAUSED_BY_OPERATOR = json(409, {
  detail: {
    error: "paused_by_operator",
    message: "The operator of this service paused the job, and only the operator can resume it",
  },
});

export function jobRoutes(services: JobServices): readonly Route[] {
  const { ask, secrets, page_bytes = PAGE_BYTES } = services;
  const reader = jobReader(services);
  const { find, withWebhooks } = reader;
  const viewOf = async (job_id: string, job: JobRecord): Promise<JobStatus> =>
    (await withWebhooks([statusView(secrets, job_id, job)]))[0]!;

  async function progressOf(job_id: string, { finished_ms }: JobRecord): Promise<JobProgress | null> {
    if (finished_ms !== null) return null;
    return ask(Job, job_id, "progress", null, { timeout_ms: PROGRESS_WAIT_MS }).then(
      ({ progress }) => progress,
      () => null,
    );
  }

  async function* pages(
    head: string,
    job: JobRecord,
    job_id: string,
    external: boolean,
    states: States,
    indexes: readonly number[],
    signal: AbortSignal,
  ): AsyncGenerator<Buffer> {
    yield Buffer.from(`${head.slice(0, -1)},"items":[`);
    const last = indexes.at(-1) ?? null;
    let next_after: number | null = null;
    let bytes = 0;
    page: for (let at = 0; at < indexes.length; at += RESULTS_AT_ONCE) {
      const batch = indexes.slice(at, at + RESULTS_AT_ONCE);
      for await (const items of reader.items(job, job_id, external, states, batch, signal)) {
        for (const item of items) {
          const text = Buffer.from(`${bytes === 0 ? "" : ","}${JSON.stringify(item)}`);
          yield text;
          bytes += text.length;
          if (bytes < page_bytes || item.index === last) continue;
          next_after = item.index;
          break page;
        }
      }
    }
    yield Buffer.from(`],"next_after":${next_after}}`);
  }

  return [
    listRoute(services, reader),
    ...resultsRoutes(services, reader, services.csv_results ?? []),
    route({
      method: "GET",
      path: "/v1/jobs/{job_id}",
      operationId: "getJob",
      summary: "The state of a batch job, and its items",
      description:
        "With `include=items` the answer has one page of items, in the order they were submitted. `status` selects items " +
        "of one status, and `offset` counts the selected items. The order does not change while the job runs. Page until " +
        "`offset` is at least `counts.total`. While a job runs, items change their status and pages of one status shift under " +
        "`offset`: give `after`, the `index` of the last item of the page before, until a page is empty. A page ends early " +
        "behind the item with which it has 32 MB: `next_after` then is the `after` of the next one, else null.",
      tags: ["jobs"],
      params: Params,
      query: Type.Object({
        include: Type.Optional(
          Field(
            Nullable(
              Type.String({
                description:
                  "`items`: adds a page of items; `progress`: how it gets on; or both: `items,progress`",
              }),
            ),
            null,
            "items",
          ),
        ),
        offset: Field(Type.Integer({ minimum: 0, default: 0 }), "How many of the selected items to skip"),
        limit: Field(
          Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: PAGE_DEFAULT }),
          "The most items of the page",
        ),
        after: Type.Optional(
          Field(
            Nullable(Type.Integer({ minimum: 0, description: "Only items with a larger `index`" })),
            null,
            99,
          ),
        ),
        status: Type.Optional(Field(Nullable(Type.Enum([...ITEM_STATUSES])), "Only items of this status")),
      }),
      replies: { 200: { description: "The job", schema: JobStatus }, 404: NOT_FOUND },
      handle: async (call) => {
        const { params, query, caller, signal } = call;
        const job_id = params.job_id.toLowerCase();
        const job = await find(job_id, caller);
        if (!job) return JOB_NOT_FOUND;
        const include = wordsOf(query.include ?? "");
        const unknown = include.filter((word) => !INCLUDES.includes(word));
        const refused = refusedNames(
          unknown.map((word) => unknownWord("include", word, INCLUDES)),
          call,
        );
        if (refused.length > 0) return invalid(refused);
        const stored = await viewOf(job_id, job);
        const view = include.includes("progress")
          ? { ...stored, progress: await progressOf(job_id, job) }
          : stored;
        if (!include.includes("items")) return json(200, view);
        const states = await readStates(services.documents, job_id, job);
        const indexes = pageOf(states, query.status ?? null, query);
        const chunks = pages(
          JSON.stringify(view),
          job,
          job_id,
          caller.grant.customer.external,
          states,
          indexes,
          signal,
        );
        return { status: 200, headers: JSON_TYPE, body: { length: null, chunks } };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/jobs/{job_id}",
      operationId: "cancelJob",
      summary: "Cancel a batch job",
      description:
        "Cancels the items that wait and stops those in flight; answers when none is in flight any more, after two seconds " +
        "at most. Finished items keep their results. A finished job does not change.",
      tags: ["jobs"],
      params: Params,
      replies: { 200: { description: "The job", schema: JobStatus }, 404: NOT_FOUND },
      handle: async ({ params, caller, request_id }) => {
        const job_id = params.job_id.toLowerCase();
        if (!(await find(job_id, caller))) return JOB_NOT_FOUND;
        await ask(Job, job_id, "cancel", null, { timeout_ms: CANCEL_WAIT_MS, idempotency_id: request_id });
        const job = await find(job_id, caller);
        return job ? json(200, await viewOf(job_id, job)) : JOB_NOT_FOUND;
      },
    }),
    ...pauseRoutes(ask, find, viewOf),
  ];
}

function pauseRoutes(
  ask: ActorClient,
  find: JobReader["find"],
  viewOf: (job_id: string, job: JobRecord) => Promise<JobStatus>,
): readonly Route[] {
  return [
    route({
      method: "PATCH",
      path: "/v1/jobs/{job_id}",
      operationId: "changeJob",
      summary: "Pause or resume a job",
      description:
        "A paused job starts no further item; those in flight end, and are billed. It stays paused after a restart, for 30 days at most: " +
        "then it is cancelled. A finished job does not change, and asking for what is so already changes nothing. A job that the operator " +
        "paused goes on only when neither the operator nor a client pauses it.",
      tags: ["jobs"],
      params: Params,
      body: JobPause,
      body_example: { paused: true },
      replies: {
        200: { description: "The job", schema: JobStatus },
        404: NOT_FOUND,
        409: {
          description: "The operator paused it, and only the operator can resume it; nothing has changed",
          schema: Type.Object({
            detail: Type.Object({ error: Type.Literal("paused_by_operator"), message: Type.String() }),
          }),
        },
      },
      handle: async ({ params, body, caller }) => {
        const job_id = params.job_id.toLowerCase();
        if (!(await find(job_id, caller))) return JOB_NOT_FOUND;
        const message = { is_paused: body.paused };
        const changed = await ask(Job, job_id, "setClientPaused", message, { timeout_ms: CANCEL_WAIT_MS });
        if (changed.is_refused) return PAUSED_BY_OPERATOR;
        const job = changed.exists ? await find(job_id, caller) : null;
        return job ? json(200, await viewOf(job_id, job)) : JOB_NOT_FOUND;
      },
    }),
    route({
      method: "POST",
      path: "/v1/ops/jobs/{job_id}",
      operationId: "pauseJob",
      summary: "Pauses a job of any project, or resumes it",
      description:
        "A paused job starts no further item; those in flight end. It stays paused on whichever node it is and after a restart, and its client " +
        "cannot resume it. A job that its client has paused as well stays paused when the operator resumes it.",
      tags: ["internal"],
      params: Params,
      body: JobPause,
      body_example: { paused: false },
      replies: {
        200: { description: "The job is as it was asked", schema: JobPause },
        404: NOT_FOUND,
      },
      handle: async ({ params, body }) => {
        const job_id = params.job_id.toLowerCase();
        const message = { is_paused: body.paused };
        const { exists } = await ask(Job, job_id, "setPaused", message, { timeout_ms: CANCEL_WAIT_MS });
        return exists ? json(200, body) : JOB_NOT_FOUND;
      },
    }),
  ];
}

interface PagePlace {
  /** Selected items to skip, counted behind `after`. */
  readonly offset: number;
  readonly limit: number;
  /** The index that the page begins behind. */
  readonly after?: number | null;
}

/** The indexes of the items on a page. */
export function pageOf(
  states: States,
  status: JobItem["status"] | null,
  { offset, limit, after }: PagePlace,
): readonly number[] {
  const first = (after ?? -1) + 1;
  if (status === null) {
    const begin = first + offset;
    const end = Math.min(states.length, begin + limit);
    return Array.from({ length: Math.max(0, end - begin) }, (_, n) => begin + n);
  }
  const indexes: number[] = [];
  let seen = 0;
  for (let index = first; index < states.length && indexes.length < limit; index++) {
    if (statusOf(states[index]!) !== status) continue;
    if (seen++ >= offset) indexes.push(index);
  }
  return indexes;
}
