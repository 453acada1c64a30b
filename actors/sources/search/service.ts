/** Answers a search request: from the search cache where possible, else by the query's actor. */
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import { Search, type SearchAnswer, type SearchRequest } from "../../../schemas/search.ts";
import { withWholeCost } from "../../lib/whole-cost.ts";
import { asCachedSearch, freshAnswer, searchKey } from "./cache.ts";
import type { SearchDeps } from "./run-search.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import { SEARCHES } from "./collections.ts";

interface SearchServiceDeps {
  readonly documents: Documents;
  readonly ask: ActorClient;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly revision: SearchDeps["revision"];
  /** The only project that the answer is for; null: all. */
  readonly audienceOf: (request: SearchRequest) => string | null;
  /** The cost of all attempts of a search, whichever run they were of. Default: what the answer says. Throws Fault. */
  readonly spentBy?: (search_id: string) => Promise<number>;
  /** Called with how each search ended that the cache did not answer; null: an engine or a node of ours failed. Default: nothing hears of it. */
  readonly onSearched?: (answer: SearchAnswer | null, ms: number) => void;
}

/** Longer than any search takes, including one that restarts for another project's budget. */
const TIMEOUT_MS = 160_000;

/** Throws Fault. `client` asks on behalf of background work; default: the gateway's client. `beginWork` is awaited before it asks. */
export function searchService(
  deps: SearchServiceDeps,
): (request: SearchRequest, client?: ActorClient, beginWork?: () => Promise<void>) => Promise<SearchAnswer> {
  const { documents, ask, clock, metrics, revision, audienceOf, spentBy, onSearched } = deps;

  /** A cache fault does not prevent the search. */
  const readCache = async (digest: string) => {
    try {
      return asCachedSearch(await SEARCHES.get(documents, digest));
    } catch (problem) {
      if (problem instanceof Fault) return null;
      throw problem;
    }
  };

  return async (request, client = ask, beginWork = async () => {}) => {
    const digest = searchKey(request, audienceOf(request));
    if (request.cache_ttl_s !== 0) {
      const hit = freshAnswer(await readCache(digest), request, revision(), clock.now());
      metrics.count(hit ? "trawl_cache_hits_total" : "trawl_cache_misses_total", { cache: "searches" });
      if (hit) return hit;
    }
    await beginWork();
    const began_ms = clock.mono();
    const answer = await client(Search, digest, "get", request, {
      timeout_ms: TIMEOUT_MS,
      idempotency_id: request.search_id,
    }).catch((problem: unknown) => {
      onSearched?.(null, clock.mono() - began_ms);
      throw problem;
    });
    if (!answer.cached) onSearched?.(answer, clock.mono() - began_ms);
    return spentBy ? withWholeCost(spentBy, request.search_id, answer) : answer;
  };
}
