/** What two actors agree on, as data: a caller holds the contract and never the code that answers it. */
import { type Static, type TSchema, Type } from "typebox";

declare const M: unique symbol;
declare const R: unique symbol;

/**
 * A time after which a caller no longer waits, in Unix milliseconds. Between nodes, whose clocks differ, it travels as what
 * is left of it (cluster/wire.ts). Only a field of the message itself, not of something within it.
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

export type Operation = Ask<any, any> | Tell<any>;
export type MessageOf<Op> = Op extends Ask<infer Message, any> | Tell<infer Message> ? Message : never;
export type ReplyOf<Op> = Op extends Ask<any, infer Reply> ? Reply : void;

/** What an actor understands. */
export interface Contract<Operations, Own = unknown> {
  readonly name: string;
  /** What every caller may ask and tell. */
  readonly operations: Operations;
  /** What only the actor sends itself: by a timer, by background work, by a reminder. */
  readonly own: Own;
  /**
   * Keys with the same `shard_by` and site live on one node. The site is the key up to its first space, so
   * "example.org" and "example.org 5f1c…", both sharded by "domain", are neighbours: a slot is granted and used in one
   * process. Default: the contract's name.
   */
  readonly shard_by: string;
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
export function contract(
  name: string,
  operations: unknown,
  own: unknown = {},
  { shard_by = name }: ContractOptions = {},
): Contract<unknown> {
  return { name, operations, own, shard_by };
}

export const ask = <Message extends TSchema, Reply extends TSchema>(
  message: Message,
  reply: Reply,
): Ask<Static<Message>, Static<Reply>> => ({ kind: "ask", message, reply });

export const tell = <Message extends TSchema>(message: Message): Tell<Static<Message>> => ({
  kind: "tell",
  message,
});
