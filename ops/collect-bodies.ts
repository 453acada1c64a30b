/**
 * Garbage collection of bodies: removes those without references (cluster/body-refs.ts). Each minute it looks at one
 * 256th of the digests, in turn from a random one on. All nodes may run it at the same time.
 *
 * A body that was stored less than two days ago stays, because the record that will name it may not be stored yet.
 * Storing the same bytes again updates the body's time, and removing checks the time once more.
 */
import type { Blobs } from "../cluster/ports/blobs.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Random } from "../cluster/ports/random.ts";
import {
  BODY_REF_COLLECTIONS,
  BODY_TAG_COLLECTIONS,
  isTagged,
  referencedBetween,
} from "../cluster/body-refs.ts";
import { everyMinute } from "./every-minute.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Log } from "../cluster/ports/log.ts";

interface CollectBodiesDeps {
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly random: Random;
}

const PARTS = 256;
const MIN_AGE_MS = 2 * 24 * 60 * 60_000;

const prefixOf = (part: number): string => part.toString(16).padStart(2, "0");

export function collectBodies({
  documents,
  blobs,
  clock,
  metrics,
  log,
  random,
}: CollectBodiesDeps): Disposable {
  let part = Math.floor(random.next() * PARTS);

  return everyMinute({ clock, log, what: "Cannot remove unreferenced bodies" }, async (isStopped) => {
    const prefix = prefixOf(part);
    const stored_before_ms = clock.now() - MIN_AGE_MS;
    const candidates: string[] = [];
    for await (const { sha256, stored_ms } of blobs.list(prefix))
      if (stored_ms < stored_before_ms) candidates.push(sha256);
    if (candidates.length > 0) {
      const to = part === PARTS - 1 ? "g" : prefixOf(part + 1);
      const referenced = await referencedBetween(documents, BODY_REF_COLLECTIONS, { from: prefix, to });
      for (const sha256 of candidates) {
        if (isStopped()) return;
        if (referenced.has(sha256) || (await isTagged(documents, BODY_TAG_COLLECTIONS, sha256))) continue;
        if (await blobs.remove(sha256, stored_before_ms)) metrics.count("trawl_bodies_removed_total", {});
      }
    }
    part = (part + 1) % PARTS;
  });
}
