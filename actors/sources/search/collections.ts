/** Answers of searches, by the digest of their question (cache.ts). */
import { collection } from "../../../cluster/collection.ts";
import type { CachedSearch } from "./cache.ts";

export const SEARCHES = collection<CachedSearch>("searches", { expires: true, rebuildable: true });
