/** trawl map URL: a client of POST /v1/map. Addresses on standard output, sitemaps and the sum on standard error. */
import type { Command } from "commander";
import { MapBody, type MapResponse } from "../../schemas/sites.ts";
import { type ClientOptions, clientCommand, errorOf, post, service } from "./client.ts";
import { type Context, EXIT } from "./context.ts";
import { fieldFlags, givenFields, withFlags } from "./field-flags.ts";

interface MapOptions extends ClientOptions {
  readonly subdomains?: boolean;
  readonly quiet?: boolean;
}

const FLAGS = fieldFlags(MapBody, ["url", "include_subdomains"]);

export const mapCommand = (context: Context): Command =>
  withFlags(clientCommand("map"), FLAGS)
    .description("list the addresses of a site through the service")
    .argument("<site>", "an address of the site, usually its home page")
    .option("--subdomains", "addresses of subdomains, too")
    .option("--quiet", "print only errors on standard error")
    .action(async (site: string, options: MapOptions) => {
      const { base, key } = service(context, options);
      const body: MapBody = {
        url: site,
        ...givenFields(FLAGS, options as unknown as Readonly<Record<string, unknown>>),
        ...(options.subdomains && { include_subdomains: true }),
      };
      const { reply, content } = await post(`${base}/v1/map`, key, body);
      const map = content as MapResponse;
      if (!reply.ok || !Array.isArray(map?.links)) throw errorOf(reply, content);
      if (options.json) context.out(JSON.stringify(map, null, 2));
      else for (const { url } of map.links) context.out(url);
      if (!options.quiet) for (const line of describe(map)) context.err(line);
      if (map.error !== null) context.exit(map.error === "timeout" ? EXIT.time : EXIT.error);
    });

/** A line for each file with entries or a mistake of its own, and one for the result. */
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
