/** The actors that request documents of the filing system: the limiter, and the address actors with an egress of their own. */
import type { Actor } from "../../../cluster/actor.ts";
import type { FeatureContext } from "../../../node/feature.ts";
import type { NodeConfig } from "../../../node/node-settings.ts";
import { FilingAddress } from "../../../schemas/filing-source.ts";
import { addressActor } from "../../upstream/address.actor.ts";
import { sendWithSlot } from "../../upstream/slot-egress.ts";
import { documentFetcher } from "../upstream/fetch-document.ts";
import type { FilingHosts } from "../upstream/hosts.ts";
import { type FilingLimiterDeps, filingLimiterActor } from "../upstream/limiter.ts";
import type { FilingsSettings } from "./settings.ts";

export type UpstreamActorsDeps = Pick<FilingLimiterDeps, "onSlotWait" | "onPauseLevel"> &
  Pick<FeatureContext, "clock" | "documents" | "blobs" | "metrics" | "log" | "openEgress" | "destination"> & {
    readonly config: Pick<NodeConfig, "crawler">;
    readonly hosts: FilingHosts;
  };

export function upstreamActors(
  {
    config,
    clock,
    documents,
    blobs,
    metrics,
    log,
    hosts,
    openEgress,
    destination,
    ...events
  }: UpstreamActorsDeps,
  { identity, egress, requests_per_second }: FilingsSettings,
): { readonly actors: readonly Actor[]; readonly close: () => Promise<void> } {
  // A pool of its own, so that an open connection is ready when a slot begins. HTTP/1.1, because connections over
  // HTTP/2 were reset.
  const filingsEgress = openEgress({ judge: destination, http2: false });
  const common = { clock, documents, blobs, metrics, log, hosts, egress };
  return {
    actors: [
      filingLimiterActor({
        documents,
        clock,
        metrics,
        log,
        requests_per_second,
        ...(events.onSlotWait && { onSlotWait: events.onSlotWait }),
        ...(events.onPauseLevel && { onPauseLevel: events.onPauseLevel }),
      }),
      addressActor(
        FilingAddress,
        documentFetcher({
          ...common,
          send: sendWithSlot(filingsEgress, clock),
          identity: identity ?? "not configured",
          crawler_name: config.crawler.name,
        }),
      ),
    ],
    close: () => filingsEgress.close(),
  };
}
