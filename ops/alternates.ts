/** The sources of open copies, from the configuration. The web search is the service's own. */
import type { Sources } from "../actors/fetch/alternates/lookup.ts";
import { searchService } from "../actors/search/service.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { Fault } from "../cluster/ports/fault.ts";
import { toMicros } from "../schemas/accounts.ts";
import type { Config } from "./config.ts";
import type { SearchParts } from "./search.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Log } from "../cluster/ports/log.ts";

interface AlternatesDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly searchParts: SearchParts;
  readonly user_agent: string;
}

const RESULTS = 10;
const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, "");

export function openSources({ alternates }: Config, deps: AlternatesDeps): Sources {
  const { guardian_url, guardian_key, unpaywall_url, unpaywall_email } = alternates;
  const { common_crawl_url, common_crawl_data_url } = alternates;
  const { searchParts, user_agent } = deps;
  return {
    user_agent,
    ...(searchParts.registered && { search: searchFor(deps) }),
    ...(guardian_key !== undefined && {
      guardian: { url: withoutTrailingSlash(guardian_url), key: guardian_key },
    }),
    ...(unpaywall_email !== undefined && {
      unpaywall: { url: withoutTrailingSlash(unpaywall_url), email: unpaywall_email },
    }),
    ...(common_crawl_url !== "none" && {
      common_crawl: {
        index_url: withoutTrailingSlash(common_crawl_url),
        data_url: withoutTrailingSlash(common_crawl_data_url),
      },
    }),
  };
}

const NOTHING = { urls: [], cost_micros: 0 } as const;

function searchFor({
  clock,
  documents,
  metrics,
  log,
  searchParts,
}: AlternatesDeps): NonNullable<Sources["search"]> {
  const { revision } = searchParts;
  return async (say, query, { id, project, language }, signal) => {
    const search = searchService({ documents, ask: say, clock, metrics, revision });
    const aborted = Promise.withResolvers<typeof NOTHING>();
    const onAbort = () => aborted.resolve(NOTHING);
    signal.addEventListener("abort", onAbort, { once: true });
    const request = {
      search_id: `${id}.copies`,
      query,
      language: /^[a-z]{2}(?=-|$)/i.exec(language ?? "")?.[0] ?? null,
      country: null,
      max_results: RESULTS,
      freshness: null,
      cache_ttl_s: null,
      project,
    };
    const answer = search(request).then(
      ({ results, cost_usd }) => ({
        urls: results.map(({ url }) => url),
        cost_micros: toMicros(cost_usd) ?? 0,
      }),
      (problem: unknown) => {
        if (!(problem instanceof Fault)) throw problem;
        log.warn("Cannot search for copies of a page", { problem: problem.message });
        return NOTHING;
      },
    );
    try {
      return await Promise.race([answer, aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  };
}
