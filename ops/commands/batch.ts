/**
 * trawl batch FILE: a client of POST /v1/batch/fetch and /v1/batch/search. One URL or query a line, or one item as JSON;
 * a bar on a terminal, NDJSON when piped. The idempotency key is made of what is asked, so the same command again goes
 * on with the same job.
 */
import { createHash } from "node:crypto";
import type { Command } from "commander";
import { MAX_JOB_ITEMS, type JobKind } from "../../schemas/jobs.ts";
import { systemTerminal } from "../terminal.ts";
import { type ClientOptions, clientCommand, post, errorOf, service } from "./client.ts";
import { CommandError, type Context, EXIT } from "./context.ts";
import { watch } from "./watch.ts";

interface BatchOptions extends ClientOptions {
  readonly search?: boolean;
  readonly callback?: string;
  readonly idempotencyKey?: string;
  readonly detach?: boolean;
  readonly resume?: string;
}

export const batchCommand = (context: Context): Command =>
  clientCommand("batch")
    .description("fetch every URL of a file, or with --search look for every line, as one job")
    .argument("[file]", "one a line, or JSON objects; - or nothing: standard input", "-")
    .option("--search", "lines are queries")
    .option("--callback <url>", "told when the job is over")
    .option("--idempotency-key <key>", "names the job; default: made of what is asked")
    .option("--detach", "print the job's id and do not wait")
    .option("--resume <file>", "leave out the items that are in this NDJSON already")
    .action(async (file: string, options: BatchOptions) => {
      const terminal = context.terminal?.() ?? systemTerminal();
      const { base, key } = service(context, options);
      const kind = options.search ? "search" : "fetch";
      const text = await terminal.read(file).catch((problem: Error) => {
        throw new CommandError(`Cannot read "${file}": ${problem.message}`, EXIT.usage);
      });
      const items = readItems(text, kind);
      if (items.length === 0) throw new CommandError(`There is nothing in "${file}"`, EXIT.usage);
      if (items.length > MAX_JOB_ITEMS)
        throw new CommandError(
          `${items.length} items are more than a job may have (${MAX_JOB_ITEMS}): split the file`,
          EXIT.usage,
        );
      const callback_url = options.callback ?? null;
      const idempotency_key = options.idempotencyKey ?? idempotencyKeyOf({ kind, items, callback_url });
      const body = { items, idempotency_key, callback_url };
      const { reply, content } = await post(`${base}/v1/batch/${kind}`, key, body);
      if (!reply.ok || content === null) throw errorOf(reply, content);
      const { job_id, created } = content as { job_id: string; created: boolean };
      if (options.detach) return context.out(options.json ? JSON.stringify(content) : job_id);
      context.err(`Job ${job_id}, ${items.length} items${created ? "" : ", was there already"}`);
      const from = options.resume === undefined ? 0 : countLines(await terminal.read(options.resume));
      const isPrinted = terminal.isPiped || options.json === true;
      return watch(context, terminal, { base, key, job_id, from, isPrinted });
    });

/** Lines that are empty or begin with # are left out. Throws CommandError. */
export function readItems(text: string, kind: Extract<JobKind, "search" | "fetch">): object[] {
  const items: object[] = [];
  for (const [n, line] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    if (!trimmed.startsWith("{")) items.push(kind === "search" ? { query: trimmed } : { url: trimmed });
    else
      try {
        items.push(JSON.parse(trimmed) as object);
      } catch {
        throw new CommandError(`Line ${n + 1} is no JSON object`, EXIT.usage);
      }
  }
  return items;
}

const idempotencyKeyOf = (content: object): string =>
  `trawl-batch-${createHash("sha256").update(JSON.stringify(content)).digest("hex")}`;

/** Only whole lines: the last one may have been cut off. */
const countLines = (text: string): number => text.split("\n").length - 1;
