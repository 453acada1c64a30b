/**
 * Follows a job until it has finished: a progress bar on a terminal, its items as NDJSON in the order they were submitted
 * otherwise. Ctrl-C stops following; the job goes on.
 */
import type { JobItem, JobStatus } from "../../schemas/jobs.ts";
import type { Terminal } from "../terminal.ts";
import { exchange, errorOf } from "./client.ts";
import { type Context, EXIT } from "./context.ts";
import { finishedOf, progress, type Sample, span } from "./progress.ts";

interface Watched {
  readonly base: string;
  readonly key: string;
  readonly job_id: string;
  /** Items before this one are not printed. */
  readonly from: number;
  /** Whether items are printed. */
  readonly isPrinted: boolean;
  /** Items that the job has at most, where their number grows. */
  readonly most?: number;
}

const FIRST_POLL_MS = 200;
const MAX_POLL_MS = 1_000;
const PAGE = 100;
const MAX_SAMPLES = 100;
/** The exit code that shells use for an interrupted program. */
const INTERRUPTED = 130;

/** `include` adds a page of items. Throws CommandError. */
export async function readJob(
  { base, key, job_id }: Pick<Watched, "base" | "key" | "job_id">,
  page?: { readonly offset: number; readonly limit: number },
): Promise<JobStatus> {
  const query = page ? `?include=items&offset=${page.offset}&limit=${page.limit}` : "";
  const { reply, content } = await exchange("GET", `${base}/v1/jobs/${job_id}${query}`, key);
  if (!reply.ok || content === null) throw errorOf(reply, content);
  return content as JobStatus;
}

export async function watch(context: Context, terminal: Terminal, watched: Watched): Promise<void> {
  const { job_id, isPrinted } = watched;
  let isInterrupted = false;
  let { from } = watched;
  let wait_ms = FIRST_POLL_MS;
  const samples: Sample[] = [];
  const interrupt = terminal.onInterrupt(() => (isInterrupted = true));
  const draw = (line: string): void => {
    if (terminal.columns !== null) terminal.draw(line);
  };
  try {
    for (;;) {
      const job = await readJob(watched);
      if (isPrinted) from = await print(job, from);
      samples.push({ at_ms: terminal.now(), finished: finishedOf(job.counts) });
      if (samples.length > MAX_SAMPLES) samples.shift();
      if (job.finished_at !== null) {
        draw("");
        return summarize(job);
      }
      if (isInterrupted) return stopWatching();
      if (terminal.columns !== null) draw(progress(job.counts, samples, terminal.columns, watched.most));
      await terminal.sleep(wait_ms);
      wait_ms = Math.min(MAX_POLL_MS, wait_ms * 1.5);
    }
  } finally {
    interrupt[Symbol.dispose]();
  }

  /** Prints the finished items up to the first unfinished one, and returns that one's index. */
  async function print({ counts }: JobStatus, first: number): Promise<number> {
    let next = first;
    while (next < counts.total && !isInterrupted) {
      const { items = [] } = await readJob(watched, { offset: next, limit: PAGE });
      for (const item of items) {
        if (!isOver(item)) return next;
        context.out(JSON.stringify(item));
        next++;
      }
      if (items.length === 0) break;
    }
    return next;
  }

  function stopWatching(): void {
    draw("");
    context.err(
      `The job goes on. To follow it: trawl job watch ${job_id}; to cancel it: trawl job cancel ${job_id}`,
    );
    context.exit(INTERRUPTED);
  }

  function summarize({ status, counts, created_at, finished_at, max_cost_reached }: JobStatus): void {
    const took_s = (Date.parse(finished_at!) - Date.parse(created_at)) / 1_000;
    const { done, failed, cancelled } = counts;
    context.err(
      `${status} after ${span(took_s)}: ${done} done, ${failed} failed` +
        (cancelled > 0 ? `, ${cancelled} cancelled` : "") +
        (max_cost_reached ? "; max_cost_usd left out attempts that cost money" : ""),
    );
    if (!isPrinted) context.err(`Its items: trawl job items ${job_id}`);
    if (failed + cancelled > 0) context.exit(EXIT.some_failed);
  }
}

const isOver = ({ status }: JobItem): boolean => status !== "pending" && status !== "queued";
