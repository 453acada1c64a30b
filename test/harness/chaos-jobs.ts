/**
 * Batch jobs in a run of chaos (chaos.ts): a part of the pages is wanted as items of jobs, by a client that repeats what was
 * refused or broken off with the same idempotency key.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { FetchResponse } from "../../schemas/fetch.ts";
import type { JobStatus } from "../../schemas/jobs.ts";
import { type ChaosClient, insist } from "./chaos-client.ts";
import { titleOf } from "./origin.child.ts";

/** A page that a client wants. */
export interface WantedPage {
  readonly site: number;
  readonly page: number;
  readonly url: string;
  /** When the whole answer had arrived; 0: never. */
  answered_ms: number;
  sha256: string | null;
}

export interface ChaosJob {
  readonly job_id: string;
  readonly total: number;
}

const JOB_ITEMS = 50;
const RETRY_MS = 500;
/** A job that is not finished by then is lost. Longer than a client repeats one fetch: an item waits longer after each failure. */
const JOB_TIMEOUT_MS = 220_000;
const ITEMS_PAGE = 100;

interface JobsRun extends ChaosClient {
  readonly seed: number;
}

/** Runs the pages as jobs, all at once. Answers the jobs that were created; pages of items that failed stay unanswered. */
export async function runJobs(
  run: JobsRun,
  pagesOfJobs: readonly WantedPage[],
): Promise<readonly ChaosJob[]> {
  const parts = Array.from({ length: Math.ceil(pagesOfJobs.length / JOB_ITEMS) }, (_, n) =>
    pagesOfJobs.slice(n * JOB_ITEMS, (n + 1) * JOB_ITEMS),
  );
  return Promise.all(parts.map((pages, n) => runJob(run, pages, n)));
}

async function runJob(run: JobsRun, pages: readonly WantedPage[], n: number): Promise<ChaosJob> {
  const ends_ms = Date.now() + JOB_TIMEOUT_MS;
  const items = pages.map(({ url }) => ({ url, tiers: ["direct"] }));
  const body = { idempotency_key: `chaos-${run.seed}-${n}`, items };
  const { job_id } = await wanted<{ job_id: string }>(run, { path: "/v1/batch/fetch", body, ends_ms });
  const path = `/v1/jobs/${job_id}`;
  for (;;) {
    const { finished_at, counts } = await wanted<JobStatus>(run, { path, ends_ms });
    if (finished_at !== null) break;
    if (Date.now() > ends_ms) {
      run.note(`gave up on job ${n}: ${JSON.stringify(counts)}`);
      return { job_id, total: pages.length };
    }
    await sleep(RETRY_MS);
  }
  for (let offset = 0; offset < pages.length; offset += ITEMS_PAGE) {
    const job = await wanted<JobStatus>(run, { path: `${path}?include=items&offset=${offset}`, ends_ms });
    for (const { index, status, result, error } of job.items!) {
      const page = pages[index]!;
      const { title, sha256 } = (result ?? {}) as Partial<FetchResponse>;
      if (status !== "done") run.note(`item ${index} of job ${n} ended ${status}: ${error}`);
      else if (title !== titleOf(page.site, page.page))
        throw new Error(`The item "${page.url}" is "${title}"`);
      else Object.assign(page, { sha256, answered_ms: Date.now() });
    }
  }
  return { job_id, total: pages.length };
}

/** Throws when there is no answer. */
async function wanted<T extends object>(
  client: ChaosClient,
  question: { readonly path: string; readonly body?: object; readonly ends_ms: number },
): Promise<T> {
  const answer = await insist<T>(client, question);
  if (answer === null) throw new Error(`No answer for "${question.path}"`);
  return answer;
}

/** Problems of the rows of the jobs' items in the ledger: each item has one row. */
export function jobRowProblems(jobs: readonly ChaosJob[], billed: readonly string[]): readonly string[] {
  return jobs.flatMap(({ job_id, total }) => {
    const rows = billed.filter((id) => id.startsWith(`${job_id}:`));
    const distinct = new Set(rows).size;
    return rows.length === total && distinct === total
      ? []
      : [`job ${job_id} has ${rows.length} rows, ${distinct} distinct, for ${total} items`];
  });
}
