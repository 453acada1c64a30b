/** Batch jobs in the OpenAPI document. */
import { ANY, type ApiReference } from "../../../gateway/openapi/reference.ts";
import {
  JobCompletion,
  JobCounts,
  JobCreated,
  JobItem,
  JobPage,
  JobPause,
  JobStatus,
} from "../../../schemas/jobs.ts";

const JOB_ID = "The id of the job";

export const jobsReference: ApiReference = {
  schemas: { JobPause, JobCompletion, JobCounts, JobCreated, JobItem, JobPage, JobStatus },
  fields: {
    [ANY]: {
      job_id: JOB_ID,
      idempotency_key: [null, "monday"],
      callback_url: ["Where the job's end is told; null: nowhere", "https://client.example/jobs"],
      "Idempotency-Key": [null, "monday"],
    },
    listJobs: { status: "Only jobs of this status", kind: "Only jobs of this kind" },
    getJob: {
      include: [null, "items"],
      offset: "How many of the selected items to skip",
      limit: "The most items of the page",
      after: [null, 99],
      status: "Only items of this status",
    },
    getJobResults: { from: [null, 0], follow: [null, false] },
    BatchSearchBody: { items: "Searches" },
    BatchFetchBody: { items: "Fetches" },
    BatchFilingsBody: { items: "Operations of the filing system" },
    JobPause: { paused: ["Whether the job starts no further item", true] },
    JobCreated: { created: "False: the idempotency key already named this job" },
    JobStatus: {
      kind: "What its items are",
      status: "Queued until the first item runs",
      counts: "Its items by status",
      updated_at: "When an item last changed",
      finished_at: "When its last item finished; null: it has not",
      callback_status: [
        "Of the last attempt: `delivered_<code>`, `http_<code>`, `blocked_destination` or `error_<class>`; null before it",
        "delivered_200",
      ],
      items_url: ["Where its items are", "/v1/jobs/019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41?include=items"],
      items: "With include=items: one page of items",
      next_after: [
        "With include=items: `after` of the next page where this one ended because of its size; null: it did not",
        null,
      ],
    },
    JobCounts: {
      total: ["All items", 1000],
      pending: ["Waiting to be admitted, also for another attempt", 120],
      queued: ["Admitted, or running", 16],
      done: ["Finished", 850],
      failed: ["Finished with an error", 14],
      cancelled: ["Cancelled before they finished", 0],
    },
    JobItem: {
      index: ["Its place among the submitted items, from 0", 0],
      status: "What has become of it",
      input: ["As it was submitted, without defaults and unknown fields", { url: "https://example.org/" }],
      result: ["The answer of the single endpoint; null while unfinished or unavailable", { status: 200 }],
      error: [
        "The result's error; also `cancelled`, and `result_unavailable` when the stored result cannot be read right now",
        "http_404",
      ],
    },
    JobPage: {
      items: "Newest first",
      next_cursor: "For the next page; null: there is none",
    },
    JobCompletion: {
      kind: "What its items are",
      status: "How the job ended",
      total: ["All items", 1000],
      succeeded: ["Items without an error", 986],
      failed: ["Items with an error", 14],
      finished_at: "When the last item finished",
    },
  },
};
