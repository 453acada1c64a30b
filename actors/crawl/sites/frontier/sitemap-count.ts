/**
 * How many sitemaps a crawl reads: an index may name indexes without end, which are read before pages. They take at most half of the
 * crawl's limit, each host of the seeds an equal part of that.
 */
import type { AddressRow } from "../../../../schemas/crawl.ts";
import { parseUrl } from "../../../lib/web/url.ts";

/** Sitemaps of a host, whatever the limit: an index has at most five times as many (sitemaps.org), and large sites a few thousand. */
const MAX_OF_HOST = 10_000;
/** Sitemaps of a host, whatever the limit: robots.txt and the file that it names. */
const MIN_OF_HOST = 2;

export interface SitemapCount {
  readonly hasRoomFor: (sitemap: URL) => boolean;
  /** A row that is to be fetched, or was. */
  readonly add: (row: Pick<AddressRow, "url" | "sitemap" | "reason">) => void;
}

export function sitemapCount(seeds: readonly string[], limit: number): SitemapCount {
  const hosts = new Set(seeds.flatMap((seed) => parseUrl(seed)?.host ?? []));
  const most = Math.ceil(limit / 2);
  const most_of_host = Math.min(MAX_OF_HOST, Math.max(MIN_OF_HOST, Math.ceil(most / hosts.size)));
  const by_host = new Map<string, number>();
  let count = 0;
  return {
    hasRoomFor: ({ host }) => count < most && (by_host.get(host) ?? 0) < most_of_host,
    add({ url, sitemap, reason }) {
      if (!sitemap || reason !== undefined) return;
      const { host } = new URL(url);
      by_host.set(host, (by_host.get(host) ?? 0) + 1);
      count++;
    },
  };
}
