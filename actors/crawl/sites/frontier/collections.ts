/** Collections of the frontiers of crawls. */
import { collection } from "../../../../cluster/collection.ts";
import type { CrawlRecord, FrontierRecord, OrderChunk, RowChunk } from "./record.ts";

/** By job id: what was asked for; written once, before the crawl begins. */
export const CRAWLS = collection<CrawlRecord>("crawls");
/** By job id, what the actor stores. Null: the crawl was purged. */
export const FRONTIERS = collection<FrontierRecord | null>("frontier");
/** By `partKey`: full chunks of addresses, in the order in which they were found; inserted once. */
export const FRONTIER_ROWS = collection<RowChunk>("frontier_rows");
/** By `partKey`: full chunks of the order in which addresses were given to the job; inserted once. */
export const FRONTIER_ORDER = collection<OrderChunk>("frontier_order");
