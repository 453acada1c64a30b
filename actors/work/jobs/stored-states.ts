/** Reads the states of a job's items as they are stored: those of frozen items (freeze.ts), and those of the record. */
import type { Documents } from "../../../cluster/ports/documents.ts";
import { decodeStates, type States } from "../../../schemas/job-states.ts";
import { type JobRecord, statesKey } from "../../../schemas/jobs.ts";
import { JOB_STATES } from "./collections.ts";

/** Documents read at once. */
const AT_ONCE = 100;

/** The states of frozen items, run-length encoded, in their order. Throws Fault. */
export async function* frozenStates(
  documents: Pick<Documents, "getMany">,
  job_id: string,
  { frozen }: Pick<JobRecord, "frozen">,
): AsyncGenerator<string> {
  const chunks = frozen?.chunks ?? 0;
  for (let first = 0; first < chunks; first += AT_ONCE) {
    const keys = Array.from({ length: Math.min(AT_ONCE, chunks - first) }, (_, at) =>
      statesKey(job_id, first + at),
    );
    for (const chunk of await JOB_STATES.getMany(documents, keys)) if (chunk) yield chunk.states;
  }
}

/** The states of all items of a stored job. Throws Fault, and RangeError where a part is missing or does not fit. */
export async function readStates(
  documents: Pick<Documents, "getMany">,
  job_id: string,
  job: Pick<JobRecord, "states" | "frozen" | "counts">,
): Promise<States> {
  let text = "";
  for await (const part of frozenStates(documents, job_id, job)) text += part;
  return decodeStates(text + job.states, job.counts.total);
}
