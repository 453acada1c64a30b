/**
 * The scheduler actor: one for the cluster. Every running job asks it each second how many items it may have in flight,
 * and it divides the cluster's capacity evenly among the jobs that asked lately (fairness.ts). It stores nothing: after a
 * crash the jobs ask again, and until they are answered they go on with the share they had. It starts no item itself.
 */
import { actor } from "../../../cluster/actor.ts";
import { Scheduler } from "../../../schemas/jobs.ts";
import { type Contender, MAX_IN_FLIGHT, mayLoad, maxMinShares } from "./fairness.ts";

interface RunningJob extends Contender {
  readonly demand: number;
  readonly at_ms: number;
}

/** A job that has not asked for this long counts as finished, until it asks again. */
const ACTIVE_WITHIN_MS = 3_500;

/** `capacity`: items in flight in the whole cluster; default MAX_IN_FLIGHT. */
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
