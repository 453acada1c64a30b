/**
 * The addresses of a site: what its robots.txt names, what its sitemaps and feeds list, what the page at the address links, what
 * the project has stored. It decides what is read and in which order; reading is a fetch like any other (`MapDeps.read`), so
 * it waits for the domain's slots and obeys robots.txt.
 */
import { firstBytes } from "../../../lib/first-bytes.ts";
import { LIST_LIMIT, linkList, type LinkList } from "./links.ts";
import type { MapBody, MapLink, MapSitemap } from "../../../../schemas/sites.ts";
import { inScope, scopeOf } from "../../../lib/web/site-scope.ts";
import { sitemapsOf } from "../sitemap/robots-sitemaps.ts";
import { readSitemap } from "../sitemap/read-sitemap.ts";
import { MAX_SITEMAP_LEVELS, type SitemapSummary } from "../sitemap/sitemap.ts";

export interface ReadPage {
  /** After redirects; null: nothing came. */
  readonly final_url: string | null;
  readonly status: number | null;
  /** Error of the fetch; null: there is a page. */
  readonly error: string | null;
  readonly cached: boolean;
  /** The bytes as they came; null: there are none. */
  readonly open: () => Promise<AsyncIterable<Buffer> | null>;
  readonly title: string | null;
  readonly links: readonly { readonly url: string; readonly text: string }[];
  /** Addresses of its feeds. */
  readonly feeds: readonly string[];
}

export interface MapDeps {
  /** Null: nothing more may be read for this caller. Throws Fault. */
  readonly read: (url: string, options: { readonly with_links: boolean }) => Promise<ReadPage | null>;
  /** Pages of these origins that the project has stored. */
  readonly stored: (
    origins: readonly string[],
  ) => readonly { readonly url: string; readonly title: string | null }[];
  readonly pause: () => Promise<void>;
  /** Whether the caller's time is over, and so much more. */
  readonly isLate: (beyond_ms: number) => boolean;
}

export interface SiteMap {
  readonly links: readonly MapLink[];
  readonly total: number;
  readonly truncated: boolean;
  readonly sitemaps: readonly MapSitemap[];
  readonly cached: boolean;
  readonly error: string | null;
}

/** Where sitemaps and feeds are when robots.txt names none; the first with entries ends the search. */
const USUAL_PLACES = [
  "/sitemap.xml",
  "/sitemap_index.xml",
  "/wp-sitemap.xml",
  "/sitemap.xml.gz",
  "/sitemap.txt",
  "/feed",
  "/rss.xml",
] as const;
/** Files of one map. */
const MAX_FILES = 50_000;
/** Asked for at once; the domain's own slots are fewer. */
const FILES_AT_ONCE = 4;
/** A file that came in time is read although the time is over since: those that it was asked for with may have been slower. */
const READ_BEYOND_MS = 5_000;
const MAX_LISTED_FILES = 1_000;
const MAX_ROBOTS_BYTES = 500 * 1024;

export async function mapSite(url: URL, body: MapBody, deps: MapDeps): Promise<SiteMap> {
  const scope = body.include_subdomains ? "subdomains" : "host";
  let isInScope = inScope(scopeOf([url], scope));
  const isRanked = (body.search ?? "").trim() !== "";
  const { limit = 5_000 } = body;
  const found = linkList({
    isInScope: (each) => isInScope(each),
    ignore_query: body.ignore_query ?? false,
    // The best are known only when all are.
    most: isRanked ? LIST_LIMIT : limit,
  });
  // An address that leads to another host is the old name of that site.
  const run = new MapRun(url, found, deps, (moved) => (isInScope = inScope(scopeOf([url, moved], scope))));
  if (body.sitemap !== "only") await run.readHome();
  if (body.sitemap !== "skip") await run.readSitemaps();
  if (body.sitemap !== "only") run.addStored();
  return {
    ...run.outcome(),
    ...found.list(body.search ?? null, limit),
    truncated: run.isCut || found.total() > limit,
  };
}

class MapRun {
  /** Where the page at the address is, once it was read. */
  #url: URL;
  readonly #onMoved: (url: URL) => void;
  readonly #found: LinkList;
  readonly #deps: MapDeps;
  readonly #files: MapSitemap[] = [];
  /** Addresses of files that were asked for, and those that they turned out to be. */
  readonly #seen = new Set<string>();
  #feeds: readonly string[] = [];
  #first_error: string | null = null;
  #isStopped: "timeout" | "quota_exhausted" | null = null;
  #isCached = true;
  isCut = false;

  constructor(url: URL, found: LinkList, deps: MapDeps, onMoved: (url: URL) => void) {
    this.#url = url;
    this.#onMoved = onMoved;
    this.#found = found;
    this.#deps = deps;
  }

  outcome() {
    const isEmpty = this.#found.total() === 0;
    const error = this.#isStopped ?? (isEmpty ? this.#first_error : null);
    return { sitemaps: this.#files.slice(0, MAX_LISTED_FILES), cached: this.#isCached, error };
  }

  /** Null: the time or the quota is over. */
  async #read(url: string, with_links = false): Promise<ReadPage | null> {
    if (this.#isOver()) return null;
    const page = await this.#deps.read(url, { with_links });
    if (page === null) {
      this.#isStopped ??= "quota_exhausted";
      this.isCut = true;
      return null;
    }
    this.#isCached &&= page.cached;
    return page;
  }

  #isOver(): boolean {
    if (this.#isStopped === null && this.#deps.isLate(0)) this.#isStopped = "timeout";
    if (this.#isStopped !== null) this.isCut = true;
    return this.#isStopped !== null;
  }

  async readHome(): Promise<void> {
    const page = await this.#read(this.#url.href, true);
    if (page === null) return;
    this.#first_error = page.error;
    if (page.error !== null || page.final_url === null) return;
    this.#url = new URL(page.final_url);
    this.#onMoved(this.#url);
    this.#found.add(page.final_url, { title: page.title, lastmod: null, found_in: "page" });
    for (const { url, text } of page.links)
      this.#found.add(url, { title: text.trim() || null, lastmod: null, found_in: "page" });
    this.#feeds = page.feeds;
  }

  async readSitemaps(): Promise<void> {
    const robots = new URL("/robots.txt", this.#url);
    this.#seen.add(robots.href);
    const page = await this.#read(robots.href);
    if (page === null) return;
    this.#first_error ??= page.error;
    const start = page.status === 200 ? await firstBytes((await page.open()) ?? [], MAX_ROBOTS_BYTES) : null;
    const named = start === null ? [] : sitemapsOf(start.toString(), new URL(page.final_url!));
    await this.#readLevels(named, 1);
    if (this.#hasEntries()) return;
    for (const place of [...USUAL_PLACES, ...this.#feeds]) {
      if (this.#isOver() || this.#hasEntries()) return;
      await this.#readLevels([new URL(place, this.#url).href], 1);
    }
  }

  #hasEntries = (): boolean => this.#files.some(({ entries }) => entries > 0);

  /** Files of one level four at a time; what they list of further files is the next level. */
  async #readLevels(urls: readonly string[], level: number): Promise<void> {
    const below: string[] = [];
    for (let at = 0; at < urls.length; at += FILES_AT_ONCE) {
      if (this.#isOver() || this.#found.isFull() || this.#files.length >= MAX_FILES) {
        this.isCut = true;
        return;
      }
      const group = urls.slice(at, at + FILES_AT_ONCE).filter((url) => this.#isNew(url, level));
      const pages = await Promise.all(group.map(async (url) => ({ url, page: await this.#read(url) })));
      for (const { url, page } of pages) if (page !== null) await this.#readFile(url, page, below);
    }
    if (below.length > 0) await this.#readLevels(below, level + 1);
  }

  #isNew(url: string, level: number): boolean {
    const error = this.#seen.has(url) ? "already_read" : level > MAX_SITEMAP_LEVELS ? "too_deep" : null;
    if (error === "too_deep") this.isCut = true;
    if (error !== null) this.#files.push({ url, status: null, entries: 0, error });
    this.#seen.add(url);
    return error === null;
  }

  async #readFile(url: string, page: ReadPage, below: string[]): Promise<void> {
    const { status, final_url } = page;
    const failed = (error: string): void => void this.#files.push({ url, status, entries: 0, error });
    // A document that could not be shown as text, such as a compressed one, has its bytes all the same.
    if (status !== 200 || final_url === null) return failed(page.error ?? `http_${status}`);
    if (final_url !== url && this.#seen.has(final_url)) return failed("already_read");
    this.#seen.add(final_url);
    const pieces = await page.open();
    if (pieces === null) return failed(page.error ?? "not_a_sitemap");
    let isFeed = false;
    const summary: SitemapSummary = await readSitemap(pieces, {
      url: new URL(final_url),
      pause: this.#deps.pause,
      isLate: () => this.#deps.isLate(READ_BEYOND_MS),
      onKind: (kind) => (isFeed = kind === "rss" || kind === "atom"),
      onEntry: ({ kind, url: entry, title, lastmod }) => {
        if (kind === "sitemap") below.push(entry);
        else this.#found.add(entry, { title, lastmod, found_in: isFeed ? "feed" : "sitemap" });
        return !this.#found.isFull() && below.length < MAX_FILES;
      },
    });
    const { entries, error, warnings } = summary;
    this.isCut ||= this.#found.isFull() || (error !== null && error !== "not_a_sitemap");
    this.#files.push({
      url,
      status,
      entries,
      error,
      ...(warnings.length > 0 && error !== "not_a_sitemap" && { warnings: [...warnings] }),
    });
  }

  addStored(): void {
    const { host } = this.#url;
    const other = host.startsWith("www.") ? host.slice(4) : `www.${host}`;
    const origins = [host, other].flatMap((name) => [`http://${name}`, `https://${name}`]);
    for (const { url, title } of this.#deps.stored(origins))
      if (!this.#seen.has(url)) this.#found.add(url, { title, lastmod: null, found_in: "stored" });
  }
}
