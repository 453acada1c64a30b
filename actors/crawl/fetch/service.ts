/**
 * The entry of a fetch request: the page cache answers it where it can, else the Fetch actor of the page. Stored pages
 * that are requested often stay in memory and are looked up once a second, so a page that another node stored is seen a
 * second later at most; whether a page is fresh enough is decided at every request (freshness.ts).
 */
import { LRUCache } from "lru-cache";
import type { ActorClient } from "../../../cluster/actor.ts";
import { type CacheLimits, cacheLimits, heapBytes } from "../../../cluster/cache-limits.ts";
import { FETCH_CACHES } from "./caches.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { Secrets } from "../../../cluster/ports/secrets.ts";
import type { FetchError } from "../../../schemas/errors.ts";
import {
  EMPTY_ANSWER,
  Fetch,
  type FetchAnswer,
  type PageRecord,
  type UnsealedFetch,
} from "../../../schemas/fetch.ts";
import { sealAuthorization, sealOwnRequest } from "../../lib/web/own-request.ts";
import { type JoinedSites, normaliseUrl, parseUrl, siteOf } from "../../lib/web/url.ts";
import { withWholeCost } from "../../lib/whole-cost.ts";
import { workFields } from "../../lib/work-fields.ts";
import { type ReservedHosts, withoutCallerChoices } from "./reserved-hosts.ts";
import {
  asCachedPage,
  asksModel,
  cacheKey,
  type CachedPage,
  freshness,
  isPrivateMark,
  lacksFormats,
  privateKey,
  wantsReading,
} from "./freshness.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import { PAGES } from "./collections.ts";

interface FetchServiceDeps {
  /** Seal what callers give of their own requests. */
  readonly secrets: Pick<Secrets, "seal" | "sign">;
  readonly documents: Documents;
  readonly ask: ActorClient;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly joined?: JoinedSites;
  /** Hosts whose pages are the same for every caller. Default: none. */
  readonly reservedHosts?: Pick<ReservedHosts, "isReserved">;
  /** Called with each page that is answered. Must not wait or throw. */
  readonly onRetrieved?: (page: RetrievedPage) => void;
  /** Cost of all attempts of a fetch, whichever run they were of. Default: what the answer says. Throws Fault. */
  readonly spentBy?: (fetch_id: string) => Promise<number>;
  /** Whether the cluster has a route that costs money now: without one nothing is read. Default: it has. */
  readonly hasPaidRoute?: () => boolean;
  /** Called with how each fetch ended that the cache did not answer. Must not throw. Default: nothing hears of it. */
  readonly onFetched?: (fetched: FetchedOutcome) => void;
  readonly caches?: Pick<CacheLimits, "pages">;
}

export interface FetchedOutcome {
  /** Null: the page came; `fault`: an engine or a node of ours failed. */
  readonly error: FetchError | "fault" | null;
  readonly ms: number;
  /** For an item of a batch, which may have to wait for its turn. */
  readonly isBatch: boolean;
}

/** A page that a project was given, whoever fetched it. */
export interface RetrievedPage {
  /** The address that was requested. */
  readonly url: string;
  readonly project: string;
  readonly record: PageRecord;
}

/** Stores that a request has begun; `ordered` as in the documents' port. */
export type BeginWork = (options?: { readonly ordered: true }) => Promise<void>;

export interface FetchService {
  /**
   * Does what `fetch` does, for background work of an actor, which has a client of its own. After `signal` the request is
   * cancelled: it is answered as soon as the run notices, and no request is sent for it unless another caller wants the
   * page.
   */
  readonly fetchWith: (
    client: ActorClient,
    request: UnsealedFetch,
    signal: AbortSignal,
  ) => Promise<FetchAnswer>;
  /** `beginWork` is awaited before an actor is asked. Throws Fault. */
  readonly fetch: (
    request: UnsealedFetch,
    signal?: AbortSignal,
    beginWork?: BeginWork,
  ) => Promise<FetchAnswer>;
  /** The source of an answer that `fetch` gave; null: it did not come from the cache. */
  readonly sourceOf: (answer: FetchAnswer) => AnswerSource | null;
  /** Whether the cache would give the same answer now to the request that `fetch` gave it to. Does not wait. */
  readonly isCurrent: (source: AnswerSource, now_ms: number) => boolean;
}

/** The page that an answer from the cache came from. Without its record: the limit of pages in memory does not count what refers to one. */
export interface AnswerSource {
  readonly digest: string;
  /** Another one when the page was stored anew. */
  readonly validated_ms: number;
  readonly fresh_until_ms: number;
}

interface CachedLookup {
  readonly page: CachedPage | null;
  /** Instead of a page: projects have private copies of it. */
  readonly is_marked: boolean;
  /** On the monotonic clock. */
  readonly looked_up_ms: number;
}

const OF_PAGES = { cache: "pages" } as const;
const LOOK_EVERY_MS = 1_000;
/** Size of a page kept in memory, without its inline text. */
const RECORD_BYTES = 2_048;
/** How much longer an ask waits than its caller, so that the actor's answer about the deadline arrives first. */
const GRACE_MS = 20_000;
/** Grace where the caller is a client, which does not wait: the ledger hears of a run's outcome up to the longest run. */
const LATE_GRACE_MS = 180_000;

export function fetchService({
  secrets,
  documents,
  ask,
  clock,
  metrics,
  log,
  joined,
  reservedHosts,
  onRetrieved,
  spentBy,
  hasPaidRoute = () => true,
  onFetched,
  caches = cacheLimits(FETCH_CACHES),
}: FetchServiceDeps): FetchService {
  const cached = new LRUCache<string, CachedLookup>({
    maxSize: caches.pages,
    sizeCalculation: ({ page }) => RECORD_BYTES + heapBytes(page?.record.text ?? ""),
  });
  const lookups = new Map<string, Promise<CachedLookup>>();
  const sources = new WeakMap<FetchAnswer, AnswerSource>();

  function lookUp(digest: string): Promise<CachedLookup> {
    const under_way = lookups.get(digest);
    if (under_way) return under_way;
    const lookup = PAGES.get(documents, digest)
      .then((stored) => {
        const page = asCachedPage(stored);
        const entry = { page, is_marked: isPrivateMark(stored), looked_up_ms: clock.mono() };
        cached.set(digest, entry);
        return entry;
      })
      .finally(() => lookups.delete(digest));
    lookups.set(digest, lookup);
    return lookup;
  }

  function recentLookup(digest: string): CachedLookup | Promise<CachedLookup> {
    const entry = cached.get(digest);
    const isRecent =
      entry && (entry.page || entry.is_marked) && clock.mono() - entry.looked_up_ms < LOOK_EVERY_MS;
    return isRecent ? entry : lookUp(digest);
  }

  /** The cached page for this project, and the key it is cached under. */
  async function cachedFor(digest: string, project: string) {
    const { page, is_marked } = await recentLookup(digest);
    if (!is_marked) return { key: digest, page };
    const key = privateKey(digest, project);
    return { key, page: (await recentLookup(key)).page };
  }

  async function resolveFetch(
    client: ActorClient,
    asked: UnsealedFetch,
    signal: AbortSignal | null,
    grace_ms = GRACE_MS,
    beginWork: BeginWork = async () => {},
  ): Promise<FetchAnswer> {
    const url = parseUrl(asked.url);
    if (url === null) return INVALID_URL;
    const isReserved = reservedHosts?.isReserved(url.href) ?? false;
    if (isReserved && isOfCaller(asked)) return OWN_REQUEST;
    const request = sealedRequest(secrets, asked, isReserved);
    const normalised = normaliseUrl(url);
    const digest = cacheKey(normalised, request);
    if (request.cache_ttl_s !== 0) {
      const { key, page } = await cachedFor(digest, request.project);
      const fresh = freshness(page, request, clock.now());
      // Documents are read beside the Fetch actor.
      const isThere = (record: PageRecord): boolean =>
        !lacksFormats(record, request) && !wantsReading(record, request) && !asksModel(request);
      if (fresh.kind === "hit" && isThere(fresh.answer.record)) {
        metrics.count("trawl_cache_hits_total", OF_PAGES);
        const { fresh_until_ms } = fresh;
        sources.set(fresh.answer, { digest: key, validated_ms: page!.validated_ms, fresh_until_ms });
        return fresh.answer;
      }
      metrics.count("trawl_cache_misses_total", OF_PAGES);
    }
    // Each request of the run needs a grant, which is stored after it; where there is none the run awaits `synced`.
    await beginWork({ ordered: true });
    const wait_ms = Math.max(1, request.deadline_ms - clock.now()) + grace_ms;
    const { fetch_id } = request;
    const key = `${siteOf(url.hostname, joined)} ${digest}`;
    const cancel = (): void => {
      client(Fetch, key, "cancel", { fetch_id }).catch((problem: unknown) => {
        log.warn("Cannot leave a fetch", { ...workFields(fetch_id), problem: String(problem) });
      });
    };
    signal?.addEventListener("abort", cancel);
    // The node of the route may die with the run that used it.
    const mayCost = asksModel(request) || (request.allow_paid && hasPaidRoute());
    const began_ms = clock.mono();
    const ended = (error: FetchedOutcome["error"]): void => {
      // A caller that left says nothing of the service.
      if (!signal?.aborted) onFetched?.({ error, ms: clock.mono() - began_ms, isBatch: signal !== null });
    };
    let answer: FetchAnswer;
    try {
      answer = await client(
        Fetch,
        key,
        "get",
        { ...request, url: url.href },
        // An item that begins again asks under the same id. Each request of the API has its own: its answer need not be remembered.
        { timeout_ms: wait_ms, ...(signal !== null && { idempotency_id: fetch_id }) },
      );
    } catch (problem) {
      ended("fault");
      throw problem;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
    ended(answer.error as FetchError | null);
    const isWhole = !spentBy || !(mayCost || answer.cached || Number(answer.cost_usd) > 0);
    return isWhole ? answer : withWholeCost(spentBy, fetch_id, answer);
  }

  function retrieved(request: UnsealedFetch, answer: FetchAnswer): FetchAnswer {
    const { record, error } = answer;
    // A page that was asked for with credentials is found by no search.
    if (error === null && !isOfCaller(request))
      onRetrieved?.({ url: request.url, project: request.project, record });
    return answer;
  }

  return {
    fetch: async (request, _signal, beginWork) =>
      retrieved(request, await resolveFetch(ask, request, null, LATE_GRACE_MS, beginWork)),
    fetchWith: async (client, request, signal) =>
      retrieved(request, await resolveFetch(client, request, signal)),

    sourceOf: (answer) => sources.get(answer) ?? null,
    isCurrent({ digest, validated_ms, fresh_until_ms }, now_ms) {
      const entry = cached.get(digest);
      if (entry?.page?.validated_ms !== validated_ms) return false;
      if (clock.mono() - entry.looked_up_ms >= LOOK_EVERY_MS) {
        lookUp(digest).catch((problem: unknown) => {
          log.warn("Cannot look a cached page up", { problem: String(problem) });
        });
      }
      // Whether the page may answer the request does not change as long as both are the same; only their time passes.
      const fresh = now_ms <= fresh_until_ms;
      if (fresh) metrics.count("trawl_cache_hits_total", OF_PAGES);
      return fresh;
    },
  };
}

/** The request as a run gets it: the caller's own values sealed, credentials of the address as a field; for a reserved host none of them. */
function sealedRequest(secrets: FetchServiceDeps["secrets"], asked: UnsealedFetch, isReserved: boolean) {
  const original = sealOwnRequest(secrets, asked);
  return isReserved ? withoutCallerChoices(original) : sealAuthorization(secrets, original);
}

const failedAnswer = (error: FetchError, error_detail: string): FetchAnswer => ({
  ...EMPTY_ANSWER,
  error,
  error_detail,
});
const INVALID_URL = failedAnswer("invalid_url", "The url is no http or https URL");
/** Whether the caller gives something of its own: credentials in the address, fields, a body. */
const isOfCaller = ({ url, own_request }: UnsealedFetch): boolean =>
  own_request !== undefined || /^[a-z]+:[/\\]*[^/?#\\]*@/i.test(url.trim());
const OWN_REQUEST = failedAnswer(
  "blocked_destination",
  "This host is asked at its own ports, without a user name, header fields, cookies and bodies of a caller",
);
