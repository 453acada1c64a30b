/**
 * trawl batch FILE: a client of POST /v1/batch/fetch and /v1/batch/search. Each line is a URL, a query or an item as JSON.
 * A progress bar on a terminal, NDJSON when piped. The idempotency key is a hash of the request, so the same command again
 * continues with the same job.
 */
import { createHash } from "node:crypto";
import type { Command } from "commander";
import { MAX_JOB_ITEMS, MaxCostUsd, type JobKind } from "../../schemas/jobs.ts";
import { systemTerminal } from "../terminal.ts";
import { type ClientOptions, clientCommand, post, errorOf, service } from "./client.ts";
import { CommandError, type Context, EXIT } from "./context.ts";
import { isDataWanted } from "./streams.ts";
import { watch } from "./watch.ts";
import { FetchBody } from "../../schemas/fetch.ts";
import { SearchBody } from "../../schemas/search.ts";
import { fieldFlags, givenFields, withFlags } from "./field-flags.ts";

/** Bodies of items; FLAGS leaves out what only a line can say or the command has in a form of its own. */
const BODIES = { fetch: FetchBody, search: SearchBody } as const;
const FLAGS = fieldFlags({ properties: { ...SearchBody.properties, ...FetchBody.properties } }, [
  "url",
  "query",
  "allow_premium",
]);

interface BatchOptions extends ClientOptions {
  readonly search?: boolean;
  readonly callback?: string;
  readonly idempotencyKey?: string;
  readonly detach?: boolean;
  readonly resume?: string;
}

const COST = fieldFlags({ properties: { max_cost_usd: MaxCostUsd } }, []);

export const batchCommand = (context: Context): Command =>
  withFlags(
    clientCommand("batch")
      .description("fetch every URL of a file, or search for every line with --search, as one job")
      .argument("[file]", "one URL, query or JSON object per line; - or nothing: standard input", "-"),
    [...FLAGS, ...COST],
  )
    .option("--search", "the lines are search queries")
    .option("--callback <url>", "an address that is called when the job has finished")
    .option("--idempotency-key <key>", "identifies the job; default: a hash of the request")
    .option("--detach", "print the job's id and do not wait for it")
    .option("--resume <file>", "do not print the items that are already in this NDJSON file")
    .action(async (file: string, options: BatchOptions) => {
      const terminal = context.terminal?.() ?? systemTerminal();
      const { base, key } = service(context, options);
      const kind = options.search ? "search" : "fetch";
      const text = await terminal.read(file).catch((problem: Error) => {
        throw new CommandError(`Cannot read "${file}": ${problem.message}`, EXIT.usage);
      });
      const given = fieldsOf(kind, options);
      const items = readItems(text, kind).map((item) => ({ ...given, ...item }));
      if (items.length === 0)
        throw new CommandError(`Cannot run a batch: "${file}" has no items`, EXIT.usage);
      if (items.length > MAX_JOB_ITEMS)
        throw new CommandError(
          `Cannot run a batch of ${items.length} items: a job has at most ${MAX_JOB_ITEMS}; split the file`,
          EXIT.usage,
        );
      const callback_url = options.callback ?? null;
      const around = {
        callback_url,
        ...givenFields(COST, options as unknown as Readonly<Record<string, unknown>>),
      };
      const idempotency_key = options.idempotencyKey ?? idempotencyKeyOf({ kind, items, ...around });
      const body = { items, idempotency_key, ...around };
      const { reply, content } = await post(`${base}/v1/batch/${kind}`, key, body);
      if (!reply.ok || content === null) throw errorOf(reply, content);
      const { job_id, created } = content as { job_id: string; created: boolean };
      if (options.detach) return context.out(options.json ? JSON.stringify(content) : job_id);
      context.err(`Job ${job_id}, ${items.length} items${created ? "" : ", created before"}`);
      const from = options.resume === undefined ? 0 : countLines(await terminal.read(options.resume));
      const isPrinted = isDataWanted(terminal, options);
      return watch(context, terminal, { base, key, job_id, from, isPrinted });
    });

/** Fields of all items that do not have them themselves. Throws CommandError for one that items of the kind do not have. */
function fieldsOf(kind: keyof typeof BODIES, options: BatchOptions): Record<string, unknown> {
  const given = givenFields(FLAGS, options as unknown as Readonly<Record<string, unknown>>);
  const wrong = FLAGS.find(({ field }) => field in given && !(field in BODIES[kind].properties));
  if (wrong)
    throw new CommandError(`Cannot run a batch: ${wrong.option.long} is not for a ${kind}`, EXIT.usage);
  return given;
}

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
        throw new CommandError(`Cannot read line ${n + 1}: it is not a JSON object`, EXIT.usage);
      }
  }
  return items;
}

const idempotencyKeyOf = (content: object): string =>
  `trawl-batch-${createHash("sha256").update(JSON.stringify(content)).digest("hex")}`;

/** Only whole lines: the last one may have been cut off. */
const countLines = (text: string): number => text.split("\n").length - 1;
