/**
 * The epoch of a process that owns all keys by itself: the number of its start on these documents. Work names runs and paid attempts
 * with its epoch, so what is begun again after a crash must not have the epoch of what the crash ended.
 */
import type { Documents } from "./ports/documents.ts";

const COLLECTION = "cluster";
const KEY = "starts";

/** Larger than that of every earlier process. Throws Fault "documents_unreachable". */
export async function nextEpoch(documents: Pick<Documents, "get" | "put">): Promise<number> {
  for (;;) {
    const stored = await documents.get(COLLECTION, KEY);
    const epoch = ((stored?.value as { readonly count: number } | undefined)?.count ?? 0) + 1;
    if (await documents.put(COLLECTION, KEY, { count: epoch }, stored?.version ?? 0)) return epoch;
  }
}
