/**
 * Dependencies of the parts of a node. A part takes those that it needs (`Pick<Node, "clock" | "documents">`), so that a
 * test gives it no more.
 */
import type { ActorClient } from "./actor.ts";
import type { Blobs } from "./ports/blobs.ts";
import type { Clock } from "./ports/clock.ts";
import type { Documents } from "./ports/documents.ts";
import type { Log } from "./ports/log.ts";
import type { Metrics } from "./ports/metrics.ts";
import type { Random } from "./ports/random.ts";

export interface Node {
  readonly clock: Clock;
  readonly random: Random;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Asks actors, from outside of them. */
  readonly ask: ActorClient;
}
