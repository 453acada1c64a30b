/**
 * Batch jobs in a run of chaos (chaos.ts): a part of the pages is wanted as items of jobs, by a client that repeats what was
 * refused or broken off with the same idempotency key.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Dispatcher, request } from "undici";
import type { FetchResponse } from "../../schemas/fetch.ts";
import type { JobStatus } from "../../schemas/jobs.ts";
import type { ClusterOf } from "./cluster-of.ts";
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
const ITEMS_PAGE = 100;

interface JobsRun {
  readonly cluster: ClusterOf;
  readonly dispatcher: Dispatcher;
  readonly seed: number;
  /** A job that is not finished by then is lost. */
  readonly timeout_ms: number;
  readonly note: (what: string) => void;
}

/** Runs the pages as jobs, all at once. Answers the jobs that were created; pages of items that failed stay unanswered. */
export async function runJobs(run: JobsRun, wanted: readonly WantedPage[]): Promise<readonly ChaosJob[]> {
  const parts = Array.from({ length: Math.ceil(wanted.length / JOB_ITEMS) }, (_, n) =>
    wanted.slice(n * JOB_ITEMS, (n + 1) * JOB_ITEMS),
  );
  return Promise.all(parts.map((pages, n) => runJob(run, pages, n)));
}

async function runJob(run: JobsRun, pages: readonly WantedPage[], n: number): Promise<ChaosJob> {
  const ends_ms = Date.now() + run.timeout_ms;
  const items = pages.map(({ url }) => ({ url, tiers: ["direct"] }));
  const body = { idempotency_key: `chaos-${run.seed}-${n}`, items };
  const { job_id } = await insist<{ job_id: string }>(run, ends_ms, "/v1/batch/fetch", body);
  const path = `/v1/jobs/${job_id}`;
  for (;;) {
    const { finished_at, counts } = await insist<JobStatus>(run, ends_ms, path);
    if (finished_at !== null) break;
    if (Date.now() > ends_ms) {
      run.note(`gave up on job ${n}: ${JSON.stringify(counts)}`);
      return { job_id, total: pages.length };
    }
    await sleep(RETRY_MS);
  }
  for (let offset = 0; offset < pages.length; offset += ITEMS_PAGE) {
    const job = await insist<JobStatus>(run, ends_ms, `${path}?include=items&offset=${offset}`);
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

/** The answer of 2xx, after as many attempts as it takes. Throws any other answer than 503 and 504. */
async function insist<T>(
  { cluster: { url, key }, dispatcher, timeout_ms }: JobsRun,
  ends_ms: number,
  path: string,
  body?: object,
): Promise<T> {
  let last: unknown;
  // What is asked at the end still gets an answer of a service that works.
  for (let attempt = 0; attempt < 3 || Date.now() < ends_ms; attempt++) {
    try {
      const answer = await request(`${url}${path}`, {
        dispatcher,
        method: body ? "POST" : "GET",
        headers: { authorization: `Bearer ${key}` },
        ...(body && { body: JSON.stringify(body) }),
        headersTimeout: timeout_ms,
      });
      const json = await answer.body.json();
      if (answer.statusCode < 300) return json as T;
      last = `${answer.statusCode}: ${JSON.stringify(json).slice(0, 300)}`;
      if (answer.statusCode !== 503 && answer.statusCode !== 504)
        throw new Error(`"${path}": ${String(last)}`);
    } catch (problem) {
      if (!(problem instanceof Error && "code" in problem)) throw problem;
      last = problem;
    }
    await sleep(RETRY_MS);
  }
  throw new Error(`No answer for "${path}": ${String(last)}`);
}

/** What is wrong with the rows of the jobs' items in the ledger: each item has one. */
export function jobRowProblems(jobs: readonly ChaosJob[], billed: readonly string[]): readonly string[] {
  return jobs.flatMap(({ job_id, total }) => {
    const rows = billed.filter((id) => id.startsWith(`${job_id}:`));
    const distinct = new Set(rows).size;
    return rows.length === total && distinct === total
      ? []
      : [`job ${job_id} has ${rows.length} rows, ${distinct} distinct, for ${total} items`];
  });
}
