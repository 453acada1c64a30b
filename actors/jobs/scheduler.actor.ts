/**
 * The scheduler actor: one for the cluster. Every running job asks it each second how many of its items may be in
 * flight, and it shares the places out evenly among those who asked lately. It keeps nothing: after a crash the jobs ask
 * again, and until they are answered go on with what they had. It starts no item itself.
 */
import { actor } from "../../cluster/actor.ts";
import { Scheduler } from "../../schemas/jobs.ts";
import { type Contender, MAX_IN_FLIGHT, mayLoad, maxMinShares } from "./fairness.ts";

interface RunningJob extends Contender {
  readonly demand: number;
  readonly at_ms: number;
}

/** A job that has not asked for so long is over, or asks again. */
const ACTIVE_WITHIN_MS = 3_500;

/** `places` default MAX_IN_FLIGHT. */
export const schedulerActor = (capacity = MAX_IN_FLIGHT) =>
  actor(Scheduler)<{ readonly jobs: Map<string, RunningJob> }>({
    activate: () => ({ jobs: new Map() }),
    passivate_after_ms: 60_000,
    on: {
      allot({ state: { jobs }, now_ms }, job) {
        const { job_id } = job;
        for (const [id, { at_ms }] of jobs) if (now_ms - at_ms > ACTIVE_WITHIN_MS) jobs.delete(id);
        if (!mayLoad(job, jobs.values())) {
          jobs.set(job_id, { ...job, demand: 0, at_ms: now_ms });
          return { window: 0 };
        }
        jobs.set(job_id, { ...job, is_loaded: true, at_ms: now_ms });
        const ids = [...jobs.keys()];
        const granted = maxMinShares(
          [...jobs.values()].map((running) => running.demand),
          capacity,
        );
        return { window: granted[ids.indexOf(job_id)]! };
      },
      finished({ state: { jobs } }, { job_id }) {
        jobs.delete(job_id);
      },
    },
  });
