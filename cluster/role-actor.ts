/**
 * An actor that is placed by role: one on each node that has the role, what Orleans calls a stateless worker. It has no
 * key and stores nothing, so any of them may take a call; role-router.ts picks the least loaded. Unlike a sharded actor
 * it takes calls side by side, because a call is work that lasts, not a turn: what it knows of itself (calls in progress,
 * calls that wait, a circuit breaker) changes between two awaits only.
 */
import type { AnswerOf, MessageOf, QuestionOf, ReplyOf, RoleContract } from "./contracts/contract.ts";

/** The caller of a call in progress. */
export interface Caller<Question, Answer> {
  /** The `local` of its session, as it is; undefined: the caller is on another node. */
  readonly local?: unknown;
  /** Aborts when the caller leaves, when its time is over, or when its node is gone. */
  readonly signal: AbortSignal;
  /** Throws, or rejects with, Fault no_answer when the caller is gone or takes longer than the time-out. */
  readonly ask: (question: Question, timeout_ms: number) => Answer | Promise<Answer>;
}

export type BreakerState = "closed" | "open" | "half_open";

/** How an actor ends a call. Backpressure is an answer: a call that finds no room is told so and is not stored. */
export type RoleReply<Reply> =
  | { readonly kind: "done"; readonly reply: Reply }
  /** All its places are taken and enough calls wait, or the call waited as long as it may. */
  | { readonly kind: "busy"; readonly capacity: number }
  /** A dependency of the actor is down; `retry_after_ms` until it tries again. */
  | { readonly kind: "unavailable"; readonly reason: string; readonly retry_after_ms: number };

/** The load of one actor, as nodes tell each other. */
export interface RoleLoad {
  /** Calls at once. */
  readonly capacity: number;
  readonly in_use: number;
  readonly waiting: number;
  /** `open`: it answers `unavailable`. `half_open`: one call is trying whether that is still so. */
  readonly breaker: BreakerState;
}

/** Figures of an actor over the last 600 s, for operators. */
export interface RoleFigures {
  readonly attempts: number;
  readonly successes: number;
  /** Calls that ended because what the actor needs did not work. */
  readonly infrastructure_failures: number;
  /** Within this time 95 of 100 successful calls ended; null: none succeeded. */
  readonly p95_ms: number | null;
}

export interface RoleDefinition<Operations> {
  readonly load: () => RoleLoad;
  /** Default: none are reported. */
  readonly figures?: () => RoleFigures;
  /** How long the oldest waiting call has waited. Default: it is not known. */
  readonly oldest_wait_ms?: () => number;
  readonly on: {
    readonly [N in keyof Operations]: (
      message: MessageOf<Operations[N]>,
      caller: Caller<QuestionOf<Operations[N]>, AnswerOf<Operations[N]>>,
    ) => Promise<RoleReply<ReplyOf<Operations[N]>>>;
  };
}

/** An actor placed by role with its types forgotten, as the runtime holds it. */
export interface RoleActor {
  readonly contract: RoleContract<any>;
  readonly load: () => RoleLoad;
  readonly figures?: () => RoleFigures;
  readonly oldest_wait_ms?: () => number;
  readonly on: Readonly<
    Record<string, (message: any, caller: Caller<any, any>) => Promise<RoleReply<unknown>>>
  >;
}

/** Binds behaviour to a contract with a placement. */
export const roleActor =
  <Operations>(contract: RoleContract<Operations>) =>
  (definition: RoleDefinition<Operations>): RoleActor =>
    ({ contract, ...definition }) as unknown as RoleActor;

/** The caller's side of one attempt on one node. */
export interface CallerSession<Question, Answer> {
  /** A value that an actor of this process may use instead of asking. Default: it asks, too. */
  readonly local?: unknown;
  readonly answer: (question: Question) => Answer | Promise<Answer>;
  /** Called once when the attempt is over, however it ended. */
  readonly close: () => void;
  /** Whether another node may be tried after this one was lost in the middle of the call. */
  readonly mayRepeat: () => boolean;
}

export interface RoleCallOptions<Question, Answer> {
  /** Aborts the work on whichever node it is. */
  readonly signal: AbortSignal;
  /** Unix milliseconds; a node that loses its caller ends the work at this time at the latest. */
  readonly deadline_ms: number;
  /** Called for each node that is tried. */
  readonly open: () => CallerSession<Question, Answer>;
}

/** `no_node`: no node has the role. `lost`: the node that worked is gone, or the caller's signal was aborted. */
export type RoleResult<Reply> =
  | RoleReply<Reply>
  | { readonly kind: "no_node" }
  | { readonly kind: "lost"; readonly detail: string };

/** Calls an actor by its role. Throws Fault message_too_large, bodies_unreachable, body_damaged. */
export type RoleClient = <T, N extends keyof T & string>(
  of: RoleContract<T>,
  operation: N,
  message: MessageOf<T[N]>,
  options: RoleCallOptions<QuestionOf<T[N]>, AnswerOf<T[N]>>,
) => Promise<RoleResult<ReplyOf<T[N]>>>;
