/** Batch jobs in the public status. */
import type { StatusPart } from "../../../ops/feature.ts";
import { BATCH_JOBS } from "../../status/components.ts";
import type { JobBoard } from "../job-board.ts";

export const jobsStatus = (board: JobBoard): StatusPart => ({
  components: [BATCH_JOBS],
  figures() {
    const { running_jobs, queue_backlog, oldest_waiting_job_s, scheduler_last_run_s } = board.figures();
    return {
      "jobs.running_jobs": { sum: running_jobs },
      "jobs.queue_backlog": { sum: queue_backlog },
      "jobs.oldest_waiting_job_s": { max: oldest_waiting_job_s },
      "jobs.scheduler_last_run_s": { max: scheduler_last_run_s },
    };
  },
});
