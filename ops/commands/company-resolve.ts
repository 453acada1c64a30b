/** trawl companies resolve: the companies that the rows of a CSV file mean, as CSV. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { sleep } from "../../cluster/ports/clock.ts";
import { type ClientOptions, clientCommand, download, errorOf, exchange, service } from "./client.ts";
import { CommandError, type Context, EXIT } from "./context.ts";
import { readJob } from "./watch.ts";

const POLL_MS = 500;
const MAX_UPLOAD_MS = 300_000;

export const resolveCommand = (context: Context): Command =>
  clientCommand("resolve")
    .description("find the companies that the rows of a CSV file mean; prints a row for each, as CSV")
    .argument("<file>", "columns ref, name, country, city, …; up to 50,000 rows; - is standard input")
    .action(async (path: string, options: ClientOptions) => {
      const at = service(context, options);
      const file = bytesOf(path);
      // The same command again is answered by the same job.
      const idempotency_key = createHash("sha256").update(file).digest("hex");
      const job_id = await submit(at, idempotency_key, file);
      while ((await readJob({ ...at, job_id })).finished_at === null) await sleep(systemClock(), POLL_MS);
      const found = `${at.base}/v1/companies/batch/${job_id}`;
      if (options.json) {
        const { reply, content } = await exchange("GET", `${found}?include=items`, at.key);
        if (!reply.ok) throw errorOf(reply, content);
        context.out(JSON.stringify(content, null, 2));
      } else context.out((await download(`${found}.csv`, at.key)).toString().trimEnd());
      context.err(`What is near and no match: ${found}/review`);
    });

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path === "-" ? 0 : path);
  } catch (problem) {
    throw new CommandError(`Cannot read "${path}": ${(problem as Error).message}`, EXIT.usage);
  }
}

/** Answers the id of the job. */
async function submit(
  { base, key }: { readonly base: string; readonly key: string },
  idempotency_key: string,
  file: Buffer,
): Promise<string> {
  const address = `${base}/v1/companies/batch/csv?action=resolve&idempotency_key=${idempotency_key}`;
  const reply = await fetch(address, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "text/csv" },
    body: new Uint8Array(file),
    signal: AbortSignal.timeout(MAX_UPLOAD_MS),
  }).catch((problem: unknown) => {
    throw new CommandError(`Cannot send the file to ${address}: ${(problem as Error).message}`);
  });
  const content: unknown = await reply.json().catch(() => null);
  if (!reply.ok) throw errorOf(reply, content);
  return (content as { readonly job_id: string }).job_id;
}
