/**
 * The pages of a crawl as items of a job. A page is fetched as an item of a batch; before its result is stored its links are told
 * to the crawl's Frontier, which is where further items come from.
 */
import { LRUCache } from "lru-cache";
import type { ActorClient } from "../../../../cluster/actor.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import type { Secrets } from "../../../../cluster/ports/secrets.ts";
import type { BatchKind } from "../../../../gateway/batch.ts";
import { Field, Nullable } from "../../../../schemas/common.ts";
import type { ReplyOf } from "../../../../cluster/contracts/contract.ts";
import {
  type Change,
  CrawledPage,
  CrawlFetch,
  type DuplicateOf,
  type FoundLink,
  Frontier,
  type SeenPage,
} from "../../../../schemas/crawl.ts";
import { CrawlCompletedEvent, CrawlPageEvent } from "../../../../schemas/job-events.ts";
import { type FetchAnswer, MAX_BYTES_CEILING, type PageRecord } from "../../../../schemas/fetch.ts";
import { type Input, openedInput } from "../../../../schemas/job-inputs.ts";
import { type AttemptContext, jobRange } from "../../../../schemas/jobs.ts";
import type { OwnOptions } from "../../../../schemas/own-request.ts";
import type { SitemapError } from "../../../../schemas/sites.ts";
import { Type } from "typebox";
import { OUT_OF_SCOPE } from "../../../lib/web/site-scope.ts";
import { type JoinedSites, parseUrl } from "../../../lib/web/url.ts";
import { asksRobots } from "../../../reading/content/page-robots.ts";
import { NO_LINKS, type PageLinks } from "../../../reading/extraction-result.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import type { ItemSource } from "../../../work/jobs/kind.ts";
import type { PageItemParts } from "../../fetch/feature/tokens.ts";
import { CRAWLS, FRONTIER_ORDER, FRONTIER_ROWS, FRONTIERS } from "../frontier/collections.ts";
import { keptRows } from "../frontier/load.ts";
import { type CrawlRules, rulesOf } from "../frontier/rules.ts";
import { fetchPlace } from "../frontier/sealed.ts";
import { linksOfSitemap } from "../sitemap/links-of-sitemap.ts";
import { ownOptionsOf } from "./own-options.ts";
import { previousCrawls } from "./previous-crawl.ts";
import { seenOf } from "./seen-page.ts";
import { toldLinks } from "./told-links.ts";
import { urlsRoutes } from "./urls-route.ts";

export interface CrawlItemDeps {
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly pages: PageItemParts;
  readonly secrets: Pick<Secrets, "open">;
  readonly joined: JoinedSites;
  readonly crawler: {
    readonly name: string;
    /** Whether links of a page that says nofollow are followed all the same. */
    readonly page_robots: "obey" | "ignore";
    /** The User-Agent of its pages, unless a crawl gives another; null: a browser's. */
    readonly user_agent: string | null;
  };
}

type ToldLinks = ReplyOf<typeof Frontier.operations.discover>;
type CrawledAnswer = FetchAnswer & {
  readonly duplicate_of?: DuplicateOf;
  readonly change?: Change;
  readonly sitemap_warnings?: readonly string[];
};
/** Facts about a page or a sitemap, beside its links. */
interface OfFile {
  readonly seen?: SeenPage;
  readonly sitemap_error?: SitemapError;
}
interface Crawl {
  readonly rules: CrawlRules;
  readonly fetch: Input;
  /** Where header fields and cookies of the caller go: of all seeds, where it gives any. */
  readonly own_origin: string;
  readonly since_job: string | null;
}

/** Events that the webhook of a crawl is sent. */
export const CRAWL_EVENTS = { page: CrawlPageEvent, completed: CrawlCompletedEvent };
/** Crawls of a node whose rules are in memory. */
const MAX_CRAWLS = 200;
/** Links in one message, and their characters. */
const MAX_LINKS = 500;
const MAX_LINK_CHARS = 100_000;
/** Characters of an address; the frontier says why a longer one is not fetched. */
const MAX_URL_CHARS = 4_000;

const SENTENCES: Readonly<Record<SitemapError, string>> = {
  not_a_sitemap: "not_a_sitemap: the file is neither a sitemap nor a feed",
  malformed: "malformed: the sitemap could not be read to its end; the addresses before the mistake count",
  too_large: "too_large: the sitemap was read up to the limit of one file",
  too_slow: "too_slow: the crawl ended while the sitemap was read",
};

/** The input of an item, beside the options that the crawl gives to its pages. */
const CrawlInput = Type.Object({
  url: Field(Type.String(), "The page", "https://example.org/about"),
  depth: Field(
    Type.Integer({ minimum: 0 }),
    "Links from a seed to it; of a sitemap, files from robots.txt to it",
    1,
  ),
  found_on: Field(
    Nullable(Type.String()),
    "The page that named it first; null: a seed",
    "https://example.org/",
  ),
  sitemap: Type.Optional(Field(Type.Literal(true), "It is a robots.txt or a sitemap; absent: a page")),
  ...CrawlFetch.properties,
});

export function crawlItems(deps: CrawlItemDeps): ItemKindParts {
  const { documents, blobs, clock, pages, secrets, joined, crawler } = deps;
  const { worker, gateway } = pages.item;
  const crawls = new LRUCache<string, Crawl>({ max: MAX_CRAWLS });
  const previousOf = previousCrawls(documents);
  const rows = keptRows(documents);
  const told = toldLinks();

  async function crawlOf(job_id: string): Promise<Crawl> {
    const known = crawls.get(job_id);
    if (known) return known;
    const stored = await CRAWLS.get(documents, job_id);
    if (stored === null) throw new Error(`Cannot read crawl "${job_id}": it is missing`);
    const fetch = openedInput(stored.fetch, (text) => secrets.open(text, fetchPlace(job_id)));
    const own_origin = parseUrl(stored.seeds[0]!)!.origin;
    const { since_job = null } = stored;
    const crawl = { rules: rulesOf(stored, joined), fetch, own_origin, since_job };
    crawls.set(job_id, crawl);
    return crawl;
  }

  const source: ItemSource = {
    async more(ask, job_id, request) {
      const [{ fetch }, reply] = await Promise.all([crawlOf(job_id), ask(Frontier, job_id, "next", request)]);
      const { problem, admitted, is_over, discovered, excluded } = reply;
      if (problem !== null) throw unreachable(job_id, problem);
      const missing = admitted.flatMap(({ ordinal, row }) => (row === null ? [ordinal] : []));
      const stored = await rows.of(job_id, missing);
      const items = admitted.map(({ ordinal, row }) => {
        const { url, depth, found_on, sitemap } = row ?? stored.get(ordinal)!;
        return { url, depth, found_on, ...(sitemap && { sitemap }), ...fetch };
      });
      return { items, is_over, discovered, excluded };
    },
    async forget(ask, job_id) {
      await ask(Frontier, job_id, "forget", null);
      for (const each of [FRONTIER_ROWS, FRONTIER_ORDER])
        await each.removeRange(documents, ...jobRange(job_id));
      for (const each of [FRONTIERS, CRAWLS]) await each.removeRange(documents, job_id, `${job_id}!`);
    },
  };

  async function run(ask: ActorClient, input: Input, attempt: AttemptContext) {
    const job_id = attempt.request_id.slice(0, attempt.request_id.lastIndexOf(":"));
    const crawl = await crawlOf(job_id);
    const { rules, own_origin } = crawl;
    const isSitemap = input["sitemap"] === true;
    const given = isSitemap
      ? sitemapInput(input, own_origin)
      : pageInput(input, own_origin, crawler.user_agent);
    const scope = isSitemap ? rules.sitemap_scope : rules.scope;
    const with_followed = !isSitemap && rules.sitemap !== "only";
    const result = await worker.run(ask, given, { ...attempt, scope, with_followed });
    const leadsOut = result.error === OUT_OF_SCOPE;
    const record = (result.answer as FetchAnswer | null)?.record ?? null;
    // Also a file that is not there says something: there are other places.
    const hasEnded = leadsOut || (isSitemap ? result.retry === null : result.error === null);
    if (record === null || !hasEnded) return result;
    const url = String(input["url"]);
    const at = record.tier === "archive" ? null : parseUrl(record.final_url ?? "");
    const page = {
      found_on: url,
      depth: Number(input["depth"]),
      ...(at !== null && at.href !== url && { redirected_to: at.href }),
      ...(isSitemap && { listed: true }),
    };
    const tellOne = async (links: readonly FoundLink[], of_file: OfFile = {}) => {
      const message = { ...page, links: [...links], ...of_file };
      const answered = ask(Frontier, job_id, "discover", message);
      const { problem, duplicate } = await answered.catch((fault: unknown): ToldLinks => {
        // A frontier that is silent says nothing of this page, which would fail in the end and take its links with it.
        if (fault instanceof Fault && fault.code === "no_answer") return { problem: fault.message };
        throw fault;
      });
      if (problem !== null) throw unreachable(job_id, problem);
      return duplicate;
    };
    /** `of_file` goes with the first message, which is sent without links as well. */
    const tell = async (links: readonly FoundLink[], of_file?: OfFile) => {
      const { depth } = page;
      const [first = [], ...others] = inMessages(isSitemap ? links : told.newOf(job_id, depth, links));
      const duplicate = await tellOne(first, of_file);
      for (const each of others) await tellOne(each);
      if (!isSitemap) told.told(job_id, depth, links);
      return duplicate;
    };
    // Also a copy from the cache, of a fetch that may have gone anywhere.
    if (leadsOut || (at !== null && !(isSitemap ? rules.mayHoldSitemap(at) : rules.isInScope(at)))) {
      await tell([]);
      return { ...result, answer: null, error: OUT_OF_SCOPE, body_refs: [] };
    }
    if (isSitemap) {
      const reader = { blobs, clock, signal: attempt.signal };
      const { links, error, warnings } = await linksOfSitemap(record, new URL(url), reader);
      await tell(links, error === null ? {} : { sitemap_error: error });
      const answer = { ...(result.answer as FetchAnswer), sitemap_warnings: warningsOf(error, warnings) };
      return answer.sitemap_warnings.length === 0 ? result : { ...result, answer };
    }
    const page_seen = await seenOf(blobs, record, at ?? new URL(url), rules);
    const change = page_seen && (await previousOf(crawl.since_job, rules))?.changeOf(url, page_seen);
    const seen = page_seen && { ...page_seen, ...(change && { change }) };
    const named = seen?.canonical === undefined ? [] : [{ url: seen.canonical, canonical: true }];
    const read = rules.sitemap === "only" ? NO_LINKS : pages.linksOf(record, attempt);
    const found = await Promise.resolve(read).catch((fault: unknown) => {
      const isLost = fault instanceof Fault && fault.code === "body_damaged";
      if (isLost && (result.answer as FetchAnswer).cached) return null;
      throw fault;
    });
    // A cached page has lost its body: its origin has it.
    if (found === null) {
      const anew = { ...attempt, attempt_id: `${attempt.attempt_id}.anew` };
      return run(ask, { ...input, cache_ttl_s: 0 }, anew);
    }
    const duplicate = await tell([...named, ...foundLinks(record, found, crawler)], seen && { seen });
    const answer = { ...(result.answer as FetchAnswer), ...(change && { change }) };
    if (duplicate === undefined) return change ? { ...result, answer } : result;
    const { ordinal, row, reason } = duplicate;
    const original = row ?? (await rows.of(job_id, [ordinal])).get(ordinal)!;
    const duplicate_of: DuplicateOf = { url: original.url, reason };
    return { ...result, answer: { ...answer, duplicate_of } };
  }

  return {
    worker: { name: "crawl", lane: worker.lane, run, source },
    gateway: crawlKind(gateway),
    route: null,
    routes: (reader) => urlsRoutes({ documents, joined, reader }),
  };
}

/** The items as clients see them. */
function crawlKind(gateway: PageItemParts["item"]["gateway"]): BatchKind {
  return {
    name: "crawl",
    item: CrawlInput,
    item_example: { url: "https://example.org/about", depth: 1, found_on: "https://example.org/" },
    result: CrawledPage,
    errors: { ...gateway.errors, names: [...gateway.errors.names, OUT_OF_SCOPE] },
    category: "fetch",
    async render(input, answer, reader) {
      const { duplicate_of, change, sitemap_warnings } = answer as CrawledAnswer;
      const page = (await gateway.render(input, answer, reader)) as CrawledPage;
      const warnings = sitemap_warnings && [...(page.warnings ?? []), ...sitemap_warnings];
      return {
        ...page,
        ...(warnings && { warnings }),
        ...(duplicate_of && { duplicate_of }),
        ...(change && { change }),
      };
    },
    webhook: {
      name: "crawl",
      shapes: CRAWL_EVENTS,
      page({ sitemap, depth }, answer) {
        // robots.txt and sitemaps are items of the crawl, and no pages of it.
        if (sitemap === true) return null;
        const { duplicate_of, change } = (answer ?? {}) as Partial<CrawledAnswer>;
        return {
          depth: Number(depth ?? 0),
          ...(duplicate_of && { duplicate_of }),
          ...(change && { change }),
        };
      },
    },
    ...(gateway.shown && { shown: gateway.shown }),
    ...(gateway.weigh && { weigh: gateway.weigh }),
    ...(gateway.csv && { csv: gateway.csv }),
  };
}

/** Why a sitemap was not read to its end, and what else is wrong with it, as sentences. */
const warningsOf = (error: SitemapError | null, warnings: readonly string[]): readonly string[] => [
  ...(error === null ? [] : [SENTENCES[error]]),
  ...(error === "not_a_sitemap" ? [] : warnings).map((sentence) => `sitemap: ${sentence}`),
];

/** Links of a page of a crawl, translations among them. */
function foundLinks(
  { headers }: PageRecord,
  { links, alternates, robots }: PageLinks,
  { page_robots, name }: CrawlItemDeps["crawler"],
): readonly FoundLink[] {
  const said = [headers["x-robots-tag"] ?? "", ...robots];
  const all_nofollow = page_robots === "obey" && asksRobots("nofollow", said, name);
  // A translation that only `hreflang` names is a page as any.
  const translations = alternates.flatMap(({ url, language }) =>
    language === null ? [] : [{ url, rel: null }],
  );
  return [...links, ...translations].map(({ url, rel }) => {
    const nofollow = all_nofollow || (rel ?? "").toLowerCase().split(/\s+/).includes("nofollow");
    return { url, ...(nofollow && { nofollow }) };
  });
}

/** Fetch options of a page. A crawl is of the site itself: other copies only where it asks for them. */
function pageInput(
  { headers, cookies, actions, ...input }: Input,
  own_origin: string,
  user_agent: string | null,
): Input {
  const own = ownOptionsOf({ headers, cookies, actions } as OwnOptions, String(input["url"]), own_origin);
  const declared = user_agent !== null && { user_agent };
  return {
    allow_archive: false,
    allow_alternates: false,
    ...declared,
    ...input,
    ...own,
  };
}

/** Fetch options of a sitemap: plain ones, as it is no page that a browser or an archive would do better. */
function sitemapInput({ url, project_ref, cache_ttl_s, headers, cookies }: Input, own_origin: string): Input {
  const own = ownOptionsOf({ headers, cookies } as OwnOptions, String(url), own_origin);
  return {
    url,
    tiers: ["direct"],
    max_bytes: MAX_BYTES_CEILING,
    min_text_chars: 0,
    include_html: false,
    allow_archive: false,
    allow_alternates: false,
    allow_paid: false,
    ...(project_ref != null && { project_ref }),
    ...(cache_ttl_s != null && { cache_ttl_s }),
    ...own,
  };
}

function* inMessages(links: readonly FoundLink[]): Generator<readonly FoundLink[]> {
  let batch: FoundLink[] = [];
  let chars = 0;
  for (const { url, ...link } of links) {
    const cut = url.slice(0, MAX_URL_CHARS);
    batch.push({ url: cut, ...link });
    chars += cut.length;
    if (batch.length < MAX_LINKS && chars < MAX_LINK_CHARS) continue;
    yield batch;
    batch = [];
    chars = 0;
  }
  if (batch.length > 0) yield batch;
}

const unreachable = (job_id: string, problem: string): Fault =>
  new Fault("documents_unreachable", `Cannot ask the frontier of crawl "${job_id}": ${problem}`);
