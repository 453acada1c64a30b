/**
 * The filing system's part of the assembly: its limiter, its upstream with a way out of its own, and the fence that
 * keeps everybody else from its hosts. compose.ts puts it into the cluster and the gateway; what is asked and what it
 * means is the business of whoever is given the source.
 */
import { filingAddressActor } from "../actors/filings/upstream/address.actor.ts";
import { sendWithSlot, denyFilingHosts } from "../actors/filings/upstream/slot-egress.ts";
import { type FilingHosts, filingHosts } from "../actors/filings/upstream/hosts.ts";
import { documentFetcher } from "../actors/filings/upstream/fetch-document.ts";
import { filingLimiterActor } from "../actors/filings/upstream/limiter.actor.ts";
import { type FilingSource, filingSource } from "../actors/filings/source.ts";
import type { Destination } from "../actors/lib/web/destination.ts";
import type { Actor, ActorClient } from "../cluster/actor.ts";
import { undiciEgress } from "../cluster/adapters/egress/egress.undici.ts";
import type { Blobs } from "../cluster/ports/blobs.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Egress } from "../cluster/ports/egress.ts";
import type { Random } from "../cluster/ports/random.ts";
import type { Config } from "./config.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Log } from "../cluster/ports/log.ts";

interface FilingsUpstreamDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly rule: Destination;
}

export interface FilingsUpstream {
  readonly hosts: FilingHosts;
  readonly actors: readonly Actor[];
  /** The same way out with the filing system's hosts left out. */
  readonly denyFilingHosts: (egress: Egress) => Egress;
  /** For what brings its own sockets: the same rule, and none of its hosts. */
  readonly denyFilingDestinations: (rule: Destination) => Destination;
  readonly source: (ask: ActorClient) => FilingSource;
  readonly close: () => Promise<void>;
}

export function openFilingsUpstream(config: Config, deps: FilingsUpstreamDeps): FilingsUpstream {
  const { clock, documents, blobs, metrics, log, rule } = deps;
  const { identity, data_url, www_url, search_url, requests_per_second, egress } = config.filings;
  const hosts = filingHosts({ data: data_url, www: www_url, search: search_url });
  // HTTP/1.1 and a pool of its own: others were reset over HTTP/2, and a kept connection saves a slot its time.
  const filingsEgress = undiciEgress({ judge: rule, dns_servers: config.egress.dns_servers, http2: false });
  const common = { clock, documents, blobs, metrics, log, hosts, egress };
  const { name: crawler_name } = config.crawler;

  return {
    hosts,
    actors: [
      filingLimiterActor({ documents, clock, metrics, log, requests_per_second }),
      filingAddressActor(
        documentFetcher({
          ...common,
          send: sendWithSlot(filingsEgress, clock),
          identity: identity ?? "not configured",
          crawler_name,
        }),
      ),
    ],
    denyFilingHosts: (other) => denyFilingHosts(other, hosts),
    denyFilingDestinations: (other) => ({
      ...other,
      url: (url) => (hosts.owns(url) ? "blocked_destination" : other.url(url)),
    }),
    source: (ask) =>
      filingSource({ ...common, ask, random: deps.random, isConfigured: identity !== undefined }),
    close: () => filingsEgress.close(),
  };
}
