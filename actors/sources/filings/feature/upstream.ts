/**
 * The upstream of the filing system as every node knows it: its hosts, and the source, which asks the address actors. The
 * actors themselves are upstream-actors.ts.
 */
import type { JoinedNode } from "../../../../node/feature.ts";
import { type FilingHosts, filingHosts } from "../upstream/hosts.ts";
import { type FilingSource, filingSource } from "../source.ts";
import type { FilingsSettings } from "./settings.ts";

export interface FilingsUpstream {
  readonly hosts: FilingHosts;
  readonly source: FilingSource;
}

export function filingsUpstream(
  node: Pick<JoinedNode, "clock" | "random" | "documents" | "blobs" | "metrics" | "ask">,
  settings: FilingsSettings,
): FilingsUpstream {
  const { clock, random, documents, blobs, metrics, ask } = node;
  const { identity, data_url, www_url, search_url, egress } = settings;
  const hosts = filingHosts({ data: data_url, www: www_url, search: search_url });
  const isConfigured = identity !== undefined;
  return {
    hosts,
    source: filingSource({ clock, random, documents, blobs, metrics, ask, hosts, egress, isConfigured }),
  };
}
