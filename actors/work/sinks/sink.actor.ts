/**
 * The actor of a sink: it delivers the results of a job in parts, one after the other. Which items a part has is stored before it is
 * sent, and that it was delivered afterwards: a crash in between sends the same items again under the same name, so that none is
 * missing and none is twice. A bucket's manifest follows each part. When attempts are made: actors/work/callbacks/delivery-schedule.ts.
 */
import { actor } from "../../../cluster/actor.ts";
import type { Versioned } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Node } from "../../../cluster/node-record.ts";
import { UNREADABLE_STATUS } from "../../../cluster/ports/secrets.ts";
import type { JobItem } from "../../../schemas/jobs.ts";
import { JobSink, type SinkCredentials } from "../../../schemas/sinks.ts";
import {
  type DeliverySnapshot,
  type DeliveryState,
  deliveryBehaviour,
} from "../callbacks/delivery-behaviour.ts";
import { outcomeOf } from "../callbacks/delivery-outcome.ts";
import { afterAttempt, beginDelivery } from "../callbacks/delivery-schedule.ts";
import type { DeliveryResult } from "../callbacks/post-json.ts";
import { postSigned, type PostSignedDeps } from "../callbacks/post-signed.ts";
import type { PutObject } from "./bucket.ts";
import {
  type EncodeParquet,
  eventOf,
  folderOf,
  type JobProgress,
  manifestOf,
  nextIndexes,
  objectOf,
  readPart,
} from "./part.ts";
import { indexesOf, type Ranges, withRanges } from "./ranges.ts";
import { sinkOptions, sinkPlace, SINKS, type StoredSink } from "./stored-sink.ts";

export interface SinkDeps extends PostSignedDeps, Pick<Node, "documents" | "metrics"> {
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Null: the job is not stored any more. Throws Fault. */
  readonly progressOf: (job_id: string) => Promise<JobProgress | null>;
  readonly putObject: PutObject;
  readonly encodeParquet: EncodeParquet;
}

/** A job that runs is looked at so often. */
const LOOK_EVERY_MS = 2_000;
/** Parts that a node holds in memory at once, over all sinks. */
const MAX_PARTS_AT_ONCE = 4;
const FULL_MS = 500;
/** An attempt whose outcome is not stored by then, as another node finds it, was lost with its node; it does no harm if it was not. */
const LOST_AFTER_MS = 5_000;
const PUT_TIMEOUT_MS = 60_000;
/** A result that cannot be read so often is delivered as unavailable. */
const MAX_UNREADABLE = 3;
const UNREADABLE_PAUSE_MS = 5_000;

interface WaitingSink {
  readonly next_ms: number;
  readonly stored: Versioned<StoredSink>;
}

export function sinkActor(deps: SinkDeps) {
  const { clock, log, documents } = deps;
  let parts = 0;
  const behaviour = deliveryBehaviour<WaitingSink>({
    clock,
    async listWaiting(id) {
      const stored = await SINKS.read(documents, id);
      return stored?.value.state === "running" ? [{ next_ms: stored.value.next_ms, stored }] : [];
    },
    async attempt(_id, { stored }) {
      if (parts >= MAX_PARTS_AT_ONCE) return void (await putLater(deps, stored, FULL_MS));
      parts++;
      try {
        await step(deps, stored);
      } finally {
        parts--;
      }
    },
    onStoreFault: (sink, problem) =>
      log.warn("A sink of job results waits for its store", { sink, problem: String(problem) }),
  });
  return actor(JobSink)<DeliveryState, DeliverySnapshot>(behaviour);
}

/** False: another writer was first. */
const put = (
  { documents }: Pick<SinkDeps, "documents">,
  { value: { id }, version }: Versioned<StoredSink>,
  sink: StoredSink,
): Promise<boolean> => SINKS.put(documents, id, sink, version, sinkOptions(sink));

const putLater = (deps: SinkDeps, stored: Versioned<StoredSink>, pause_ms: number): Promise<boolean> =>
  put(deps, stored, { ...stored.value, next_ms: Math.ceil(deps.clock.now() + pause_ms) });

/** Delivers one part or one manifest, or looks at the job. Throws Fault. */
async function step(deps: SinkDeps, stored: Versioned<StoredSink>): Promise<void> {
  const sink = stored.value;
  const { target, manifest, plan } = sink;
  if (plan === null && target.type === "s3" && manifest?.parts !== sink.parts.length)
    return deliver(deps, stored, (begun) => putManifest(deps, begun, "running"), {
      manifest: { parts: sink.parts.length, state: "running" },
    });
  const job = await deps.progressOf(sink.job_id);
  if (job === null)
    return void (await put(deps, stored, { ...sink, state: "failed", last_status: "error_job_gone" }));
  if (plan !== null) {
    const { items } = await readPart(sink, [...indexesOf(plan)], job, never());
    return deliverPart(deps, stored, plan, items);
  }
  const indexes = nextIndexes(sink, job, deps.clock.now());
  if (indexes.length > 0) return beginPart(deps, stored, job, indexes);
  if (!job.is_over) return void (await putLater(deps, stored, LOOK_EVERY_MS));
  const complete = { state: "complete" } as const;
  return target.type === "s3"
    ? deliver(deps, stored, (begun) => putManifest(deps, begun, "complete"), {
        ...complete,
        manifest: { parts: sink.parts.length, state: "complete" },
      })
    : deliver(deps, stored, (begun) => postEvent(deps, begun, JSON.stringify(eventOf(begun, []))), complete);
}

async function beginPart(
  deps: SinkDeps,
  stored: Versioned<StoredSink>,
  job: JobProgress,
  indexes: readonly number[],
): Promise<void> {
  const sink = stored.value;
  const part = await readPart(sink, indexes, job, never());
  if (part.is_unreadable && sink.unreadable < MAX_UNREADABLE) {
    const next_ms = Math.ceil(deps.clock.now() + UNREADABLE_PAUSE_MS);
    return void (await put(deps, stored, { ...sink, unreadable: sink.unreadable + 1, next_ms }));
  }
  const created_ms = Math.floor(deps.clock.now());
  const begun = { ...sink, plan: part.ranges, unreadable: 0, attempts: 0, created_ms };
  await deliverPart(deps, { ...stored, value: begun }, part.ranges, part.items);
}

/** The plan is stored with the beginning of the attempt. */
async function deliverPart(
  deps: SinkDeps,
  stored: Versioned<StoredSink>,
  plan: Ranges,
  items: readonly JobItem[],
): Promise<void> {
  const { content, content_type, ...part } = objectOf(stored.value, items, deps.encodeParquet);
  const send = (begun: StoredSink): Promise<DeliveryResult> =>
    begun.target.type === "s3"
      ? putInto(deps, begun, part.name, content, content_type)
      : postEvent(deps, begun, JSON.stringify(eventOf(begun, items)));
  const { delivered, parts } = stored.value;
  await deliver(deps, stored, send, {
    plan: null,
    delivered: withRanges(delivered, plan),
    parts: [...parts, part],
    flushed_ms: Math.floor(deps.clock.now()),
  });
}

/** Stores that the attempt begins, makes it, and stores what came of it: `done` if it was delivered. */
async function deliver(
  deps: SinkDeps,
  stored: Versioned<StoredSink>,
  send: (begun: StoredSink) => Promise<DeliveryResult>,
  done: Partial<StoredSink>,
): Promise<void> {
  const { clock, metrics, random } = deps;
  const begun_ms = Math.floor(clock.now());
  const begun = { ...beginDelivery(stored.value, begun_ms), next_ms: begun_ms + LOST_AFTER_MS };
  if (!(await put(deps, stored, begun))) return;
  const result = await send(begun);
  metrics.count("trawl_sink_deliveries_total", { type: begun.target.type, outcome: outcomeOf(result) });
  const now_ms = Math.floor(clock.now());
  const after = afterAttempt(begun, result, now_ms, random());
  const last_status = result.status;
  const next: StoredSink =
    after.kind === "again"
      ? { ...after.delivery, last_status }
      : result.status.startsWith("delivered_")
        ? { ...begun, ...done, last_status, attempts: 0, created_ms: now_ms, next_ms: now_ms }
        : { ...begun, last_status, state: "failed" };
  await put(deps, { value: begun, version: stored.version + 1 }, next);
}

const postEvent = (deps: SinkDeps, sink: StoredSink, body: string): Promise<DeliveryResult> => {
  const { id, project, target, parts } = sink;
  if (target.type !== "webhook") throw new TypeError(`Sink ${id} is no webhook`);
  return postSigned(deps, {
    project,
    event_id: `${id}:${parts.length + 1}`,
    body,
    url: { stored: target.url, place: sinkPlace(id, "url") },
    secret: { stored: target.secret, place: sinkPlace(id, "secret") },
  });
};

const putManifest = (
  deps: SinkDeps,
  sink: StoredSink,
  state: "running" | "complete",
): Promise<DeliveryResult> =>
  putInto(
    deps,
    sink,
    "manifest.json",
    Buffer.from(JSON.stringify(manifestOf(sink, state))),
    "application/json",
  );

/** Puts an object into the sink's folder. It never throws. */
export async function putInto(
  {
    putObject,
    clock,
    secrets,
    networksOf,
    log,
  }: Omit<PostSignedDeps, "egress"> & Pick<SinkDeps, "putObject">,
  sink: StoredSink,
  name: string,
  content: Buffer,
  content_type: string,
): Promise<DeliveryResult> {
  const { id, project, target } = sink;
  if (target.type !== "s3") throw new TypeError(`Sink ${id} is no bucket`);
  const timeout = new AbortController();
  const timer = clock.at(clock.now() + PUT_TIMEOUT_MS, () => timeout.abort());
  try {
    const opened = secrets.open(target.credentials, sinkPlace(id, "credentials"));
    const allowed = await networksOf?.(project);
    return await putObject({
      bucket: { ...target, credentials: JSON.parse(opened) as SinkCredentials },
      key: folderOf(sink, target.prefix) + name,
      content,
      content_type,
      ...(allowed && { networks: allowed.networks }),
      signal: timeout.signal,
    });
  } catch (problem) {
    if (!(problem instanceof Fault)) throw problem;
    log.error("A sink cannot be written", { code: problem.code, problem: problem.message });
    return { status: UNREADABLE_STATUS, retry_after_s: null };
  } finally {
    timer[Symbol.dispose]();
  }
}

const never = (): AbortSignal => new AbortController().signal;
