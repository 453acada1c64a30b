/**
 * trawl crawl URL: a client of POST /v1/crawl. A progress bar on a terminal, the pages as NDJSON when piped. The idempotency key is a
 * hash of the request, so the same command again goes on with the same crawl.
 */
import { createHash } from "node:crypto";
import type { Command } from "commander";
import { CRAWL_LIMIT_DEFAULT, CrawlBody, CrawlFetch } from "../../schemas/crawl.ts";
import type { JobCreated } from "../../schemas/jobs.ts";
import { systemTerminal } from "../terminal.ts";
import { type ClientOptions, clientCommand, errorOf, post, service } from "./client.ts";
import type { Context } from "./context.ts";
import { isDataWanted, linesOf } from "./streams.ts";
import { fieldFlags, givenFields, withFlags } from "./field-flags.ts";
import { watch } from "./watch.ts";

interface CrawlOptions extends ClientOptions {
  readonly seed?: readonly string[];
  readonly callback?: string;
  readonly idempotencyKey?: string;
  readonly new?: boolean;
  readonly detach?: boolean;
}

const FLAGS = fieldFlags(CrawlBody, ["url", "seeds", "fetch", "idempotency_key", "callback_url"]);
/** Selectors have the names of patterns; `--fetch` takes them. */
const FETCH_FLAGS = fieldFlags(CrawlFetch, ["include_selectors", "exclude_selectors", "project_ref"]);
const FETCH = fieldFlags({ properties: { fetch: CrawlBody.properties.fetch } }, []);

export const crawlCommand = (context: Context): Command =>
  withFlags(clientCommand("crawl"), [...FLAGS, ...FETCH, ...FETCH_FLAGS])
    .description("fetch the pages of a site through the service, as one job")
    .argument("<sites...>", "where the crawl begins; - for the lines of standard input")
    .option("--callback <url>", "an address that is called when the crawl has finished")
    .option("--idempotency-key <key>", "identifies the crawl; default: a hash of the request")
    .option("--new", "begin a new crawl where this command has begun one before")
    .option("--detach", "print the job's id and do not wait for it")
    .action(async (sites: readonly string[], options: CrawlOptions) => {
      const terminal = context.terminal?.() ?? systemTerminal();
      const { base, key } = service(context, options);
      const request = requestOf(await linesOf(sites, terminal), options);
      // Without a key each request begins a crawl.
      const idempotency_key = options.idempotencyKey ?? (options.new ? null : keyOf(request));
      const { reply, content } = await post(`${base}/v1/crawl`, key, { ...request, idempotency_key });
      if (!reply.ok || content === null) throw errorOf(reply, content);
      const { job_id, created, webhook_secret } = content as JobCreated;
      if (options.detach) return context.out(options.json ? JSON.stringify(content) : job_id);
      context.err(`Crawl ${job_id}${created ? "" : ", begun before (--new begins another)"}`);
      if (webhook_secret !== undefined) context.err(`Its webhook is signed with ${webhook_secret}`);
      const isPrinted = isDataWanted(terminal, options);
      const most = request.limit ?? CRAWL_LIMIT_DEFAULT;
      return watch(context, terminal, { base, key, job_id, from: 0, isPrinted, most });
    });

function requestOf(sites: readonly string[], options: CrawlOptions): CrawlBody {
  const given = options as unknown as Readonly<Record<string, unknown>>;
  const { fetch, ...of_fetch } = { ...givenFields(FETCH, given), ...givenFields(FETCH_FLAGS, given) };
  const options_of_pages = { ...(fetch as object | undefined), ...of_fetch };
  return {
    ...(sites.length === 1 ? { url: sites[0]! } : { seeds: [...sites] }),
    ...givenFields(FLAGS, given),
    ...(Object.keys(options_of_pages).length > 0 && { fetch: options_of_pages }),
    ...(options.callback !== undefined && { callback_url: options.callback }),
  };
}

const keyOf = (request: object): string =>
  `trawl-crawl-${createHash("sha256").update(JSON.stringify(request)).digest("hex")}`;
