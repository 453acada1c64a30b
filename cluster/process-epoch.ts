/**
 * The epoch of a process that owns all keys by itself: the number of its start on these documents. Work names runs and paid attempts
 * with its epoch, so what is begun again after a crash must not have the epoch of what the crash ended.
 */
import type { Documents } from "./ports/documents.ts";
import { CLUSTER } from "./cluster-documents.ts";

const STARTS = CLUSTER.of<{ readonly count: number }>();
const KEY = "starts";

/** Larger than that of every earlier process. Throws Fault. */
export async function nextEpoch(documents: Pick<Documents, "get" | "put" | "remove">): Promise<number> {
  const started = await STARTS.update(documents, KEY, (stored) => ({
    value: { count: (stored?.count ?? 0) + 1 },
  }));
  return started!.value.count;
}
