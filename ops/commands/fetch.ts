/**
 * trawl fetch URL: a client of POST /v1/fetch. It prints the page's text on standard output and the routes that were
 * tried on standard error.
 */
import { writeFile } from "node:fs/promises";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  FetchBody,
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
} from "./client.ts";
import { systemTerminal } from "../terminal.ts";
import { CommandError, type Context, EXIT } from "./context.ts";
import { linesOf } from "./streams.ts";
import { fieldFlags, givenFields, withFlags } from "./field-flags.ts";

/** In a form of its own here: the argument, what is printed, the picture's file, the other name of a switch. */
const OWN_FORMS = ["url", "include_html", "formats", "screenshot_options", "wait_for", "allow_premium"];
const FLAGS = fieldFlags(FetchBody, OWN_FORMS);

interface FetchOptions extends ClientOptions {
  readonly html?: boolean;
  readonly markdown?: boolean;
  readonly links?: boolean;
  readonly images?: boolean;
  readonly entries?: boolean;
  readonly comments?: boolean;
  readonly screenshot?: string;
  readonly fullPage?: boolean;
  readonly waitFor?: WaitFor;
  readonly quiet?: boolean;
}

export const fetchCommand = (context: Context): Command =>
  withFlags(
    clientCommand("fetch")
      .description("fetch a page, PDF or document through the service and print its text")
      .argument("<url>", "what to fetch; - for standard input"),
    FLAGS,
  )
    .option("--html", "print the page's HTML instead of its text")
    .addOption(new Option("--markdown", "print the page's text as Markdown").conflicts("html"))
    .option("--links", "print the addresses of the page's links, one a line, each with its text")
    .option("--images", "print the addresses of the page's images, each with its alternative text")
    .option("--entries", "print the items of a feed or sitemap: address, time and title, between tabs")
    .option("--comments", "print readers' comments, one a line: author, time and text, between tabs")
    .option("--screenshot <file>", "save a picture of the page there, .png or .webp", pictureFile)
    .option("--full-page", "with --screenshot: the page from top to bottom")
    .option("--wait-for <what>", "in the browser: until this CSS selector matches, or so many ms", waitFor)
    .option("--quiet", "print only errors on standard error")
    .action(async (target: string, options: FetchOptions) => {
      const { base, key } = service(context, options);
      const [url, ...more] = await linesOf([target], context.terminal?.() ?? systemTerminal());
      if (more.length > 0)
        throw new CommandError("Standard input has several lines: trawl batch fetches them all", EXIT.usage);
      const { reply, content } = await post(`${base}/v1/fetch`, key, bodyOf(url!, options));
      if (!reply.ok && reply.status !== 503) throw errorOf(reply, content);
      const page = content as FetchResponse;
      if (page === null || !Array.isArray(page.attempts)) throw errorOf(reply, content);
      if (options.screenshot !== undefined && page.screenshot) {
        const { body_url } = page.screenshot;
        await writeFile(options.screenshot, await download(`${base}${body_url}`, key));
      }
      if (options.json) context.out(JSON.stringify(page, null, 2));
      else if (LISTS.some((name) => options[name]))
        for (const line of listLines(page, options)) context.out(line);
      else if (options.markdown) context.out(page.markdown ?? "");
      else context.out(options.html ? (page.html ?? "") : page.text);
      if (!options.quiet) for (const line of describe(page)) context.err(line);
      if (page.error !== null) context.exit(exitOf(page.error));
    });

function bodyOf(url: string, options: FetchOptions): FetchBody {
  const { screenshot } = options;
  return {
    url,
    include_html: options.html === true || options.json === true,
    ...givenFields(FLAGS, options as unknown as Readonly<Record<string, unknown>>),
    ...withoutUndefined({
      formats: formatsOf(options),
      wait_for: options.waitFor,
      screenshot_options:
        screenshot === undefined
          ? undefined
          : { type: typeOf(screenshot)!, full_page: options.fullPage === true },
    }),
  };
}

function formatsOf(options: FetchOptions): FetchBody["formats"] | undefined {
  const { markdown, screenshot } = options;
  const formats: NonNullable<FetchBody["formats"]> = [];
  if (markdown) formats.push("markdown");
  for (const name of LISTS) if (options[name]) formats.push(name);
  if (screenshot !== undefined) formats.push("screenshot");
  return formats.length > 0 ? formats : undefined;
}

const LISTS = ["links", "images", "entries", "comments"] as const;

/** Between tabs, so that `cut -f1` gives addresses. */
function listLines(page: FetchResponse, options: FetchOptions): string[] {
  const rows = [
    ...(options.links ? (page.links ?? []).map(({ url, text }) => [url, text]) : []),
    ...(options.images ? (page.images ?? []).map(({ url, alt }) => [url, alt]) : []),
    ...(options.entries
      ? (page.entries ?? []).map(({ url, published_at, title }) => [url, published_at, title])
      : []),
    ...(options.comments
      ? (page.comments ?? []).map(({ author, published_at, text }) => [author, published_at, text])
      : []),
  ];
  return rows.map((cells) =>
    cells
      .map((cell) => (cell ?? "").replace(/\s+/g, " ").trim())
      .join("\t")
      .trimEnd(),
  );
}

/** A line for each attempt and one for the result. */
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
