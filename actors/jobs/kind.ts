/** What a job must know of its items to have them done: the worker's half of a kind (schemas/jobs.ts tells the other). */
import type { ActorClient } from "../../cluster/actor.ts";
import type { AttemptContext, JobKind, AttemptResult } from "../../schemas/jobs.ts";

export type Input = Readonly<Record<string, unknown>>;

export interface ItemKind {
  readonly name: JobKind;
  /** The site whose pace this item shares, so that it waits behind its own only; null: none. Must not throw. */
  readonly lane: (input: Input) => string | null;
  /**
   * One try. It may throw Fault, which is no answer: the item is tried again and nothing is counted. After
   * `call.signal` it sends nothing more and ends soon; what it answers then counts only when it is no error.
   */
  readonly run: (ask: ActorClient, input: Input, attempt: AttemptContext) => Promise<AttemptResult>;
}
