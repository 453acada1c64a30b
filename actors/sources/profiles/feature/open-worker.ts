/**
 * The work of workers for profiles: request the site's pages and read them. A node that is no worker does not load this
 * file.
 */
import type { Actor } from "../../../../cluster/actor.ts";
import type { JoinedNode, OpeningNode } from "../../../../node/feature.ts";
import { type PremiumTier } from "../../../../schemas/tier-table.ts";
import { admit } from "../../../crawl/fetch/admission.ts";
import type { PremiumCosts } from "../../../crawl/fetch/premium.ts";
import type { Transport } from "../../../lib/web/transport.ts";
import { siteOf } from "../../../lib/web/url.ts";
import { profilePageActor } from "../page.actor.ts";
import type { Provider } from "../provider.ts";
import type { PageReading } from "../read-page.ts";
import { profileRoutesActor } from "../routes.actor.ts";
import { siteRequests } from "../site-request.ts";

export interface ProfilesWorker {
  readonly actors: (node: JoinedNode, given: GivenToWorker) => readonly Actor[];
  readonly close: () => Promise<void>;
}

interface GivenToWorker {
  readonly provider: Provider;
  readonly costs: PremiumCosts;
  readonly routes: Readonly<Partial<Record<PremiumTier, Transport>>>;
}

/** No reader runs while nothing is asked. */
const READER_POOL = { heap_mb: 256, max_rss_mb: 768, cpu_ms: 10_000, idle_ms: 60_000 };

export function openProfilesWorker(node: OpeningNode): ProfilesWorker {
  const readers = node.openReaders({
    tasks: new URL("../adapters/reader-tasks.ts", import.meta.url),
    pools: { profile: READER_POOL },
  });
  return {
    actors(joinedNode, { provider, costs, routes }) {
      const { clock, documents, blobs, metrics, log, joined, onRequestSent } = joinedNode;
      const admission = { clock, log, metrics, joined, ...(onRequestSent && { onRequestSent }) };
      const siteRequest = siteRequests({
        clock,
        documents,
        blobs,
        metrics,
        log,
        provider,
        routes,
        access: {
          admit: (run, url) => admit(admission, run, url),
          reserveBudget: costs.reserve,
          settleBudget: costs.settle,
        },
        read: (order, signal) => readers.run<PageReading>("profile", order, { signal }),
        siteOf: (url) => siteOf(new URL(url).hostname, joined),
      });
      return [profilePageActor(siteRequest), profileRoutesActor()];
    },
    close: () => readers.close(),
  };
}
