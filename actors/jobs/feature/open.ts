/** Assembles batch jobs: their actors, and a route for every item kind of the features that are open. */
import { batchRoute } from "../../../gateway/batch.ts";
import type { FeatureContext, OpenFeature } from "../../../ops/feature.ts";
import { JobCreated, JobItem, JobPage, JobStatus } from "../../../schemas/jobs.ts";
import { jobActor } from "../actor.ts";
import { schedulerActor } from "../scheduler.actor.ts";
import { jobRoutes } from "./routes.ts";

export function openJobs(context: FeatureContext): OpenFeature {
  const { documents, clock, random, metrics, log, egress, ask, opened, findPayer } = context;
  const kinds = opened.flatMap(({ item_kinds = [] }) => item_kinds);
  const deps = { documents, ask, clock, random, log };
  return {
    actors: [
      jobActor({
        documents,
        clock,
        random,
        metrics,
        log,
        egress,
        findPayer,
        kinds: kinds.map(({ worker }) => worker),
      }),
      schedulerActor(),
    ],
    routes: [
      ...kinds.map(({ gateway, route }) => batchRoute(deps, gateway, route)),
      ...jobRoutes({ ...deps, kinds: kinds.map(({ gateway }) => gateway) }),
    ],
    named_schemas: { JobCreated, JobItem, JobPage, JobStatus },
  };
}
