/**
 * What workers do for the filing system: request its documents, read them and run the operations. A node that is no
 * worker does not load this file.
 */
import type { Actor } from "../../../cluster/actor.ts";
import type { FeatureContext } from "../../../node/feature.ts";
import { filingsActor } from "../filings.actor.ts";
import { noRegister } from "../register.ts";
import { filingsService } from "../service.ts";
import { filingTextActor } from "../text.actor.ts";
import type { FilingsSettings } from "./settings.ts";
import type { FilingsStatus } from "./status.ts";
import { upstreamActors } from "./upstream-actors.ts";
import type { FilingsUpstream } from "./upstream.ts";

interface FilingsWorker {
  readonly actors: readonly Actor[];
  readonly close: () => Promise<void>;
}

/** No reader runs while nothing is asked: a filing system that is off costs no memory. */
const DOCUMENT_POOL = { heap_mb: 512, max_rss_mb: 1_536, cpu_ms: 30_000, idle_ms: 60_000 };
/** It keeps its directories of filers; they are built again when it has been idle. */
const FILERS_POOL = { ...DOCUMENT_POOL, size: 1, idle_ms: 600_000, max_tasks: Infinity };

export function openFilingsWorker(
  context: FeatureContext,
  settings: FilingsSettings,
  { hosts, source }: FilingsUpstream,
  { onSlotWait, onPauseLevel }: Pick<FilingsStatus, "onSlotWait" | "onPauseLevel">,
): FilingsWorker {
  const { clock, documents, blobs, metrics, log, ask, extract, memory, caches } = context;
  const requesting = upstreamActors({ ...context, hosts, onSlotWait, onPauseLevel }, settings);
  const readers = context.openReaders({
    tasks: new URL("../adapters/reader-tasks.ts", import.meta.url),
    pools: { document: DOCUMENT_POOL, filers: FILERS_POOL },
  });
  const service = filingsService({
    source: settings.identity === undefined ? null : source,
    // The register is opened after this feature, so it is looked for when it is needed.
    register: (question) =>
      (context.opened.find(({ findCompany }) => findCompany)?.findCompany ?? noRegister)(question),
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
  return {
    actors: [
      ...requesting.actors,
      filingTextActor({ clock, documents, blobs, memory, metrics, log, extract }),
      filingsActor({ service, documents, blobs, clock, log }),
    ],
    async close() {
      await readers.close();
      await requesting.close();
    },
  };
}
