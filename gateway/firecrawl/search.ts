/** POST /v2/search: a search, and with `scrapeOptions` the pages of its results. */
import { Type } from "typebox";
import { RESULTS_CEILING } from "../../schemas/search.ts";
import { askedFor, documentOf, hasPage } from "./document.ts";
import { badRequest, notServed, Refused } from "./errors.ts";
import { formatNames } from "./formats.ts";
import { type Given, option, type Options, refused, taken } from "./option.ts";
import { contentOf, type TheirCall } from "./operation.ts";
import { fetchOptionsOf, SCRAPE_OPTIONS } from "./scrape-options.ts";

const LIMIT = 5;
/** Pages of results that are fetched at once. */
const FETCHES_AT_ONCE = 10;
const PERIODS: Readonly<Record<string, string>> = { h: "day", d: "day", w: "week", m: "month", y: "year" };
const Names = Type.Array(Type.Union([Type.String(), Type.Object({ type: Type.String() })]));
const Domains = Type.Array(Type.String({ pattern: "^[^\\s/:]+$" }));
const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
const { origin, integration } = SCRAPE_OPTIONS;

export const SEARCH_OPTIONS: Options = {
  origin: origin!,
  integration: integration!,
  query: option(Type.String({ minLength: 1 }), "`query`", (query) => ({ query })),
  limit: option(
    Type.Integer({ minimum: 1, maximum: RESULTS_CEILING }),
    "`max_results`, 5 unless given, 100 at most",
    (max_results) => ({ max_results }),
  ),
  sources: option(
    Names,
    "`web` only; a list without it is refused, others beside it give a `warning`",
    (given) => ({
      sources: given.map((each) => (typeof each === "string" ? each : each.type)),
    }),
  ),
  includeDomains: option(Domains, "`include_domains`", (include_domains) => ({ include_domains })),
  excludeDomains: option(Domains, "`exclude_domains`", (exclude_domains) => ({ exclude_domains })),
  tbs: option(
    Type.String({
      pattern: "^qdr:[hdwmy]$",
      "x-expected": "Input should be qdr:h, qdr:d, qdr:w, qdr:m or qdr:y",
    }),
    "`freshness`: `qdr:d`, `w`, `m`, `y`; `qdr:h` is a day",
    (tbs) => ({ freshness: PERIODS[tbs.at(-1)!]! }),
  ),
  country: option(Type.String(), "`country`", (country) => ({ country: country.toLowerCase() })),
  location: option(Type.String(), "without effect; `country` has one"),
  timeout: option(Type.Number({ minimum: 0 }), "the time of each page with `scrapeOptions`", (timeout) => ({
    timeout,
  })),
  ignoreInvalidURLs: option(Type.Boolean(), "without effect: no result has an invalid address"),
  highlights: option(Type.Boolean(), "without effect: `description` has the passages that were found"),
  scrapeOptions: option(
    Type.Record(Type.String(), Type.Unknown()),
    "each result's page is fetched, billed as a fetch; a result without a page has none",
    (scrape) => ({ scrape }),
  ),
  categories: refused("Results have no categories", isEmpty),
  enterprise: refused("Searches are kept in the cache and the ledger", isEmpty),
};

export async function search({ ask, base, body }: TheirCall): Promise<object> {
  const {
    query,
    sources = ["web"],
    scrape,
    timeout,
    ...options
  } = taken(SEARCH_OPTIONS, body) as {
    query?: string;
    include_domains?: string[];
    exclude_domains?: string[];
    sources?: string[];
    scrape?: Given;
    timeout?: number;
  };
  if (query === undefined) throw badRequest("Bad Request: query: Field required");
  if (!sources.includes("web")) throw notServed("Only the source web is served");
  if (options.include_domains?.length && options.exclude_domains?.length)
    throw badRequest("Bad Request: includeDomains and excludeDomains cannot both be given");
  const asked = { max_results: LIMIT, ...options, query };
  const found = await contentOf(ask, { method: "POST", path: "/v1/search", body: asked });
  if (found.error !== null)
    throw new Refused({
      status: 500,
      error: `The search failed: ${found.error}`,
      details: { error: found.error },
    });
  const entries = (found.results as Result[]).map(({ url, title, snippets }, at) => ({
    url,
    title: title ?? "",
    description: snippets.join(" "),
    position: at + 1,
  }));
  const others = sources.filter((name) => name !== "web");
  return {
    success: true,
    data: { web: scrape ? await withPages(entries, { timeout, ...scrape }) : entries },
    creditsUsed: scrape ? entries.length : 1,
    id: found.request_id,
    ...(others.length > 0 && { warning: `Only the source web is served, not ${others.join(", ")}` }),
  };

  async function withPages(results: readonly Entry[], scrapeOptions: Given): Promise<readonly object[]> {
    const fetch = fetchOptionsOf(scrapeOptions);
    const formats = formatNames((scrapeOptions["formats"] as readonly unknown[] | undefined) ?? ["markdown"]);
    const filled: object[] = [];
    for (let at = 0; at < results.length; at += FETCHES_AT_ONCE)
      filled.push(
        ...(await Promise.all(
          results.slice(at, at + FETCHES_AT_ONCE).map(async (entry) => {
            const page = await ask({ method: "POST", path: "/v1/fetch", body: { ...fetch, url: entry.url } });
            const isPage = page.status === 200 && hasPage(page.content.error);
            return isPage
              ? {
                  ...entry,
                  ...documentOf(page.content, { ...askedFor({ ...fetch, url: entry.url }, base), formats }),
                }
              : entry;
          }),
        )),
      );
    return filled;
  }
}

interface Result {
  readonly url: string;
  readonly title: string | null;
  readonly snippets: readonly string[];
}
interface Entry {
  readonly url: string;
}
