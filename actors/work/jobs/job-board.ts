/**
 * The waits of this node's jobs, for the status and the metrics: how old the oldest job is that has not started, and for how
 * long one of them had no turn or no answer of the scheduler. Jobs of a partition that went to another node are forgotten.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";
import { JOB_KINDS, type JobKind } from "../../../schemas/jobs.ts";

interface BoardEntry {
  readonly created_ms: number;
  readonly kind: JobKind;
  readonly isRunning: boolean;
  /** By an operator, or because its customer is suspended: it waits for nothing else, and no worker could help it. */
  readonly isPaused: boolean;
  readonly waiting: number;
  readonly seen_ms: number;
}

export interface JobsFigures {
  readonly running_jobs: number;
  /** Items that no attempt has taken, those of paused jobs left out. */
  readonly queue_backlog: number;
  /** `queue_backlog` by kind of job; each kind is there. */
  readonly backlogs: Readonly<Record<JobKind, number>>;
  readonly oldest_waiting_job_s: number;
  /**
   * How long the job that waits longest has had no turn, or no answer of the scheduler. An unfinished job has a turn each second; one whose turn cannot
   * be stored has none.
   */
  readonly scheduler_last_run_s: number;
}

export interface JobBoard {
  readonly seen: (job_id: string, job: Omit<BoardEntry, "seen_ms">) => void;
  readonly ended: (job_id: string) => void;
  readonly shareRequested: (job_id: string) => void;
  readonly shareGranted: (job_id: string) => void;
  readonly figures: () => JobsFigures;
}

/** `ownsJob`: whether the job lives on this node now. */
export function jobBoard(clock: Clock, ownsJob: (job_id: string) => boolean): JobBoard {
  const jobs = new Map<string, BoardEntry>();
  /** When each job asked for the share that it has not been granted, on the monotonic clock. */
  const requests = new Map<string, number>();
  return {
    seen: (job_id, job) => void jobs.set(job_id, { ...job, seen_ms: clock.mono() }),
    ended(job_id) {
      jobs.delete(job_id);
      requests.delete(job_id);
    },
    shareRequested(job_id) {
      if (!requests.has(job_id)) requests.set(job_id, clock.mono());
    },
    shareGranted: (job_id) => void requests.delete(job_id),
    figures() {
      const now_ms = clock.mono();
      for (const job_id of [...jobs.keys(), ...requests.keys()])
        if (!ownsJob(job_id)) {
          jobs.delete(job_id);
          requests.delete(job_id);
        }
      const all = [...jobs.values()];
      const running = all.filter(({ isRunning }) => isRunning);
      const active = all.filter(({ isPaused }) => !isPaused);
      const waiting = active.filter(({ isRunning }) => !isRunning);
      const backlogOf = (kind: JobKind): number =>
        active.reduce((sum, job) => sum + (job.kind === kind ? job.waiting : 0), 0);
      const backlogs = Object.fromEntries(JOB_KINDS.map((kind) => [kind, backlogOf(kind)]));
      const oldest_ms = Math.min(clock.now(), ...waiting.map(({ created_ms }) => created_ms));
      const last_turns = active.map(({ seen_ms }) => seen_ms);
      const last_ms = Math.min(now_ms, ...requests.values(), ...last_turns);
      return {
        running_jobs: running.length,
        queue_backlog: active.reduce((sum, job) => sum + job.waiting, 0),
        backlogs: backlogs as Record<JobKind, number>,
        oldest_waiting_job_s: Math.round((clock.now() - oldest_ms) / 1_000),
        scheduler_last_run_s: Math.round((now_ms - last_ms) / 1_000),
      };
    },
  };
}
