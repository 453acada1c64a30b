/** The archive feature: exchanges that were kept, as files. open.ts assembles it. */
import { feature } from "../../../../node/feature.ts";
import { JobsOfProjects } from "../../../work/jobs/feature/tokens.ts";
import { IndexOfPages } from "../../../sources/search/feature/tokens.ts";
import * as collections from "../collections.ts";

export const archiveFeature = feature({
  name: "archive",
  settings: {},
  collections: Object.values(collections),
  needs: { jobs: JobsOfProjects, index: IndexOfPages },
  provides: {},
  async open() {
    const { openArchive } = await import("./open.ts");
    return { join: openArchive };
  },
});
