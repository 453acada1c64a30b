/**
 * GET and DELETE /v1/jobs/{job_id}: a job as it is stored, and pages of its items, whose results are rendered while they
 * are sent, ten at a time. Reading takes no turn of the job's actor; cancelling asks it.
 */
import { Type } from "typebox";
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import { Nullable } from "../../../schemas/common.ts";
import { decodeStates, type States, statusOf } from "../../../schemas/job-states.ts";
import {
  type Chunk,
  CHUNK_ITEMS,
  chunkKey,
  ITEM_STATUSES,
  Job,
  JOB_RETENTION_MS,
  type JobItem,
  type JobKind,
  JobStatus,
  type JobRecord,
  resultKey,
  type StoredResult,
} from "../../../schemas/jobs.ts";
import type { Caller } from "../../../gateway/authenticate.ts";
import type { BatchKind, Input } from "../../../gateway/batch.ts";
import { JOB_NOT_FOUND, json, JSON_TYPE } from "../../../gateway/http-errors.ts";
import { type Route, route } from "../../../gateway/route.ts";
import type { Log } from "../../../cluster/ports/log.ts";

export interface JobServices {
  readonly documents: Documents;
  readonly ask: ActorClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly kinds: readonly BatchKind[];
}

const PAGE_DEFAULT = 100;
const MAX_PAGE = 1_000;
/** Results read and rendered at once; each may be as large as a page. */
const RESULTS_AT_ONCE = 10;
const CANCEL_WAIT_MS = 20_000;

const Params = Type.Object({ job_id: Type.String({ format: "uuid" }) });
const NOT_FOUND = {
  description: "The project has no such job, or its retention is over",
  schema: Type.Object({ detail: Type.String() }),
};

export function jobRoutes({ documents, ask, clock, log, kinds }: JobServices): readonly Route[] {
  const byName = new Map<JobKind, BatchKind>(kinds.map((kind) => [kind.name, kind]));

  /** Null: there is no such job, it is another project's, or its retention is over. Throws Fault. */
  async function find(job_id: string, { grant }: Caller): Promise<JobRecord | null> {
    const job = ((await documents.get("job", job_id))?.value ?? null) as JobRecord | null;
    if (job === null || job.phase === "creating" || job.spec.project !== grant.project.name) return null;
    const ends_ms = job.finished_ms === null ? Infinity : job.finished_ms + JOB_RETENTION_MS;
    return clock.now() < ends_ms ? job : null;
  }

  async function inputsOf(job_id: string, indexes: readonly number[]): Promise<readonly Input[]> {
    const keys = [...new Set(indexes.map((index) => chunkKey(job_id, index)))];
    const stored = await documents.getMany("job_items", keys);
    const chunks = new Map(keys.map((key, at) => [key, stored[at]?.value as Chunk | undefined]));
    return indexes.map((index) => chunks.get(chunkKey(job_id, index))?.items[index % CHUNK_ITEMS] ?? {});
  }

  /** Null for an item that has no result, and for all of them while the store cannot be read. */
  async function resultsOf(
    job_id: string,
    indexes: readonly number[],
  ): Promise<readonly (StoredResult | null)[]> {
    try {
      const keys = indexes.map((index) => resultKey(job_id, index));
      return (await documents.getMany("job_results", keys)).map(
        (result) => (result?.value as StoredResult | undefined) ?? null,
      );
    } catch (problem) {
      if (!(problem instanceof Fault)) throw problem;
      return indexes.map(() => null);
    }
  }

  async function itemOf(
    { spec }: JobRecord,
    job_id: string,
    external: boolean,
    index: number,
    state: number,
    input: Input,
    stored: StoredResult | null,
  ): Promise<JobItem> {
    const status = statusOf(state);
    const item = { index, status, input: { ...input }, result: null };
    if (status === "cancelled") return { ...item, error: "cancelled" };
    if (status !== "done" && status !== "failed") return { ...item, error: null };
    const unavailable = { ...item, error: "result_unavailable" };
    const kind = byName.get(spec.kind);
    if (!stored || !kind) return unavailable;
    if (stored.answer === null) return { ...item, error: stored.error };
    try {
      const reader = { request_id: `${job_id}:${index}`, external };
      const result = (await kind.render(input, stored.answer, reader)) as JobItem["result"];
      return { ...item, result, error: stored.error };
    } catch (problem) {
      log.warn("Cannot read a result", { job: job_id, index, problem });
      return unavailable;
    }
  }

  async function* pages(
    job: JobRecord,
    job_id: string,
    external: boolean,
    states: States,
    indexes: readonly number[],
  ): AsyncGenerator<Buffer> {
    const head = JSON.stringify(statusView(job_id, job));
    yield Buffer.from(`${head.slice(0, -1)},"items":[`);
    for (let at = 0; at < indexes.length; at += RESULTS_AT_ONCE) {
      const batch = indexes.slice(at, at + RESULTS_AT_ONCE);
      const [inputs, results] = await Promise.all([inputsOf(job_id, batch), resultsOf(job_id, batch)]);
      const items = await Promise.all(
        batch.map((index, n) =>
          itemOf(job, job_id, external, index, states[index]!, inputs[n]!, results[n]!),
        ),
      );
      yield Buffer.from(`${at > 0 ? "," : ""}${items.map((item) => JSON.stringify(item)).join(",")}`);
    }
    yield Buffer.from("]}");
  }

  return [
    route({
      method: "GET",
      path: "/v1/jobs/{job_id}",
      operationId: "getJob",
      summary: "The state of a batch job, and its items",
      description:
        "With `include=items` the answer has one page of items, in the order they were submitted. `status` selects items " +
        "of one status, and `offset` counts the selected items. The order does not change while the job runs. Page until " +
        "`offset` is at least `counts.total`.",
      tags: ["jobs"],
      params: Params,
      query: Type.Object({
        include: Type.Optional(Nullable(Type.String({ description: "`items`: adds a page of items" }))),
        offset: Type.Integer({ minimum: 0, default: 0 }),
        limit: Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: PAGE_DEFAULT }),
        status: Type.Optional(Nullable(Type.Enum([...ITEM_STATUSES]))),
      }),
      replies: { 200: { description: "The job", schema: JobStatus }, 404: NOT_FOUND },
      handle: async ({ params: { job_id }, query, caller }) => {
        const job = await find(job_id, caller);
        if (!job) return JOB_NOT_FOUND;
        if (!query.include?.split(",").includes("items")) return json(200, statusView(job_id, job));
        const states = decodeStates(job.states, job.spec.total);
        const indexes = pageOf(states, query.status ?? null, query.offset, query.limit);
        const chunks = pages(job, job_id, caller.grant.customer.external, states, indexes);
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
      handle: async ({ params: { job_id }, caller, request_id }) => {
        if (!(await find(job_id, caller))) return JOB_NOT_FOUND;
        await ask(Job, job_id, "cancel", null, { timeout_ms: CANCEL_WAIT_MS, idempotency_id: request_id });
        const job = await find(job_id, caller);
        return job ? json(200, statusView(job_id, job)) : JOB_NOT_FOUND;
      },
    }),
  ];
}

/** The indexes of the items on a page. */
export function pageOf(
  states: States,
  status: JobItem["status"] | null,
  offset: number,
  limit: number,
): readonly number[] {
  if (status === null) {
    const end = Math.min(states.length, offset + limit);
    return Array.from({ length: Math.max(0, end - offset) }, (_, n) => offset + n);
  }
  const indexes: number[] = [];
  let seen = 0;
  for (let index = 0; index < states.length && indexes.length < limit; index++) {
    if (statusOf(states[index]!) !== status) continue;
    if (seen++ >= offset) indexes.push(index);
  }
  return indexes;
}

const PHASES = {
  creating: "queued",
  queued: "queued",
  running: "running",
  cancelling: "cancelled",
  completed: "completed",
  cancelled: "cancelled",
} as const satisfies Record<JobRecord["phase"], JobStatus["status"]>;

const iso = (at_ms: number): string => new Date(at_ms).toISOString();

function statusView(job_id: string, job: JobRecord): JobStatus {
  const { spec, phase, counts, updated_ms, finished_ms, callback } = job;
  return {
    job_id,
    kind: spec.kind,
    status: PHASES[phase],
    counts,
    created_at: iso(spec.created_ms),
    updated_at: iso(updated_ms),
    finished_at: finished_ms === null ? null : iso(finished_ms),
    callback_url: spec.callback_url,
    callback_status: callback?.status ?? null,
    items_url: `/v1/jobs/${job_id}?include=items`,
  };
}
