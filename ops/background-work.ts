/** Work of a node beside its requests: gauges, expiry, removal of bodies, repair of what a crash left, memory given back. */
import { recoverPending, PENDING_TTL_MS } from "../gateway/pending-requests.ts";
import type { Actor } from "../cluster/actor.ts";
import { retryMarked } from "../cluster/dead-letters.ts";
import type { BuildInfo } from "./build-info.ts";
import type { Membership } from "./cluster.ts";
import { collectBodies } from "./collect-bodies.ts";
import { everyMinute } from "./every-minute.ts";
import { expireDocuments } from "./expire-documents.ts";
import type { Spending } from "../actors/business/accounts/spend.ts";
import type { JoinedFeature, JoinedNode } from "../node/feature.ts";
import { memoryAtRest, thisProcess } from "./memory-at-rest.ts";
import { nodeGauges } from "./node-gauges.ts";
import { scrubDocuments } from "./scrub-documents.ts";
import { REBUILDABLE } from "./stores.ts";
import type { StoreIdentity } from "./store-identity.ts";
import { EXPIRING } from "./collections.ts";

export interface BackgroundWork {
  /** Sentences on what an operator should know or do. */
  readonly warnings: () => readonly string[];
  readonly stop: () => void;
}

/** `actors` are those that this node serves. */
export function startBackgroundWork(
  build: BuildInfo,
  {
    config,
    documents,
    blobs,
    clock,
    random,
    metrics,
    log,
    ask,
    ledger,
    spending: { spentBy, settleCharge },
    identity,
    topology,
  }: JoinedNode & { readonly identity: StoreIdentity; readonly spending: Spending },
  parts: readonly JoinedFeature[],
  actors: readonly Actor[],
  { cluster, ownedPartitions }: Membership,
): BackgroundWork {
  const collection = collectBodies({ documents, blobs, identity, clock, metrics, log, random });
  const work: readonly Disposable[] = [
    collection,
    nodeGauges({
      clock,
      metrics,
      build,
      folder: config.storage.data_dir,
      stats: cluster.stats,
      ownedPartitions: () => ownedPartitions().length,
      ledger,
    }),
    memoryAtRest({ clock, ...thisProcess }),
    scrubDocuments({ documents, clock, log, metrics, rebuildable: REBUILDABLE }),
    expireDocuments({ documents, clock, log, collections: EXPIRING }),
    everyMinute({ clock, log, what: "Cannot write the rows of requests whose gateway died" }, () =>
      recoverPending(
        { documents, clock, log, spentBy, onRow: (row) => settleCharge(ask, row) },
        PENDING_TTL_MS,
      ),
    ),
    // A node without the role lacks some of the actors.
    ...(topology.isWorker
      ? [
          everyMinute({ clock, log, what: "Cannot retry dead letters" }, () =>
            retryMarked(documents, actors, ask),
          ),
        ]
      : []),
    ...parts.flatMap(({ every_minute: chore }) =>
      chore ? [everyMinute({ clock, log, what: chore.what }, chore.work)] : [],
    ),
  ];
  return {
    warnings() {
      const why = collection.stopped();
      return why === null ? [] : [why];
    },
    stop: () => work.forEach((each) => each[Symbol.dispose]()),
  };
}
