/**
 * The scheduler actor: one for the cluster. Every running job asks it each second how many of its items may be in
 * flight, and it shares the places out evenly among those who asked lately. It keeps nothing: after a crash the jobs ask
 * again, and until they are answered go on with what they had. It starts no item itself.
 */
import { actor } from "../../cluster/actor.ts";
import { Scheduler } from "../../schemas/jobs.ts";
import { type Contender, MAX_IN_FLIGHT, mayLoad, shares } from "./fairness.ts";

interface Seen extends Contender {
  readonly demand: number;
  readonly at_ms: number;
}

/** A job that has not asked for so long is over, or asks again. */
const LATELY_MS = 3_500;

/** `places` default MAX_IN_FLIGHT. */
export const scheduler = (places = MAX_IN_FLIGHT) =>
  actor(Scheduler)<{ readonly jobs: Map<string, Seen> }>({
    begin: () => ({ jobs: new Map() }),
    idle_ms: 60_000,
    on: {
      share({ state: { jobs }, now_ms }, job) {
        const { job_id } = job;
        for (const [other, { at_ms }] of jobs) if (now_ms - at_ms > LATELY_MS) jobs.delete(other);
        if (!mayLoad(job, jobs.values())) {
          jobs.set(job_id, { ...job, demand: 0, at_ms: now_ms });
          return { window: 0 };
        }
        jobs.set(job_id, { ...job, is_loaded: true, at_ms: now_ms });
        const asked = [...jobs.keys()];
        const given = shares(
          [...jobs.values()].map((seen) => seen.demand),
          places,
        );
        return { window: given[asked.indexOf(job_id)]! };
      },
      left({ state: { jobs } }, { job_id }) {
        jobs.delete(job_id);
      },
    },
  });
