/** Collections of jobs, besides their inputs, which the gateway writes (records/collections.ts). */
import { collection } from "../../../cluster/collection.ts";
import type { JobRecord, StoredResult } from "../../../schemas/jobs.ts";

/** Records of jobs, by job id; the actor of a job stores its own. Null: the job was purged. */
export const JOBS = collection<JobRecord | null>("job");
/** By `statesKey`: the states of frozen items, of one chunk each; inserted once and never changed. */
export const JOB_STATES = collection<{ readonly states: string }>("job_states");
/** By `resultKey`: inserted once and never changed. */
export const JOB_RESULTS = collection<StoredResult>("job_results");
