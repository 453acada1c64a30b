/**
 * The search for an open copy of a page, source by source until one is verified. Every request is one polite GET under
 * the rules of its own host, and every one is listed in `attempts`. What is searched for, and what counts as verified, is
 * alternates.ts.
 */
import {
  type AlternateDeps,
  type AlternateLookup,
  type AlternateResult,
  type Lookup,
  newRecentPages,
} from "./lookup.ts";
import {
  searchCommonCrawl,
  searchFeeds,
  searchGuardian,
  searchOpenAccess,
  searchSyndication,
} from "./sources.ts";

/** In this order: the surest and cheapest source first. */
const SOURCES = [
  searchFeeds,
  searchGuardian,
  searchOpenAccess,
  searchSyndication,
  searchCommonCrawl,
] as const;

/** The whole search; a caller without timeout_s waits 150 s for everything. */
const MAX_LOOKUP_MS = 60_000;

export function alternateFinder(deps: AlternateDeps): (lookup: AlternateLookup) => Promise<AlternateResult> {
  const { clock } = deps;
  const recent_pages = newRecentPages(deps.caches);

  return async (started) => {
    const deadline = new AbortController();
    const timer = clock.at(clock.now() + MAX_LOOKUP_MS, () => deadline.abort());
    const signal = AbortSignal.any([started.signal, deadline.signal]);
    const lookup: Lookup = { ...started, deps, recent_pages, signal, cost_micros: 0 };
    try {
      for (const search of SOURCES) {
        if (signal.aborted) break;
        const match = await search(lookup);
        if (match) return { match, cost_micros: lookup.cost_micros };
      }
      return { match: null, cost_micros: lookup.cost_micros };
    } finally {
      timer[Symbol.dispose]();
    }
  };
}
