/** The shared search cache: 7 days, `cache_ttl_s` the most, 0 none; white space and case normalised. */
import { describe, expect, test } from "vitest";
import {
  type CachedSearch,
  freshAnswer,
  POOR_TTL_MS,
  searchKey,
  ttlOf,
  TTL_MS,
} from "../../../../actors/sources/search/cache.ts";
import type { SearchAnswer, SearchRequest } from "../../../../schemas/search.ts";

const keyOf = (request: Parameters<typeof searchKey>[0]): string => searchKey(request, null);

const request = (more: Partial<SearchRequest> = {}): SearchRequest => ({
  search_id: "s",
  query: "tide mill",
  language: null,
  country: null,
  max_results: 20,
  freshness: null,
  cache_ttl_s: null,
  project: "p",
  ...more,
});

describe("two searches are the same one", () => {
  test.each([
    ["by white space", { query: "  tide \n\t mill " }, true],
    ["by case", { query: "TIDE Mill" }, true],
    ["any caller", { project: "q", search_id: "t" }, true],
    ["however many results", { max_results: 100 }, true],
    ["however old they may be", { cache_ttl_s: 0 }, true],
    ["not in another language", { language: "de" }, false],
    ["not for another country", { country: "CH" }, false],
    ["not of another period", { freshness: "day" as const }, false],
    ["not with other words", { query: "tide mills" }, false],
  ])("%s", (_, more, same) => {
    expect(keyOf(request(more)) === keyOf(request())).toBe(same);
  });

  test("an answer for one project only is not another's", () => {
    const keys = [null, "first", "second"].map((audience) => searchKey(request(), audience));
    expect(new Set(keys).size).toBe(3);
  });

  test("é is é, composed or not; codes count without case", () => {
    expect(keyOf(request({ query: "caf\u00e9" }))).toBe(keyOf(request({ query: "cafe\u0301" })));
    expect(keyOf(request({ language: "de-CH", country: "ch" }))).toBe(
      keyOf(request({ language: "DE-ch", country: "CH" })),
    );
  });
});

const result = (rank: number) => ({
  url: `http://a.example/${rank}`,
  title: "t",
  snippets: [],
  engines: [],
  published_at: null,
  rank,
});
const SEARCHED_MS = 1_000_000;
const stored = (more: Partial<CachedSearch> = {}): CachedSearch => ({
  results: [1, 2, 3, 4, 5].map((rank) => result(rank)),
  provider: "metasearch",
  fallback_reason: null,
  unresponsive_engines: [],
  depth: 20,
  revision: null,
  searched_ms: SEARCHED_MS,
  ttl_ms: TTL_MS,
  ...more,
});

describe("a stored answer is given", () => {
  const DAY_S = 86_400;
  test.each([
    ["for seven days", {}, {}, 7 * DAY_S, true],
    ["and no longer", {}, {}, 7 * DAY_S + 1, false],
    ["as old as the caller accepts", {}, { cache_ttl_s: 60 }, 60, true],
    ["and no older", {}, { cache_ttl_s: 60 }, 61, false],
    ["not to who wants none", {}, { cache_ttl_s: 0 }, 0, false],
    [
      "not longer than it is worth, whatever the caller accepts",
      { ttl_ms: POOR_TTL_MS },
      { cache_ttl_s: 9_999 },
      901,
      false,
    ],
    ["not to who wants more than was looked for", {}, { max_results: 21 }, 1, false],
    ["to who wants fewer", {}, { max_results: 3 }, 1, true],
    ["to who wants more when there is so much anyway", { depth: 2 }, { max_results: 5 }, 1, true],
    ["while nothing was added to the index it came from", { revision: "7" }, {}, 1, true],
    ["not after something was", { revision: "6" }, {}, 1, false],
  ])("%s", (_, entry, options, age_s, given) => {
    const answer = freshAnswer(stored(entry), request(options), "7", SEARCHED_MS + age_s * 1_000);
    expect(answer && { cached: answer.cached, cost_usd: answer.cost_usd, error: answer.error }).toEqual(
      given ? { cached: true, cost_usd: "0", error: null } : null,
    );
  });

  test("as many results as were asked for", () => {
    expect(freshAnswer(stored(), request({ max_results: 2 }), null, SEARCHED_MS)!.results).toHaveLength(2);
  });
});

describe("how long an answer is kept", () => {
  test.each([
    ["a good one", { provider: "metasearch", fallback_reason: null }, TTL_MS],
    ["one the fallback gave", { provider: "fallback", fallback_reason: "captcha_engines" }, TTL_MS],
    ["one with little in it", { provider: "metasearch", fallback_reason: "too_few_results" }, POOR_TTL_MS],
    ["one in which engines failed", { provider: "metasearch", fallback_reason: "unresponsive_engines" }, 0],
    [
      "one that nobody gave",
      { provider: null, fallback_reason: "metasearch_timeout", error: "metasearch_timeout" },
      0,
    ],
  ] as const)("%s", (_, more, ttl_ms) => {
    const answer: SearchAnswer = {
      results: [],
      unresponsive_engines: [],
      cached: false,
      cost_usd: "0",
      error: null,
      ...more,
    };
    expect(ttlOf(answer)).toBe(ttl_ms);
  });

  test("the cache's own time is seven days", () => {
    expect(TTL_MS).toBe(7 * 24 * 3_600_000);
  });
});
