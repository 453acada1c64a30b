/** trawl companies resolve: the companies that the rows of a CSV file mean, as CSV. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { systemTerminal } from "../terminal.ts";
import { type ClientOptions, clientCommand, download, errorOf, exchange, service, upload } from "./client.ts";
import { CommandError, type Context, EXIT } from "./context.ts";
import { readJob } from "./watch.ts";

const POLL_MS = 500;

export const resolveCommand = (context: Context): Command =>
  clientCommand("resolve")
    .description("find the companies that the rows of a CSV file mean; prints a row for each, as CSV")
    .argument("<file>", "columns ref, name, country, city, …; up to 50,000 rows; - is standard input")
    .action(async (path: string, options: ClientOptions) => {
      const at = service(context, options);
      const file = bytesOf(path);
      // A repeated command is answered by the same job.
      const idempotency_key = createHash("sha256").update(file).digest("hex");
      const job_id = await submit(at, idempotency_key, file);
      const terminal = context.terminal?.() ?? systemTerminal();
      while ((await readJob({ ...at, job_id })).finished_at === null) await terminal.sleep(POLL_MS);
      const found = `${at.base}/v1/companies/batch/${job_id}`;
      if (options.json) {
        const { reply, content } = await exchange(
          "GET",
          `${at.base}/v1/jobs/${job_id}?include=items`,
          at.key,
        );
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
  const bytes = new Uint8Array(file);
  const { reply, content } = await upload(address, key, { content_type: "text/csv", bytes });
  if (!reply.ok) throw errorOf(reply, content);
  return (content as { readonly job_id: string }).job_id;
}
