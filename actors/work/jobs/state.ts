/**
 * The state of a job: the record it stores, the memory it works with while it is awake, and when its reminder fires. Everything
 * but the record is worked out again after a crash. Only turns of actor.ts change a `JobState`; background work returns a
 * message, or leaves what is too large for one in the slot that its turn takes (load.ts).
 */
import type { NetworksOf } from "../../lib/web/destination.ts";
import type { LRUCache } from "lru-cache";
import type { BodyRefs } from "../../../cluster/body-refs.ts";
import type { ReplyTo, Turn } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { Egress } from "../../../cluster/ports/egress.ts";

import type { Secrets } from "../../../cluster/ports/secrets.ts";
import type { Random } from "../../../cluster/ports/random.ts";
import type { Charges } from "../../../records/charges.ts";
import {
  type Chunk,
  type Job,
  type JobKind,
  type JobQuota,
  type JobRecord,
  type JobSpec,
  retentionMs,
} from "../../../schemas/jobs.ts";
import type { LedgerRow } from "../../../schemas/ledger.ts";
import { MAX_CALLBACK_WAIT_MS } from "./callback.ts";
import { countsOf, encodeStates, newStates } from "../../../schemas/job-states.ts";
import type { Customer, Key } from "../../../schemas/accounts.ts";
import type { Frontier } from "./frontier.ts";
import { type EndedItems, newEndedItems } from "./ended-items.ts";
import type { JobBoard } from "./job-board.ts";
import type { ItemKind } from "./kind.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import type { Tracing } from "../../../cluster/ports/tracing.ts";

export interface FreezeSizes {
  /** Items whose states are in one document. */
  readonly chunk_items: number;
  /** Items whose states are in the record, at most; until some are frozen the job does not grow beyond them. */
  readonly open_items: number;
}

/** Services that all jobs of a node share. */
export interface JobServices {
  readonly documents: Documents;
  readonly bodyRefs: BodyRefs;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Default: items have no spans. */
  readonly tracing?: Tracing | undefined;
  /** The key and the customer that pay; null: the project does not exist. Throws Fault. */
  readonly findPayer: (
    project: string,
    prefix: string,
  ) => Promise<{
    readonly key: Pick<Key, "status" | "quotas"> | null;
    readonly customer: Pick<Customer, "status" | "prices">;
    /** In US dollars; null: no limit. */
    readonly spend_limits: readonly { readonly account: string; readonly limit_micros: number | null }[];
  } | null>;
  /** Charges to customers with prices for items (actors/business/accounts/spend.ts). Default: nothing. */
  readonly charges?: Charges;
  /** The cost of an item's attempts, by `<job id>:<index>`. Throws Fault. */
  readonly spentBy: (request_id: string) => Promise<number>;
  /** For callbacks. */
  readonly egress: Egress;
  /** For callbacks. Default: a callback reaches what the operator allows to the service itself. */
  readonly networksOf?: NetworksOf;
  readonly secrets: Pick<Secrets, "open" | "seal">;
  readonly kinds: ReadonlyMap<JobKind, ItemKind>;
  /** Hears what jobs wait for. */
  readonly board: JobBoard;
  /** Called after each turn of a job. */
  readonly onTurn?: (job_id: string, state: JobState, now_ms: number) => void;
  /** Chunks of inputs, by their keys. */
  readonly inputs: LRUCache<string, Chunk>;
  readonly freeze: FreezeSizes;
}

/** Background work of which a job runs one at a time. Attempts are counted by the frontier instead. */
export type BackgroundTask =
  | "checking_claim"
  | "loading"
  | "growing"
  | "freezing"
  | "requesting_share"
  | "writing_rows"
  | "reading_payer"
  | "leasing_units"
  | "sealing"
  | "delivering_callback"
  | "purging";

/** A job's items, as the documents have them. */
export interface LoadedItems {
  readonly frontier: Frontier;
  /** Bills of items that finished after the last checkpoint. */
  readonly bills: readonly LedgerRow[];
  /** Whether the states differ from the stored ones. */
  readonly is_dirty: boolean;
}

/** Items that were added to a job, as they are stored. */
export interface AddedItems {
  /** The number of the first. */
  readonly from: number;
  readonly lanes: readonly ReturnType<ItemKind["lane"]>[];
  readonly is_over: boolean;
  readonly discovered: number;
  readonly excluded: number;
}

/** News that a job that grows has heard of its source. */
export interface Growth {
  /** Where the work in progress leaves items. */
  added: AddedItems | null;
  /** How many items had ended when the source was asked last; null: it has not been. */
  asked_at: number | null;
  /** Whether the source had no further items then. */
  is_over: boolean;
}

/** A slot for each load: the load fills it, the turn of `itemsLoaded` empties it. */
export interface LoadSlot {
  items: LoadedItems | null;
}

export interface JobState {
  /** Stored by every turn that changes it. Null: the job was never opened, or it is purged. */
  record: JobRecord | null;
  /** Not stored, like everything below. Null: the items are not loaded. */
  frontier: Frontier | null;
  /** Where the load in progress leaves the items. */
  load: LoadSlot | null;
  readonly growth: Growth;
  /** Whether the scheduler lets this job hold its items in memory; a large job may have to wait. */
  may_load: boolean;
  /** Names this activation in the ids of tries (attempt.ts); "" before its first attempt. */
  activation: string;
  /** Begun in this activation. */
  tries: number;
  /** Whether no item was attempted before this activation, so that no result can exist yet. */
  is_first_run: boolean;
  /** The attempts of a cancelled job have ended, and their results are counted. */
  is_sealed: boolean;
  /** Whether the frontier changed since the last checkpoint. */
  is_dirty: boolean;
  checkpoint_ms: number;
  rows_sealed_ms: number;
  /** Bills of items that finished since the last checkpoint. */
  bills: LedgerRow[];
  /** Rows that are not known to be in the ledger, by item; after a crash they are read from the results. */
  readonly rows: Map<number, LedgerRow>;
  /** The key as it was read last; null: nothing was read yet. */
  payer: {
    readonly status: "active" | "paused" | "revoked";
    readonly limit: number | null;
    readonly is_spent: boolean;
    readonly is_charged: boolean;
  } | null;
  payer_read_ms: number;
  /** Units of the key's quota that this job holds: of items in flight, and spare ones. */
  units: number;
  units_asked_ms: number;
  /** After nothing was granted no units are asked for before this time. */
  units_retry_ms: number;
  /** The month whose quota is used up; "" for none. */
  exhausted_month: string;
  /** Items that ended in the last minute of this activation. */
  readonly ended: EndedItems;
  /** How many items may be in flight. */
  window: number;
  share_requested_ms: number;
  readonly in_progress: Set<BackgroundTask>;
  /** After a failure no background task starts before this time. */
  retry_at_ms: number;
  /** Aborts the attempts in flight when the job is cancelled. */
  readonly cancellation: AbortController;
  /** Callers that wait until the job is cancelled. */
  readonly cancel_waiters: ReplyTo<{ exists: boolean }>[];
}

export type JobTurn = Turn<JobState, typeof Job.own>;

/** A failed background task is repeated after this. */
export const RETRY_MS = 2_000;
/** The window until the scheduler has answered. */
const INITIAL_WINDOW = 8;
/** A gateway that has not begun the job by now has died, or gave the job up. */
export const CREATION_TIMEOUT_MS = 10 * 60_000;

/** The quota of a job that has held no units yet. */
export const NO_QUOTA: JobQuota = { generation: 1, month: "", sequence: 0, used: 0, report: null };

export function newState(record: JobRecord | null): JobState {
  return {
    record,
    frontier: null,
    load: null,
    growth: { added: null, asked_at: null, is_over: false },
    may_load: false,
    activation: "",
    tries: 0,
    is_first_run: false,
    is_sealed: false,
    is_dirty: false,
    checkpoint_ms: 0,
    rows_sealed_ms: 0,
    bills: [],
    rows: new Map(),
    payer: null,
    payer_read_ms: -Infinity,
    units: 0,
    units_asked_ms: -Infinity,
    units_retry_ms: -Infinity,
    exhausted_month: "",
    ended: newEndedItems(),
    window: INITIAL_WINDOW,
    share_requested_ms: 0,
    in_progress: new Set(),
    retry_at_ms: 0,
    cancellation: new AbortController(),
    cancel_waiters: [],
  };
}

export function newRecord(spec: JobSpec): JobRecord {
  const states = newStates(spec.grows ? 0 : spec.total);
  return {
    spec,
    phase: "creating",
    states: encodeStates(states),
    counts: countsOf(states),
    updated_ms: spec.created_ms,
    cancel_ms: null,
    finished_ms: null,
    callback: null,
    unrecorded: [],
    ledger_batch: null,
    batch_sequence: 0,
    carried_micros: {},
    quota: null,
    metered: { requests: 0, cost_micros: 0 },
  };
}

/**
 * The stored job at activation, perhaps by another clock than that which wrote it: a cancelled job waits for its items no longer
 * than its grace, a callback no longer than the longest pause.
 */
export function restoreRecord(record: JobRecord, now_ms: number): JobRecord {
  const { cancel_ms, callback } = record;
  const next_ms = callback?.next_ms ?? null;
  return {
    ...record,
    cancel_ms: cancel_ms === null ? null : Math.min(cancel_ms, now_ms),
    callback: callback && {
      ...callback,
      next_ms: next_ms === null ? null : Math.min(next_ms, now_ms + MAX_CALLBACK_WAIT_MS),
    },
  };
}

/** A time that has passed by every clock. */
const ALWAYS_DUE_MS = 0;

/** When the job must be awake next. A job that runs is always due, so that its next owner goes on with it. */
export function reminderAt(record: JobRecord): number {
  const { phase, spec, finished_ms, callback, ledger_batch, unrecorded, quota } = record;
  if (phase === "creating") return spec.created_ms + CREATION_TIMEOUT_MS;
  if (finished_ms === null) return ALWAYS_DUE_MS;
  if (ledger_batch !== null || unrecorded.length > 0 || quota !== null) return ALWAYS_DUE_MS;
  return callback?.next_ms ?? finished_ms + retentionMs(spec);
}

/** Whether this task starts now: it is not in progress, and the pause after a failure is over. */
export function startTask(turn: JobTurn, task: BackgroundTask): boolean {
  const { state, now_ms } = turn;
  if (state.in_progress.has(task)) return false;
  if (now_ms < state.retry_at_ms) {
    turn.setTimer(state.retry_at_ms, "tick", null);
    return false;
  }
  state.in_progress.add(task);
  return true;
}
