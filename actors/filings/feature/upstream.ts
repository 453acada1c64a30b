/**
 * Assembles the upstream of the filing system: its limiter, its address actors with an egress of their own, and the
 * rules that keep all other requests from its hosts.
 */
import { addressActor } from "../../upstream/address.actor.ts";
import { denyHosts, sendWithSlot } from "../../upstream/slot-egress.ts";
import { type FilingHosts, filingHosts } from "../upstream/hosts.ts";
import { documentFetcher } from "../upstream/fetch-document.ts";
import { filingLimiterActor } from "../upstream/limiter.ts";
import { FilingAddress } from "../../../schemas/filing-source.ts";
import { type FilingSource, filingSource } from "../source.ts";
import type { Destination } from "../../lib/web/destination.ts";
import type { Actor, ActorClient } from "../../../cluster/actor.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { Egress } from "../../../cluster/ports/egress.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { Random } from "../../../cluster/ports/random.ts";
import type { FeatureContext } from "../../../ops/feature.ts";
import type { NodeConfig } from "../../../ops/node-settings.ts";
import type { FilingsSettings } from "./settings.ts";

interface FilingsUpstreamDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly rule: Destination;
  readonly openEgress: FeatureContext["openEgress"];
}

export interface FilingsUpstream {
  readonly hosts: FilingHosts;
  readonly actors: readonly Actor[];
  /** The same egress, on which the filing system's hosts do not exist. */
  readonly denyFilingHosts: (egress: Egress) => Egress;
  /** The same rule without the filing system's hosts, for parts with sockets of their own. */
  readonly denyFilingDestinations: (rule: Destination) => Destination;
  readonly source: (ask: ActorClient) => FilingSource;
  readonly close: () => Promise<void>;
}

export function openFilingsUpstream(
  config: NodeConfig,
  settings: FilingsSettings,
  deps: FilingsUpstreamDeps,
): FilingsUpstream {
  const { clock, documents, blobs, metrics, log, rule } = deps;
  const { identity, data_url, www_url, search_url, requests_per_second, egress } = settings;
  const hosts = filingHosts({ data: data_url, www: www_url, search: search_url });
  // A pool of its own, so that an open connection is ready when a slot begins. HTTP/1.1, because connections over
  // HTTP/2 were reset.
  const filingsEgress = deps.openEgress({ judge: rule, http2: false });
  const common = { clock, documents, blobs, metrics, log, hosts, egress };
  const { name: crawler_name } = config.crawler;

  return {
    hosts,
    actors: [
      filingLimiterActor({ documents, clock, metrics, log, requests_per_second }),
      addressActor(
        FilingAddress,
        documentFetcher({
          ...common,
          send: sendWithSlot(filingsEgress, clock),
          identity: identity ?? "not configured",
          crawler_name,
        }),
      ),
    ],
    denyFilingHosts: (other) => denyHosts(other, { owns: hosts.owns, name: "the filing system" }),
    denyFilingDestinations: (destination) => ({
      ...destination,
      url: (url) => (hosts.owns(url) ? "blocked_destination" : destination.url(url)),
    }),
    source: (ask) =>
      filingSource({ ...common, ask, random: deps.random, isConfigured: identity !== undefined }),
    close: () => filingsEgress.close(),
  };
}
