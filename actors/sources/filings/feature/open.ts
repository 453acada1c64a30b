/**
 * Assembles the filing system: its routes and batch items, which ask the Filings actors, and on workers those actors with
 * all they need.
 */
import type { JoinedFeature, JoinedNode, OpenFeature, OpeningNode } from "../../../../node/feature.ts";
import type { PageReader } from "../../../crawl/fetch/reserved-hosts.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import { decodeText } from "../../../reading/content/decode-text.ts";
import type { StatusPart } from "../../../business/status/feature/tokens.ts";
import { filingsClient } from "../client.ts";
import { filingPages } from "../fetch-bridge.ts";
import { checkFilingsItem } from "../items.ts";
import type { Register } from "../register.ts";
import { filingsItems } from "./item-kind.ts";
import type { FilingsWorker } from "./open-worker.ts";
import { FILING_OWNER } from "./owner.ts";
import { filingsBatch, filingsRoutes } from "./routes.ts";
import type { FilingsSettings } from "./settings.ts";
import { filingsStatus } from "./status.ts";
import type { ReadFilingDocument } from "./tokens.ts";
import { filingsUpstream } from "./upstream.ts";

interface FilingsNeed {
  readonly findCompany: Register;
}

interface FilingsProvide {
  readonly documents: ReadFilingDocument | null;
  readonly readers: readonly { readonly owner: string; readonly reader: PageReader }[];
  readonly kinds: readonly ItemKindParts[];
  readonly status: readonly StatusPart[];
}

export async function openFilings(
  node: OpeningNode,
  settings: FilingsSettings,
): Promise<OpenFeature<FilingsNeed, FilingsProvide>> {
  const worker = node.topology.isWorker
    ? (await import("./open-worker.ts")).openFilingsWorker(node, settings)
    : null;
  return {
    join: (joined, given) => joinFilings(joined, settings, given, worker),
    close: async () => worker?.close(),
  };
}

function joinFilings(
  node: JoinedNode,
  settings: FilingsSettings,
  { findCompany }: FilingsNeed,
  worker: FilingsWorker | null,
): JoinedFeature<FilingsProvide> {
  const { clock, blobs, metrics, log, ask, bodyGrants } = node;
  const { hosts, source } = filingsUpstream(node, settings);
  const isConfigured = settings.identity !== undefined;
  const status = filingsStatus(clock, isConfigured ? settings.requests_per_second : null);
  const filings = status.counted(filingsClient({ ask, clock, isConfigured }));
  const rendering = { decode: decodeText, blobs };

  return {
    provides: {
      documents: isConfigured ? source.get : null,
      readers: [{ owner: FILING_OWNER, reader: filingPages({ source, hosts, blobs, clock }) }],
      kinds: [filingsItems({ filings, blobs, bodyGrants, clock }, filingsBatch(rendering, checkFilingsItem))],
      status: [status.part],
    },
    actors: worker?.actors(node, { hosts, source }, { findCompany, status }) ?? [],
    routes: filingsRoutes({ ...rendering, filings, bodyGrants, clock, metrics, log }),
  };
}
