/** Batch jobs in the public status. */
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
import type { StatusPart } from "../../../business/status/feature/tokens.ts";
import { BATCH_JOBS } from "../../../business/status/components.ts";
import type { JobBoard } from "../job-board.ts";

/** The figures of a round are the gauges of /metrics as well. */
export const jobsStatus = (board: JobBoard, metrics: Metrics): StatusPart => ({
  components: [BATCH_JOBS],
  figures() {
    const { running_jobs, queue_backlog, backlogs, oldest_waiting_job_s, scheduler_last_run_s } =
      board.figures();
    metrics.gauge("trawl_jobs_running", {}, running_jobs);
    metrics.gauge("trawl_job_queue_items", {}, queue_backlog);
    metrics.gauge("trawl_job_oldest_waiting_seconds", {}, oldest_waiting_job_s);
    metrics.gauge("trawl_job_scheduler_wait_seconds", {}, scheduler_last_run_s);
    return {
      "jobs.running_jobs": { sum: running_jobs },
      "jobs.queue_backlog": { sum: queue_backlog },
      "search.batch_queue_backlog": { sum: backlogs.search },
      "fetch.batch_queue_backlog": { sum: backlogs.fetch },
      "jobs.oldest_waiting_job_s": { max: oldest_waiting_job_s },
      "jobs.scheduler_last_run_s": { max: scheduler_last_run_s },
    };
  },
});
