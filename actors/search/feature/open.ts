/**
 * Assembles search: the metasearch instances, the egress of each, the fallback API, and the built-in index where no
 * instance is configured.
 */
import { onlyTo } from "../../../cluster/adapters/egress/upstream-proxy.ts";
import type { Egress } from "../../../cluster/ports/egress.ts";
import type { FeatureContext, OpenFeature } from "../../../ops/feature.ts";
import { toMicros } from "../../../schemas/accounts.ts";
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
import { searchRoutes } from "./routes.ts";
import type { SearchSettings } from "./settings.ts";
import { searchReference } from "./reference.ts";

export function openSearch(context: FeatureContext, settings: SearchSettings): OpenFeature {
  const { config, clock, documents, metrics, log, ask } = context;
  const { searxng_urls, fallback_url, fallback_key, fallback_price } = settings;
  const egresses: Egress[] = [];
  /** Reaches exactly one endpoint that the operator configured, private or not. */
  const egressTo = (url: string): Egress => {
    const egress = context.openEgress({ judge: onlyTo(new URL(url)) });
    egresses.push(egress);
    return egress;
  };

  const index =
    searxng_urls.length === 0 && config.cluster.bus === "memory"
      ? localIndex({ path: context.dataPath("search.sqlite"), clock, metrics, log })
      : null;
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
  const search = searchService({ documents, ask, clock, metrics, revision });

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
    reference: searchReference,
    checks: {
      search: {
        ping: async () => {
          if (!hasEngine) throw new Error("No metasearch instance is configured");
        },
        gates: true,
      },
    },
    ...(hasEngine && { search }),
    page_index: {
      local: index,
      onPageStored: (page) => {
        if (index) indexPage(index, page, crawler_name);
      },
      onGone: (url) => index?.remove(url),
    },
    close: async () => {
      for (const egress of egresses) await egress.close();
      index?.close();
    },
  };
}

function indexPage(index: LocalIndex, page: StoredPage, crawler_name: string): void {
  const { record, text, headers, body } = page;
  // An archived copy is indexed under the address of its page.
  const url = record.tier === "archive" ? page.url : (record.final_url ?? page.url);
  const isRefused = record.content_kind === "html" && refusesIndexing(headers, body, crawler_name);
  if (text.trim() === "" || isRefused || record.content_kind === "binary") return index.remove(url);
  index.add({
    url,
    title: record.title,
    text,
    language: record.meta?.language ?? null,
    published_at: record.meta?.published_at ?? null,
  });
}
