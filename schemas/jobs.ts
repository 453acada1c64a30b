/**
 * Batch jobs: what clients see, the contracts of the Job and Scheduler actors, and how jobs, items and results are stored.
 *
 * A new item kind (profiles, company) takes two halves, joined in the `feature/item-kind.ts` of its slice:
 * - for the worker an `ItemKind` (actors/work/jobs/kind.ts): `{ name, lane(input), run(ask, input, attempt) }`, where
 *   `run` returns an `AttemptResult` (below): the answer as it is stored, its error or null, its bill, and in `retry`
 *   whether another attempt is worth it. `reason: "busy"` (a full limiter, a pause) puts the item back and counts nothing.
 * - for the gateway a `BatchKind` (gateway/batch.ts): `{ name, item, category, check?, permit?, present }`, where `item`
 *   is the schema of one item, `check` refuses what a schema cannot (422 naming the item) and `present` makes the
 *   response of what was stored. `batchRoute(kind, …)` is its POST /v1/batch/<kind>.
 */
import { type Static, Type } from "typebox";
import { type Bill, LeaseReply, QUOTA_CATEGORIES } from "./accounts.ts";
import {
  type BillingCategory,
  Field,
  Component,
  Nullable,
  NullableCode,
  Timestamp,
  Words,
  Warnings,
} from "./common.ts";
import { HTTP_STATUS } from "./errors.ts";
import { ask, contract, tell } from "../cluster/contracts/contract.ts";
import { LedgerRow } from "./ledger.ts";
import type { SiteScope } from "./site-scope.ts";

export const JobId = Field(Type.String({ format: "uuid" }), "The id of the job");

export const MAX_JOB_ITEMS = 50_000;
/** Limit of a job that grows. */
export const MAX_GROWN_ITEMS = 1_000_000;
/** A million dollars. */
const MAX_COST_USD = 1_000_000;
/** Option of the body that creates a job. */
export const MaxCostUsd = Field(
  Nullable(Type.Number({ minimum: 0, maximum: MAX_COST_USD })),
  "The most that premium routes and paid sources may cost all of its items together, in US dollars; at it items go on by what costs nothing (an attempt that is left out has the reason `budget_exhausted`), and the job says `max_cost_reached`. null: no limit of its own",
  2.5,
);

/** The kinds of jobs, and how work of each is billed that has no answer. */
export const UNANSWERED_AS = {
  search: "search",
  fetch: "fetch_own",
  filings: "filings",
  profiles: "profiles",
  company: "company",
  crawl: "fetch_own",
} as const satisfies Readonly<Record<string, Static<typeof BillingCategory>>>;
export type JobKind = keyof typeof UNANSWERED_AS;
export const JOB_KINDS = Object.keys(UNANSWERED_AS) as readonly JobKind[];
export const JobKind = Type.Enum([...JOB_KINDS]);

export const JOB_STATUSES = ["queued", "running", "completed", "cancelled"] as const;
export const ITEM_STATUSES = ["pending", "queued", "done", "failed", "cancelled"] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

const DAY_MS = 24 * 60 * 60_000;
/** A job and its results are stored this long after the job finished. */
export const JOB_RETENTION_MS = 30 * DAY_MS;
/** The job of a monitor's visit: what it found is stored with the monitor. */
const VISIT_RETENTION_MS = DAY_MS;
/** How long a job and its results are stored after it finished. */
export const retentionMs = ({ monitor_id }: Pick<JobSpec, "monitor_id">): number =>
  monitor_id === undefined ? JOB_RETENTION_MS : VISIT_RETENTION_MS;

export const JobCounts = Component("JobCounts", {
  total: Field(Type.Integer(), "All items; of a crawl that runs, those that there are so far", 1000),
  /** Waiting for admission, also for another attempt. */
  pending: Field(Type.Integer(), "Waiting to be admitted, also for another attempt", 120),
  /** Admitted, queued or running. */
  queued: Field(Type.Integer(), "Admitted, or running", 16),
  done: Field(Type.Integer(), "Finished", 850),
  /** Finished with an error; result and error are stored. */
  failed: Field(Type.Integer(), "Finished with an error", 14),
  cancelled: Field(Type.Integer(), "Cancelled before they finished", 0),
  discovered: Type.Optional(
    Field(
      Type.Integer(),
      "Of a crawl: the different addresses that were found, those of its items among them",
      2140,
    ),
  ),
  excluded: Type.Optional(
    Field(
      Type.Integer(),
      "Of a crawl: addresses that are not fetched, each with a reason (`/v1/jobs/{job_id}/urls`)",
      940,
    ),
  ),
});
export type JobCounts = Static<typeof JobCounts>;

export const JobCreated = Component("JobCreated", {
  job_id: JobId,
  created: Field(Type.Boolean(), "False: the idempotency key already named this job"),
  webhook_secret: Type.Optional(
    Field(
      Type.String(),
      "Only of a job with `webhook`: signs its events",
      "whsec_3pPzQ0Jw8kVnY2mXb7RtLc5HdFg9SaEu",
    ),
  ),
  warnings: Warnings,
});

export type JobCreated = Static<typeof JobCreated>;

/** The schema of an item in the API document. */
const JOB_ITEM = "#/components/schemas/JobItem";

/** An item of any kind, as the service makes it. The API document has the item of each kind (actors/work/jobs/feature/item-schema.ts). */
export interface JobItem {
  readonly index: number;
  readonly kind: JobKind;
  readonly status: ItemStatus;
  readonly input: Readonly<Record<string, unknown>>;
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly error: string | null;
}

/** An item of any kind as the API document has it. */
export const AnyJobItem = Type.Unsafe<JobItem>({ $ref: JOB_ITEM });

/** How a completion callback ended. */
export const CallbackOutcome = NullableCode(
  Words("CallbackOutcome", ["blocked_destination", "error_interrupted", "error_secret_unreadable"]),
  ["^delivered_2[0-9]{2}$", HTTP_STATUS, "^error_[a-z0-9_]+$"],
);

export const JobWebhook = Component("JobWebhook", {
  is_off: Field(
    Type.Boolean(),
    "No other event is delivered: the receiver answered 410, an attempt was refused by the guard of outgoing requests, or an event was given up",
    false,
  ),
  last_status: Field(
    Nullable(Type.String()),
    "Of the last attempt: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it",
    "delivered_204",
  ),
});
export type JobWebhook = Static<typeof JobWebhook>;

/** Why no further item of a job starts. */
export const WAIT_CODES = [
  "items_stored",
  "items_loaded",
  "items_stopped",
  "paused_by_client",
  "paused_by_operator",
  "customer_suspended",
  "key_read",
  "share",
  "sites",
  "quota",
] as const;
export type WaitCode = (typeof WAIT_CODES)[number];

export const JobProgress = Component("JobProgress", {
  items_per_s: Field(
    Type.Number({ minimum: 0 }),
    "Items that ended per second, over the last minute or since the first of them ended; counted anew where another node takes the job over",
    3.25,
  ),
  in_flight: Field(Type.Integer({ minimum: 0 }), "Items in flight", 16),
  waits_for: Field(
    Nullable(Type.Enum([...WAIT_CODES])),
    "Why no further item starts: its items are stored (`items_stored`) or loaded (`items_loaded`) first, or its last ones stop (`items_stopped`); it is paused; its customer is suspended; its key is not read yet (`key_read`); " +
      "other jobs have the cluster (`share`); its sites are busy, or items wait for another attempt (`sites`); others hold the rest of the key's quota (`quota`). Null: items start or run",
    "sites",
  ),
  waits_until: Field(
    Nullable(Timestamp),
    "When the next item of a job that waits for `sites` may start; null for all other reasons",
  ),
  waits_for_sites: Field(
    Type.Array(Type.String()),
    "Sites that asked to be left alone for a while, at most five; items of other sites go on",
    ["example.org"],
  ),
});
export type JobProgress = Static<typeof JobProgress>;

export const JobStatus = Component("JobStatus", {
  job_id: JobId,
  kind: Field(JobKind, "What its items are"),
  monitor_id: Type.Optional(
    Field(
      Type.String(),
      "Only of a visit of a monitor, which stays listed for a day: that monitor",
      "mon_wyvsfbx2x89mpyyv",
    ),
  ),
  status: Field(Type.Enum([...JOB_STATUSES]), "Queued until the first item runs"),
  paused: Field(
    Nullable(Type.Enum(["client", "operator"])),
    "Who paused the job, so that no further item starts; an operator's pause is lifted by the operator only. null: it is not paused, or has ended",
  ),
  counts: Field(JobCounts, "Its items by status"),
  created_at: Timestamp,
  updated_at: Field(Timestamp, "When an item last changed"),
  finished_at: Field(Nullable(Timestamp), "When its last item finished; null: it has not"),
  callback_url: Field(
    Nullable(Type.String()),
    "Where the job's end is told; null: nowhere",
    "https://client.example/jobs",
  ),
  callback_status: Field(
    CallbackOutcome,
    "Of the last attempt: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it",
    "delivered_200",
  ),
  webhook: Type.Optional(
    Field(JobWebhook, "Only of a job with `webhook`: how the delivery of its events stands"),
  ),
  max_cost_usd: Type.Optional(
    Field(Type.Number(), "Only of a job with a limit of its own: what it may cost, in US dollars", 2.5),
  ),
  max_cost_reached: Type.Optional(
    Field(
      Type.Boolean(),
      "Only of a job with `max_cost_usd`: whether an attempt was not made because of it. Then items go on by what costs nothing",
    ),
  ),
  progress: Type.Optional(
    Field(
      Nullable(JobProgress),
      "With include=progress: how it gets on. null: it has ended, or its node does not answer now",
    ),
  ),
  items_url: Field(
    Type.String(),
    "Where its items are",
    "/v1/jobs/019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41?include=items",
  ),
  /** With include=items: one page of items, in the order they were submitted. */
  items: Type.Optional(Field(Type.Array(AnyJobItem), "With include=items: one page of items")),
  next_after: Type.Optional(
    Field(
      Nullable(Type.Integer({ minimum: 0 })),
      "With include=items: `after` of the next page where this one ended for its size; null where it did not",
      99,
    ),
  ),
});
export type JobStatus = Static<typeof JobStatus>;

/** A job is paused, or resumed. */
export const JobPause = Component("JobPause", {
  paused: Field(Type.Boolean(), "Whether the job starts no further item", true),
});

/** Body of the delivery to a job's callback_url when the job has finished. */
export const JobCompletion = Component("JobCompletion", {
  job_id: JobId,
  kind: Field(JobKind, "What its items are"),
  status: Field(Type.Enum(["completed", "cancelled"]), "How the job ended"),
  total: Field(Type.Integer(), "All items", 1000),
  succeeded: Field(Type.Integer(), "Items without an error", 986),
  failed: Field(Type.Integer(), "Items with an error", 14),
  finished_at: Field(Timestamp, "When the last item finished"),
});
export type JobCompletion = Static<typeof JobCompletion>;

/** A page of a project's jobs, newest first. */
export const JobPage = Component("JobPage", {
  items: Field(Type.Array(JobStatus), "Newest first"),
  next_cursor: Field(Nullable(Type.String({ format: "uuid" })), "For the next page; null: there is none"),
});

/** Every job of a project is listed under `project_jobs/<project>:<job_id>`; the ids of newer jobs are greater. */
export const projectJobKey = (project: string, job_id: string): string => `${project}:${job_id}`;
/** How long a job stays listed: longer than it can run and be kept together. */
export const listedMs = (spec: Pick<JobSpec, "monitor_id">): number => 3 * retentionMs(spec);
export interface ListedJob {
  readonly kind: JobKind;
}

/**
 * Why an item should be attempted again. `transient`: counts an attempt, and each pause is longer. `blocked`: the standard
 * routes were blocked; once, after a pause to cool down, and then premium routes may be used. `busy`: the domain or the
 * limiter had no slot; counts nothing, and the item's lane pauses for `retry_after_s`.
 */
export interface RetryAdvice {
  readonly reason: "transient" | "blocked" | "busy";
  readonly retry_after_s: number | null;
}

/** How one attempt of an item ended. */
export interface AttemptResult {
  /** JSON, as it is stored with the item and as the gateway renders it; at most a few megabytes. */
  readonly answer: unknown;
  /** Null: the item is done. */
  readonly error: string | null;
  readonly bill: Bill;
  /** Digests of the stored bodies that are read with the answer. */
  readonly body_refs: readonly string[];
  /** Null: the result is final. */
  readonly retry: RetryAdvice | null;
}

/** Facts that an attempt is given beside its input. */
export interface AttemptContext {
  /** `<job_id>:<index>`, the request id of the answer. */
  readonly request_id: string;
  /**
   * Id that the first try of an attempt keeps after a crash: a fetch in flight under this id is joined, not repeated. Each try
   * after a `busy` one has another id.
   */
  readonly attempt_id: string;
  readonly project: string;
  /** The prefix of the key that pays. */
  readonly key: string;
  /** Attempts before this one that counted. */
  readonly attempts: number;
  /** Whether premium routes may be used in this attempt. */
  readonly may_pay: boolean;
  /** Where a page of a crawl may be. Absent: anywhere. */
  readonly scope?: SiteScope;
  /** Links of the page, which a crawl follows, will be asked for next. Default: they will not. */
  readonly with_followed?: boolean;
  /** Aborts when the job is cancelled: nothing more may be sent. */
  readonly signal: AbortSignal;
}

/** Purpose of a job, and the key that pays for it; written once. */
export const JobSpec = Type.Object({
  kind: JobKind,
  customer: Type.String(),
  project: Type.String(),
  /** The monthly quota that its items count towards; null: none. */
  category: Nullable(Type.Enum([...QUOTA_CATEGORIES])),
  /** The key that pays. */
  key_prefix: Type.String(),
  /** The key of the `IdempotencyRecord` that names this job. */
  idempotency_doc: Type.String(),
  /** Sealed. */
  callback_url: Nullable(Type.String()),
  /** Items of the job; for one that grows the most that it may have. */
  total: Type.Integer({ minimum: 1, maximum: MAX_GROWN_ITEMS }),
  /** It begins without items: they are added while it runs. Absent: all are there when it begins. */
  grows: Type.Optional(Type.Boolean()),
  created_ms: Type.Integer(),
  /** The most that its items may cost together. Absent: it has no limit of its own. */
  max_cost_micros: Type.Optional(Type.Integer({ minimum: 0 })),
  /** The monitor whose visit the job is. */
  monitor_id: Type.Optional(Type.String()),
  /** It has a webhook that is told of its pages. */
  webhook: Type.Optional(Type.Boolean()),
});
export type JobSpec = Static<typeof JobSpec>;

/** Where the address of a job's callback is sealed for. */
export const callbackPlace = (job_id: string) => ({ collection: "job", key: job_id, field: "callback_url" });

/** The state of a job's completion callback. */
export const Callback = Type.Object({
  /** Attempts that were started. */
  attempts: Type.Integer(),
  /** When the next attempt is due; null: there is none. */
  next_ms: Nullable(Type.Integer()),
  status: Nullable(Type.String()),
});
export type Callback = Static<typeof Callback>;

const Index = Type.Integer({ minimum: 0 });

/** Rows of the ledger that are written together, under one name: once, however often it is attempted. */
const JobLedgerBatch = Type.Object({
  sequence: Type.Integer({ minimum: 1 }),
  at_ms: Type.Integer(),
  items: Type.Array(Index),
});

/** Report that the key's account has not acknowledged: units of the monthly quota that items used, that the job keeps and needs. */
const QuotaReport = Type.Object({
  sequence: Type.Integer({ minimum: 1 }),
  used: Type.Integer({ minimum: 0 }),
  held: Type.Integer({ minimum: 0 }),
  requested: Type.Integer({ minimum: 0 }),
  limit: Nullable(Type.Integer()),
  is_final: Type.Boolean(),
});
export type QuotaReport = Static<typeof QuotaReport>;

/** A job as a holder of units of its key's monthly quota. */
const JobQuota = Type.Object({
  /** Number of the name under which it holds them: it grows when the account has forgotten the earlier name. */
  generation: Type.Integer(),
  /** Month of the current name; "" before its first report. */
  month: Type.String(),
  sequence: Type.Integer(),
  /** Finished items that no report includes yet. */
  used: Type.Integer(),
  report: Nullable(QuotaReport),
});
export type JobQuota = Static<typeof JobQuota>;

/**
 * A job as it is stored, as `job/<job_id>`. It is written whole, at most twice a second, and always consistent: the counts
 * are those of the states. Results may be ahead of it by that half second.
 */
export const JobRecord = Type.Object({
  spec: JobSpec,
  /** `creating`: the gateway writes its items. `cancelling`: the items in flight have 1.5 s to stop. */
  phase: Type.Enum(["creating", "queued", "running", "cancelling", "completed", "cancelled"]),
  /** The state codes of the items behind the frozen ones, run-length encoded ("120+3-"); job-states.ts reads them. */
  states: Type.String(),
  /** The first items, whose states are in documents of their own (actors/work/jobs/freeze.ts). Absent: none. */
  frozen: Type.Optional(Type.Object({ chunks: Type.Integer(), items: Type.Integer() })),
  /** `total`: how many items there are, the frozen ones among them. */
  counts: JobCounts,
  updated_ms: Type.Integer(),
  /** When a client cancelled the job. */
  cancel_ms: Nullable(Type.Integer()),
  finished_ms: Nullable(Type.Integer()),
  /** When the operator paused the job; null or absent: it is not paused. */
  paused_ms: Type.Optional(Nullable(Type.Integer())),
  /** When a client paused the job; null or absent: none did, or one resumed it. */
  client_paused_ms: Type.Optional(Nullable(Type.Integer())),
  callback: Nullable(Callback),
  /** Finished items whose rows are in no batch of the ledger yet. */
  unrecorded: Type.Array(Index),
  /** The batch that is not known to be stored; null: none. */
  ledger_batch: Nullable(JobLedgerBatch),
  /** Sequence number of the last batch. */
  batch_sequence: Type.Integer(),
  /** Cost of earlier attempts of unfinished items, by item. */
  carried_micros: Type.Record(Type.String(), Type.Integer()),
  /** Null: the key has no quota, or everything is returned. */
  quota: Nullable(JobQuota),
  /** Everything that was ever metered, to be compared with the results. */
  metered: Type.Object({ requests: Type.Integer(), cost_micros: Type.Integer() }),
  /** The most that attempts of items without a bill cost, in a job with `max_cost_micros` (actors/work/jobs/cost-limit.ts). */
  held_micros: Type.Optional(Type.Record(Type.String(), Type.Integer())),
  /** An attempt was refused by `max_cost_micros`. */
  max_cost_reached: Type.Optional(Type.Boolean()),
});
export type JobRecord = Static<typeof JobRecord>;

/** Inputs in one document: `job_items/<job_id>:<number of the chunk>`. */
export const CHUNK_ITEMS = 100;
export interface Chunk {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  /** Characters of their JSON, by which the cache of inputs is bounded. */
  readonly chars: number;
}
/** A result: `job_results/<job_id>:<index>`, inserted once and never changed. */
export interface StoredResult {
  /** `cancelled`: the job was cancelled while an attempt ran, whose result may no longer be stored. */
  readonly status: "done" | "failed" | "cancelled";
  readonly error: string | null;
  readonly answer: unknown;
  /** Its row in the ledger; null: nothing is billed, because this service or the key's allowance failed it. */
  readonly bill: LedgerRow | null;
  /** Bodies that are read with the answer; the job keeps them alive as long as this is stored. */
  readonly body_refs: readonly string[];
}
/**
 * Which job a project's idempotency key names: `job_idempotency_keys/<project>:<SHA-256 of the key>`. Inserting it commits
 * the job.
 */
export interface IdempotencyRecord {
  readonly job_id: string;
  readonly kind: JobKind;
  readonly total: number;
}

const FIVE_DIGITS = 5;
const SIX_DIGITS = 100_000;
/** Keys have the order of their numbers: `a`, which is sorted behind the digits, stands before six of them. */
const numbered = (job_id: string, number: number): string =>
  number < SIX_DIGITS ? `${job_id}:${String(number).padStart(FIVE_DIGITS, "0")}` : `${job_id}:a${number}`;
/** The index of the item whose result has this key. */
export const indexOfResult = (key: string): number =>
  Number(key.slice(key.lastIndexOf(":") + 1).replace("a", ""));
export const chunkKey = (job_id: string, index: number): string =>
  numbered(job_id, Math.floor(index / CHUNK_ITEMS));
export const resultKey = numbered;
export const statesKey = numbered;
/** The range of all documents of a job in `job_items`, `job_states` and `job_results`. */
export const jobRange = (job_id: string): readonly [from: string, to: string] => [`${job_id}:`, `${job_id};`];

/** How an attempt ended, as the job hears of it. The result is stored by then. */
export const AttemptOutcome = Type.Union([
  Type.Object({
    kind: Type.Literal("final"),
    index: Index,
    status: Type.Enum(["done", "failed"]),
    bill: Nullable(LedgerRow),
  }),
  Type.Object({
    kind: Type.Literal("retry"),
    index: Index,
    /** `fault`: a fault of this service; the attempt does not count. */
    reason: Type.Enum(["transient", "blocked", "busy", "fault"]),
    delay_ms: Type.Integer({ minimum: 0 }),
    /** Cost of the attempt: the item's row in the ledger will carry it. Absent: nothing. */
    cost_micros: Type.Optional(Type.Integer({ minimum: 0 })),
  }),
  /** The job was cancelled, and the attempt ended without a result. */
  Type.Object({ kind: Type.Literal("stopped"), index: Index }),
]);
export type AttemptOutcome = Static<typeof AttemptOutcome>;

/** The Job actor: one per job, the only writer of `job/<job_id>`; its key is the job's id. Readers read the document. */
export const Job = contract(
  "job",
  {
    /** Before the items are written. Idempotent. False: another idempotency key opened this job. */
    open: ask(JobSpec, Type.Object({ is_opened: Type.Boolean() })),
    /** After the items are written and the idempotency key names the job. */
    begin: ask(Type.Null(), Type.Object({ exists: Type.Boolean() })),
    /** Another job has the idempotency key: this one is purged. */
    abandon: tell(Type.Null()),
    /** Answered when no item is in flight any more, after 1.5 s at most. */
    cancel: ask(Type.Null(), Type.Object({ exists: Type.Boolean() })),
    /**
     * An attempt of an item may cost so much: whether the job's own limit has room for it. The id begins with the item's request id and a
     * full stop; the same id again is the same reservation. It ends with the item.
     */
    reserveCost: ask(
      Type.Object({ id: Type.String(), micros: Type.Integer({ minimum: 0 }) }),
      Type.Object({ is_reserved: Type.Boolean() }),
    ),
    /** The operator pauses the job, which starts no further item, or resumes it. A finished job does not change. */
    setPaused: ask(Type.Object({ is_paused: Type.Boolean() }), Type.Object({ exists: Type.Boolean() })),
    /** A client does the same. Refused, and without effect: it would resume what the operator paused. */
    setClientPaused: ask(
      Type.Object({ is_paused: Type.Boolean() }),
      Type.Object({ exists: Type.Boolean(), is_refused: Type.Boolean() }),
    ),
    /** How the job gets on now; null: it has ended, or was never opened. */
    progress: ask(Type.Null(), Type.Object({ progress: Nullable(JobProgress) })),
  },
  {
    /** The timer and the reminder: goes on from what is stored. */
    tick: tell(Type.Null()),
    claimChecked: tell(Type.Object({ is_claimed: Nullable(Type.Boolean()) })),
    itemsLoaded: tell(Type.Object({ problem: Nullable(Type.String()) })),
    /** Further items of a job that grows are stored. */
    itemsAdded: tell(Type.Object({ problem: Nullable(Type.String()) })),
    /** Null: the store did not answer. */
    statesFrozen: tell(
      Type.Object({ frozen: Nullable(Type.Object({ chunks: Type.Integer(), items: Type.Integer() })) }),
    ),
    sharesGranted: tell(Type.Object({ window: Nullable(Type.Integer()) })),
    attemptFinished: tell(AttemptOutcome),
    /** Null: the store did not answer. */
    rowsWritten: tell(Type.Object({ sequence: Nullable(Type.Integer()) })),
    payerRead: tell(
      Type.Object({
        /** Null: it could not be read. */
        payer: Nullable(
          Type.Object({
            status: Type.Enum(["active", "paused", "revoked"]),
            /** The monthly quota of the job's category; null: none. */
            limit: Nullable(Type.Integer()),
            /** Nothing is left of the key's spend cap. */
            is_spent: Type.Boolean(),
            /** The customer has prices: what it is charged for an item is reserved. */
            is_charged: Type.Boolean(),
          }),
        ),
      }),
    ),
    unitsGranted: tell(Type.Object({ sequence: Type.Integer(), reply: Nullable(LeaseReply) })),
    /** How the attempts ended that ran when the job was cancelled; null: the store did not answer. */
    attemptsSealed: tell(Type.Object({ outcomes: Nullable(Type.Array(AttemptOutcome)) })),
    callbackDelivered: tell(Type.Object({ attempt: Type.Integer(), status: Type.String() })),
    purged: tell(Type.Object({ is_purged: Type.Boolean() })),
  },
);

/** The Scheduler actor of the cluster: how many items each running job may have in flight. Stores nothing: jobs ask every second. */
export const Scheduler = contract("scheduler", {
  allot: ask(
    Type.Object({
      job_id: Type.String(),
      /** How many items the job could have in flight now. */
      demand: Type.Integer({ minimum: 0 }),
      total: Type.Integer({ minimum: 1 }),
      /** Whether its items are in memory. A large job whose items are not may have to wait until another job ends. */
      is_loaded: Type.Boolean(),
    }),
    /** 0: the job has to wait, and asks again. */
    Type.Object({ window: Type.Integer({ minimum: 0 }) }),
  ),
  finished: tell(Type.Object({ job_id: Type.String() })),
});
export const SCHEDULER_KEY = "main";
