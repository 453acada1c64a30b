/** Assembles the downloads of archives, and imports. */
import { bodyRefs } from "../../../../cluster/body-refs.ts";
import type { JoinedFeature, JoinedNode } from "../../../../node/feature.ts";
import type { PageIndex } from "../../../sources/search/feature/tokens.ts";
import type { JobFinder } from "../../../work/jobs/feature/tokens.ts";
import { archiveImportActor } from "../import/import.actor.ts";
import { archiveKeeper } from "../keep.ts";
import { capturesRoutes } from "./captures-routes.ts";
import { archiveFiles } from "./archive-files.ts";
import { importsRoutes } from "./imports-routes.ts";
import { importedPages } from "./index-imported.ts";
import { replayRoutes } from "./replay-routes.ts";
import { warcRoutes } from "./warc-routes.ts";

export function openArchive(
  node: JoinedNode,
  { jobs, index }: { readonly jobs: JobFinder; readonly index: PageIndex },
): JoinedFeature {
  const { blobs, documents, clock, secrets, log, ask, topology } = node;
  const keeper = archiveKeeper({ blobs, documents, clock });
  const files = archiveFiles({ blobs, documents, clock, secrets });
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
