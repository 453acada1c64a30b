/**
 * `FilingSource`: the only way in which the filings service reads the filing system. It answers from the document cache,
 * or asks the address actor, which requests the document through the limiter. Bytes are read from the blob store by
 * their digest.
 *
 * A caller can rely on this:
 * - `get` answers within the deadline and throws only Fault.
 * - A document that is JSON by its kind is complete, and it parses if it is smaller than 256 KiB. A caller that finds
 *   more wrong with it (parallel arrays of different length) calls `discard`, so that it is requested anew.
 * - A `document` or `index` is never a throttle page, whatever status the page came with. A `document` may cost one more
 *   request a day and host, for robots.txt.
 * - A partial search answer (timed out, failed shards) is answered and not stored.
 */
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import { type Clock, sleep } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { Random } from "../../../cluster/ports/random.ts";
import { FilingAddress, type SourceRequest } from "../../../schemas/filing-source.ts";
import type { SourceAnswer } from "../../../schemas/upstream.ts";
import { type FilingHosts, isWithin, type SourceAddress } from "./upstream/hosts.ts";
import { asCachedDocument, type CachedDocument, digestOf, lookup } from "../upstream/document-cache.ts";
import { KIND_RULES } from "./upstream/limits.ts";
import { FILING_DOCUMENTS } from "./collections.ts";

export interface FilingSource {
  readonly get: (request: SourceRequest) => Promise<SourceAnswer>;
  /** Removes these bytes from the cache, if they are still the stored answer of the address. */
  readonly discard: (request: Pick<SourceRequest, "host" | "path">, sha256: string) => Promise<void>;
}

export interface FilingSourceDeps {
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly ask: ActorClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly hosts: FilingHosts;
  /** The limiter this node asks. */
  readonly egress: string;
  /** False: the operator declared no identity, so no request is sent. */
  readonly isConfigured: boolean;
}

/** The address actor answers at its deadline. Without an answer after this time its node has failed. */
const GRACE_MS = 3_000;
const RETRY_MS = 250;

export function filingSource(deps: FilingSourceDeps): FilingSource {
  const { documents, blobs, ask, clock, random, metrics, hosts, egress, isConfigured } = deps;
  /** Concurrent requests for the same address share one lookup. */
  const lookups = new Map<string, Promise<CachedDocument | null>>();

  return {
    async get(request) {
      return inFolder(hosts, request, await getAnywhere(request));
    },

    discard,
  };

  async function getAnywhere(request: SourceRequest): Promise<SourceAnswer> {
    if (!isConfigured)
      return failed(
        "filings_not_configured",
        "The filing system is not configured: the operator must set TRAWL_FILINGS_IDENTITY",
      );
    const digest = digestOf(hosts.urlOf(request));
    const ask_id = `${Math.floor(random.next() * 2 ** 48).toString(36)}.${clock.now()}`;
    for (;;) {
      const cached = await lookUpCache(request, digest);
      if (cached) return cached;
      const remaining_ms = request.deadline_ms - clock.now();
      if (remaining_ms <= 0) return failed("timeout", "The time had run out before anything was asked for");
      try {
        const options = { timeout_ms: remaining_ms + GRACE_MS, idempotency_id: ask_id };
        return await ask(FilingAddress, `${egress} ${digest}`, "get", { ...request, ask_id }, options);
      } catch (problem) {
        // The address actor has moved, or its mailbox is full: the cache is read again, then the actor asked again.
        if (!(problem instanceof Fault) || clock.now() + RETRY_MS >= request.deadline_ms) throw problem;
        await sleep(clock, RETRY_MS);
      }
    }
  }

  async function lookUpCache(request: SourceRequest, digest: string): Promise<SourceAnswer | null> {
    if (request.cache_ttl_s !== 0) {
      const lookedUp = lookup(await stored(request, digest), KIND_RULES[request.kind], request, clock.now());
      if (lookedUp.kind === "hit") {
        metrics.count("trawl_cache_hits_total", { cache: "filings" });
        return lookedUp.answer;
      }
    }
    metrics.count("trawl_cache_misses_total", { cache: "filings" });
    return null;
  }

  /** The stored answer. An answer whose body the blob store has lost is discarded, so that it is requested anew. */
  function stored(address: SourceAddress, digest: string): Promise<CachedDocument | null> {
    const underWay = lookups.get(digest);
    if (underWay) return underWay;
    const lookingUp = (async () => {
      const cached = asCachedDocument(await FILING_DOCUMENTS.get(documents, digest));
      if (cached?.answer.kind !== "got" || (await blobs.head(cached.answer.sha256))) return cached;
      await discard(address, cached.answer.sha256);
      return null;
    })().finally(() => lookups.delete(digest));
    lookups.set(digest, lookingUp);
    return lookingUp;
  }

  async function discard(address: SourceAddress, sha256: string): Promise<void> {
    const digest = digestOf(hosts.urlOf(address));
    await FILING_DOCUMENTS.update(documents, digest, (existing) => {
      const cached = asCachedDocument(existing);
      return cached?.answer.kind === "got" && cached.answer.sha256 !== sha256 ? null : "remove";
    });
  }
}

/** An answer from the cache may have come by redirects for a caller whom all hosts were open to. */
function inFolder(hosts: FilingHosts, { host, within }: SourceRequest, answer: SourceAnswer): SourceAnswer {
  if (within === undefined || answer.kind !== "got" || answer.redirects.length === 0) return answer;
  const targets = [...answer.redirects.slice(1).map(({ url }) => url), answer.final_url];
  const isInside = targets.every((url) => {
    const address = hosts.addressOf(url);
    return address?.host === host && isWithin(address.path, within);
  });
  if (isInside) return answer;
  const { url, status, redirects } = answer;
  return {
    ...failed("redirect_not_allowed", `${url} leads out of the filing's folder`),
    status: redirects.at(-1)?.status ?? status,
    redirects,
  };
}

const failed = (error: string, message: string): Extract<SourceAnswer, { kind: "failed" }> => ({
  kind: "failed",
  error,
  message,
  retry_after_s: null,
  status: null,
  redirects: [],
  requests: 0,
});
