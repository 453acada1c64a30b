/**
 * The search part of the assembly: the metasearch instances, the egress of each, and the built-in index where no instance is
 * configured. compose.ts puts it into the cluster and the gateway.
 */
import type { StoredPage } from "../actors/fetch/run.ts";
import { refusesIndexing } from "../actors/lib/content/noindex.ts";
import { searchActor } from "../actors/search/actor.ts";
import { fallbackEngine } from "../actors/search/adapters/engine.fallback.ts";
import { type LocalIndex, localIndex } from "../actors/search/adapters/engine.local.sqlite.ts";
import { metasearchEngine } from "../actors/search/adapters/engine.metasearch.ts";
import type { Engine } from "../actors/search/engine.ts";
import { searchInstancesActor } from "../actors/search/instances.actor.ts";
import { type Budget, type Fallback, runSearch } from "../actors/search/run-search.ts";
import type { Actor } from "../cluster/actor.ts";
import { undiciEgress } from "../cluster/adapters/egress/egress.undici.ts";
import { onlyTo } from "../cluster/adapters/egress/upstream-proxy.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Egress } from "../cluster/ports/egress.ts";
import { Account, toMicros } from "../schemas/accounts.ts";
import type { Config } from "./config.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Log } from "../cluster/ports/log.ts";

interface SearchDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly metrics: Metrics;
  readonly log: Log;
  /** The file of the built-in index. */
  readonly index_path: string;
  /** What a project may spend in a month, in micros; null: no limit. */
  readonly budgetOf: (project: string) => Promise<number | null>;
}

export interface SearchParts {
  readonly actors: readonly Actor[];
  readonly revision: () => string | null;
  /** Whether any search engine is configured; /ready reports it. */
  readonly registered: boolean;
  /** Null where instances are configured, or where nodes do not share this machine's files. */
  readonly index: LocalIndex | null;
  /** Called by fetches: a page was stored, or a page is gone (404 or 410). */
  readonly onPageStored: (page: StoredPage) => void;
  readonly onGone: (url: string) => void;
  readonly close: () => Promise<void>;
}

export function openSearch(config: Config, deps: SearchDeps): SearchParts {
  const { clock, documents, metrics, log, index_path } = deps;
  const { searxng_urls, fallback_url, fallback_key, fallback_price } = config.search;
  const egresses: Egress[] = [];
  /** Reaches exactly one endpoint that the operator configured, private or not. */
  const egressTo = (url: string): Egress => {
    const egress = undiciEgress({ judge: onlyTo(new URL(url)), dns_servers: config.egress.dns_servers });
    egresses.push(egress);
    return egress;
  };

  const index =
    searxng_urls.length === 0 && config.cluster.bus === "memory"
      ? localIndex({ path: index_path, clock, metrics, log })
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
          budget: budget(deps),
        };
  const revision = () => index?.revision() ?? null;
  const { name: crawler_name } = config.crawler;

  return {
    actors: [
      searchActor(runSearch({ clock, documents, metrics, log, engines, fallback, revision })),
      searchInstancesActor([...new Set(engines.map(({ name }) => name))]),
    ],
    revision,
    registered: engines.length > 0,
    index,
    onPageStored: (page) => {
      if (index) indexPage(index, page, crawler_name);
    },
    onGone: (url) => index?.remove(url),
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

/** The project's Account actor reserves the money and releases what was not spent. */
const budget = ({ budgetOf, log }: SearchDeps): Budget => ({
  reserve: async (ask, project, id, micros) => {
    const limit_micros = await budgetOf(project);
    return (await ask(Account, project, "reserve", { id, micros, limit_micros })).kind === "reserved";
  },
  settle: async (ask, project, id, micros) => {
    await ask(Account, project, "settle", { id, micros }).catch((problem: unknown) => {
      // The reservation expires by itself; the cost is in the request's bill.
      log.warn("Cannot settle a fallback search", { project, problem: String(problem) });
    });
  },
});
