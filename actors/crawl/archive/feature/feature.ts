/** The archive feature: exchanges that were kept, as files. open.ts assembles it. */
import { feature } from "../../../../node/feature.ts";
import { JobsOfProjects } from "../../../work/jobs/feature/tokens.ts";
import { IndexOfPages } from "../../../sources/search/feature/tokens.ts";
import * as collections from "../collections.ts";
import { SETTINGS, signingProblem } from "./settings.ts";

export const archiveFeature = feature({
  name: "archive",
  settings: SETTINGS,
  problem: signingProblem,
  collections: Object.values(collections),
  needs: { jobs: JobsOfProjects, index: IndexOfPages },
  provides: {},
  async open(node, { wacz }) {
    const { openArchive } = await import("./open.ts");
    return openArchive(node, wacz);
  },
});
