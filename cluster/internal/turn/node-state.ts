/**
 * The records of a running node, from the node down to one message in a mailbox. The files beside this one change them:
 * mailbox.ts, turn.ts, store-later.ts, background-work.ts, reminders.ts, activation.ts, passivation.ts and shard.ts. Every change is
 * made synchronously; what has to wait (a load, a store, background work) comes back and looks at `phase` and `mode`.
 */
import type { LRUCache } from "lru-cache";
import type { Actor, ActorClient } from "../../actor.ts";
import type { CacheLimits } from "../../cache-limits.ts";
import type { DeadLetterKeeper } from "../../dead-letters.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Documents } from "../../ports/documents.ts";
import type { Fault } from "../../ports/fault.ts";
import type { Random } from "../../ports/random.ts";
import type { OperationValidators, Validator } from "../transport/wire.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Log } from "../../ports/log.ts";
import type { Tracing } from "../../ports/tracing.ts";

export interface NodeDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly documents: Documents;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing | undefined;
  readonly caches?: Pick<CacheLimits, "answers">;
  /** Into how many partitions the keys are divided. */
  readonly partitionCount: number;
}

/** The answer to a caller: a reply that has been checked and frozen, or what went wrong. */
export type Outcome = { readonly reply: unknown } | { readonly fault: Fault };

/** Why a message need not be delivered again: its turn is stored, its deadline has passed, or it failed too often. */
export type AckReason = "processed" | "expired" | "dead_lettered";

/** A message in the mailbox of an actor, checked and frozen. */
export interface MailboxEntry {
  readonly operation: string;
  readonly message: unknown;
  /** Where the outcome goes; "" when no caller waits for one. */
  readonly reply_to: string;
  /** Whether the caller may ask again under the same address: the answer is remembered for a while. */
  readonly isRepeatable: boolean;
  /** No caller waits after this; Infinity for a tell. */
  readonly deadline_ms: number;
  /** Called once, when the message need not be delivered again. null: it is one of the actor's own. */
  readonly ack: ((reason: AckReason) => void) | null;
  /** Whether its only copy is in this process; the bus delivers its own copy again to the next owner of the key. */
  readonly isLocal: boolean;
  /** Turns that failed on it so far. */
  failedAttempts: number;
  /** The span it was sent in (ports/tracing.ts). */
  readonly traceparent?: string | null | undefined;
  /** When it came into its mailbox, on the monotonic clock. */
  queued_ms?: number;
}

/** A message whose only copy is here and whose sender waits for no answer: a timer, a result of background work, a local tell. */
export const localEntry = (
  operation: string,
  message: unknown,
  traceparent?: string | null,
): MailboxEntry => ({
  operation,
  message,
  traceparent,
  reply_to: "",
  isRepeatable: false,
  deadline_ms: Infinity,
  ack: null,
  isLocal: true,
  failedAttempts: 0,
});

/** How messages leave the node; the assembly (embedded.ts, distributed.ts) provides it. */
export interface Outbound {
  /** Answers the caller behind an address, on whatever node it is. Never throws; the caller asks again for a lost outcome. */
  readonly reply: (reply_to: string, outcome: Outcome) => void;
  /** Sends a tell of a turn to its actor. Never throws; tries again while the mailbox is full. */
  readonly tell: (contract: Actor["contract"], key: string, operation: string, message: unknown) => void;
}

/** The assembly's part of a shard: what it says about the shard's keys. */
export interface ShardContext {
  /** Asked before each request to an origin; the shard answers no by itself once it has ended. */
  readonly ownsKeys: () => boolean;
  /** Asked before each load and store: false while another node may own the keys. True also while the shard drains. */
  readonly mayStore: () => boolean;
  readonly epoch: number;
  /** For the background work of the shard's actors. */
  readonly ask: ActorClient;
}

/** An actor and the compiled contract it serves. */
export interface CatalogueEntry {
  readonly actor: Actor;
  readonly name: string;
  /** The validators of every operation, the actor's own messages included. */
  readonly validators: ReadonlyMap<string, OperationValidators>;
}

export interface NodeState extends NodeDeps {
  /** Uniform in [0, 1); what a turn hands out as `random`. */
  readonly nextRandom: () => number;
  readonly outbound: Outbound;
  readonly deadLetters: DeadLetterKeeper;
  readonly catalogue: readonly CatalogueEntry[];
  /** Validators of replies by "contract.operation", as a reply address begins. */
  readonly replyValidators: ReadonlyMap<string, Validator | null>;
  readonly shards: Set<ShardState>;
  /** Answers to repeatable asks, by reply address. */
  readonly rememberedAnswers: LRUCache<string, { readonly reply: unknown; readonly chars: number }>;
  /** Activations with a turn to take, in the order in which they got one. */
  runnable: Activation[];
  isRunning: boolean;
  /** Recoveries of reminders that wait for the next query of their kind, by its name. */
  readonly recoveries: Map<string, Recovery[]>;
  /** Queries of recoveries that read the store at this moment, and those that wait for their turn. */
  recovering: number;
  readonly recoveryWaiters: (() => void)[];
  /** Activations that wait for the document store (store-wait.ts), and since when the first of them has. */
  readonly storeWaits: { count: number; since_ms: number };
  readonly sweep: { isActive: boolean; isClosed: boolean; timer: Disposable | null };
  /** From a mailbox up to a turn (turn.ts). */
  readonly takeTurn: (activation: Activation, entry: MailboxEntry) => void;
  /** From a reminder up to an activation (activation.ts). */
  readonly activationFor: (kind: ActorKind, key: string) => Activation;
}

export interface ShardState {
  readonly node: NodeState;
  readonly context: ShardContext;
  readonly kinds: Map<string, ActorKind>;
  /**
   * open; quiescing: no new work and no reminders; closed: only tells of the shard's own work are taken as well;
   * ended: another node's, or the node has stopped.
   */
  mode: "open" | "quiescing" | "closed" | "ended";
  /** Messages waiting, turns being stored and background work running. */
  inFlight: number;
  readonly drainWaiters: (() => void)[];
}

/** All actors of one contract within a shard. */
export interface ActorKind extends CatalogueEntry {
  readonly shard: ShardState;
  readonly activations: Map<string, Activation>;
  readonly reminders: Map<string, { readonly at_ms: number; readonly timer: Disposable }>;
}

/** A shard's wish for the reminders of a kind in some of its partitions. */
export interface Recovery {
  readonly kind: ActorKind;
  readonly partitions: readonly number[];
  readonly resolve: () => void;
  readonly reject: (problem: unknown) => void;
}

/** An actor in memory. */
export interface Activation {
  readonly kind: ActorKind;
  readonly key: string;
  phase: "loading" | "idle" | "storing" | "ended";
  isScheduled: boolean;
  state: unknown;
  /** The stored part of the state, at `version`. */
  snapshot: unknown;
  version: number;
  /** The snapshot that is stored after its turn's effects have left, and since when it waits (store-later.ts); null: nothing. */
  unstored: { readonly snapshot: unknown; readonly since_ms: number } | null;
  storeTimer: Disposable | null;
  /** When it last handled a message or finished background work. */
  last_ms: number;
  runningWork: number;
  queue: MailboxEntry[];
  /** The message whose turn is being stored. */
  current: MailboxEntry | null;
  /** Waits for the document store; null: the store answers, or nothing is asked of it. */
  storeWait: Disposable | null;
  /** Why the activation ends once its turn is stored: its background work failed meanwhile. */
  failure: Fault | null;
  /** When the effects of its last turn left. */
  flushed_ms: number;
  /** Asks that are not answered yet, queued or deferred; null until there is one. */
  openAsks: Map<string, MailboxEntry> | null;
  timers: Map<string, Disposable> | null;
  /** Aborted when the activation ends; null until background work was started. */
  workAbort: AbortController | null;
  /** The time of the reminder that fired last. */
  fired_reminder_ms: number;
}
