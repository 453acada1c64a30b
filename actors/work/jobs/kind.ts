/**
 * How a job runs its items: the worker's half of an item kind. The gateway's half is `BatchKind`
 * (gateway/batch.ts); schemas/jobs.ts explains how to add a kind.
 */
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Input } from "../../../schemas/job-inputs.ts";
import type { AttemptContext, JobKind, AttemptResult } from "../../../schemas/jobs.ts";

export interface ItemKind {
  readonly name: JobKind;
  /**
   * The site whose slots this item shares, so that it waits behind items of that site only; null: none. With `origin`, what a busy answer
   * pauses is the items of that origin, not all of the site. Must not throw.
   */
  readonly lane: (input: Input) => string | { readonly site: string; readonly origin: string } | null;
  /**
   * Attempts an item once. It may throw Fault: the item is then attempted again, and the attempt does not count. After
   * `attempt.signal` aborts it sends nothing more and ends soon; a result counts then only if it is no error.
   */
  readonly run: (ask: ActorClient, input: Input, attempt: AttemptContext) => Promise<AttemptResult>;
  /** Where the items of a job that grows come from. Absent: jobs of this kind do not grow. */
  readonly source?: ItemSource;
}

/** A source that has heard of everything that an item found before the item's result is stored. */
export interface ItemSource {
  /**
   * Items from number `have` on, at most `want`: the same ones until it is asked for those behind them, which says that they are
   * stored. `ended`: of the items before `have`. Throws Fault.
   */
  readonly more: (
    ask: ActorClient,
    job_id: string,
    request: { readonly have: number; readonly want: number; readonly ended: number },
  ) => Promise<MoreItems>;
  /** The job is purged: what is stored of it may go. Throws Fault. */
  readonly forget: (ask: ActorClient, job_id: string) => Promise<void>;
}

export interface MoreItems {
  readonly items: readonly Input[];
  /** There are no others, unless an item that has not ended finds some. */
  readonly is_over: boolean;
  readonly discovered: number;
  readonly excluded: number;
}
