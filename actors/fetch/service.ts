/**
 * The way from a caller's question to its answer: the page cache where it can answer, else the Fetch actor of that
 * page. Pages asked for again and again are kept in memory and looked up anew once a second, so a page that another
 * node stored is seen a second later at most; how old an answer may be is judged at every request (freshness.ts).
 */
import { LRUCache } from "lru-cache";
import type { ActorClient } from "../../cluster/actor.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Meters } from "../../cluster/ports/meters.ts";
import type { FetchError } from "../../schemas/errors.ts";
import { EMPTY_RECORD, Fetch, type FetchAnswer, type FetchRequest } from "../../schemas/fetch.ts";
import { type JoinedSites, normaliseUrl, parseUrl, siteOf } from "../lib/web/url.ts";
import { type ReservedHosts, withoutCallerChoices } from "./reserved-hosts.ts";
import { asCachedPage, cacheKey, type CachedPage, freshness } from "./freshness.ts";

interface FetchServiceDeps {
  readonly documents: Documents;
  readonly ask: ActorClient;
  readonly clock: Clock;
  readonly meters: Meters;
  readonly joined?: JoinedSites;
  /** Whose pages are the same for everybody. Default: nobody's. */
  readonly reservedHosts?: Pick<ReservedHosts, "owns">;
}

export interface FetchService {
  /**
   * The same as `fetch`, for work that asks with a voice of its own. After `signal` it waits no longer than the climb
   * takes to notice, and no request leaves for it any more, unless somebody else wants the page.
   */
  readonly fetchWith: (
    client: ActorClient,
    request: FetchRequest,
    signal: AbortSignal,
  ) => Promise<FetchAnswer>;
  /** Throws Fault. */
  readonly fetch: (request: FetchRequest) => Promise<FetchAnswer>;
  /** Whether this answer, given by `fetch` to this very request, is what the cache would say now. Does not wait. */
  readonly isCurrent: (request: FetchRequest, answer: FetchAnswer, now_ms: number) => boolean;
}

interface CachedLookup {
  readonly page: CachedPage | null;
  /** On the monotonic clock. */
  readonly looked_up_ms: number;
}

const LOOK_EVERY_MS = 1_000;
/** Pages kept in memory, by the length of their inline texts and a kilobyte or two for the rest. */
const MAX_SEEN_CHARS = 32 * 2 ** 20;
const RECORD_CHARS = 2_048;
/** The asker's patience outlasts the caller's a little, so that the caller's own deadline speaks. */
const GRACE_MS = 20_000;

export function fetchService({
  documents,
  ask,
  clock,
  meters,
  joined,
  reservedHosts,
}: FetchServiceDeps): FetchService {
  const cached = new LRUCache<string, CachedLookup>({
    maxSize: MAX_SEEN_CHARS,
    sizeCalculation: ({ page }) => RECORD_CHARS + (page?.record.text?.length ?? 0),
  });
  const lookups = new Map<string, Promise<CachedPage | null>>();
  const sources = new WeakMap<FetchAnswer, { readonly digest: string; readonly page: CachedPage }>();

  function lookUp(digest: string): Promise<CachedPage | null> {
    const under_way = lookups.get(digest);
    if (under_way) return under_way;
    const lookup = documents
      .get("pages", digest)
      .then((stored) => {
        const previous = cached.peek(digest)?.page ?? null;
        const found = asCachedPage(stored?.value);
        // The same page stays the same object, so that what was written from it stays true.
        const same = previous !== null && found !== null && previous.validated_ms === found.validated_ms;
        const page = same ? previous : found;
        cached.set(digest, { page, looked_up_ms: clock.mono() });
        return page;
      })
      .finally(() => lookups.delete(digest));
    lookups.set(digest, lookup);
    return lookup;
  }

  async function resolveFetch(
    client: ActorClient,
    original: FetchRequest,
    signal: AbortSignal | null,
  ): Promise<FetchAnswer> {
    const url = parseUrl(original.url);
    if (url === null) return INVALID_URL;
    const isReserved = reservedHosts?.owns(url.href) ?? false;
    // Elsewhere a user name is left out unseen; there its owner shall know.
    if (isReserved && /^[a-z]+:[/\\]*[^/?#\\]*@/i.test(original.url.trim())) return NAMED_USER;
    const request = isReserved ? withoutCallerChoices(original) : original;
    const normalised = normaliseUrl(url);
    const digest = cacheKey(normalised, request);
    if (request.cache_ttl_s !== 0) {
      const entry = cached.get(digest);
      const isRecent = entry?.page && clock.mono() - entry.looked_up_ms < LOOK_EVERY_MS;
      const page = isRecent ? entry.page : await lookUp(digest);
      const fresh = freshness(page, request, clock.now());
      if (fresh.kind === "hit") {
        meters.count("trawl_cache_hits_total", { cache: "pages" });
        sources.set(fresh.answer, { digest, page: page! });
        return fresh.answer;
      }
      meters.count("trawl_cache_misses_total", { cache: "pages" });
    }
    const wait_ms = Math.max(1, request.deadline_ms - clock.now()) + GRACE_MS;
    const { fetch_id } = request;
    const key = `${siteOf(url.hostname, joined)} ${digest}`;
    const cancel = (): void => {
      client(Fetch, key, "cancel", { fetch_id }).catch((problem: unknown) => {
        meters.say("warn", "Cannot leave a fetch", { problem: String(problem) });
      });
    };
    signal?.addEventListener("abort", cancel);
    try {
      return await client(
        Fetch,
        key,
        "get",
        { ...request, url: url.href },
        { timeout_ms: wait_ms, idempotency_id: fetch_id },
      );
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  return {
    fetch: (request) => resolveFetch(ask, request, null),
    fetchWith: resolveFetch,

    isCurrent(request, answer, now_ms) {
      const source = sources.get(answer);
      if (!source) return false;
      const entry = cached.get(source.digest);
      if (!entry?.page || entry.page !== source.page) return false;
      if (clock.mono() - entry.looked_up_ms >= LOOK_EVERY_MS) {
        lookUp(source.digest).catch((problem: unknown) => {
          meters.say("warn", "Cannot look a cached page up", { problem: String(problem) });
        });
      }
      const fresh = freshness(entry.page, request, now_ms).kind === "hit";
      if (fresh) meters.count("trawl_cache_hits_total", { cache: "pages" });
      return fresh;
    },
  };
}

const failedAnswer = (error: FetchError, error_detail: string): FetchAnswer => ({
  record: EMPTY_RECORD,
  attempts: [],
  cached: false,
  revalidated: false,
  cost_usd: "0",
  error,
  error_detail,
  retry_after_s: null,
  premium_routes_tried: false,
});
const INVALID_URL = failedAnswer("invalid_url", "The url is no http or https URL");
const NAMED_USER = failedAnswer(
  "blocked_destination",
  "The filing system is asked at its own ports and without a user name",
);
