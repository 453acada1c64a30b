/** Where open copies are looked for, from the configuration; the search is the service's own. */
import type { Sources } from "../actors/fetch/alternates/find-alternate.ts";
import { searchService } from "../actors/search/service.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { Meters } from "../cluster/ports/meters.ts";
import { toMicros } from "../schemas/accounts.ts";
import type { Config } from "./config.ts";
import type { SearchParts } from "./search.ts";

interface Needs {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly meters: Meters;
  readonly searching: SearchParts;
  readonly user_agent: string;
}

const RESULTS = 10;
const bare = (url: string): string => url.replace(/\/+$/, "");

export function openSources({ alternates }: Config, needs: Needs): Sources {
  const { guardian_url, guardian_key, unpaywall_url, unpaywall_email } = alternates;
  const { common_crawl_url, common_crawl_data_url } = alternates;
  const { searching, user_agent } = needs;
  return {
    user_agent,
    ...(searching.registered && { search: searchFor(needs) }),
    ...(guardian_key !== undefined && { guardian: { url: bare(guardian_url), key: guardian_key } }),
    ...(unpaywall_email !== undefined && {
      unpaywall: { url: bare(unpaywall_url), email: unpaywall_email },
    }),
    ...(common_crawl_url !== "none" && {
      common_crawl: { index_url: bare(common_crawl_url), data_url: bare(common_crawl_data_url) },
    }),
  };
}

const NOTHING = { urls: [], cost_micros: 0 } as const;

function searchFor({ clock, documents, meters, searching }: Needs): NonNullable<Sources["search"]> {
  const { revision } = searching;
  return async (say, query, { id, project, language }, signal) => {
    const find = searchService({ documents, ask: say, clock, meters, revision });
    const late = Promise.withResolvers<typeof NOTHING>();
    const leave = () => late.resolve(NOTHING);
    signal.addEventListener("abort", leave, { once: true });
    const question = {
      search_id: `${id}.copies`,
      query,
      language: /^[a-z]{2}(?=-|$)/i.exec(language ?? "")?.[0] ?? null,
      country: null,
      max_results: RESULTS,
      freshness: null,
      cache_ttl_s: null,
      project,
    };
    const answer = find(question).then(
      ({ results, cost_usd }) => ({
        urls: results.map(({ url }) => url),
        cost_micros: toMicros(cost_usd) ?? 0,
      }),
      (problem: unknown) => {
        if (!(problem instanceof Fault)) throw problem;
        meters.say("warn", "Cannot search for copies of a page", { problem: problem.message });
        return NOTHING;
      },
    );
    try {
      return await Promise.race([answer, late.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  };
}
