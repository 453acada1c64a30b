/** The jobs feature: batch jobs over the item kinds of all features. open.ts assembles it. */
import { feature } from "../../../../node/feature.ts";
import * as collections from "../collections.ts";
import { JOB_ITEMS } from "../../../../records/collections.ts";
import { JOB_WEBHOOKS, sealedJobWebhooks } from "../webhook/stored-webhook.ts";
import { Payers, Spend } from "../../../business/accounts/feature/tokens.ts";
import { StatusParts } from "../../../business/status/feature/tokens.ts";
import { ItemKinds, JobsOfProjects, Visits } from "./tokens.ts";

export const jobsFeature = feature({
  name: "jobs",
  settings: {},
  collections: [...Object.values(collections), JOB_WEBHOOKS],
  async sealed() {
    const { sealedInputs, sealedJobs } = await import("../sealed.ts");
    return {
      [collections.JOBS.name]: sealedJobs,
      [JOB_ITEMS.name]: sealedInputs,
      [JOB_WEBHOOKS.name]: sealedJobWebhooks,
    };
  },
  needs: { kinds: ItemKinds, payers: Payers, spending: Spend },
  provides: { jobs: JobsOfProjects, status: StatusParts, visits: Visits },
  async open() {
    const { openJobs } = await import("./open.ts");
    return { join: openJobs };
  },
});
