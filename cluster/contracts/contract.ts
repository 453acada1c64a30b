/** Contracts between actors, as data: a caller holds the contract and never the code that answers it. */
import { type Static, type TSchema, Type } from "typebox";

declare const M: unique symbol;
declare const R: unique symbol;
declare const Q: unique symbol;
declare const A: unique symbol;

/**
 * A time after which a caller no longer waits, in Unix milliseconds. Between nodes, whose clocks differ, it travels as what
 * is left of it (cluster/internal/transport/wire.ts). Only a field of the message itself, not of something within it.
 */
export const Deadline = () => Type.Integer({ isDeadline: true });

/** A message that is answered. Its types are worked out once, here, and carried along as M and R. */
export interface Ask<Message, Reply> {
  readonly kind: "ask";
  readonly message: TSchema;
  readonly reply: TSchema;
  readonly [M]?: Message;
  readonly [R]?: Reply;
}

/** A message that is not answered. */
export interface Tell<Message> {
  readonly kind: "tell";
  readonly message: TSchema;
  readonly [M]?: Message;
}

/**
 * A message to an actor that is placed by role. It is answered, and while it works the actor may put questions to its
 * caller.
 */
export interface Call<Message, Reply, Question, Answer> {
  readonly kind: "call";
  readonly message: TSchema;
  readonly reply: TSchema;
  readonly question: TSchema;
  readonly answer: TSchema;
  readonly [M]?: Message;
  readonly [R]?: Reply;
  readonly [Q]?: Question;
  readonly [A]?: Answer;
}

export type Operation = Ask<any, any> | Tell<any>;
export type MessageOf<Op> = Op extends
  | Ask<infer Message, any>
  | Tell<infer Message>
  | Call<infer Message, any, any, any>
  ? Message
  : never;
export type ReplyOf<Op> = Op extends Ask<any, infer Reply> | Call<any, infer Reply, any, any> ? Reply : void;
export type QuestionOf<Op> = Op extends Call<any, any, infer Question, any> ? Question : never;
export type AnswerOf<Op> = Op extends Call<any, any, any, infer Answer> ? Answer : never;

/** Messages that an actor understands. */
export interface Contract<Operations, Own = unknown> {
  readonly name: string;
  /** Asks and tells of every caller. */
  readonly operations: Operations;
  /** Messages that only the actor sends itself: by a timer, by background work, by a reminder. */
  readonly own: Own;
  /**
   * Keys with the same `shard_by` and site live on one node. The site is the key up to its first space, so
   * "example.org" and "example.org 5f1c…", both sharded by "domain", are neighbours: a slot is granted and used in one
   * process. Default: the contract's name.
   */
  readonly shard_by: string;
}

/**
 * Messages of an actor that is placed by role: every node with the role has one, without a key and without a stored
 * state, and a call goes to the least loaded of them.
 */
export interface RoleContract<Operations> {
  readonly name: string;
  readonly operations: Operations;
  readonly placement: { readonly role: string };
}

interface ContractOptions {
  readonly shard_by?: string;
}

/**
 * Operations is left unconstrained on purpose: a constraint would reach into ask() as a contextual type and make the
 * compiler run Static<> backwards, which costs a second of checking for each contract.
 */
export function contract<Operations>(name: string, operations: Operations): Contract<Operations, {}>;
export function contract<Operations, Own>(
  name: string,
  operations: Operations,
  own: Own,
  options?: ContractOptions,
): Contract<Operations, Own>;
export function contract<Operations>(
  name: string,
  operations: Operations,
  own: {},
  options: Pick<RoleContract<Operations>, "placement">,
): RoleContract<Operations>;
export function contract(
  name: string,
  operations: unknown,
  own: unknown = {},
  { shard_by = name, placement }: ContractOptions & Partial<Pick<RoleContract<unknown>, "placement">> = {},
): Contract<unknown> | RoleContract<unknown> {
  return placement ? { name, operations, placement } : { name, operations, own, shard_by };
}

export const ask = <Message extends TSchema, Reply extends TSchema>(
  message: Message,
  reply: Reply,
): Ask<Static<Message>, Static<Reply>> => ({ kind: "ask", message, reply });

export const tell = <Message extends TSchema>(message: Message): Tell<Static<Message>> => ({
  kind: "tell",
  message,
});

export const call = <
  Message extends TSchema,
  Reply extends TSchema,
  Question extends TSchema,
  Answer extends TSchema,
>(
  message: Message,
  reply: Reply,
  question: Question,
  answer: Answer,
): Call<Static<Message>, Static<Reply>, Static<Question>, Static<Answer>> => ({
  kind: "call",
  message,
  reply,
  question,
  answer,
});

/** Bytes of a call's reply: by reference within a process, inline or through the body store between nodes. */
export const Bytes = () => Type.Unsafe<Buffer>({ isBytes: true });
