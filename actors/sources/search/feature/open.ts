/**
 * Assembles search: the metasearch instances, the egress of each, the fallback API, and the built-in index where no
 * instance is configured.
 */
import { LRUCache } from "lru-cache";
import { openOrSetAside } from "../../../../cluster/adapters/files/set-aside.sqlite.ts";
import { onlyTo } from "../../../../cluster/adapters/egress/upstream-proxy.ts";
import type { Egress } from "../../../../cluster/ports/egress.ts";
import type { JoinedFeature, JoinedNode, OpenFeature, OpeningNode } from "../../../../node/feature.ts";
import { toMicros } from "../../../../schemas/accounts.ts";
import type { SearchRequest } from "../../../../schemas/search.ts";
import type { Spending } from "../../../business/accounts/spend.ts";
import type { StoredPage } from "../../../crawl/fetch/run.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import type { StatusPart } from "../../../business/status/feature/tokens.ts";
import { isForCrawlers, refusesIndexing } from "../../../reading/content/page-robots.ts";
import { searchActor } from "../actor.ts";
import { fallbackEngine } from "../adapters/engine.fallback.ts";
import { type LocalIndex, localIndex } from "../adapters/engine.local.sqlite.ts";
import { metasearchEngine } from "../adapters/engine.metasearch.ts";
import type { Engine } from "../engine.ts";
import { searchInstancesActor } from "../instances.actor.ts";
import { type Fallback, runSearch } from "../run-search.ts";
import { searchService } from "../service.ts";
import { searchItems } from "./item-kind.ts";
import { readCachedPages } from "./rebuild-index.ts";
import { searchRoutes } from "./routes.ts";
import type { SearchSettings } from "./settings.ts";
import { searchStatus } from "./status.ts";
import type { PageIndex, SearchPages } from "./tokens.ts";

/** Searches that are remembered; a forgotten one is looked up in the index once more. */
const MAX_RETRIEVED = 10_000;

interface SearchNeeds {
  readonly spending: Spending;
}

interface SearchProvides {
  readonly search: SearchPages | null;
  readonly index: PageIndex;
  readonly kinds: readonly ItemKindParts[];
  readonly status: readonly StatusPart[];
}

export function openSearch(
  node: OpeningNode,
  settings: SearchSettings,
): OpenFeature<SearchNeeds, SearchProvides> {
  const { clock } = node;
  const { searxng_urls, fallback_url, fallback_key, local_index } = settings;
  const egresses: Egress[] = [];
  /** Reaches exactly one endpoint that the operator configured, private or not. */
  const egressTo = (url: string): Egress => {
    const egress = node.openEgress({ judge: onlyTo(new URL(url)) });
    egresses.push(egress);
    return egress;
  };
  const isIndexed = searxng_urls.length === 0 && node.topology.isAlone && local_index !== "off";
  const index = isIndexed ? openIndex(node, local_index === "shared") : null;
  const engines: readonly Engine[] = index
    ? [index.engine]
    : searxng_urls.map((url) => metasearchEngine({ egress: egressTo(url), clock, url }));
  const fallback =
    fallback_url === undefined
      ? null
      : fallbackEngine({
          egress: egressTo(fallback_url),
          clock,
          url: fallback_url,
          key: fallback_key ?? null,
        });
  const state = { isClosed: false };
  return {
    join: (joined, { spending }) =>
      joinSearch(joined, settings, { index, engines, fallback, spending, state }),
    async close() {
      state.isClosed = true;
      for (const egress of egresses) await egress.close();
      index?.close();
    },
  };
}

/** The built-in index; a damaged one is set aside and made again. */
function openIndex({ clock, metrics, log, store_id, dataPath }: OpeningNode, isShared: boolean): LocalIndex {
  const path = dataPath("search.sqlite");
  const open = (): LocalIndex => localIndex({ path, isShared, clock, metrics, log });
  return openOrSetAside(path, open, { clock, log, store_id }).opened;
}

interface OpenEngines extends SearchNeeds {
  /** Null: pages are not indexed on this node. */
  readonly index: LocalIndex | null;
  readonly engines: readonly Engine[];
  readonly fallback: Engine | null;
  readonly state: { readonly isClosed: boolean };
}

function joinSearch(
  node: JoinedNode,
  { fallback_price, local_index }: SearchSettings,
  { index, engines, fallback: fallbackApi, spending, state }: OpenEngines,
): JoinedFeature<SearchProvides> {
  const { config, clock, documents, blobs, metrics, log, ask, actorStats } = node;
  const isShared = local_index === "shared";
  // Answers of an index that shows each project its own pages are each project's own.
  const audienceOf = ({ project }: SearchRequest): string | null => (index && !isShared ? project : null);
  const fallback: Fallback | null = fallbackApi && {
    engine: fallbackApi,
    price_micros: toMicros(fallback_price) ?? 0,
    spending,
  };
  const revision = () => index?.revision() ?? null;
  const hasEngine = engines.length > 0;
  const status = searchStatus({ clock, ask, actorStats, hasEngine, hasFallback: fallback !== null });
  const search = searchService({
    documents,
    ask,
    clock,
    metrics,
    revision,
    audienceOf,
    ...(fallback && { spentBy: spending.spentBy }),
    onSearched: status.onSearched,
  });
  const pages = indexOfPages(index, isShared, config.crawler);

  return {
    provides: {
      search: hasEngine ? search : null,
      index: pages,
      kinds: [searchItems(search)],
      status: [status.part],
    },
    actors: [
      searchActor({
        runSearch: runSearch({ clock, documents, metrics, log, engines, fallback, revision }),
        now: () => clock.now(),
      }),
      searchInstancesActor([...new Set(engines.map(({ name }) => name))]),
    ],
    routes: searchRoutes({
      search: (request, beginWork) => search(request, ask, beginWork),
      debugRecords: node.debugRecords,
      clock,
      metrics,
      log,
    }),
    checks: {
      search: {
        ping: hasEngine ? async () => {} : null,
        gates: true,
      },
    },
    onServing: async () => {
      if (!index || index.pages() > 0) return;
      const isStopped = (): boolean => state.isClosed;
      void readCachedPages({ documents, blobs, isStopped, onPage: pages.onPageStored }).then(
        (count) => count > 0 && log.info("The search index was made again", { pages: count }),
        (problem: unknown) => log.warn("Cannot make the search index again", { problem: String(problem) }),
      );
    },
  };
}

type Crawler = Pick<OpeningNode["config"]["crawler"], "name" | "page_robots">;

function indexOfPages(index: LocalIndex | null, isShared: boolean, crawler: Crawler): PageIndex {
  /** Pages in memory whose retrieval by a project the index has heard of. */
  const retrieved = new LRUCache<string, true>({ max: MAX_RETRIEVED });
  return {
    local: index,
    onPageStored: (page) => {
      if (index) indexPage(index, page, { project: isShared ? null : page.project }, crawler);
    },
    onRetrieved({ url, project, record }) {
      const { sha256 } = record;
      if (!index || isShared || sha256 === null) return;
      const key = JSON.stringify([project, url, sha256]);
      if (retrieved.has(key)) return;
      retrieved.set(key, true);
      index.share({ url: indexedUrl(url, record), project, sha256 });
    },
    onImported: (page, is_imported) =>
      index !== null &&
      indexPage(
        index,
        page,
        { project: isShared || is_imported ? null : page.project, is_imported: is_imported && !isShared },
        crawler,
      ),
    onImportRemoved: ({ url, project, is_shared, sha256 }) =>
      index?.remove({
        url,
        sha256,
        project: isShared || is_shared ? null : project,
        is_imported: is_shared && !isShared,
      }),
    onGone: ({ url, project }) => index?.remove({ url, project: isShared ? null : project }),
  };
}

/** An archived copy is indexed under the address of its page. */
const indexedUrl = (url: string, { tier, final_url }: StoredPage["record"]): string =>
  tier === "archive" ? url : (final_url ?? url);

/** `project`: for which the page is indexed; null: for all. False: the page is not for the index. */
function indexPage(
  index: LocalIndex,
  page: StoredPage,
  audience: { readonly project: string | null; readonly is_imported?: boolean },
  crawler: Crawler,
): boolean {
  const { record, text, headers, body } = page;
  const url = indexedUrl(page.url, record);
  const isRefused =
    record.content_kind === "html"
      ? crawler.page_robots === "obey" && refusesIndexing(headers, body, crawler.name)
      : isForCrawlers(url, text);
  if (text.trim() === "" || isRefused || record.content_kind === "binary") {
    index.remove({ url, ...audience });
    return false;
  }
  index.add({
    url,
    ...audience,
    sha256: record.sha256,
    title: record.title,
    text,
    language: record.meta?.language ?? null,
    published_at: record.meta?.published_at ?? null,
  });
  return true;
}
