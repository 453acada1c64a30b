/** The way from a caller's question to its answer: the search cache where it can answer, else the query's actor. */
import type { Say } from "../../cluster/actor.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { Meters } from "../../cluster/ports/meters.ts";
import { Search, type SearchAnswer, type SearchAsk } from "../../schemas/search.ts";
import { asCachedSearch, fresh, searchKey } from "./cache.ts";
import type { Outside } from "./run-search.ts";

interface Needs {
  readonly documents: Documents;
  readonly ask: Say;
  readonly clock: Clock;
  readonly meters: Meters;
  readonly revision: Outside["revision"];
}

/** Longer than a search ever takes, also one that begins anew for another purse. */
const PATIENCE_MS = 160_000;

/** Throws Fault. `say` is the voice of work that asks; default: the gateway's. */
export function searchService(needs: Needs): (question: SearchAsk, say?: Say) => Promise<SearchAnswer> {
  const { documents, ask, clock, meters, revision } = needs;

  /** A cache that does not answer is no reason not to search. */
  const look = async (digest: string) => {
    try {
      return asCachedSearch((await documents.get("searches", digest))?.value);
    } catch (problem) {
      if (problem instanceof Fault) return null;
      throw problem;
    }
  };

  return async (question, say = ask) => {
    const digest = searchKey(question);
    if (question.cache_ttl_s !== 0) {
      const hit = fresh(await look(digest), question, revision(), clock.now());
      meters.count(hit ? "trawl_cache_hits_total" : "trawl_cache_misses_total", { cache: "searches" });
      if (hit) return hit;
    }
    return say(Search, digest, "get", question, { wait_ms: PATIENCE_MS, id: question.search_id });
  };
}
