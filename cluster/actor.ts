/** What an actor is: plain functions bound to a contract. The runtime that calls them is node.ts. */
import type { Ask, Contract, MessageOf, Operation, ReplyOf } from "../schemas/contract.ts";

declare const R: unique symbol;

/** Where a parked reply goes. Plain text, so it can be stored and answered from another node. */
export type ReplyTo<Reply> = string & { readonly [R]?: Reply };

/** What a handler returns when it will answer later, through a ReplyTo it kept. */
export const DEFERRED: unique symbol = Symbol("deferred");

/** One message at a time: everything a handler may read or do. Its parts can be taken out and passed on. */
export interface Turn<State, O> {
  /** Which actor this is: for a domain, "example.org". */
  readonly key: string;
  /** The time this message began to be handled. It does not move within a turn. */
  readonly now_ms: number;
  /** Uniform in [0, 1), from the node's seed. */
  readonly random: () => number;
  /** The actor's memory. Assign to it; what is kept of it is stored before anything said in this turn leaves. */
  state: State;
  /** Keeps the question open: store the address, return DEFERRED, answer before the caller's deadline. */
  readonly deferReply: <Reply>() => ReplyTo<Reply>;
  readonly answer: <Reply>(to: ReplyTo<Reply>, reply: Reply) => void;
  /** Sends this actor one of its own messages later; setting it again replaces the earlier alarm. */
  readonly setTimer: <N extends keyof O & string>(
    at_ms: number,
    operation: N,
    message: MessageOf<O[N]>,
  ) => void;
  /** Starts what outlasts the turn. What it comes to arrives as one of this actor's own messages; a throw ends the activation. */
  readonly pipeToSelf: <N extends keyof O & string>(
    operation: N,
    work: (ask: ActorClient, context: WorkContext) => Promise<MessageOf<O[N]>>,
  ) => void;
  /** Tells another actor, once this turn's memory is stored. */
  readonly tell: <T, N extends keyof T & string>(
    of: Contract<T>,
    key: string,
    operation: N,
    message: MessageOf<T[N]>,
  ) => void;
}

/** The key this work belongs to, while this node still holds it. */
export interface WorkContext {
  /** Aborts when the key is lost to another node or the node drains past its limit. */
  readonly signal: AbortSignal;
  /** Asked immediately before each request to an origin: false once another node may have taken over. */
  readonly ownsKey: () => boolean;
  /** Grows each time the key changes hands; 0 where there is only one process. */
  readonly epoch: number;
}

/** How long, and how often the same, for one question. */
export interface AskOptions {
  /** After this the asker is told `no_answer`. Default 160 s. */
  readonly timeout_ms?: number;
  /** What makes a repeated question the same one; default a fresh one. */
  readonly idempotency_id?: string;
}

/**
 * Tells or asks another actor; for an ask it waits for the answer. Only work that was started may wait; a turn
 * may not. Throws Fault: mailbox_full, no_answer, bus_unreachable, message_too_large.
 */
export type ActorClient = <T, N extends keyof T & string>(
  of: Contract<T>,
  key: string,
  operation: N,
  message: MessageOf<T[N]>,
  options?: AskOptions,
) => Promise<ReplyOf<T[N]>>;

type Answer<Op> = Op extends Ask<any, infer Reply> ? Reply | typeof DEFERRED : void;

/** Plain functions, one for each operation. In a test, call them with a turn of your own making. */
export type Handlers<State, O> = {
  readonly [N in keyof O]: (turn: Turn<State, O>, message: MessageOf<O[N]>) => Answer<O[N]>;
};

/** What an activation knows of itself when it begins. */
export interface ActivationContext {
  readonly key: string;
  readonly now_ms: number;
}

/** One of an actor's own messages, and when it must hear it. */
export type Reminder<O> = {
  readonly [N in keyof O & string]: {
    readonly at_ms: number;
    readonly operation: N;
    readonly message: MessageOf<O[N]>;
  };
}[keyof O & string];

export interface Definition<State, Snapshot, O> {
  /** The part of the memory that outlives the activation. Left out, nothing does. */
  readonly persist?: (state: State) => Snapshot;
  /** The memory an activation begins with, from what was kept of this key; null when nothing was. */
  readonly activate: (snapshot: Snapshot | null, context: ActivationContext) => State;
  /** An actor that hears nothing for this long is put away; its key wakes it again. */
  readonly passivate_after_ms: number;
  /**
   * What this actor must do though nobody asks, worked out from what is kept; null: nothing. Unlike `wake` it outlives
   * the activation: whoever takes the key over, or starts again, finds it in the store and sends the message.
   */
  readonly reminder?: (snapshot: Snapshot) => Reminder<O> | null;
  readonly on: Handlers<State, O>;
}

/** An actor with its types forgotten, as the runtime holds it. */
export interface Actor {
  readonly contract: Contract<Readonly<Record<string, Operation>>>;
  readonly persist?: (state: any) => unknown;
  readonly activate: (snapshot: any, context: ActivationContext) => unknown;
  readonly passivate_after_ms: number;
  readonly reminder?: (snapshot: any) => { at_ms: number; operation: string; message: unknown } | null;
  readonly on: Readonly<Record<string, (turn: Turn<any, any>, message: any) => unknown>>;
}

/** Binds behaviour to a contract. */
export const actor =
  <O>(contract: Contract<O>) =>
  <State, Snapshot = never>(definition: Definition<State, Snapshot, O>): Actor =>
    ({ contract, ...definition }) as unknown as Actor;
