/** Assembles the downloads of archives. */
import type { JoinedFeature, JoinedNode } from "../../../../node/feature.ts";
import type { JobFinder } from "../../../work/jobs/feature/tokens.ts";
import { archiveKeeper } from "../keep.ts";
import { capturesRoutes } from "./captures-routes.ts";
import { archiveFiles } from "./archive-files.ts";
import { replayRoutes } from "./replay-routes.ts";
import { warcRoutes } from "./warc-routes.ts";

export function openArchive(
  { blobs, documents, clock, secrets, version }: JoinedNode,
  { jobs }: { readonly jobs: JobFinder },
): JoinedFeature {
  const keeper = archiveKeeper({ blobs, documents, clock });
  const files = archiveFiles({ blobs, documents, clock, secrets });
  return {
    provides: {},
    routes: [
      ...warcRoutes({ documents, jobs, keeper, files, software: `Trawl ${version}` }),
      ...capturesRoutes({ blobs, documents }),
      ...replayRoutes({ blobs, documents, clock, secrets }),
    ],
  };
}
