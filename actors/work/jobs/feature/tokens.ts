/** What batch jobs take of other features: the kinds of their items. */
import type { BatchKind, CsvUpload, RouteNames } from "../../../../gateway/batch.ts";
import type { Route } from "../../../../gateway/route.ts";
import { gathered } from "../../../../node/token.ts";
import type { ItemKind } from "../kind.ts";
import type { JobReader } from "./job-reader.ts";

/** One kind of batch items: how a worker runs an item, how the gateway takes and shows it, and its route. */
/** Finds a job of the caller's project; null: it has no such job. */
export type JobFinder = Pick<JobReader, "find">;

export interface ItemKindParts {
  readonly worker: ItemKind;
  readonly gateway: BatchKind;
  /** Null: the slice of the kind has a route of its own that creates its jobs. */
  readonly route: RouteNames | null;
  /** Further routes that show a job of this kind. */
  readonly routes?: (reader: JobFinder) => readonly Route[];
  /** The routes that take items and give results as CSV, at paths of the kind's own. */
  readonly csv?: { readonly upload: CsvUpload; readonly results: RouteNames };
}

export const ItemKinds = gathered<ItemKindParts>("item kinds");
