/** Reads the stored results of a job's items, a bounded number at a time, because each may hold a page's text. */
import type { Documents } from "../../../cluster/ports/documents.ts";
import { resultKey, type StoredResult } from "../../../schemas/jobs.ts";
import { JOB_RESULTS } from "./collections.ts";

const RESULTS_AT_ONCE = 50;

export function* inBatches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += RESULTS_AT_ONCE) yield all.slice(at, at + RESULTS_AT_ONCE);
}

/** The results that are there, each with the index of its item. Throws Fault. */
export async function* storedResults(
  documents: Pick<Documents, "getMany">,
  job_id: string,
  indexes: readonly number[],
): AsyncGenerator<readonly [index: number, result: StoredResult]> {
  for (const batch of inBatches(indexes)) {
    const results = await JOB_RESULTS.getMany(
      documents,
      batch.map((index) => resultKey(job_id, index)),
    );
    for (const [n, result] of results.entries()) if (result) yield [batch[n]!, result];
  }
}
