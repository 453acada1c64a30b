/** Metrics of batch jobs. */
import { DELIVERY_OUTCOMES } from "../callbacks/delivery-outcome.ts";
import type { MetricTable } from "../../../cluster/ports/metrics.ts";
import { JOB_KINDS } from "../../../schemas/jobs.ts";

export const JOB_METRICS = {
  trawl_jobs_running: { kind: "gauge", help: "Batch jobs of this node that have started", labels: [] },
  trawl_job_queue_items: {
    kind: "gauge",
    help: "Items of this node's batch jobs that no attempt has taken",
    labels: [],
  },
  trawl_job_oldest_waiting_seconds: {
    kind: "gauge",
    help: "Age of the oldest batch job of this node that has not started; 0: none waits",
    labels: [],
  },
  trawl_job_scheduler_wait_seconds: {
    kind: "gauge",
    help: "How long a job of this node has had no turn, or no answer of the scheduler; an unfinished job has a turn each second",
    labels: [],
  },
  trawl_jobs_total: {
    kind: "counter",
    help: "Batch jobs that ended",
    labels: ["kind", "status"],
    values: { kind: JOB_KINDS, status: ["completed", "cancelled"] },
  },
  trawl_job_items_total: {
    kind: "counter",
    help: "Items of batch jobs that were settled or put back for another attempt",
    labels: ["kind", "status"],
    values: {
      kind: JOB_KINDS,
      status: ["done", "failed", "retry_transient", "retry_blocked", "retry_busy", "retry_fault"],
    },
  },
  trawl_job_callbacks_total: {
    kind: "counter",
    help: "Callback attempts, by outcome",
    labels: ["outcome"],
    values: { outcome: DELIVERY_OUTCOMES },
  },
  trawl_crawl_deliveries_total: {
    kind: "counter",
    help: "Attempts to deliver events of crawls and batches to their webhooks, by outcome: delivered, http, error, blocked",
    labels: ["outcome"],
    values: { outcome: DELIVERY_OUTCOMES },
  },
} as const satisfies MetricTable;

type JobMetrics = typeof JOB_METRICS;
declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends JobMetrics {}
}
