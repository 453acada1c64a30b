/** What batch jobs take of other features: the kinds of their items. */
import type { BatchKind, CsvUpload, RouteNames } from "../../../../gateway/batch.ts";
import { gathered } from "../../../../node/token.ts";
import type { ItemKind } from "../kind.ts";

/** One kind of batch items: how a worker runs an item, how the gateway takes and shows it, and its route. */
export interface ItemKindParts {
  readonly worker: ItemKind;
  readonly gateway: BatchKind;
  readonly route: RouteNames;
  /** The routes that take items and give results as CSV, at paths of the kind's own. */
  readonly csv?: { readonly upload: CsvUpload; readonly results: RouteNames };
}

export const ItemKinds = gathered<ItemKindParts>("item kinds");
