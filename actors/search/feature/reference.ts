/** Searches in the OpenAPI document. */
import type { ApiReference } from "../../../gateway/openapi/reference.ts";
import { SearchBody, SearchResponse, SearchResult } from "../../../schemas/search.ts";

export const searchReference: ApiReference = {
  schemas: { SearchBody, SearchResponse, SearchResult },
  fields: {
    SearchBody: {
      query: ["What to search for", "when was the lighthouse lit"],
      language: ["ISO 639-1, optionally with a region", "de-CH"],
      country: ["ISO 3166-1 alpha-2, in either case", "ch"],
      max_results: "The most results",
      freshness: "Only pages of this period; `pd`, `pw`, `pm` and `py` mean day, week, month and year",
      cache_ttl_s: [
        "The oldest acceptable answer from the cache, in seconds, at most 7 days; 0 searches anew",
        3600,
      ],
    },
    SearchResponse: {
      query: ["As it was asked", "when was the lighthouse lit"],
      results: "Best first. Results that differ only in tracking parameters are one",
      provider: "Who answered: the metasearch instances or the fallback API; null: nobody",
      fallback_reason: "Why the answer of the metasearch was not good enough; null: it was",
      unresponsive_engines: ["Search engines that did not answer the metasearch", ["mojeek"]],
      billing_category: ["How the answer is billed", "search"],
    },
    SearchResult: {
      url: ["The address of the page", "https://example.org/lighthouse"],
      title: ["The title as the engine gives it", "The lighthouse at Skarn Head"],
      snippets: ["Passages of the page, without markup", ["The lamp was first lit in 1872."]],
      engines: ["Which search engines found it", ["local_index"]],
      published_at: ["When the page was published, as far as an engine knows", "2025-08-17T10:30:00Z"],
      rank: ["Its place, from 1", 1],
    },
  },
};
