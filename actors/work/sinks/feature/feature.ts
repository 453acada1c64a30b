/** The sinks feature: results of jobs that are pushed to buckets and webhooks. open.ts assembles it. */
import { feature } from "../../../../node/feature.ts";
import { JobsOfProjects } from "../../jobs/feature/tokens.ts";
import { sealedSinks, SINKS } from "../stored-sink.ts";

export const sinksFeature = feature({
  name: "sinks",
  settings: {},
  collections: [SINKS],
  sealed: async () => ({ [SINKS.name]: sealedSinks }),
  needs: { jobs: JobsOfProjects },
  provides: {},
  async open() {
    const { openSinks } = await import("./open.ts");
    return { join: openSinks };
  },
});
