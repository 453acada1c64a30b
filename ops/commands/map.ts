/** trawl map URL: a client of POST /v1/map. Addresses on standard output, sitemaps and the sum on standard error. */
import { type Command, Option } from "commander";
import { MAP_LIMIT_CEILING, type MapBody, type MapResponse, SITEMAP_USES } from "../../schemas/sites.ts";
import {
  type ClientOptions,
  clientCommand,
  errorOf,
  post,
  service,
  wholeNumber,
  withoutUndefined,
} from "./client.ts";
import { type Context, EXIT } from "./context.ts";

interface MapOptions extends ClientOptions {
  readonly search?: string;
  readonly limit?: number;
  readonly sitemap?: MapBody["sitemap"];
  readonly subdomains?: boolean;
  readonly ignoreQuery?: boolean;
  readonly cacheTtl?: number;
  readonly timeout?: number;
  readonly projectRef?: string;
  readonly quiet?: boolean;
}

export const mapCommand = (context: Context): Command =>
  clientCommand("map")
    .description("list the addresses of a site through the service")
    .argument("<site>", "an address of the site, usually its home page")
    .option("--search <words>", "addresses with these words first")
    .option("--limit <number>", `the most addresses, 1 to ${MAP_LIMIT_CEILING}`, wholeNumber)
    .addOption(new Option("--sitemap <use>", "whether sitemaps are read").choices([...SITEMAP_USES]))
    .option("--subdomains", "addresses of subdomains, too")
    .option("--ignore-query", "each address once, without its query")
    .option("--cache-ttl <seconds>", "the oldest acceptable copies; 0: read everything anew", wholeNumber)
    .option("--timeout <seconds>", "after this time, print what was found", wholeNumber)
    .option("--project-ref <text>", "a text that is recorded with the usage")
    .option("--quiet", "print only errors on standard error")
    .action(async (site: string, options: MapOptions) => {
      const { base, key } = service(context, options);
      const body: MapBody = {
        url: site,
        ...withoutUndefined({
          search: options.search,
          limit: options.limit,
          sitemap: options.sitemap,
          include_subdomains: options.subdomains,
          ignore_query: options.ignoreQuery,
          cache_ttl_s: options.cacheTtl,
          timeout_s: options.timeout,
          project_ref: options.projectRef,
        }),
      };
      const { reply, content } = await post(`${base}/v1/map`, key, body);
      const map = content as MapResponse;
      if (!reply.ok || !Array.isArray(map?.links)) throw errorOf(reply, content);
      if (options.json) context.out(JSON.stringify(map, null, 2));
      else for (const { url } of map.links) context.out(url);
      if (!options.quiet) for (const line of describe(map)) context.err(line);
      if (map.error !== null) context.exit(map.error === "timeout" ? EXIT.time : EXIT.error);
    });

/** One line for each file with entries or a mistake of its own, and one for the result. */
function describe({ sitemaps, links, total, truncated, cached, error, request_id }: MapResponse): string[] {
  const files = sitemaps.map(
    ({ url, status, entries, error: problem }) =>
      `${String(status ?? "-").padEnd(4)} ${problem ?? `${entries} entries`}  ${url}`,
  );
  const more = truncated ? `, of at least ${total}` : "";
  const from = cached ? "from the cache" : "read now";
  return [
    ...files,
    `${error === null ? "" : `${error}: `}${links.length} addresses${more}, ${from} (${request_id})`,
  ];
}
