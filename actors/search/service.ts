/** The way from a caller's question to its answer: the search cache where it can answer, else the query's actor. */
import type { ActorClient } from "../../cluster/actor.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { Meters } from "../../cluster/ports/meters.ts";
import { Search, type SearchAnswer, type SearchRequest } from "../../schemas/search.ts";
import { asCachedSearch, freshAnswer, searchKey } from "./cache.ts";
import type { SearchDeps } from "./run-search.ts";

interface SearchServiceDeps {
  readonly documents: Documents;
  readonly ask: ActorClient;
  readonly clock: Clock;
  readonly meters: Meters;
  readonly revision: SearchDeps["revision"];
}

/** Longer than a search ever takes, also one that begins anew for another purse. */
const TIMEOUT_MS = 160_000;

/** Throws Fault. `say` is the voice of work that asks; default: the gateway's. */
export function searchService(
  deps: SearchServiceDeps,
): (request: SearchRequest, client?: ActorClient) => Promise<SearchAnswer> {
  const { documents, ask, clock, meters, revision } = deps;

  /** A cache that does not answer is no reason not to search. */
  const readCache = async (digest: string) => {
    try {
      return asCachedSearch((await documents.get("searches", digest))?.value);
    } catch (problem) {
      if (problem instanceof Fault) return null;
      throw problem;
    }
  };

  return async (request, client = ask) => {
    const digest = searchKey(request);
    if (request.cache_ttl_s !== 0) {
      const hit = freshAnswer(await readCache(digest), request, revision(), clock.now());
      meters.count(hit ? "trawl_cache_hits_total" : "trawl_cache_misses_total", { cache: "searches" });
      if (hit) return hit;
    }
    return client(Search, digest, "get", request, {
      timeout_ms: TIMEOUT_MS,
      idempotency_id: request.search_id,
    });
  };
}
