/** Assembles sinks: their actor, which reads stored jobs, and their routes. */
import type { JoinedFeature, JoinedNode } from "../../../../node/feature.ts";
import { isFinal } from "../../../../schemas/job-states.ts";
import { JOBS } from "../../jobs/collections.ts";
import { readStates } from "../../jobs/stored-states.ts";
import type { JobFinder } from "../../jobs/feature/tokens.ts";
import { parquetOf } from "../adapters/rows.parquet.ts";
import type { PutObject } from "../bucket.ts";
import type { JobProgress } from "../part.ts";
import { sinkActor } from "../sink.actor.ts";
import { sinkRoutes } from "./routes.ts";

/** Items of one read. */
const ITEMS_AT_ONCE = 10;

export function openSinks(node: JoinedNode, { jobs }: { readonly jobs: JobFinder }): JoinedFeature {
  const { documents, random } = node;

  async function progressOf(job_id: string): Promise<JobProgress | null> {
    const job = await JOBS.get(documents, job_id);
    if (job === null) return null;
    const { total } = job.counts;
    const states = await readStates(documents, job_id, job);
    return {
      total,
      isFinal: (index) => isFinal(states[index]!),
      is_over: job.finished_ms !== null,
      async *readItems(external, indexes, signal) {
        for (let from = 0; from < indexes.length; from += ITEMS_AT_ONCE)
          yield* jobs.items(job, job_id, external, states, indexes.slice(from, from + ITEMS_AT_ONCE), signal);
      },
    };
  }

  // The AWS SDK is a tenth of the CPU time of a start, and few nodes push to buckets.
  const putInBucket: PutObject = async (object) => {
    const { putObject } = await import("../adapters/bucket.s3.ts");
    return putObject(node.egress, object);
  };
  const writing = { putObject: putInBucket, encodeParquet: parquetOf };
  return {
    provides: {},
    actors: [sinkActor({ ...node, ...writing, random: () => random.next(), progressOf })],
    routes: sinkRoutes({ ...node, ...writing, jobs }),
  };
}
