/**
 * Their extract: a batch of pages, whose values a language model takes out by one schema (`extract` of a fetch), and one object of them all:
 * of a list the entries of all pages, of any other value that of the first page that has it.
 */
import { Type } from "typebox";
import { withoutValues } from "./document.ts";
import { beginBatch } from "./begin-batch.ts";
import { badRequest, failureOf, JOB_NOT_FOUND } from "./errors.ts";
import { extractOf, JSON_OPTIONS } from "./formats.ts";
import { expiresAt, type Item, jobOf, PAGE_ITEMS } from "./jobs.ts";
import { contentOf, type TheirCall } from "./operation.ts";
import { option, type Options, refused, taken } from "./option.ts";
import { fetchOptionsOf, SCRAPE_OPTIONS } from "./scrape-options.ts";

/** Their values are read together. */
const MAX_PAGES = 100;
const WHOLE_SITE = "/*";
const Flag = Type.Boolean();
const { origin, integration, zeroDataRetention } = SCRAPE_OPTIONS as Record<string, Options[string]>;

export const EXTRACT_OPTIONS: Options = {
  origin: origin!,
  integration: integration!,
  zeroDataRetention: zeroDataRetention!,
  urls: option(
    Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: MAX_PAGES }),
    `the items, ${MAX_PAGES} at most; one that ends in \`${WHOLE_SITE}\` stands for the addresses below it that \`POST /v1/map\` finds`,
    (urls) => ({ urls }),
  ),
  ...JSON_OPTIONS,
  scrapeOptions: option(
    Type.Record(Type.String(), Type.Unknown()),
    "the options of a page; `formats` without effect",
    (scrape) => ({ scrape }),
  ),
  ignoreInvalidURLs: option(Flag, "as of a batch", (ignores_invalid) => ({ ignores_invalid })),
  showSources: option(Flag, "without effect: `sources` says of each name of the schema which pages it is of"),
  enableWebSearch: refused("Values are of the given addresses: /v2/search finds others"),
  allowExternalLinks: refused("Values are of the given addresses"),
  systemPrompt: refused("The rules of the language model are the service's; prompt says what is wanted"),
  agent: refused("Values are of the given addresses"),
  webhook: refused("Webhooks are sent of crawls, batches and monitors only: poll GET /v2/extract/{id}"),
};

export async function extract(call: TheirCall): Promise<object> {
  const {
    urls,
    scrape = {},
    ignores_invalid = true,
    ...wishes
  } = taken(EXTRACT_OPTIONS, call.body) as {
    readonly urls?: readonly string[];
    readonly scrape?: Readonly<Record<string, unknown>>;
    readonly ignores_invalid?: boolean;
  };
  if (urls === undefined) throw badRequest("Bad Request: urls: Field required");
  const { formats: _, ...options } = scrape;
  const page = { ...fetchOptionsOf({ ...options, formats: [] }), ...extractOf(wishes) };
  const pages = (await Promise.all(urls.map((url) => pagesOf(call, url)))).flat();
  const { job_id, invalid } = await beginBatch(
    call,
    [...new Set(pages)].slice(0, MAX_PAGES),
    page,
    ignores_invalid,
  );
  return { success: true, id: job_id, ...(ignores_invalid && { invalidURLs: invalid }) };
}

/** Throws Refused. */
async function pagesOf({ ask }: TheirCall, url: string): Promise<readonly string[]> {
  if (!url.endsWith(WHOLE_SITE)) return [url];
  const folder = url.slice(0, -1);
  const body = { url: folder, limit: MAX_PAGES };
  const { links } = await contentOf(ask, { method: "POST", path: "/v1/map", body });
  const below = (links as readonly { readonly url: string }[]).filter((link) => link.url.startsWith(folder));
  return [folder, ...below.map((link) => link.url)];
}

export async function extractStatus(call: TheirCall): Promise<object> {
  const job = await jobOf(call, "batch/scrape", { include: "items", limit: 1 });
  // Another batch of pages.
  if (!(job.items[0] as Item | undefined)?.input["extract"]?.schema) throw JOB_NOT_FOUND();
  const about = { success: true, id: call.id, expiresAt: expiresAt(job) };
  if (job.status === "cancelled") return { ...about, status: "cancelled", data: null };
  if (job.status !== "completed") return { ...about, status: "processing", data: null };
  const { values, lost, tokensUsed } = await valuesOf(call);
  const used = { creditsUsed: job.counts.done, tokensUsed };
  const warning = lost.length > 0 && { warning: `No values: ${lost.slice(0, 10).join("; ")}` };
  if (values.length === 0) return { ...about, ...used, status: "failed", data: null, error: lost.join("; ") };
  return { ...about, ...used, ...warning, status: "completed", ...joined(values) };
}

interface PageValues {
  readonly url: string;
  readonly data: Readonly<Record<string, unknown>>;
}

async function valuesOf(call: TheirCall) {
  const values: PageValues[] = [];
  const lost: string[] = [];
  let tokensUsed = 0;
  let after: number | undefined;
  for (;;) {
    const query = { include: "items", limit: PAGE_ITEMS, after };
    const items: readonly Item[] = (await jobOf(call, "batch/scrape", query)).items;
    for (const { input, result, error } of items) {
      const found = result?.["extract"];
      const { prompt_tokens = 0, completion_tokens = 0 } = found?.usage ?? {};
      tokensUsed += prompt_tokens + completion_tokens;
      const url = String(input["url"]);
      if (found?.data) values.push({ url, data: found.data });
      else
        lost.push(`${url}: ${withoutValues(result ?? {}) ?? failureOf({ ...result, error: error! }).error}`);
    }
    after = items.at(-1)?.index;
    if (after === undefined) return { values, lost, tokensUsed };
  }
}

/** By the names of the schema, which all pages have. */
export function joined(pages: readonly PageValues[]): { readonly data: object; readonly sources: object } {
  const data = new Map<string, unknown>();
  const sources = new Map<string, string[]>();
  for (const { url, data: found } of pages)
    for (const [name, value] of Object.entries(found)) {
      const before = data.get(name) ?? null;
      if (before === null) data.set(name, value);
      else if (Array.isArray(before) && Array.isArray(value)) data.set(name, [...before, ...value]);
      else continue;
      if (value !== null) sources.set(name, [...(sources.get(name) ?? []), url]);
    }
  return { data: Object.fromEntries(data), sources: Object.fromEntries(sources) };
}
