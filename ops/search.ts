/**
 * The search part of the assembly: which instances are asked, by which way out, and the built-in index where none is
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
import type { Meters } from "../cluster/ports/meters.ts";
import { Account, toMicros } from "../schemas/accounts.ts";
import type { Config } from "./config.ts";

interface SearchDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly meters: Meters;
  /** Where the built-in index is kept. */
  readonly index_path: string;
  /** What a project may spend in a month, in micros; null: no limit. */
  readonly budgetOf: (project: string) => Promise<number | null>;
}

export interface SearchParts {
  readonly actors: readonly Actor[];
  readonly revision: () => string | null;
  /** Whether there is anybody to ask: what /ready wants to know. */
  readonly registered: boolean;
  /** Null where instances are configured, or where nodes do not share this machine's files. */
  readonly index: LocalIndex | null;
  /** For the fetch run: what it stored, and what is no more. */
  readonly onPageStored: (page: StoredPage) => void;
  readonly onGone: (url: string) => void;
  readonly close: () => Promise<void>;
}

export function openSearch(config: Config, deps: SearchDeps): SearchParts {
  const { clock, documents, meters, index_path } = deps;
  const { searxng_urls, fallback_url, fallback_key, fallback_price } = config.search;
  const egresses: Egress[] = [];
  /** Leads to one endpoint an operator named, private or not, and nowhere else. */
  const egressTo = (url: string): Egress => {
    const egress = undiciEgress({ judge: onlyTo(new URL(url)), dns_servers: config.egress.dns_servers });
    egresses.push(egress);
    return egress;
  };

  const index =
    searxng_urls.length === 0 && config.cluster.bus === "memory"
      ? localIndex({ path: index_path, clock, meters })
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
      searchActor(runSearch({ clock, documents, meters, engines, fallback, revision })),
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
  // An archived copy stands for the page it is of.
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

/** The project's account holds the money back, and lets go of what was not spent. */
const budget = ({ budgetOf, meters }: SearchDeps): Budget => ({
  reserve: async (ask, project, id, micros) => {
    const limit_micros = await budgetOf(project);
    return (await ask(Account, project, "reserve", { id, micros, limit_micros })).kind === "reserved";
  },
  settle: async (ask, project, id, micros) => {
    await ask(Account, project, "settle", { id, micros }).catch((problem: unknown) => {
      // What was set aside lapses by itself; what was spent is in the tally of the request.
      meters.say("warn", "Cannot settle a fallback search", { project, problem: String(problem) });
    });
  },
});
