/**
 * What workers do for profiles: request the site's pages and read them. A node that is no worker does not load this
 * file.
 */
import type { Actor } from "../../../cluster/actor.ts";
import type { FeatureContext } from "../../../node/feature.ts";
import { type PremiumTier } from "../../../schemas/tier-table.ts";
import { admit } from "../../fetch/admission.ts";
import type { PremiumCosts } from "../../fetch/premium.ts";
import type { Transport } from "../../lib/web/transport.ts";
import { siteOf } from "../../lib/web/url.ts";
import { profilePageActor } from "../page.actor.ts";
import type { Provider } from "../provider.ts";
import type { PageReading } from "../read-page.ts";
import { profileRoutesActor } from "../routes.actor.ts";
import { siteRequests } from "../site-request.ts";

interface ProfilesWorker {
  readonly actors: readonly Actor[];
  readonly close: () => Promise<void>;
}

/** No reader runs while nothing is asked. */
const READER_POOL = { heap_mb: 256, max_rss_mb: 768, cpu_ms: 10_000, idle_ms: 60_000 };

export function openProfilesWorker(
  context: FeatureContext,
  {
    provider,
    routes,
  }: {
    readonly provider: Provider;
    readonly routes: Readonly<Partial<Record<PremiumTier, Transport>>>;
  },
): ProfilesWorker {
  const { clock, documents, blobs, metrics, log, joined, onRequestSent } = context;
  const readers = context.openReaders({
    tasks: new URL("../adapters/reader-tasks.ts", import.meta.url),
    pools: { profile: READER_POOL },
  });
  // The feature that has them is opened after this one.
  const costs = (): PremiumCosts => context.opened.find(({ premium_costs }) => premium_costs)!.premium_costs!;
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
      reserveBudget: (run, tier) => costs().reserve(run, tier),
      settleBudget: (run, tier, result) => costs().settle(run, tier, result),
    },
    read: (order, signal) => readers.run<PageReading>("profile", order, { signal }),
    siteOf: (url) => siteOf(new URL(url).hostname, joined),
  });
  return {
    actors: [profilePageActor(siteRequest), profileRoutesActor()],
    close: () => readers.close(),
  };
}
