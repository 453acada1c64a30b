/**
 * The upstream of the filing system as every node knows it: its hosts, the rules that keep all other requests from them,
 * and the source, which asks the address actors. The actors themselves are upstream-actors.ts.
 */
import { denyHosts } from "../../upstream/slot-egress.ts";
import { type FilingHosts, filingHosts } from "../upstream/hosts.ts";
import { type FilingSource, filingSource } from "../source.ts";
import type { Destination } from "../../lib/web/destination.ts";
import type { Egress } from "../../../cluster/ports/egress.ts";
import type { FeatureContext } from "../../../node/feature.ts";
import type { FilingsSettings } from "./settings.ts";

export interface FilingsUpstream {
  readonly hosts: FilingHosts;
  readonly source: FilingSource;
  /** The same egress, on which the filing system's hosts do not exist. */
  readonly denyFilingHosts: (egress: Egress) => Egress;
  /** The same rule without the filing system's hosts, for parts with sockets of their own. */
  readonly denyFilingDestinations: (rule: Destination) => Destination;
}

export function filingsUpstream(
  context: Pick<FeatureContext, "clock" | "random" | "documents" | "blobs" | "metrics" | "ask">,
  settings: FilingsSettings,
): FilingsUpstream {
  const { clock, random, documents, blobs, metrics, ask } = context;
  const { identity, data_url, www_url, search_url, egress } = settings;
  const hosts = filingHosts({ data: data_url, www: www_url, search: search_url });
  const isConfigured = identity !== undefined;
  return {
    hosts,
    source: filingSource({ clock, random, documents, blobs, metrics, ask, hosts, egress, isConfigured }),
    denyFilingHosts: (other) => denyHosts(other, { owns: hosts.owns, name: "the filing system" }),
    denyFilingDestinations: (destination) => ({
      ...destination,
      url: (url, networks) => (hosts.owns(url) ? "blocked_destination" : destination.url(url, networks)),
    }),
  };
}
