/** Assembles batch jobs: their actors, and a route for every item kind of the features that are open. */
import { batchRoute, csvBatchRoute } from "../../../gateway/batch.ts";
import type { FeatureContext, OpenFeature } from "../../../node/feature.ts";
import { Job } from "../../../schemas/jobs.ts";
import { jobActor } from "../actor.ts";
import { jobRecorder } from "../figures.ts";
import { schedulerActor } from "../scheduler.actor.ts";
import { jobRoutes } from "./routes.ts";
import { jobBoard } from "../job-board.ts";
import { jobsStatus } from "./status.ts";

export function openJobs(context: FeatureContext): OpenFeature {
  const {
    documents,
    clock,
    random,
    metrics,
    log,
    tracing,
    egress,
    ask,
    ownsKey,
    opened,
    findPayer,
    secrets,
  } = context;
  const kinds = opened.flatMap(({ item_kinds = [] }) => item_kinds);
  const recorder = jobRecorder();
  const deps = { documents, ask, clock, random, log, secrets };
  const board = jobBoard(clock, (job_id) => ownsKey(Job, job_id));
  return {
    actors: [
      jobActor({
        documents,
        clock,
        random,
        metrics,
        log,
        tracing,
        egress,
        networksOf: context.networksOf,
        secrets,
        board,
        findPayer,
        spentBy: context.spending.spentBy,
        charges: context.spending,
        onTurn: recorder.onTurn,
        kinds: kinds.map(({ worker }) => worker),
      }),
      schedulerActor(),
    ],
    routes: [
      ...kinds.map(({ gateway, route }) => batchRoute(deps, gateway, route)),
      ...kinds.flatMap(({ gateway, csv }) => (csv ? csvBatchRoute(deps, gateway, csv.upload) : [])),
      ...jobRoutes({
        ...deps,
        kinds: kinds.map(({ gateway }) => gateway),
        csv_results: kinds.flatMap(({ gateway, csv }) => (csv ? { kind: gateway, names: csv.results } : [])),
      }),
    ],
    status: jobsStatus(board, metrics),
    node_figures: () => ({ jobs: recorder.list(clock.now()) }),
  };
}
