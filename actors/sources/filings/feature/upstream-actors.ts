/** The actors that request documents of the filing system: the limiter, and the address actors with an egress of their own. */
import type { Actor } from "../../../../cluster/actor.ts";
import type { OpeningNode } from "../../../../node/feature.ts";
import type { NodeConfig } from "../../../../node/node-settings.ts";
import { FilingAddress } from "../../../../schemas/filing-source.ts";
import { addressActor } from "../../upstream/address.actor.ts";
import { sendWithSlot } from "../../upstream/slot-egress.ts";
import { documentFetcher } from "../upstream/fetch-document.ts";
import type { FilingHosts } from "../upstream/hosts.ts";
import { type FilingLimiterDeps, filingLimiterActor } from "../upstream/limiter.ts";
import type { FilingsSettings } from "./settings.ts";

export type UpstreamActorsDeps = Pick<FilingLimiterDeps, "onSlotWait" | "onPauseLevel"> &
  Pick<OpeningNode, "clock" | "documents" | "blobs" | "metrics" | "log" | "egress"> & {
    readonly config: Pick<NodeConfig, "crawler">;
    readonly hosts: FilingHosts;
  };

/** `egress`: the filing system's own, which asks nothing without a slot. */
export function upstreamActors(
  { config, clock, documents, blobs, metrics, log, hosts, egress, ...events }: UpstreamActorsDeps,
  { identity, egress: egress_name, requests_per_second }: FilingsSettings,
): readonly Actor[] {
  const common = { clock, documents, blobs, metrics, log, hosts, egress: egress_name };
  return [
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
        send: sendWithSlot(egress, clock),
        identity: identity ?? "not configured",
        crawler_name: config.crawler.name,
      }),
    ),
  ];
}
