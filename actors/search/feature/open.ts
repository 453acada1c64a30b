/**
 * Assembles search: the metasearch instances, the egress of each, the fallback API, and the built-in index where no
 * instance is configured.
 */
import { LRUCache } from "lru-cache";
import { openOrSetAside } from "../../../cluster/adapters/files/set-aside.sqlite.ts";
import { onlyTo } from "../../../cluster/adapters/egress/upstream-proxy.ts";
import type { Egress } from "../../../cluster/ports/egress.ts";
import type { FeatureContext, OpenFeature } from "../../../node/feature.ts";
import { toMicros } from "../../../schemas/accounts.ts";
import type { SearchRequest } from "../../../schemas/search.ts";
import type { StoredPage } from "../../fetch/run.ts";
import { refusesIndexing } from "../../lib/content/noindex.ts";
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

/** One that is forgotten is looked up in the index once more. */
const MAX_RETRIEVED = 10_000;

export function openSearch(context: FeatureContext, settings: SearchSettings): OpenFeature {
  const { config, clock, documents, blobs, metrics, log, ask } = context;
  const { searxng_urls, fallback_url, fallback_key, fallback_price, local_index } = settings;
  const egresses: Egress[] = [];
  /** Reaches exactly one endpoint that the operator configured, private or not. */
  const egressTo = (url: string): Egress => {
    const egress = context.openEgress({ judge: onlyTo(new URL(url)) });
    egresses.push(egress);
    return egress;
  };

  let isClosed = false;
  const isShared = local_index === "shared";
  const index =
    searxng_urls.length === 0 && config.cluster.bus === "memory" && local_index !== "off"
      ? openOrSetAside(
          context.dataPath("search.sqlite"),
          () => localIndex({ path: context.dataPath("search.sqlite"), isShared, clock, metrics, log }),
          { clock, log, store_id: context.store_id },
        ).opened
      : null;
  /** Pages in memory whose retrieval by a project the index has heard of. */
  const retrieved = new LRUCache<string, true>({ max: MAX_RETRIEVED });
  // Answers of an index that shows each project its own pages are each project's own.
  const audienceOf = ({ project }: SearchRequest): string | null => (index && !isShared ? project : null);
  const engines: Engine[] = index
    ? [index.engine]
    : searxng_urls.map((url) => metasearchEngine({ egress: egressTo(url), clock, url }));
  const fallback: Fallback | null =
    fallback_url === undefined
      ? null
      : {
          engine: fallbackEngine({
            egress: egressTo(fallback_url),
            clock,
            url: fallback_url,
            key: fallback_key ?? null,
          }),
          price_micros: toMicros(fallback_price) ?? 0,
          spending: context.spending,
        };
  const revision = () => index?.revision() ?? null;
  const { name: crawler_name } = config.crawler;
  const hasEngine = engines.length > 0;
  const { actorStats } = context;
  const status = searchStatus({ clock, ask, actorStats, hasEngine, hasFallback: fallback !== null });
  const search = searchService({
    documents,
    ask,
    clock,
    metrics,
    revision,
    audienceOf,
    ...(fallback && { spentBy: context.spending.spentBy }),
    onSearched: status.onSearched,
  });

  return {
    actors: [
      searchActor({
        runSearch: runSearch({ clock, documents, metrics, log, engines, fallback, revision }),
        now: () => clock.now(),
      }),
      searchInstancesActor([...new Set(engines.map(({ name }) => name))]),
    ],
    routes: searchRoutes({
      search: (request, beginWork) => search(request, ask, beginWork),
      debugRecords: context.debugRecords,
      clock,
      metrics,
      log,
    }),
    item_kinds: [searchItems(search)],
    status: status.part,
    checks: {
      search: {
        ping: hasEngine ? async () => {} : null,
        gates: true,
      },
    },
    ...(hasEngine && { search }),
    page_index: {
      local: index,
      onPageStored: (page) => {
        if (index) indexPage(index, page, isShared ? null : page.project, crawler_name);
      },
      onRetrieved({ url, project, record }) {
        const { sha256 } = record;
        if (!index || isShared || sha256 === null) return;
        const key = JSON.stringify([project, url, sha256]);
        if (retrieved.has(key)) return;
        retrieved.set(key, true);
        index.share({ url: indexedUrl(url, record), project, sha256 });
      },
      onGone: ({ url, project }) => index?.remove({ url, project: isShared ? null : project }),
    },
    onJoined: async () => {
      if (!index || index.pages() > 0) return;
      const onPage = (page: StoredPage): void =>
        indexPage(index, page, isShared ? null : page.project, crawler_name);
      void readCachedPages({ documents, blobs, isStopped: () => isClosed, onPage }).then(
        (pages) => pages > 0 && log.info("The search index was made again", { pages }),
        (problem: unknown) => log.warn("Cannot make the search index again", { problem: String(problem) }),
      );
    },
    close: async () => {
      isClosed = true;
      for (const egress of egresses) await egress.close();
      index?.close();
    },
  };
}

/** An archived copy is indexed under the address of its page. */
const indexedUrl = (url: string, { tier, final_url }: StoredPage["record"]): string =>
  tier === "archive" ? url : (final_url ?? url);

/** `project`: for which the page is indexed; null: for all. */
function indexPage(index: LocalIndex, page: StoredPage, project: string | null, crawler_name: string): void {
  const { record, text, headers, body } = page;
  const url = indexedUrl(page.url, record);
  const isRefused = record.content_kind === "html" && refusesIndexing(headers, body, crawler_name);
  if (text.trim() === "" || isRefused || record.content_kind === "binary")
    return index.remove({ url, project });
  index.add({
    url,
    project,
    sha256: record.sha256,
    title: record.title,
    text,
    language: record.meta?.language ?? null,
    published_at: record.meta?.published_at ?? null,
  });
}
