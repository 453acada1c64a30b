/** Reads stored jobs: whether a caller may see one, its items with their results, and both as clients see them. */
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import type { Caller } from "../../../gateway/authenticate.ts";
import type { BatchKind, Input } from "../../../gateway/batch.ts";
import { type States, statusOf } from "../../../schemas/job-states.ts";
import {
  type Chunk,
  CHUNK_ITEMS,
  chunkKey,
  JOB_RETENTION_MS,
  type JobItem,
  type JobKind,
  type JobRecord,
  type JobStatus,
  resultKey,
  type StoredResult,
} from "../../../schemas/jobs.ts";

/** Results read and rendered at once; each may be as large as a page. */
export const RESULTS_AT_ONCE = 10;

export interface JobReaderDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly log: Log;
  readonly kinds: readonly BatchKind[];
}

export interface JobReader {
  /** Null: there is no such job, it is another project's, or its retention is over. Throws Fault. */
  readonly find: (job_id: string, caller: Caller) => Promise<JobRecord | null>;
  /** Whether this stored job may be shown to the caller. */
  readonly isVisible: (job: JobRecord | null, caller: Caller) => job is JobRecord;
  /** Items with their results, in the order of `indexes`; at most RESULTS_AT_ONCE. */
  readonly items: (
    job: JobRecord,
    job_id: string,
    external: boolean,
    states: States,
    indexes: readonly number[],
  ) => Promise<readonly JobItem[]>;
}

export function jobReader({ documents, clock, log, kinds }: JobReaderDeps): JobReader {
  const byName = new Map<JobKind, BatchKind>(kinds.map((kind) => [kind.name, kind]));

  function isVisible(job: JobRecord | null, { grant }: Caller): job is JobRecord {
    if (job === null || job.phase === "creating" || job.spec.project !== grant.project.name) return false;
    const ends_ms = job.finished_ms === null ? Infinity : job.finished_ms + JOB_RETENTION_MS;
    return clock.now() < ends_ms;
  }

  async function find(job_id: string, caller: Caller): Promise<JobRecord | null> {
    const job = ((await documents.get("job", job_id))?.value ?? null) as JobRecord | null;
    return isVisible(job, caller) ? job : null;
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

  async function items(
    job: JobRecord,
    job_id: string,
    external: boolean,
    states: States,
    indexes: readonly number[],
  ): Promise<readonly JobItem[]> {
    const [inputs, results] = await Promise.all([inputsOf(job_id, indexes), resultsOf(job_id, indexes)]);
    return Promise.all(
      indexes.map((index, n) =>
        itemOf(job, job_id, external, index, states[index]!, inputs[n]!, results[n]!),
      ),
    );
  }

  return { find, isVisible, items };
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

/** A job as clients see it, without its items. */
export function statusView(job_id: string, job: JobRecord): JobStatus {
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
