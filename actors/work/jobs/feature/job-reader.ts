/** Reads stored jobs: whether a caller may see one, its items with their results, and both as clients see them. */
import type { ByteBudget } from "../../../../cluster/byte-budget.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import { type Secrets, shownAddress } from "../../../../cluster/ports/secrets.ts";
import { inputOrNull } from "../stored-inputs.ts";
import { maskUserInfo } from "../../../lib/web/url.ts";
import type { Caller } from "../../../../gateway/authenticate.ts";
import type { BatchKind } from "../../../../gateway/batch.ts";
import type { Input } from "../../../../schemas/job-inputs.ts";
import { fromMicros } from "../../../../schemas/accounts.ts";
import { type States, statusOf } from "../../../../schemas/job-states.ts";
import {
  callbackPlace,
  CHUNK_ITEMS,
  chunkKey,
  type JobItem,
  type JobKind,
  type JobRecord,
  type JobStatus,
  type JobWebhook,
  resultKey,
  retentionMs,
  type StoredResult,
} from "../../../../schemas/jobs.ts";
import { JOB_ITEMS } from "../../../../records/collections.ts";
import { JOB_RESULTS, JOBS } from "../collections.ts";
import { JOB_WEBHOOKS } from "../webhook/stored-webhook.ts";
import { pausedBy } from "../progress.ts";
import { iso } from "../../../lib/iso.ts";

/** Items read at once, and results rendered at once unless they weigh more than MAX_GROUP_BYTES together. */
export const RESULTS_AT_ONCE = 10;
/** Results that weigh more are rendered one by one, each within the node's memory for bodies. */
const MAX_GROUP_BYTES = 2 ** 20;

export interface JobReaderDeps {
  readonly documents: Documents;
  readonly secrets: Pick<Secrets, "open">;
  readonly clock: Clock;
  readonly log: Log;
  readonly kinds: readonly BatchKind[];
  /** The memory for bodies on this node. Default: no limit. */
  readonly memory?: ByteBudget;
}

export interface JobReader {
  /** Null: there is no such job, it is another project's, or its retention is over. Throws Fault. */
  readonly find: (job_id: string, caller: Caller) => Promise<JobRecord | null>;
  /** With the webhooks that jobs of some kinds have. Throws Fault. */
  readonly withWebhooks: (views: readonly JobStatus[]) => Promise<JobStatus[]>;
  /** Whether this stored job may be shown to the caller. */
  readonly isVisible: (job: JobRecord | null, caller: Caller) => job is JobRecord;
  /**
   * Items with their results, in the order of `indexes`, at most RESULTS_AT_ONCE; fewer at a time where results are large. The
   * memory of a group is held until the next one is asked for.
   */
  readonly items: (
    job: JobRecord,
    job_id: string,
    external: boolean,
    states: States,
    indexes: readonly number[],
    signal: AbortSignal,
  ) => AsyncIterable<readonly JobItem[]>;
}

export function jobReader({ documents, secrets, clock, log, kinds, memory }: JobReaderDeps): JobReader {
  const byName = new Map<JobKind, BatchKind>(kinds.map((kind) => [kind.name, kind]));

  function isVisible(job: JobRecord | null, { grant }: Caller): job is JobRecord {
    if (job === null || job.phase === "creating" || job.spec.project !== grant.project.name) return false;
    const ends_ms = job.finished_ms === null ? Infinity : job.finished_ms + retentionMs(job.spec);
    return clock.now() < ends_ms;
  }

  async function find(job_id: string, caller: Caller): Promise<JobRecord | null> {
    const job = await JOBS.get(documents, job_id);
    return isVisible(job, caller) ? job : null;
  }

  async function withWebhooks(views: readonly JobStatus[]): Promise<JobStatus[]> {
    const found = new Map<string, JobWebhook>();
    for (const [kind, group] of Map.groupBy(views, (view) => view.kind)) {
      if (!byName.get(kind)?.webhook) continue;
      const job_ids = group.map(({ job_id }) => job_id);
      for (const [at, webhook] of (await JOB_WEBHOOKS.getMany(documents, job_ids)).entries())
        if (webhook)
          found.set(job_ids[at]!, { is_off: webhook.state === "off", last_status: webhook.last_status });
    }
    return views.map((view) => {
      const webhook = found.get(view.job_id);
      return webhook === undefined ? view : { ...view, webhook };
    });
  }

  async function inputsOf(job_id: string, indexes: readonly number[]): Promise<readonly Input[]> {
    const keys = [...new Set(indexes.map((index) => chunkKey(job_id, index)))];
    const stored = await JOB_ITEMS.getMany(documents, keys);
    const chunks = new Map(keys.map((key, at) => [key, stored[at]]));
    return indexes.map((index) => {
      const input = chunks.get(chunkKey(job_id, index))?.items[index % CHUNK_ITEMS];
      return (input && inputOrNull(secrets, input, job_id, index)) ?? {};
    });
  }

  /** Null for an item that has no result, and for all of them while the store cannot be read. */
  async function resultsOf(
    job_id: string,
    indexes: readonly number[],
  ): Promise<readonly (StoredResult | null)[]> {
    try {
      const keys = indexes.map((index) => resultKey(job_id, index));
      return await JOB_RESULTS.getMany(documents, keys);
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
    const kind = byName.get(spec.kind);
    const shown = shownInput(kind?.shown?.(input) ?? input);
    const item = { index, kind: spec.kind, status, input: shown, result: null };
    if (status === "cancelled") return { ...item, error: "cancelled" };
    if (status !== "done" && status !== "failed") return { ...item, error: null };
    const unavailable = { ...item, error: "result_unavailable" };
    if (!stored || !kind) return unavailable;
    if (stored.answer === null) return { ...item, error: stored.error };
    try {
      const reader = { request_id: `${job_id}:${index}`, external };
      const result = (await kind.render(input, stored.answer, reader)) as JobItem["result"];
      return { ...item, result, error: stored.error };
    } catch (problem) {
      log.warn("Cannot read a result", { job_id, index, problem });
      return unavailable;
    }
  }

  async function* items(
    job: JobRecord,
    job_id: string,
    external: boolean,
    states: States,
    indexes: readonly number[],
    signal: AbortSignal,
  ): AsyncGenerator<readonly JobItem[]> {
    const [inputs, results] = await Promise.all([inputsOf(job_id, indexes), resultsOf(job_id, indexes)]);
    const kind = byName.get(job.spec.kind);
    const weights = indexes.map((_index, n) => weightOf(kind, inputs[n]!, results[n]!));
    for (const group of groupsOf(weights)) {
      const weight = group.reduce((sum, n) => sum + weights[n]!, 0);
      const isHeavy = memory !== undefined && weight > MAX_GROUP_BYTES;
      const reservation = isHeavy ? await memory.reserve(weight, signal) : null;
      // The head is sent already: an item for which there is no room is one whose result cannot be read now.
      const hasRoom = !isHeavy || reservation !== null;
      try {
        yield await Promise.all(
          group.map((n) => {
            const [index, stored] = [indexes[n]!, hasRoom ? results[n]! : null];
            return itemOf(job, job_id, external, index, states[index]!, inputs[n]!, stored);
          }),
        );
      } finally {
        reservation?.release();
      }
    }
  }

  return { find, withWebhooks, isVisible, items };
}

/** The bytes in memory while the result of an item is rendered. */
const weightOf = (kind: BatchKind | undefined, input: Input, stored: StoredResult | null): number =>
  kind?.weigh && stored?.answer ? kind.weigh(input, stored.answer) : 0;

/** Neighbours that weigh at most MAX_GROUP_BYTES together, as positions; what weighs more stands alone. */
export function groupsOf(weights: readonly number[]): readonly (readonly number[])[] {
  const groups: number[][] = [];
  let sum = Infinity;
  for (const [at, weight] of weights.entries()) {
    if (sum + weight > MAX_GROUP_BYTES) {
      groups.push([]);
      sum = 0;
    }
    groups.at(-1)!.push(at);
    sum += weight;
  }
  return groups;
}

/** The input of an item, with the credentials of its address masked. */
const shownInput = (input: Input): Record<string, unknown> => {
  const { url } = input;
  return typeof url === "string" ? { ...input, url: maskUserInfo(url) } : { ...input };
};

const PHASES = {
  creating: "queued",
  queued: "queued",
  running: "running",
  cancelling: "cancelled",
  completed: "completed",
  cancelled: "cancelled",
} as const satisfies Record<JobRecord["phase"], JobStatus["status"]>;

/** A job as clients see it, without its items. */
export function statusView(secrets: Pick<Secrets, "open">, job_id: string, job: JobRecord): JobStatus {
  const { spec, phase, counts, updated_ms, finished_ms, callback } = job;
  return {
    job_id,
    kind: spec.kind,
    ...(spec.monitor_id !== undefined && { monitor_id: spec.monitor_id }),
    status: PHASES[phase],
    paused: finished_ms === null ? pausedBy(job) : null,
    counts,
    created_at: iso(spec.created_ms),
    updated_at: iso(updated_ms),
    finished_at: finished_ms === null ? null : iso(finished_ms),
    callback_url: spec.callback_url && shownAddress(secrets, spec.callback_url, callbackPlace(job_id)),
    callback_status: callback?.status ?? null,
    ...(spec.max_cost_micros !== undefined && {
      max_cost_usd: Number(fromMicros(spec.max_cost_micros)),
      max_cost_reached: job.max_cost_reached ?? false,
    }),
    items_url: `/v1/jobs/${job_id}?include=items`,
  };
}
