/**
 * Batch jobs: what is asked, what is answered (1-core.md, Batch and job resources), what the Job and Scheduler actors
 * say, and how jobs, items and results are stored.
 *
 * A new kind of item (filings, profiles, company) takes two halves, joined in ops/jobs.ts:
 * - for the worker an `ItemKind` (actors/jobs/kind.ts): `{ name, lane(input), run(say, input, call) }`, where `run`
 *   comes to a `Ran` (below): the answer as it is stored, its error or null, its bill, and in `again` whether it is
 *   worth another try. `because: "busy"` (a full limiter, a pause) puts the item back without counting an attempt.
 * - for the gateway a `BatchKind` (gateway/batch.ts): `{ name, item, category, check?, permit?, present }`, where `item`
 *   is the schema of one item, `check` refuses what a schema cannot (422 naming the item) and `present` makes the
 *   response of what was stored. `batchRoute(kind, …)` is its POST /v1/batch/<kind>.
 */
import { type Static, Type } from "typebox";
import { UsageByCategory } from "./accounts.ts";
import { BillingCategory, Nullable } from "./common.ts";
import { ask, contract, tell } from "./contract.ts";

export const MAX_JOB_ITEMS = 50_000;
export const JOB_KINDS = ["search", "fetch", "filings", "profiles", "company"] as const;
export const JobKind = Type.Enum([...JOB_KINDS]);
export type JobKind = Static<typeof JobKind>;

export const JOB_STATUSES = ["queued", "running", "completed", "cancelled"] as const;
export const ITEM_STATUSES = ["pending", "queued", "done", "failed", "cancelled"] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

/** A job and its results live this long after it finished. */
export const JOB_RETENTION_MS = 30 * 24 * 60 * 60_000;

export const JobCounts = Type.Object({
  total: Type.Integer(),
  /** Waiting for admission, also for another try. */
  pending: Type.Integer(),
  /** Admitted, queued or running. */
  queued: Type.Integer(),
  done: Type.Integer(),
  /** Finished with an error; result and error are kept. */
  failed: Type.Integer(),
  cancelled: Type.Integer(),
});
export type JobCounts = Static<typeof JobCounts>;

export const JobCreated = Type.Object({
  job_id: Type.String({ format: "uuid" }),
  /** False: the idempotency key named this job before. */
  created: Type.Boolean(),
});

export const JobItem = Type.Object({
  /** Position in the submitted items. */
  index: Type.Integer({ minimum: 0 }),
  status: Type.Enum([...ITEM_STATUSES]),
  /** As submitted, defaults and unknown fields left out. */
  input: Type.Record(Type.String(), Type.Unknown()),
  /** The answer of the single endpoint; null while unfinished or unavailable. */
  result: Nullable(Type.Record(Type.String(), Type.Unknown())),
  /** Also `cancelled`, and `result_unavailable` when the stored result cannot be read right now. */
  error: Nullable(Type.String()),
});
export type JobItem = Static<typeof JobItem>;

export const JobStatus = Type.Object({
  job_id: Type.String({ format: "uuid" }),
  kind: JobKind,
  status: Type.Enum([...JOB_STATUSES]),
  counts: JobCounts,
  created_at: Type.String(),
  updated_at: Type.String(),
  finished_at: Nullable(Type.String()),
  callback_url: Nullable(Type.String()),
  /** `delivered_<code>`, `http_<code>`, `blocked_destination`, `error_<class>`: the last attempt's; null before it. */
  callback_status: Nullable(Type.String()),
  items_url: Type.String(),
  /** With include=items: one page of them, in the order they were submitted. */
  items: Type.Optional(Type.Array(JobItem)),
});
export type JobStatus = Static<typeof JobStatus>;

/** How one item is billed; the words of a gateway's Bill. */
export const ItemBill = Type.Object({
  category: BillingCategory,
  ok: Type.Boolean(),
  bytes: Type.Integer(),
  paid: Type.Boolean(),
  cost_micros: Type.Integer(),
});
export type ItemBill = Static<typeof ItemBill>;

/**
 * Why an item deserves another try. `transient`: it counts an attempt, and waits longer each time. `blocked`: on its
 * standard routes; once, after a pause to cool down, and then premium routes may be used. `busy`: nobody had a slot; it
 * counts nothing, and its lane rests until `retry_after_s` is over.
 */
export interface RetryAdvice {
  readonly reason: "transient" | "blocked" | "busy";
  readonly retry_after_s: number | null;
}

/** What one try came to. */
export interface AttemptResult {
  /** JSON, as it is stored under the item and handed to `present`; at most a few megabytes. */
  readonly answer: unknown;
  /** Null: it is done. */
  readonly error: string | null;
  readonly bill: ItemBill;
  /** Digests of stored bodies that the answer needs when it is read. */
  readonly body_refs: readonly string[];
  /** Null: this is the last word. */
  readonly retry: RetryAdvice | null;
}

/** What a try is told beside its input. */
export interface AttemptContext {
  /** `<job_id>:<index>`, the request id of the answer. */
  readonly request_id: string;
  /** The same for the same try, also after a crash: what is in flight under it already is joined, not repeated. */
  readonly attempt_id: string;
  readonly project: string;
  /** Tries before this one that counted. */
  readonly attempts: number;
  /** Whether premium routes may be used in this try. */
  readonly may_pay: boolean;
  /** Aborts when the job is cancelled: nothing more may be sent. */
  readonly signal: AbortSignal;
}

/** Who asked for a job, and what for; written once. */
export const JobSpec = Type.Object({
  kind: JobKind,
  project: Type.String(),
  /** Whose month it counts towards, and what that may use, so that crossings are noticed. */
  key_prefix: Type.String(),
  allowances: Type.Object({
    search: Nullable(Type.Integer()),
    fetch: Nullable(Type.Integer()),
    spend: Nullable(Type.Integer()),
  }),
  /** The document under which the idempotency key names this job. */
  idempotency_doc: Type.String(),
  callback_url: Nullable(Type.String()),
  total: Type.Integer({ minimum: 1, maximum: MAX_JOB_ITEMS }),
  created_ms: Type.Integer(),
});
export type JobSpec = Static<typeof JobSpec>;

/** The outbox of a job's end. */
export const Callback = Type.Object({
  /** Attempts begun. */
  attempts: Type.Integer(),
  /** When the next one is due; null: it is over. */
  next_ms: Nullable(Type.Integer()),
  status: Nullable(Type.String()),
});
export type Callback = Static<typeof Callback>;

/** What was settled in one go and is told to the Account under one number, so that it counts once. */
const JobUsageReport = Type.Object({
  sequence: Type.Integer({ minimum: 1 }),
  month: Type.String(),
  usage: UsageByCategory,
});

/**
 * A job as it is stored, as `job/<job_id>`. It is written whole, at most twice a second, and always true in itself: the
 * counts are those of the states. Results may be ahead of it by that half second.
 */
export const JobRecord = Type.Object({
  spec: JobSpec,
  /** `creating`: its items are being written. `cancelling`: what is in flight is being let go. */
  phase: Type.Enum(["creating", "queued", "running", "cancelling", "completed", "cancelled"]),
  /** One letter an item, repeats counted ("120+3-"); actors/jobs/states.ts reads them. */
  states: Type.String(),
  counts: JobCounts,
  updated_ms: Type.Integer(),
  /** When cancel was asked for. */
  cancel_ms: Nullable(Type.Integer()),
  finished_ms: Nullable(Type.Integer()),
  callback: Nullable(Callback),
  /** Settled and in no tally yet. */
  usage: UsageByCategory,
  /** Cut and not acknowledged; null: none. */
  usage_report: Nullable(JobUsageReport),
  report_sequence: Type.Integer(),
  /** All that was ever metered, so that it can be compared with the results. */
  metered: Type.Object({ requests: Type.Integer(), cost_micros: Type.Integer() }),
});
export interface JobRecord extends Omit<Static<typeof JobRecord>, "usage" | "usage_report"> {
  usage: UsageByCategory;
  usage_report: { sequence: number; month: string; usage: UsageByCategory } | null;
}

/** Inputs, so many to a document: `job_items/<job_id>:<number of the chunk>`. */
export const CHUNK_ITEMS = 100;
export interface Chunk {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  /** Letters of their JSON, for whoever keeps them in memory. */
  readonly chars: number;
}
/** One result: `job_results/<job_id>:<index>`, inserted once and never changed. */
export interface StoredResult {
  readonly status: "done" | "failed";
  readonly error: string | null;
  readonly answer: unknown;
  /** Null: nothing came of it that could be billed, through a fault of ours. */
  readonly bill: ItemBill | null;
  /** Bodies it needs; they are held for the job as long as this is stored. */
  readonly body_refs: readonly string[];
}
/** Under which job a project's idempotency key goes: `job_idempotency_keys/<project>:<SHA-256 of the key>`. Inserting it makes the job. */
export interface IdempotencyRecord {
  readonly job_id: string;
  readonly kind: JobKind;
  readonly total: number;
}

const FIVE_DIGITS = 5;
const numbered = (job_id: string, number: number): string =>
  `${job_id}:${String(number).padStart(FIVE_DIGITS, "0")}`;
export const chunkKey = (job_id: string, index: number): string =>
  numbered(job_id, Math.floor(index / CHUNK_ITEMS));
export const resultKey = numbered;
/** Every document of a job in the two collections above: from, to. */
export const jobRange = (job_id: string): readonly [from: string, to: string] => [`${job_id}:`, `${job_id};`];

const Index = Type.Integer({ minimum: 0 });

/** What a try told its job. The answer itself is stored by then. */
export const AttemptOutcome = Type.Union([
  Type.Object({
    kind: Type.Literal("final"),
    index: Index,
    status: Type.Enum(["done", "failed"]),
    bill: Nullable(ItemBill),
  }),
  Type.Object({
    kind: Type.Literal("retry"),
    index: Index,
    /** `fault`: something of ours did not work; it counts no try. */
    reason: Type.Enum(["transient", "blocked", "busy", "fault"]),
    delay_ms: Type.Integer({ minimum: 0 }),
  }),
  /** The job was cancelled meanwhile, and nothing came of it. */
  Type.Object({ kind: Type.Literal("stopped"), index: Index }),
]);
export type AttemptOutcome = Static<typeof AttemptOutcome>;

/** One actor per job, the only writer of `job/<job_id>`; its key is the job's id. Whoever reads needs no turn of it. */
export const Job = contract(
  "job",
  {
    /** Before its items are written. Asked again it changes nothing. */
    open: ask(JobSpec, Type.Object({ is_opened: Type.Boolean() })),
    /** After they are, and its idempotency key names it. False: there is no such job. */
    begin: ask(Type.Null(), Type.Object({ exists: Type.Boolean() })),
    /** Another job has the key: this one goes. */
    abandon: tell(Type.Null()),
    /** Answered when nothing of it is in flight any more, 1.5 s at most. False: there is no such job. */
    cancel: ask(Type.Null(), Type.Object({ exists: Type.Boolean() })),
  },
  {
    /** Its reminder and its heartbeat: goes on from what is stored. */
    resume: tell(Type.Null()),
    tick: tell(Type.Null()),
    claimChecked: tell(Type.Object({ is_claimed: Nullable(Type.Boolean()) })),
    itemsLoaded: tell(Type.Object({ problem: Nullable(Type.String()) })),
    sharesGranted: tell(Type.Object({ window: Nullable(Type.Integer()) })),
    attemptFinished: tell(AttemptOutcome),
    usageReported: tell(Type.Object({ sequence: Nullable(Type.Integer()) })),
    callbackDelivered: tell(Type.Object({ attempt: Type.Integer(), status: Type.String() })),
    purged: tell(Type.Object({ is_purged: Type.Boolean() })),
  },
);

/** One for the cluster: how many items each running job may have in flight. It keeps nothing: jobs ask every second. */
export const Scheduler = contract("scheduler", {
  allot: ask(
    Type.Object({
      job_id: Type.String(),
      /** How many it could have in flight now. */
      demand: Type.Integer({ minimum: 0 }),
      total: Type.Integer({ minimum: 1 }),
      /** Whether it holds its items in memory already. A large one that does not may have to wait for another's end. */
      is_loaded: Type.Boolean(),
    }),
    /** 0: it is not its turn, and it should ask again. */
    Type.Object({ window: Type.Integer({ minimum: 0 }) }),
  ),
  finished: tell(Type.Object({ job_id: Type.String() })),
});
export const SCHEDULER_KEY = "main";
