/**
 * The joint between the rules of the filing system (what to ask for, what it says) and its upstream (limiter, cache,
 * wire). Everything that is read from the filing system is read through `FilingSource`; bytes are then taken from
 * Bodies by their digest. Shapes of ask and answer: schemas/filing-source.ts.
 *
 * For whoever builds on it:
 * - `get` answers within the deadline and does not throw but for Fault (our own engines).
 * - What is JSON by its kind was looked through: it is whole, and below 256 KiB it parses. Whoever finds more wrong with
 *   it (parallel arrays of different length) says so with `discard` and answers filings_unavailable, retry_after_s 60.
 * - `document` and `index` never carry a throttle page, whatever status it had; a `document` may cost one more request
 *   a day and host, for robots.txt.
 * - A partial search answer (timed out, failed shards) is answered and not kept.
 */
import type { ActorClient } from "../../cluster/actor.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { Random } from "../../cluster/ports/random.ts";
import { FilingAddress, type SourceAnswer, type SourceRequest } from "../../schemas/filing-source.ts";
import type { FilingHosts, SourceAddress } from "./upstream/hosts.ts";
import {
  asCachedDocument,
  digestOf,
  FILING_DOCUMENTS,
  type CachedDocument,
  lookup,
} from "./upstream/document-cache.ts";
import type { Metrics } from "../../cluster/ports/metrics.ts";

export interface FilingSource {
  readonly get: (request: SourceRequest) => Promise<SourceAnswer>;
  /** Forgets what is stored for this address when it is still these bytes: they turned out to be wrong. */
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
  /** Whose limiter this node asks. */
  readonly egress: string;
  /** False: no operator is declared, so nothing is asked. */
  readonly isConfigured: boolean;
}

/** The address answers at its deadline; a little longer, and its node is gone. */
const GRACE_MS = 3_000;
const RETRY_MS = 250;

export function filingSource(deps: FilingSourceDeps): FilingSource {
  const { documents, blobs, ask, clock, random, metrics, hosts, egress, isConfigured } = deps;
  /** Many who want the same at once look once. */
  const lookups = new Map<string, Promise<CachedDocument | null>>();

  return {
    async get(request) {
      if (!isConfigured)
        return failed(
          "filings_not_configured",
          "The filing system is not set up: the operator has to declare who asks",
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
          // Whoever had it in hand is gone, or too many want it: it is looked whether it is kept by then, and asked again.
          if (!(problem instanceof Fault) || clock.now() + RETRY_MS >= request.deadline_ms) throw problem;
          const { promise, resolve } = Promise.withResolvers<void>();
          clock.at(clock.now() + RETRY_MS, resolve);
          await promise;
        }
      }
    },

    discard,
  };

  async function lookUpCache(request: SourceRequest, digest: string): Promise<SourceAnswer | null> {
    if (request.cache_ttl_s !== 0) {
      const lookedUp = lookup(await stored(request, digest), request, clock.now());
      if (lookedUp.kind === "hit") {
        metrics.count("trawl_cache_hits_total", { cache: "filings" });
        return lookedUp.answer;
      }
    }
    metrics.count("trawl_cache_misses_total", { cache: "filings" });
    return null;
  }

  /** What is kept and still has its body, which a store that lost it may find again at the upstream. */
  function stored(address: SourceAddress, digest: string): Promise<CachedDocument | null> {
    const underWay = lookups.get(digest);
    if (underWay) return underWay;
    const lookingUp = (async () => {
      const cached = asCachedDocument((await documents.get(FILING_DOCUMENTS, digest))?.value);
      if (cached?.answer.kind !== "got" || (await blobs.head(cached.answer.sha256))) return cached;
      await discard(address, cached.answer.sha256);
      return null;
    })().finally(() => lookups.delete(digest));
    lookups.set(digest, lookingUp);
    return lookingUp;
  }

  async function discard(address: SourceAddress, sha256: string): Promise<void> {
    const digest = digestOf(hosts.urlOf(address));
    const document = await documents.get(FILING_DOCUMENTS, digest);
    const cached = asCachedDocument(document?.value);
    if (!document || (cached?.answer.kind === "got" && cached.answer.sha256 !== sha256)) return;
    await documents.remove(FILING_DOCUMENTS, digest, document.version);
  }
}

const failed = (error: string, message: string): SourceAnswer => ({
  kind: "failed",
  error,
  message,
  retry_after_s: null,
  status: null,
  redirects: [],
  requests: 0,
});
