/**
 * POST /v1/search: turns a checked body into a SearchRequest and the search's answer into a SearchResponse. Which engines
 * are asked and what counts as a poor answer is decided in actors/sources/search/.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { toMicros } from "../../../../schemas/accounts.ts";
import {
  MAX_DEPTH,
  periodOf,
  type SearchAnswer,
  type SearchRequest,
  SearchBody,
  SearchItem,
  SearchResponse,
  windowOf,
} from "../../../../schemas/search.ts";
import type { BatchKind } from "../../../../gateway/batch.ts";
import type { Bill } from "../../../../schemas/accounts.ts";
import type { DebugRecords } from "../../../../gateway/debug-records.ts";
import { withDeadline, WAIT_MS } from "../../../../gateway/with-deadline.ts";
import type { Reply } from "../../../../gateway/http.ts";
import { invalid, json, timedOut } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import { hostOf } from "../domains.ts";
import { contentsRefused, withContents } from "./contents.ts";
import { SEARCH_ERRORS } from "../../../../schemas/errors.ts";

export interface SearchRoutesDeps {
  /** The whole search: cache, instances, fallback. `beginWork` is awaited before an actor is asked. Throws Fault. */
  readonly search: (request: SearchRequest, beginWork: () => Promise<void>) => Promise<SearchAnswer>;
  /** Default: no request is debugged. */
  readonly debugRecords?: DebugRecords;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

export const searchRoutes = (services: SearchRoutesDeps): readonly Route[] => [
  route({
    method: "POST",
    path: "/v1/search",
    operationId: "search",
    summary: "Search the web",
    description:
      "Answered from the shared cache (7 days; `cache_ttl_s` 0 bypasses it), else by the metasearch instances, and by the " +
      "fallback API when their answer is poor: `fallback_reason` says why. Results with the same address are merged, with " +
      "all snippets and engines. Answers 200 also when no engine could answer (`error` is set: ask again later) and when " +
      "nothing was found (`error` is null: ask something else). With `contents` the first results have their pages: each is a fetch " +
      "with its own bill, and all of them have 60 s.",
    tags: ["search"],
    body: SearchBody,
    request_headers: {
      "X-Service-Debug": "1: a key that may gets debug_url, a page with the request's story",
    },
    body_example: { query: "when was the lighthouse lit" },
    category: "search",
    replies: {
      200: {
        description: "The results, or in `error` the reason why no engine could answer",
        schema: SearchResponse,
      },
    },
    authorize: (call) => mistakeIn(call.body) ?? contentsRefused(call),
    handle: async (call) => {
      const { body, caller, request_id, signal } = call;
      const { debugRecords } = services;
      const isDebugged = debugRecords?.isWanted(call) === true;
      const { key, project, customer } = caller.grant;
      const request = searchRequestOf(body, {
        search_id: request_id,
        project: project.name,
        key: key.prefix,
      });
      const late = Promise.withResolvers<Bill | null>();
      const onLate = (answer: SearchAnswer | null): void => late.resolve(answer && billOf(answer));
      const options = { id: request_id, timeout_ms: WAIT_MS, signal, onLate };
      const answer = await withDeadline(services, options, () =>
        services.search(isDebugged ? { ...request, is_traced: true } : request, call.beginWork),
      );
      if (answer === null) return { ...timedOut(request_id), late_bill: late.promise };
      services.metrics.count("trawl_search_requests_total", {
        provider: answer.provider ?? "none",
        outcome: outcomeOf(answer),
        cached: String(answer.cached),
      });
      const bill = billOf(answer);
      const { cached, cost_usd, error, trace = null } = answer;
      const story = {
        cached,
        billing_category: bill.category,
        cost_usd,
        error,
        error_detail: null,
        attempts: [],
        trace,
      };
      const debug_url = isDebugged ? await debugRecords.store(call, story) : null;
      const reader = { request_id, external: customer.external, ...(debug_url !== null && { debug_url }) };
      const response = responseOf(body, answer, reader);
      const results = await withContents(call, response.results, services.clock);
      return { ...json(200, { ...response, results }), bill };
    },
  }),
];

interface RequestOrigin {
  readonly search_id: string;
  readonly project: string;
  readonly key?: string | undefined;
}

/** The request with its defaults and with normalised white space; also for an item of a batch. */
export function searchRequestOf(body: SearchItem, { search_id, project, key }: RequestOrigin): SearchRequest {
  return {
    search_id,
    query: body.query.trim().replace(/\s+/gu, " "),
    language: body.language ?? null,
    country: body.country ?? null,
    max_results: windowOf(body).to,
    freshness: periodOf(body.freshness),
    ...domainsOf("include_domains", body.include_domains),
    ...domainsOf("exclude_domains", body.exclude_domains),
    cache_ttl_s: body.cache_ttl_s ?? null,
    project,
    ...(key !== undefined && { key }),
  };
}

/** Nothing for an empty list: then any host is meant. */
function domainsOf<N extends "include_domains" | "exclude_domains">(
  name: N,
  domains: readonly string[] | null | undefined,
): Partial<Record<N, string[]>> {
  const hosts = (domains ?? []).flatMap((domain) => hostOf(domain) ?? []);
  return hosts.length === 0 ? {} : ({ [name]: [...new Set(hosts)] } as Record<N, string[]>);
}

/** Mistakes that the schema of a search does not find. Null: nothing is wrong. */
function searchMistake(body: SearchItem): { readonly field: string; readonly message: string } | null {
  if (windowOf(body).to > MAX_DEPTH)
    return {
      field: "page",
      message: `Value error, page and max_results reach beyond the ${MAX_DEPTH}th result`,
    };
  for (const field of ["include_domains", "exclude_domains"] as const) {
    const wrong = body[field]?.find((domain) => hostOf(domain) === null);
    if (wrong !== undefined) return { field, message: "Value error, there is no such host name" };
  }
  return null;
}

function mistakeIn(body: SearchBody): Reply | null {
  const mistake = searchMistake(body);
  return mistake && invalid([{ loc: ["body", mistake.field], msg: mistake.message, type: "value_error" }]);
}

export const billOf = ({ cached, provider, cost_usd, error, fallback_reason }: SearchAnswer): Bill => ({
  category: cached ? "search_cached" : provider === "fallback" ? "search_fallback" : "search",
  ok: error === null,
  bytes: 0,
  paid: false,
  cost_micros: toMicros(cost_usd) ?? 0,
  detail: { status: null, error, reason: cached ? null : fallback_reason, attempts: [] },
});

/** Items of a batch. */
export const searchBatch: BatchKind = {
  name: "search",
  item: SearchItem,
  item_example: { query: "when was the lighthouse lit" },
  result: SearchResponse,
  errors: { names: Object.keys(SEARCH_ERRORS), patterns: ["^fallback_http_[1-9][0-9]{2}$"] },
  category: "search",
  csv: {
    columns: ["query", "rank", "url", "title", "published_at", "snippet"],
    rows(input, result) {
      const query = input["query"] as string;
      const found = (result as Partial<SearchResponse> | null)?.results ?? [];
      if (found.length === 0) return [[query]];
      return found.map(({ rank, url, title, published_at, snippets }) => [
        query,
        rank,
        url,
        title,
        published_at,
        snippets[0],
      ]);
    },
  },
  check: (item) => searchMistake(item as SearchItem),
  render: (input, answer, reader) => responseOf(input as SearchItem, answer as SearchAnswer, reader),
};

interface Reader {
  readonly request_id: string;
  readonly debug_url?: string;
  readonly external: boolean;
}

/** Field by field as the specification lists them. */
export function responseOf(
  item: SearchItem,
  answer: SearchAnswer,
  { request_id, external, debug_url }: Reader,
): SearchResponse {
  const { from, to } = windowOf(item);
  return {
    query: item.query,
    results: answer.results.slice(from, to),
    provider: answer.provider,
    fallback_reason: answer.fallback_reason,
    unresponsive_engines: answer.unresponsive_engines,
    cached: answer.cached,
    cost_usd: external ? null : Number(answer.cost_usd),
    billing_category: billOf(answer).category,
    error: answer.error,
    ...(debug_url !== undefined && { debug_url }),
    request_id,
  };
}

/** For metrics: a status of the fallback API as its class. */
const outcomeOf = ({ error, results }: SearchAnswer): string =>
  error?.replace(/(\d)\d\d$/, "$1xx") ?? (results.length === 0 ? "nothing_found" : "found");
