/** The jobs feature: batch jobs over the item kinds of the features before it. open.ts assembles it. */
import { feature } from "../../../node/feature.ts";
import * as collections from "../collections.ts";
import { JOB_ITEMS } from "../../../records/collections.ts";

export const jobsFeature = feature({
  name: "jobs",
  settings: {},
  collections: Object.values(collections),
  async sealed() {
    const { sealedInputs, sealedJobs } = await import("../sealed.ts");
    return { [collections.JOBS.name]: sealedJobs, [JOB_ITEMS.name]: sealedInputs };
  },
  async open(context) {
    const { openJobs } = await import("./open.ts");
    return openJobs(context);
  },
});
