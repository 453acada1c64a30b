/**
 * trawl fetch URL: a client of POST /v1/fetch. It prints the page's text on standard output and the routes that were
 * tried on standard error.
 */
import { writeFile } from "node:fs/promises";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  type FetchBody,
  type FetchResponse,
  MAX_WAIT_FOR_MS,
  type ScreenshotType,
  type WaitFor,
} from "../../schemas/fetch.ts";
import {
  type ClientOptions,
  clientCommand,
  withoutUndefined,
  post,
  download,
  errorOf,
  service,
  wholeNumber,
} from "./client.ts";
import { type Context, EXIT } from "./context.ts";
import { TIERS, type Tier } from "../../schemas/tier-table.ts";

interface FetchOptions extends ClientOptions {
  readonly render?: FetchBody["render"];
  readonly maxBytes?: number;
  readonly pdf: boolean;
  readonly cacheTtl?: number;
  readonly minText?: number;
  readonly archive: boolean;
  readonly alternates: boolean;
  readonly paid: boolean;
  readonly tiers?: Tier[];
  readonly timeout?: number;
  readonly country?: string;
  readonly userAgent?: string;
  readonly acceptLanguage?: string;
  readonly projectRef?: string;
  readonly html?: boolean;
  readonly markdown?: boolean;
  readonly screenshot?: string;
  readonly fullPage?: boolean;
  readonly waitFor?: WaitFor;
  readonly quiet?: boolean;
}

export const fetchCommand = (context: Context): Command =>
  clientCommand("fetch")
    .description("fetch a page, PDF or document through the service and print its text")
    .argument("<url>", "what to fetch")
    .addOption(new Option("--render <when>", "when to use a browser").choices(["auto", "never", "always"]))
    .option("--max-bytes <number>", "the largest body to read", wholeNumber)
    .option("--no-pdf", "refuse PDFs")
    .option(
      "--cache-ttl <seconds>",
      "the oldest acceptable copy from the cache; 0: do not use the cache",
      wholeNumber,
    )
    .option("--min-text <characters>", "try the next route when a page has less text than this", wholeNumber)
    .option("--no-archive", "do not use archived copies")
    .option("--no-alternates", "do not look for open copies on other sites")
    .option("--no-paid", "do not use premium routes")
    .option("--tiers <list>", `only these routes, separated by commas: ${TIERS.join(", ")}`, tiers)
    .option("--timeout <seconds>", "deadline of the whole fetch, 5 to 150", seconds)
    .option("--country <code>", "country of the exit for premium routes, for example CH")
    .option("--user-agent <text>", "a User-Agent that the project is allowed to use")
    .option("--accept-language <text>", "for example de-CH, de;q=0.8")
    .option("--project-ref <text>", "a text that is recorded with the usage")
    .option("--html", "print the page's HTML instead of its text")
    .addOption(new Option("--markdown", "print the page's text as Markdown").conflicts("html"))
    .option("--screenshot <file>", "save a picture of the page there, .png or .webp", pictureFile)
    .option("--full-page", "with --screenshot: the page from top to bottom")
    .option("--wait-for <what>", "in the browser: until this CSS selector matches, or so many ms", waitFor)
    .option("--quiet", "print only errors on standard error")
    .action(async (target: string, options: FetchOptions) => {
      const { base, key } = service(context, options);
      const { reply, content } = await post(`${base}/v1/fetch`, key, bodyOf(target, options));
      if (!reply.ok && reply.status !== 503) throw errorOf(reply, content);
      const page = content as FetchResponse;
      if (page === null || !Array.isArray(page.attempts)) throw errorOf(reply, content);
      if (options.screenshot !== undefined && page.screenshot) {
        const { body_url } = page.screenshot;
        await writeFile(options.screenshot, await download(`${base}${body_url}`, key));
      }
      if (options.json) context.out(JSON.stringify(page, null, 2));
      else if (options.markdown) context.out(page.markdown ?? "");
      else context.out(options.html ? (page.html ?? "") : page.text);
      if (!options.quiet) for (const line of describe(page)) context.err(line);
      if (page.error !== null) context.exit(exitOf(page.error));
    });

function bodyOf(url: string, options: FetchOptions): FetchBody {
  return {
    url,
    include_html: options.html === true || options.json === true,
    accept_pdf: options.pdf,
    allow_archive: options.archive,
    allow_alternates: options.alternates,
    allow_paid: options.paid,
    ...withoutUndefined({
      formats: formatsOf(options),
      wait_for: options.waitFor,
      screenshot_options:
        options.screenshot === undefined
          ? undefined
          : { type: typeOf(options.screenshot)!, full_page: options.fullPage === true },
      render: options.render,
      max_bytes: options.maxBytes,
      cache_ttl_s: options.cacheTtl,
      min_text_chars: options.minText,
      tiers: options.tiers,
      timeout_s: options.timeout,
      country: options.country,
      user_agent: options.userAgent,
      accept_language: options.acceptLanguage,
      project_ref: options.projectRef,
    }),
  };
}

function formatsOf({ markdown, screenshot }: FetchOptions): FetchBody["formats"] | undefined {
  const formats: NonNullable<FetchBody["formats"]> = [];
  if (markdown) formats.push("markdown");
  if (screenshot !== undefined) formats.push("screenshot");
  return formats.length > 0 ? formats : undefined;
}

/** One line for each attempt and one for the result. */
function describe(page: FetchResponse): string[] {
  const attempts = page.attempts.map(
    ({ tier, status, reason, ms, detail }) =>
      `${tier.padEnd(12)} ${String(status ?? "-").padEnd(4)} ${reason}  ${ms} ms${detail === null ? "" : `  ${detail}`}`,
  );
  const outcome = page.error ?? (page.cached ? "from the cache" : `by ${page.tier ?? "no route"}`);
  const detail = page.error_detail === undefined ? "" : `: ${page.error_detail}`;
  const again = page.retry_after_s === null ? "" : `; again in ${page.retry_after_s} s`;
  return [
    ...attempts,
    `${outcome}${detail}${again} (${page.bytes} bytes, ${page.billing_category}, ${page.request_id})`,
  ];
}

const exitOf = (error: string): number =>
  error === "timeout"
    ? EXIT.time
    : error === "domain_busy" || error === "rate_limited"
      ? EXIT.limit
      : EXIT.error;

function seconds(text: string): number {
  if (!/^\d{1,3}(\.\d+)?$/.test(text)) throw new InvalidArgumentError("Not a number of seconds.");
  return Number(text);
}

const typeOf = (file: string): ScreenshotType | null =>
  /\.png$/i.test(file) ? "png" : /\.webp$/i.test(file) ? "webp" : null;

function pictureFile(text: string): string {
  if (typeOf(text) === null) throw new InvalidArgumentError("Not a name that ends in .png or .webp.");
  return text;
}

function waitFor(text: string): WaitFor {
  if (!/^\d+$/.test(text)) return { selector: text };
  if (Number(text) > MAX_WAIT_FOR_MS) throw new InvalidArgumentError(`At most ${MAX_WAIT_FOR_MS} ms.`);
  return { ms: Number(text) };
}

function tiers(text: string): Tier[] {
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !(TIERS as readonly string[]).includes(name));
  if (unknown !== undefined) throw new InvalidArgumentError(`There is no route "${unknown}".`);
  return names as Tier[];
}
