/** Assembles the downloads of archives, and imports. */
import { onlyTo } from "../../../../cluster/adapters/egress/upstream-proxy.ts";
import { bodyRefs } from "../../../../cluster/body-refs.ts";
import type { JoinedFeature, JoinedNode, OpenFeature, OpeningNode } from "../../../../node/feature.ts";
import type { PageIndex } from "../../../sources/search/feature/tokens.ts";
import type { JobFinder } from "../../../work/jobs/feature/tokens.ts";
import { archiveImportActor } from "../import/import.actor.ts";
import { archiveKeeper } from "../keep.ts";
import { anonymousSigner } from "../wacz/anonymous-signer.ts";
import type { WaczSigner } from "../wacz/signer.ts";
import { capturesRoutes } from "./captures-routes.ts";
import { archiveFiles } from "./archive-files.ts";
import { importsRoutes } from "./imports-routes.ts";
import { importedPages } from "./index-imported.ts";
import { replayRoutes } from "./replay-routes.ts";
import type { ArchiveSettings } from "./settings.ts";
import { warcRoutes } from "./warc-routes.ts";

interface ArchiveNeeds {
  readonly jobs: JobFinder;
  readonly index: PageIndex;
}

/** Throws SigningError. */
export async function openArchive(
  node: OpeningNode,
  settings: ArchiveSettings["wacz"],
): Promise<OpenFeature<ArchiveNeeds>> {
  const { signer, close } = await openSigner(node, settings);
  return { join: (joined, needs) => joinArchive(joined, needs, signer), close };
}

/** Only gateways write files. */
async function openSigner(
  { clock, secrets, topology, openEgress }: OpeningNode,
  { cert, key, timestamp_url }: ArchiveSettings["wacz"],
): Promise<{ readonly signer: WaczSigner; readonly close: () => Promise<void> }> {
  if (!topology.isGateway || cert === undefined || key === undefined || timestamp_url === undefined)
    return { signer: anonymousSigner(secrets), close: async () => {} };
  const { domainSigner } = await import("../wacz/domain-signer.ts");
  // Its address may be private: the operator named it.
  const egress = openEgress({ judge: onlyTo(new URL(timestamp_url)) });
  try {
    const signer = await domainSigner({ cert, key, timestamp_url }, { egress, clock });
    return { signer, close: () => egress.close() };
  } catch (problem) {
    await egress.close();
    throw problem;
  }
}

function joinArchive(node: JoinedNode, { jobs, index }: ArchiveNeeds, signer: WaczSigner): JoinedFeature {
  const { blobs, documents, clock, secrets, log, ask, topology } = node;
  const keeper = archiveKeeper({ blobs, documents, clock });
  const files = archiveFiles({ blobs, documents, clock, log, signer });
  const software = `Trawl ${node.version}`;
  const refs = bodyRefs(documents);
  const pages = importedPages(node, index);
  return {
    provides: {},
    actors: topology.isWorker
      ? [archiveImportActor({ blobs, documents, refs, clock, log, index: pages.add, unindex: pages.remove })]
      : [],
    routes: [
      ...warcRoutes({ documents, jobs, keeper, files, software }),
      ...capturesRoutes({ blobs, documents }),
      ...importsRoutes({ blobs, documents, refs, clock, ask, files, software }),
      ...replayRoutes({ blobs, documents, clock, secrets }),
    ],
  };
}
