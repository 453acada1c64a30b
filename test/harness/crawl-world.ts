/** Crawls of an invented web for jobs without sockets: pages are a function of the address, links are told to a real Frontier. */
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { LinksOf } from "../../actors/crawl/fetch/page-links.ts";
import type { PageItemParts } from "../../actors/crawl/fetch/feature/tokens.ts";
import { crawlItems } from "../../actors/crawl/sites/feature/crawl-items.ts";
import { CRAWLS } from "../../actors/crawl/sites/frontier/collections.ts";
import type { CrawlRecord } from "../../actors/crawl/sites/frontier/record.ts";
import { NO_LINKS } from "../../actors/reading/extraction-result.ts";
import { inScope, OUT_OF_SCOPE } from "../../actors/lib/web/site-scope.ts";
import type { ItemKind } from "../../actors/work/jobs/kind.ts";
import { EMPTY_ANSWER, EMPTY_RECORD, type PageRecord } from "../../schemas/fetch.ts";
import { SAME_SECRETS } from "./secrets.ts";

/** The links of an address; a link that begins with "nofollow " has that relation. */
export type WebOf = (url: string) => readonly string[];
/** Where an address leads by redirects. */
export type LeadsTo = (url: string) => string;
/** Fields of the page at an address, beside its links. */
export type SaysOf = (url: string) => Partial<PageRecord>;

/** The kind `crawl` over scripted items, each of which is a page with the links of `web`. */
export function crawlKind(
  documents: Documents,
  items: ItemKind,
  web: WebOf,
  leadsTo: LeadsTo = (url) => url,
  saysOf: SaysOf = () => ({}),
  onRequest: (url: string) => void = () => {},
): ItemKind {
  const run: ItemKind["run"] = async (ask, input, attempt) => {
    const result = await items.run(ask, input, attempt);
    const final_url = leadsTo(String(input["url"]));
    const leadsOut = !inScope(attempt.scope!)(new URL(final_url));
    if (!leadsOut) onRequest(final_url);
    const record = {
      ...EMPTY_RECORD,
      final_url,
      ...(!leadsOut && { status: 200, ...saysOf(final_url) }),
    };
    const error = leadsOut ? { error: OUT_OF_SCOPE, retry: null } : null;
    return { ...result, ...error, answer: { ...EMPTY_ANSWER, record } };
  };
  const linksOf: LinksOf = async ({ final_url }) => ({
    ...NO_LINKS,
    links: web(final_url!).map((link) => {
      const url = link.replace(/^nofollow /, "");
      return { url, rel: url === link ? null : "nofollow" };
    }),
  });
  return itemsOf(documents, { ...items, run, linksOf });
}

/** The kind `crawl` over items and their links. */
export function itemsOf(
  documents: Documents,
  { linksOf, ...items }: { readonly run: unknown; readonly linksOf: LinksOf },
): ItemKind {
  const gateway = {
    name: "fetch",
    errors: { names: [] },
    render: (_: unknown, answer: unknown) => answer,
  };
  const item = { worker: items, gateway } as unknown as PageItemParts["item"];
  const crawler = { name: "trawl", page_robots: "obey", user_agent: null } as const;
  return crawlItems({
    documents,
    blobs: memoryBlobs(),
    clock: systemClock(),
    pages: { item, linksOf },
    secrets: SAME_SECRETS,
    joined: new Map(),
    crawler,
  }).worker;
}

export const storeCrawl = (
  documents: Documents,
  job_id: string,
  { seeds, limit, rules = {} }: Pick<CrawlRecord, "seeds" | "limit"> & Partial<Pick<CrawlRecord, "rules">>,
): Promise<boolean> => CRAWLS.put(documents, job_id, { seeds, limit, rules, fetch: {} }, 0);
