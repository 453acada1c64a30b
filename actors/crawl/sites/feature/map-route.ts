/**
 * POST /v1/map: reads what map-site.ts asks for through the fetch feature, one unit of the quota and one row of the ledger for
 * each request, and writes the addresses as a MapResponse.
 */
import type { ByteBudget } from "../../../../cluster/byte-budget.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import { type Clock, yieldToEventLoop } from "../../../../cluster/ports/clock.ts";
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
import { JSON_TYPE, json, unavailable } from "../../../../gateway/http-errors.ts";
import { type Answer, type Call, type Route, route } from "../../../../gateway/route.ts";
import type { Bill } from "../../../../schemas/accounts.ts";
import {
  type FetchBody,
  MAX_BYTES_CEILING,
  MAX_TIMEOUT_S,
  MIN_TIMEOUT_S,
} from "../../../../schemas/fetch.ts";
import { MAP_LIMIT_DEFAULT, MapBody, MapResponse } from "../../../../schemas/sites.ts";
import type { FetchedPage, FetchPage } from "../../fetch/feature/tokens.ts";
import { maskUserInfo, parseUrl } from "../../../lib/web/url.ts";
import type { LocalIndex } from "../../../sources/search/adapters/engine.local.sqlite.ts";
import { LIST_LIMIT } from "../map/links.ts";
import { mapSite, type ReadPage, type SiteMap } from "../map/map-site.ts";

export interface MapServices {
  readonly fetchPage: FetchPage;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly memory: ByteBudget;
  /** Null: no index of stored pages is on this node. */
  readonly index: Pick<LocalIndex, "pagesOf"> | null;
}

type MapCall = Call<null, null, MapBody>;

const TIMEOUT_S_DEFAULT = 120;
/** Memory of an address in the list and in the answer. */
const LINK_BYTES = 500;
const MAX_STORED = 10_000;
const FEED_TYPES: ReadonlySet<string> = new Set(["application/rss+xml", "application/atom+xml"]);

export const mapRoutes = (services: MapServices): readonly Route[] => [
  route({
    method: "POST",
    path: "/v1/map",
    operationId: "mapSite",
    summary: "List the addresses of a site",
    description:
      "Reads the page at `url`, robots.txt, the sitemaps and feeds that it names or that are in the usual places, indexes up to " +
      "five levels deep, and what this project has stored of the site where a node has an index of stored pages. Each " +
      "request waits for the site's slots, obeys robots.txt and is billed as a fetch; what the cache has is not asked again. " +
      "Answers 200 also when nothing was found: read `error`. When `timeout_s` is over it answers with what was found.",
    tags: ["sites"],
    body: MapBody,
    body_example: { url: "https://example.org/", search: "lighthouse" },
    category: "fetch",
    always_begins_work: true,
    replies: {
      200: { description: "The addresses, or in `error` why there are none", schema: MapResponse },
    },
    handle: (call) => handleMap(services, call),
  }),
];

async function handleMap(services: MapServices, call: MapCall): Promise<Answer> {
  const { body, request_id } = call;
  const url = parseUrl(body.url);
  if (url === null) {
    const map = { links: [], total: 0, truncated: false, sitemaps: [], cached: false, error: "invalid_url" };
    return { ...json(200, responseOf(body, map, request_id)), bill: NOTHING_READ };
  }
  const listed = (body.search ?? "") === "" ? (body.limit ?? MAP_LIMIT_DEFAULT) : LIST_LIMIT;
  const reservation = await services.memory.reserve(listed * LINK_BYTES, call.signal);
  if (reservation === null) return unavailable("There is no room for the list of addresses now", 5);
  try {
    const deps = mapDeps(services, call);
    const map = await mapSite(url, body, deps);
    const isCut = map.error === "timeout" || map.error === "quota_exhausted";
    const outcome = isCut ? "cut" : map.total > 0 ? "found" : "nothing_found";
    services.metrics.count("trawl_map_requests_total", { outcome });
    const content = Buffer.from(JSON.stringify(responseOf(body, map, request_id)));
    return { status: 200, headers: JSON_TYPE, body: content, bill: deps.bill() };
  } finally {
    reservation.release();
  }
}

const NOTHING_READ: Bill = { category: "fetch_own", ok: false, bytes: 0, paid: false, cost_micros: 0 };

function responseOf(body: MapBody, map: SiteMap, request_id: string): MapResponse {
  const { links, total, truncated, sitemaps, cached, error } = map;
  return {
    url: maskUserInfo(body.url),
    links: [...links],
    total,
    truncated,
    sitemaps: [...sitemaps],
    cached,
    error,
    request_id,
  };
}

function mapDeps(services: MapServices, call: MapCall) {
  const { clock, index, blobs } = services;
  const { body, caller, request_id, signal } = call;
  const { grant } = caller;
  const ends_ms = call.now_ms + 1000 * (body.timeout_s ?? TIMEOUT_S_DEFAULT);
  let first: Bill | null = null;

  async function read(
    url: string,
    { with_links }: { readonly with_links: boolean },
  ): Promise<ReadPage | null> {
    // The first request is the call itself.
    const further = first === null ? null : await call.beginFurtherWork();
    if (first !== null && further === null) return null;
    first ??= NOTHING_READ;
    let bill = NOTHING_READ;
    try {
      const left_s = (ends_ms - clock.now()) / 1000;
      const fetched = await services.fetchPage(fetchBodyOf(url, body, with_links, left_s), {
        fetch_id: further?.id ?? request_id,
        project: grant.project.name,
        key: grant.key.prefix,
        signal,
      });
      ({ bill } = fetched);
      return pageOf(fetched, blobs);
    } finally {
      if (further === null) first = bill;
      else await further.finish(bill);
    }
  }

  return {
    bill: () => first ?? NOTHING_READ,
    read,
    stored: (origins: readonly string[]) =>
      index ? origins.flatMap((origin) => index.pagesOf(origin, grant.project.name, MAX_STORED)) : [],
    pause: () => yieldToEventLoop(clock),
    isLate: (beyond_ms: number) => clock.now() >= ends_ms + beyond_ms || signal.aborted,
  };
}

function pageOf({ answer, formats }: FetchedPage, blobs: Blobs): ReadPage {
  const { record, error, cached } = answer;
  return {
    final_url: record.final_url,
    status: record.status,
    error,
    cached,
    open: async () => (record.sha256 === null ? null : blobs.get(record.sha256)),
    title: record.title,
    links: formats?.links ?? [],
    feeds: (formats?.relations?.alternates ?? [])
      .filter(({ type }) => type !== null && FEED_TYPES.has(type.toLowerCase()))
      .map(({ url }) => url),
  };
}

/** Plain requests: a sitemap is no page that a browser or an archive would do better. */
const fetchBodyOf = (
  url: string,
  { cache_ttl_s }: MapBody,
  with_links: boolean,
  left_s: number,
): FetchBody => ({
  url,
  ...(with_links
    ? { formats: ["links"] }
    : { tiers: ["direct"], max_bytes: MAX_BYTES_CEILING, min_text_chars: 0 }),
  include_html: false,
  allow_archive: false,
  allow_alternates: false,
  allow_paid: false,
  ...(cache_ttl_s != null && { cache_ttl_s }),
  timeout_s: Math.min(MAX_TIMEOUT_S, Math.max(MIN_TIMEOUT_S, left_s)),
});
