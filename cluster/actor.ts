/** Actors: plain functions bound to a contract. turn.ts calls them; activation.ts makes and ends activations. */
import type { Ask, Contract, MessageOf, Operation, ReplyOf } from "./contracts/contract.ts";

declare const R: unique symbol;

/** Where a deferred reply goes. Plain text, so it can be stored and answered from another node. */
export type ReplyTo<Reply> = string & { readonly [R]?: Reply };

/** The value that a handler returns when it will answer later, through a ReplyTo that it stored. */
export const DEFERRED: unique symbol = Symbol("deferred");

/** Everything a handler may read or do with its message, one message at a time. Its parts can be taken out and passed on. */
export interface Turn<State, Own> {
  /** Which actor this is: for a domain, "example.org". */
  readonly key: string;
  /** The time at which this turn began. It does not move within a turn. */
  readonly now_ms: number;
  /**
   * When the effects of the last turn of this activation left: once that turn was stored, which takes long while the
   * store does not answer.
   */
  readonly last_flush_ms: number;
  /** Messages that wait in the mailbox behind this one. */
  readonly queued: number;
  /** Uniform in [0, 1), from the node's seed. */
  readonly random: () => number;
  /** The actor's memory; assign to it. Its snapshot is stored before any effect of this turn leaves, unless `mayStoreLater`. */
  state: State;
  /** Keeps the ask open: store the address, return DEFERRED, answer before the caller's deadline. */
  readonly deferReply: <Reply>() => ReplyTo<Reply>;
  readonly answer: <Reply>(to: ReplyTo<Reply>, reply: Reply) => void;
  /** Sends this actor one of its own messages later; setting it again replaces the earlier timer. Ends with the activation. */
  readonly setTimer: <N extends keyof Own & string>(
    at_ms: number,
    operation: N,
    message: MessageOf<Own[N]>,
  ) => void;
  /**
   * Starts work that outlasts the turn. Its result arrives as one of this actor's own messages; a throw ends the
   * activation.
   */
  readonly pipeToSelf: <N extends keyof Own & string>(
    operation: N,
    work: (ask: ActorClient, context: WorkContext) => Promise<MessageOf<Own[N]>>,
  ) => void;
  /** Tells another actor, once this turn is stored. */
  readonly tell: <T, N extends keyof T & string>(
    of: Contract<T>,
    key: string,
    operation: N,
    message: MessageOf<T[N]>,
  ) => void;
}

/** The key that background work belongs to: whether this node still owns it, and when the work has to end. */
export interface WorkContext {
  /** Aborts when the activation ends: after a failure, when another node takes the key, at the limit of a stop. */
  readonly signal: AbortSignal;
  /** Asked immediately before each request to an origin: false once another node may own the key. */
  readonly ownsKey: () => boolean;
  /** The fencing token of this ownership: grows each time the key changes hands, and where there is only one process with each start. */
  readonly epoch: number;
}

export interface AskOptions {
  /** After this the caller gets Fault no_answer. Default 160 s. */
  readonly timeout_ms?: number;
  /** Asks with the same id, key and operation are one ask, answered once. Default: a fresh id. */
  readonly idempotency_id?: string;
}

/**
 * Asks another actor and waits for the answer, or tells it. Background work, the gateway and commands have one; a turn
 * does not, because a turn never waits. Throws Fault: mailbox_full, no_answer, bus_unreachable, message_too_large.
 */
export type ActorClient = <T, N extends keyof T & string>(
  of: Contract<T>,
  key: string,
  operation: N,
  message: MessageOf<T[N]>,
  options?: AskOptions,
) => Promise<ReplyOf<T[N]>>;

type HandlerResult<Op> = Op extends Ask<any, infer Reply> ? Reply | typeof DEFERRED : void;

/** Plain functions, one for each operation and each own message. In a test, call them with a turn of your own making. */
export type Handlers<State, Operations, Own> = {
  readonly [N in keyof Operations]: (
    turn: Turn<State, Own>,
    message: MessageOf<Operations[N]>,
  ) => HandlerResult<Operations[N]>;
} & {
  readonly [N in keyof Own]: (turn: Turn<State, Own>, message: MessageOf<Own[N]>) => HandlerResult<Own[N]>;
};

/** The circumstances of an activation when it is made. */
export interface ActivationContext {
  readonly key: string;
  readonly now_ms: number;
  /** As background work of the activation has it (WorkContext). */
  readonly epoch: number;
}

/** An own message of an actor, and when the actor must get it. */
export type Reminder<Own> = {
  readonly [N in keyof Own & string]: {
    readonly at_ms: number;
    readonly operation: N;
    readonly message: MessageOf<Own[N]>;
  };
}[keyof Own & string];

export interface Definition<State, Snapshot, Operations, Own> {
  /** The part of the state that is stored. Without it nothing outlives the activation. */
  readonly persist?: (state: State) => Snapshot;
  /**
   * Whether the effects of a turn may leave before its snapshot, `next`, is stored: it is stored with the next turn of which
   * this is not true, at the latest a second later, and before the key changes hands in order. When the process dies
   * before, `stored` is what the next owner finds. Only snapshots with the reminder of `stored`. Default: never.
   */
  readonly mayStoreLater?: (stored: Snapshot, next: Snapshot) => boolean;
  /** The state of a new activation, from the stored snapshot of its key; null when there is none. */
  readonly activate: (snapshot: Snapshot | null, context: ActivationContext) => State;
  /** An activation without a message for this long is put away; the next message for its key makes a new one. */
  readonly passivate_after_ms: number;
  /**
   * Work that the actor must do though no caller asks, computed from the snapshot; null: none. Unlike a timer it
   * outlives the activation: the next owner of the key finds it in the store and sends the message.
   */
  readonly reminder?: (snapshot: Snapshot) => Reminder<Own> | null;
  readonly on: Handlers<State, Operations, Own>;
}

/** An actor with its types forgotten, as the runtime holds it. */
export interface Actor {
  readonly contract: Contract<Readonly<Record<string, Operation>>, Readonly<Record<string, Operation>>>;
  readonly persist?: (state: any) => unknown;
  readonly mayStoreLater?: (stored: any, next: any) => boolean;
  readonly activate: (snapshot: any, context: ActivationContext) => unknown;
  readonly passivate_after_ms: number;
  readonly reminder?: (snapshot: any) => { at_ms: number; operation: string; message: unknown } | null;
  readonly on: Readonly<Record<string, (turn: Turn<any, any>, message: any) => unknown>>;
}

/** Binds behaviour to a contract. */
export const actor =
  <Operations, Own>(contract: Contract<Operations, Own>) =>
  <State, Snapshot = never>(definition: Definition<State, Snapshot, Operations, Own>): Actor =>
    ({ contract, ...definition }) as unknown as Actor;
