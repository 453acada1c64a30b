/** The sources of open copies, from the settings; the web search among them is the service's own. */
import { Fault } from "../../../../cluster/ports/fault.ts";
import type { JoinedNode } from "../../../../node/feature.ts";
import { toMicros } from "../../../../schemas/accounts.ts";
import { withoutTrailingSlash } from "../../../lib/web/url.ts";
import type { SearchPages } from "../../../sources/search/feature/tokens.ts";
import type { Sources } from "../alternates/lookup.ts";
import type { FetchSettings } from "./settings.ts";

const RESULTS = 10;

export function openSources(
  node: JoinedNode,
  { alternates }: FetchSettings,
  search: SearchPages | null,
): Sources {
  const { guardian_url, guardian_key, unpaywall_url, unpaywall_email } = alternates;
  const { common_crawl_url, common_crawl_data_url } = alternates;
  return {
    user_agent: node.user_agent,
    ...(search && { search: searchFor(node, search) }),
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

function searchFor({ log }: JoinedNode, search: SearchPages): NonNullable<Sources["search"]> {
  return async (ask, query, { id, project, language }, signal) => {
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
    const answer = search(request, ask).then(
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
