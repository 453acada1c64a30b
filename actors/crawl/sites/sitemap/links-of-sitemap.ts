/** Where a sitemap of a crawl leads: to pages, and to further sitemaps; from a robots.txt to the sitemaps that it names. */
import { type Clock, yieldToEventLoop } from "../../../../cluster/ports/clock.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { FoundLink } from "../../../../schemas/crawl.ts";
import type { PageRecord } from "../../../../schemas/fetch.ts";
import { firstBytes } from "../../../lib/first-bytes.ts";
import { readSitemap } from "./read-sitemap.ts";
import { sitemapsOf } from "./robots-sitemaps.ts";
import { MAX_SITEMAP_ENTRIES, type SitemapSummary } from "./sitemap.ts";

interface SitemapReader {
  readonly blobs: Pick<Blobs, "get">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const MAX_ROBOTS_BYTES = 500 * 1024;
const NOTHING_WRONG = { error: null, warnings: [] } as const;

/** Links of a sitemap, and what is wrong with it. */
interface SitemapLinks extends Pick<SitemapSummary, "error" | "warnings"> {
  readonly links: readonly FoundLink[];
}

/** `url`: as it was asked for. What is read before a mistake of the file counts. Throws Fault. */
export async function linksOfSitemap(
  { status, sha256, final_url }: Pick<PageRecord, "status" | "sha256" | "final_url">,
  url: URL,
  { blobs, clock, signal }: SitemapReader,
): Promise<SitemapLinks> {
  const pieces = status === 200 && sha256 !== null ? await blobs.get(sha256) : null;
  const base = new URL(final_url ?? url);
  const isRobots = url.pathname === "/robots.txt";
  if (isRobots) {
    const named =
      pieces === null ? [] : sitemapsOf((await firstBytes(pieces, MAX_ROBOTS_BYTES)).toString(), base);
    const sitemaps = named.length > 0 || status === null ? named : [new URL("/sitemap.xml", url).href];
    return { ...NOTHING_WRONG, links: sitemaps.map((each) => ({ url: each, sitemap: true })) };
  }
  const links: FoundLink[] = [];
  if (pieces === null) return { ...NOTHING_WRONG, links };
  const { error, warnings } = await readSitemap(pieces, {
    url: base,
    pause: () => yieldToEventLoop(clock),
    isLate: () => signal.aborted,
    onEntry({ kind, url: entry }) {
      links.push({ url: entry, ...(kind === "sitemap" && { sitemap: true }) });
      return links.length < MAX_SITEMAP_ENTRIES;
    },
  });
  return { links, error, warnings };
}
