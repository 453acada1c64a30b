/** Collections that the gateway shares with slices. */
import { collection } from "../cluster/collection.ts";
import type { LedgerBatch } from "../schemas/ledger-batch.ts";
import type { Chunk, IdempotencyRecord, ListedJob } from "../schemas/jobs.ts";

/** By `batchKey`: rows of requests, many in a document. */
export const LEDGER = collection<LedgerBatch>("ledger", { expires: true });
/** By `chunkKey`: the inputs of a job. */
export const JOB_ITEMS = collection<Chunk>("job_items");
/** By `projectJobKey`: the jobs of a project, newest last. */
export const PROJECT_JOBS = collection<ListedJob>("project_jobs", { expires: true });
/** By project and idempotency key. */
export const JOB_IDEMPOTENCY_KEYS = collection<IdempotencyRecord>("job_idempotency_keys");
