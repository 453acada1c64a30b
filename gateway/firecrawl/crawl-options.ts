/** Their options of a crawl, a batch and a map, and what they are here. */
import { Type } from "typebox";
import { FIRECRAWL_EVENTS } from "../../schemas/job-webhook.ts";
import { MAX_GROWN_ITEMS, MAX_JOB_ITEMS } from "../../schemas/jobs.ts";
import { MAP_LIMIT_CEILING, SITEMAP_USES } from "../../schemas/sites.ts";
import { MAX_TIMEOUT_S, MIN_TIMEOUT_S } from "../../schemas/fetch.ts";
import { type Given, option, type Options, type Ours, refused, taken } from "./option.ts";
import { fetchOptionsOf, SCRAPE_OPTIONS } from "./scrape-options.ts";
import { webhookOf } from "./webhook-option.ts";

const { origin, integration, zeroDataRetention } = SCRAPE_OPTIONS as Record<string, Options[string]>;
const SHARED: Options = { origin: origin!, integration: integration!, zeroDataRetention: zeroDataRetention! };
const Flag = Type.Boolean();
const Paths = Type.Array(Type.String({ minLength: 1 }));
const asPatterns = (paths: readonly string[]): readonly string[] => paths.map((path) => `/${path}/`);
const Address = Type.String({ minLength: 1 });
/** Their default; this API's is 1,000. */
const CRAWL_LIMIT = 10_000;
const MAP_LIMIT = 5_000;

export const CRAWL_OPTIONS: Options = {
  ...SHARED,
  url: option(Type.String({ minLength: 1 }), "`url`", (url) => ({ url })),
  limit: option(
    Type.Integer({ minimum: 1, maximum: MAX_GROWN_ITEMS }),
    "`limit`, 10,000 unless given, at most what the operator allows (100,000 unless set otherwise)",
    (limit) => ({ limit }),
  ),
  includePaths: option(
    Paths,
    "`include`: regular expressions (RE2, without look-around) on path and query",
    (paths) => ({ include: asPatterns(paths) }),
  ),
  excludePaths: option(Paths, "`exclude`, in the same form", (paths) => ({ exclude: asPatterns(paths) })),
  maxDiscoveryDepth: option(Type.Integer({ minimum: 0 }), "`max_depth`", (max_depth) => ({ max_depth })),
  ignoreQueryParameters: option(Flag, "`ignore_query`", (ignore_query) => ({ ignore_query })),
  crawlEntireDomain: option(Flag, "`scope`: `host`; without it `path`, the folder of `url`", (whole) => ({
    whole,
  })),
  allowSubdomains: option(Flag, "`scope: subdomains`", (subdomains) => ({ subdomains })),
  scrapeOptions: option(
    Type.Record(Type.String(), Type.Unknown()),
    "`fetch`: the options of a page",
    (options) => ({ fetch: fetchOptionsOf(options) }),
  ),
  sitemap: option(
    Type.Enum([...SITEMAP_USES]),
    "`sitemap`, `skip` unless given: robots.txt and sitemaps that are read count to `limit`, and are no documents",
    (sitemap) => ({ sitemap }),
  ),
  deduplicateSimilarURLs: option(
    Flag,
    "without effect: addresses that differ in tracking parameters only are one",
  ),
  maxConcurrency: option(
    Type.Integer({ minimum: 1 }),
    "without effect: the service keeps its own distance from each site",
  ),
  delay: refused("The service keeps its own distance from each site", (value) => value === 0),
  allowExternalLinks: refused("A crawl stays on the site of its url"),
  ignoreRobotsTxt: refused("robots.txt is obeyed"),
  robotsUserAgent: refused("robots.txt is obeyed by the name of this crawler"),
  regexOnFullURL: refused("Patterns are matched against path and query"),
  prompt: refused(
    "Options are not made from a prompt: a language model would be needed",
    (value) => value === "",
  ),
  webhook: option(
    Type.Union([
      Address,
      Type.Object(
        {
          url: Address,
          events: Type.Optional(Type.Array(Type.Enum([...FIRECRAWL_EVENTS]), { minItems: 1 })),
          metadata: Type.Optional(Type.Record(Type.String(), Type.String())),
          headers: Type.Optional(Type.Record(Type.String(), Type.String())),
        },
        { additionalProperties: false },
      ),
    ]),
    "`webhook` with the form `firecrawl`; `headers` is refused",
    (given) => webhookOf(typeof given === "string" ? { url: given } : given),
  ),
};

export function crawlBodyOf(given: Given): Ours {
  const { whole, subdomains, ...body } = taken(CRAWL_OPTIONS, given);
  const scope = subdomains === true ? "subdomains" : whole === true ? "host" : "path";
  return { limit: CRAWL_LIMIT, fetch: fetchOptionsOf({}), scope, ...body };
}

/** Beside the options of a page, which stand in the same object. */
export const BATCH_OPTIONS: Options = {
  ...SCRAPE_OPTIONS,
  urls: option(
    Type.Array(Type.String(), { minItems: 1, maxItems: MAX_JOB_ITEMS }),
    "the items, 50,000 at most",
    (urls) => ({ urls }),
  ),
  ignoreInvalidURLs: option(
    Flag,
    "true unless given: addresses that are none are named in `invalidURLs`, and the others fetched; false: they are refused",
    (ignores_invalid) => ({ ignores_invalid }),
  ),
  maxConcurrency: CRAWL_OPTIONS["maxConcurrency"]!,
  appendToId: refused("A job does not grow: begin another"),
  webhook: CRAWL_OPTIONS["webhook"]!,
};

export const MAP_OPTIONS: Options = {
  ...SHARED,
  url: option(Type.String({ minLength: 1 }), "`url`", (url) => ({ url })),
  search: option(Type.String(), "`search`", (search) => ({ search })),
  sitemap: option(Type.Enum([...SITEMAP_USES]), "`sitemap`", (sitemap) => ({ sitemap })),
  includeSubdomains: option(Flag, "`include_subdomains`, true unless given", (include_subdomains) => ({
    include_subdomains,
  })),
  ignoreQueryParameters: option(Flag, "`ignore_query`, true unless given", (ignore_query) => ({
    ignore_query,
  })),
  limit: option(
    Type.Integer({ minimum: 1, maximum: MAP_LIMIT_CEILING }),
    "`limit`, 5,000 unless given, 100,000 at most",
    (limit) => ({ limit }),
  ),
  timeout: option(Type.Number({ minimum: 0 }), "`timeout_s`: milliseconds here, from 5 to 150 s", (ms) => ({
    timeout_s: Math.min(MAX_TIMEOUT_S, Math.max(MIN_TIMEOUT_S, ms / 1000)),
  })),
  ignoreCache: option(Flag, "true: `cache_ttl_s: 0`", (ignored) => (ignored ? { cache_ttl_s: 0 } : {})),
  location: option(Type.Record(Type.String(), Type.Unknown()), "without effect"),
};

export const mapBodyOf = (given: Given): Ours => ({
  include_subdomains: true,
  ignore_query: true,
  limit: MAP_LIMIT,
  ...taken(MAP_OPTIONS, given),
});
