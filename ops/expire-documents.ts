/**
 * Removes expired documents, some each minute. All nodes may run it at the same time. collect-bodies.ts removes bodies.
 */
import type { Node } from "../cluster/node-record.ts";
import { everyMinute } from "./every-minute.ts";

/** Documents per command, so that the store is not blocked for long. */
const BATCH = 500;
/** Maximum number of commands per collection and minute; a larger backlog takes several minutes. */
const MAX_ROUNDS = 20;

export const expireDocuments = ({
  documents,
  clock,
  log,
  collections,
}: Pick<Node, "documents" | "clock" | "log"> & {
  readonly collections: readonly string[];
}): Disposable =>
  everyMinute({ clock, log, what: "Cannot remove expired documents" }, async (isStopped) => {
    for (const collection of collections) {
      for (let round = 0; round < MAX_ROUNDS && !isStopped(); round++) {
        if ((await documents.removeExpired(collection, clock.now(), BATCH)) < BATCH) break;
      }
    }
  });
