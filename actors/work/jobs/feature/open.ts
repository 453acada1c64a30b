/** Assembles batch jobs: their actors, and a route for every item kind. */
import { batchRoute, csvBatchRoute } from "../../../../gateway/batch.ts";
import type { JoinedFeature, JoinedNode } from "../../../../node/feature.ts";
import { Job } from "../../../../schemas/jobs.ts";
import type { FindPayer } from "../../../business/accounts/payer.ts";
import type { Spending } from "../../../business/accounts/spend.ts";
import type { StatusPart } from "../../../business/status/feature/tokens.ts";
import { jobActor } from "../actor.ts";
import { jobRecorder } from "../figures.ts";
import { schedulerActor } from "../scheduler.actor.ts";
import { jobWebhookActor } from "../webhook/webhook.actor.ts";
import { jobEvents } from "./job-events.ts";
import { jobReader } from "./job-reader.ts";
import { jobRoutes } from "./routes.ts";
import { jobWebhooks } from "./job-webhooks.ts";
import { visitJobs } from "./visits.ts";
import { jobBoard } from "../job-board.ts";
import { jobsStatus } from "./status.ts";
import type { ItemKindParts, JobFinder, VisitJobs } from "./tokens.ts";
import { itemSchema } from "./item-schema.ts";

interface JobsNeed {
  readonly kinds: readonly ItemKindParts[];
  readonly payers: FindPayer;
  readonly spending: Spending;
}

export function openJobs(
  node: JoinedNode,
  { kinds, payers, spending }: JobsNeed,
): JoinedFeature<{
  readonly jobs: JobFinder;
  readonly status: readonly StatusPart[];
  readonly visits: VisitJobs;
}> {
  const { documents, clock, random, metrics, log, tracing, egress, ask, ownsKey, secrets } = node;
  const recorder = jobRecorder();
  const deps = { documents, ask, clock, random, log, secrets };
  const gateways = kinds.map(({ gateway }) => gateway);
  const reader = jobReader({ ...deps, kinds: gateways });
  const webhooks = jobWebhooks({ ...deps, destination: node.destination });
  /** Known once the service listens. */
  let public_url = "";
  const nextEvent = jobEvents({ documents, secrets, publicUrl: () => public_url, kinds: gateways });
  const board = jobBoard(clock, (job_id) => ownsKey(Job, job_id));
  return {
    provides: {
      jobs: reader,
      status: [jobsStatus(board, metrics)],
      visits: visitJobs({
        ...deps,
        kinds: kinds.map(({ gateway }) => gateway),
        memory: node.memory,
        findPayer: payers,
      }),
    },
    actors: [
      jobActor({
        documents,
        clock,
        random,
        metrics,
        log,
        tracing,
        egress,
        networksOf: node.networksOf,
        secrets,
        board,
        findPayer: payers,
        spentBy: spending.spentBy,
        charges: spending,
        onTurn: recorder.onTurn,
        kinds: kinds.map(({ worker }) => worker),
      }),
      schedulerActor(),
      jobWebhookActor({ ...node, random: () => random.next(), nextEvent }),
    ],
    routes: [
      ...kinds.flatMap(({ gateway, route }) =>
        route ? batchRoute(deps, gateway, route, gateway.webhook && webhooks) : [],
      ),
      ...kinds.flatMap(({ gateway, csv }) => (csv ? csvBatchRoute(deps, gateway, csv.upload) : [])),
      ...jobRoutes({
        ...deps,
        kinds: gateways,
        csv_results: kinds.flatMap(({ gateway, csv }) => (csv ? { kind: gateway, names: csv.results } : [])),
      }),
      ...kinds.flatMap(({ routes }) => routes?.(reader, webhooks) ?? []),
    ],
    reference: { schemas: { JobItem: itemSchema(gateways) } },
    node_figures: () => ({ jobs: recorder.list(clock.now()) }),
    onAddress: async (base) => {
      public_url = base;
    },
  };
}
