/** The jobs feature: batch jobs over the item kinds of the features before it. open.ts assembles it. */
import { feature } from "../../../node/feature.ts";

export const jobsFeature = feature({
  name: "jobs",
  settings: {},
  collections: {
    expiring: ["project_jobs"],
    rebuildable: [],
    async sealed() {
      const { sealedInputs, sealedJobs } = await import("../sealed.ts");
      return { job: sealedJobs, job_items: sealedInputs };
    },
  },
  async open(context) {
    const { openJobs } = await import("./open.ts");
    return openJobs(context);
  },
});
