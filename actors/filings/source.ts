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
import type { Say } from "../../cluster/actor.ts";
import type { Bodies } from "../../cluster/ports/blobs.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { Meters } from "../../cluster/ports/meters.ts";
import type { Random } from "../../cluster/ports/random.ts";
import { FilingAddress, type SourceAnswer, type SourceAsk } from "../../schemas/filing-source.ts";
import type { FilingHosts, Place } from "./upstream/hosts.ts";
import { asKept, digestOf, FILINGS, type Kept, lookAt } from "./upstream/document-cache.ts";

export interface FilingSource {
  readonly get: (ask: SourceAsk) => Promise<SourceAnswer>;
  /** Forgets what is stored for this address when it is still these bytes: they turned out to be wrong. */
  readonly discard: (ask: Pick<SourceAsk, "host" | "path">, sha256: string) => Promise<void>;
}

export interface SourceNeeds {
  readonly documents: Documents;
  readonly bodies: Bodies;
  readonly ask: Say;
  readonly clock: Clock;
  readonly random: Random;
  readonly meters: Meters;
  readonly hosts: FilingHosts;
  /** Whose limiter this node asks. */
  readonly egress: string;
  /** False: no operator is declared, so nothing is asked. */
  readonly isConfigured: boolean;
}

/** The address answers at its deadline; a little longer, and its node is gone. */
const GRACE_MS = 3_000;
const AGAIN_MS = 250;

export function filingSource(needs: SourceNeeds): FilingSource {
  const { documents, bodies, ask: say, clock, random, meters, hosts, egress, isConfigured } = needs;
  /** Many who want the same at once look once. */
  const looking = new Map<string, Promise<Kept | null>>();

  return {
    async get(ask) {
      if (!isConfigured)
        return failed(
          "filings_not_configured",
          "The filing system is not set up: the operator has to declare who asks",
        );
      const digest = digestOf(hosts.urlOf(ask));
      const ask_id = `${Math.floor(random.next() * 2 ** 48).toString(36)}.${clock.now()}`;
      for (;;) {
        const kept = await look(ask, digest);
        if (kept) return kept;
        const left_ms = ask.deadline_ms - clock.now();
        if (left_ms <= 0) return failed("timeout", "The time had run out before anything was asked for");
        try {
          const patience = { wait_ms: left_ms + GRACE_MS, id: ask_id };
          return await say(FilingAddress, `${egress} ${digest}`, "get", { ...ask, ask_id }, patience);
        } catch (problem) {
          // Whoever had it in hand is gone, or too many want it: it is looked whether it is kept by then, and asked again.
          if (!(problem instanceof Fault) || clock.now() + AGAIN_MS >= ask.deadline_ms) throw problem;
          const { promise, resolve } = Promise.withResolvers<void>();
          clock.at(clock.now() + AGAIN_MS, resolve);
          await promise;
        }
      }
    },

    discard,
  };

  async function look(ask: SourceAsk, digest: string): Promise<SourceAnswer | null> {
    if (ask.cache_ttl_s !== 0) {
      const found = lookAt(await stored(ask, digest), ask, clock.now());
      if (found.kind === "hit") {
        meters.count("trawl_cache_hits_total", { cache: "filings" });
        return found.answer;
      }
    }
    meters.count("trawl_cache_misses_total", { cache: "filings" });
    return null;
  }

  /** What is kept and still has its body, which a store that lost it may find again at the upstream. */
  function stored(place: Place, digest: string): Promise<Kept | null> {
    const under_way = looking.get(digest);
    if (under_way) return under_way;
    const looked = (async () => {
      const kept = asKept((await documents.get(FILINGS, digest))?.value);
      if (kept?.answer.kind !== "got" || (await bodies.head(kept.answer.sha256))) return kept;
      await discard(place, kept.answer.sha256);
      return null;
    })().finally(() => looking.delete(digest));
    looking.set(digest, looked);
    return looked;
  }

  async function discard(place: Place, sha256: string): Promise<void> {
    const digest = digestOf(hosts.urlOf(place));
    const found = await documents.get(FILINGS, digest);
    const kept = asKept(found?.value);
    if (!found || (kept?.answer.kind === "got" && kept.answer.sha256 !== sha256)) return;
    await documents.remove(FILINGS, digest, found.version);
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
