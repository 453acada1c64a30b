/**
 * Removes what has expired from the document store, a little every minute. Every node may do it: what another has
 * removed is gone. Bodies are the sweeper's business.
 */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { everyMinute } from "./every-minute.ts";
import type { Log } from "../cluster/ports/log.ts";

interface ExpireDocumentsDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly log: Log;
  readonly collections: readonly string[];
}

/** Of one collection at a time; a store is held up by no more than this. */
const BATCH = 500;
/** Rounds of one minute; a backlog larger than this is worked off over several. */
const MAX_ROUNDS = 20;

export const expireDocuments = ({ documents, clock, log, collections }: ExpireDocumentsDeps): Disposable =>
  everyMinute({ clock, log, what: "Cannot remove what has expired" }, async (isStopped) => {
    for (const collection of collections) {
      for (let round = 0; round < MAX_ROUNDS && !isStopped(); round++) {
        if ((await documents.removeExpired(collection, clock.now(), BATCH)) < BATCH) break;
      }
    }
  });
