/** Tools for jobs: job. */
import { Type } from "typebox";
import { withQuery } from "../api.ts";
import { factLine, inline, link } from "../markdown.ts";
import { contentOf } from "../tool-errors.ts";
import { type ToolContext, type Tool, tool } from "../tool.ts";

/** The official client gives up after 60 s. */
const MAX_WAIT_S = 50;
const POLL_MS = 1000;
const LIMIT = 10;
const ENDED: ReadonlySet<string> = new Set(["completed", "cancelled"]);

const job = tool({
  name: "job",
  title: "Wait for a job and read its results",
  description:
    "The state of a job and its results; `wait_s` waits for its end, `from` is the first result to show.",
  input: Type.Object({
    job_id: Type.String({ minLength: 1, maxLength: 100 }),
    wait_s: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_WAIT_S })),
    from: Type.Optional(Type.Integer({ minimum: 0 })),
    limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, default: LIMIT })),
  }),
  async tell({ job_id, wait_s = 0, from = 0, limit = LIMIT }, context) {
    const status = await waited(job_id, wait_s, context);
    const items = limit === 0 ? [] : await pageOf(job_id, { from, limit }, context);
    const { done = 0, failed = 0, total = 0 } = status.counts;
    const next = items.length === limit && limit > 0 && from + limit < total ? from + limit : null;
    const more = next === null ? "" : `\n\nMore results: call job with from: ${next}.`;
    return {
      markdown: `Job ${status.job_id} (${status.kind}) is ${status.status}: ${done} done and ${failed} failed of ${total}.\n\n${items.map(tellItem).join("\n\n")}${more}`,
      facts: { job_id: status.job_id, status: status.status, counts: status.counts, next_from: next },
    };
  },
});

async function waited(
  job_id: string,
  wait_s: number,
  { ask, sleep, signal, onProgress }: ToolContext,
): Promise<any> {
  const path = `/v1/jobs/${encodeURIComponent(job_id)}`;
  for (let left_ms = wait_s * 1000; ; left_ms -= POLL_MS) {
    const status = await contentOf(ask, { method: "GET", path });
    if (ENDED.has(status.status) || left_ms <= 0 || signal.aborted) return status;
    const { done = 0, failed = 0, total = 0 } = status.counts;
    onProgress(`${done + failed} of ${total} items`);
    await sleep(POLL_MS);
  }
}

async function pageOf(
  job_id: string,
  { from, limit }: { readonly from: number; readonly limit: number },
  { ask }: ToolContext,
): Promise<Record<string, any>[]> {
  const path = withQuery(`/v1/jobs/${encodeURIComponent(job_id)}`, { include: "items", offset: from, limit });
  return (await contentOf(ask, { method: "GET", path })).items;
}

/** An item's input in one line, and what its result says first. */
function tellItem({ index, status, input, result, error }: Record<string, any>): string {
  const name = input?.url ? link(result?.title ?? null, input.url) : inline(JSON.stringify(input));
  const text: string = result?.markdown ?? result?.text ?? "";
  const about = factLine({ status, error });
  return `### ${index}. ${name}\n\n${about}${text === "" ? "" : `\n\n${text}`}`;
}

export const JOB_TOOLS: readonly Tool[] = [job];
