/**
 * Assembles the filing system: its hosts, which are reserved on every node, its routes and batch items, which ask the
 * Filings actors, and on workers those actors with all they need.
 */
import type { FeatureContext, OpenFeature } from "../../../node/feature.ts";
import { decodeText } from "../../lib/content/decode-text.ts";
import { filingsClient } from "../client.ts";
import { filingPages } from "../fetch-bridge.ts";
import { checkFilingsItem } from "../items.ts";
import { filingsItems } from "./item-kind.ts";
import { filingsBatch, filingsRoutes } from "./routes.ts";
import type { FilingsSettings } from "./settings.ts";
import { filingsStatus } from "./status.ts";
import { filingsUpstream } from "./upstream.ts";

export async function openFilings(context: FeatureContext, settings: FilingsSettings): Promise<OpenFeature> {
  const { config, clock, blobs, metrics, log, ask, bodyGrants } = context;
  const upstream = filingsUpstream(context, settings);
  const { hosts, source, denyFilingHosts, denyFilingDestinations } = upstream;
  const isConfigured = settings.identity !== undefined;
  const status = filingsStatus(clock, isConfigured ? settings.requests_per_second : null);
  const isWorker = config.cluster.roles.includes("worker");
  const worker = isWorker
    ? (await import("./open-worker.ts")).openFilingsWorker(context, settings, upstream, status)
    : null;
  const filings = status.counted(filingsClient({ ask, clock, isConfigured }));
  const rendering = { decode: decodeText, blobs };

  return {
    status: status.part,
    actors: worker?.actors ?? [],
    routes: filingsRoutes({ ...rendering, filings, bodyGrants, clock, metrics, log }),
    item_kinds: [
      filingsItems({ filings, blobs, bodyGrants, clock }, filingsBatch(rendering, checkFilingsItem)),
    ],
    reserved_hosts: {
      pages: filingPages({ source, hosts, blobs, clock }),
      denyEgress: denyFilingHosts,
      denyDestination: denyFilingDestinations,
    },
    ...(isConfigured && { readFilingDocument: source.get }),
    close: async () => worker?.close(),
  };
}
