/** Kinds of items, which batch jobs take of other features; and jobs that the service runs by itself, which batch jobs give to them. */
import type { Caller } from "../../../../gateway/authenticate.ts";
import type { BatchKind, CsvUpload, RouteNames } from "../../../../gateway/batch.ts";
import type { Input } from "../../../../schemas/job-inputs.ts";
import type { Reply } from "../../../../gateway/http.ts";
import type { JobWebhooks } from "../../../../gateway/job-webhooks.ts";
import type { Route } from "../../../../gateway/route.ts";
import type { Mistake } from "../../../../gateway/validate.ts";
import { gathered, token } from "../../../../node/token.ts";
import type { JobKind } from "../../../../schemas/jobs.ts";
import type { ItemKind } from "../kind.ts";
import type { JobReader } from "./job-reader.ts";

/** Finds a job of the caller's project, null: it has no such job; and reads its items. */
export type JobFinder = Pick<JobReader, "find" | "items">;

/** A kind of batch items: how a worker runs an item, how the gateway takes and shows it, and its route. */
export interface ItemKindParts {
  readonly worker: ItemKind;
  readonly gateway: BatchKind;
  /** Null: the slice of the kind has a route of its own that creates its jobs. */
  readonly route: RouteNames | null;
  /** Further routes that show or create a job of this kind. */
  readonly routes?: (reader: JobFinder, webhooks: JobWebhooks) => readonly Route[];
  /** The routes that take items and give results as CSV, at paths of the kind's own. */
  readonly csv?: { readonly upload: CsvUpload; readonly results: RouteNames };
}

/** Jobs as their projects see them, for features that show what a job has kept. */
export const JobsOfProjects = token<JobFinder>("jobs of projects");

export const ItemKinds = gathered<ItemKindParts>("item kinds");

/** A visit of a monitor: a job of one item, with the quota, the spend, the retries and the row of the ledger of any item. */
export interface Visit {
  readonly monitor_id: string;
  /** Counts the visits of the monitor: the same number is the same job. */
  readonly number: number;
  readonly kind: JobKind;
  readonly project: string;
  /** The prefix of the key that pays. */
  readonly key: string;
  /** As `admit` made it. */
  readonly input: Input;
}

export interface VisitOutcome {
  /** Null: it has a result without an error. An error of the item, or `cancelled`. */
  readonly error: string | null;
  /** The answer of the single endpoint; null: there is no result. */
  readonly result: Readonly<Record<string, unknown>> | null;
}

export interface VisitJobs {
  /** An item as it is stored for this caller; or its mistakes, with `body` and the field in `loc`, or the refusal. Throws Fault. */
  readonly admit: (
    kind: JobKind,
    item: Input,
    caller: Caller,
  ) => Promise<
    | { readonly kind: "admitted"; readonly input: Input }
    | { readonly kind: "wrong"; readonly mistakes: readonly Mistake[] }
    | { readonly kind: "refused"; readonly refusal: Reply }
  >;
  /** Begins the job, or finds it. Null: the key is revoked, or its project is gone. Throws Fault. */
  readonly start: (visit: Visit) => Promise<{ readonly job_id: string } | null>;
  /** Null: the job has not finished. `gone`: it is not stored any more. Throws Fault. */
  readonly outcome: (job_id: string) => Promise<VisitOutcome | "gone" | null>;
}

export const Visits = token<VisitJobs>("visit jobs");
