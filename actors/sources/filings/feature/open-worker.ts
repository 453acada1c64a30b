/**
 * The work of workers for the filing system: request its documents, read them and run the operations. A node that is no
 * worker does not load this file.
 */
import type { Actor } from "../../../../cluster/actor.ts";
import type { JoinedNode, OpeningNode } from "../../../../node/feature.ts";
import { filingsActor } from "../filings.actor.ts";
import type { Register } from "../register.ts";
import { filingsService } from "../service.ts";
import { filingTextActor } from "../text.actor.ts";
import type { FilingsSettings } from "./settings.ts";
import type { FilingsStatus } from "./status.ts";
import { upstreamActors } from "./upstream-actors.ts";
import type { FilingsUpstream } from "./upstream.ts";

export interface FilingsWorker {
  readonly actors: (
    node: JoinedNode,
    upstream: FilingsUpstream,
    given: {
      readonly findCompany: Register;
      readonly status: Pick<FilingsStatus, "onSlotWait" | "onPauseLevel">;
    },
  ) => readonly Actor[];
  readonly close: () => Promise<void>;
}

/** No reader runs while nothing is asked: a filing system that is off costs no memory. */
const DOCUMENT_POOL = { heap_mb: 512, max_rss_mb: 1_536, cpu_ms: 30_000, idle_ms: 60_000 };
/** It keeps its directories of filers; they are built again when it has been idle. */
const FILERS_POOL = { ...DOCUMENT_POOL, size: 1, idle_ms: 600_000, max_tasks: Infinity };

export function openFilingsWorker(node: OpeningNode, settings: FilingsSettings): FilingsWorker {
  const readers = node.openReaders({
    tasks: new URL("../adapters/reader-tasks.ts", import.meta.url),
    pools: { document: DOCUMENT_POOL, filers: FILERS_POOL },
  });
  // A pool of its own, so that an open connection is ready when a slot begins. HTTP/1.1, because connections over
  // HTTP/2 were reset.
  const egress = node.openEgress({ judge: node.destination, http2: false });
  return {
    actors(joined, { hosts, source }, { findCompany, status: { onSlotWait, onPauseLevel } }) {
      const { clock, documents, blobs, metrics, log, ask, extract, memory, caches } = joined;
      const service = filingsService({
        source: settings.identity === undefined ? null : source,
        register: findCompany,
        ask,
        blobs,
        documents,
        clock,
        log,
        memory,
        caches,
        readers,
        www_url: settings.www_url.replace(/(?<!\/)\/+$/, ""),
      });
      return [
        ...upstreamActors({ ...joined, egress, hosts, onSlotWait, onPauseLevel }, settings),
        filingTextActor({ clock, documents, blobs, memory, metrics, log, extract }),
        filingsActor({ service, documents, blobs, clock, log }),
      ];
    },
    async close() {
      await readers.close();
      await egress.close();
    },
  };
}
