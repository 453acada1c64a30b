/** Which jobs of this node are not finished, and what they wait for, for operators. Not stored; bounded. */
import { LRUCache } from "lru-cache";
import { monthOf } from "../../../schemas/accounts.ts";
import type { JobState } from "./state.ts";

export interface JobFigures {
  readonly job_id: string;
  readonly project: string;
  readonly kind: string;
  readonly created_ms: number;
  readonly total: number;
  readonly finished: number;
  readonly in_flight: number;
  /** Why no further item starts now; null: items start. */
  readonly waits_for: string | null;
  /** Of the sites that told it to come back later, some; absent in reports of earlier versions. */
  readonly waits_for_sites?: readonly string[];
}

declare module "../../../cluster/ports/node-directory.ts" {
  interface NodeFigures {
    /** Jobs of this node that are not finished, at most 200. */
    readonly jobs?: readonly JobFigures[];
  }
}

const MAX_JOBS = 200;
/** Of the sites that one job waits for. */
const MAX_SITES = 5;
/** Longer than any pause between two turns of an unfinished job: what was not seen for so long is on another node. */
const FORGOTTEN_MS = 120_000;

export interface JobRecorder {
  /** After a turn of the job. */
  readonly onTurn: (job_id: string, state: JobState, now_ms: number) => void;
  readonly list: (now_ms: number) => readonly JobFigures[];
}

export function jobRecorder(): JobRecorder {
  const jobs = new LRUCache<string, { readonly figures: JobFigures; readonly seen_ms: number }>({
    max: MAX_JOBS,
  });
  return {
    onTurn(job_id, state, now_ms) {
      const figures = figuresOf(job_id, state, now_ms);
      if (figures === null) jobs.delete(job_id);
      else jobs.set(job_id, { figures, seen_ms: now_ms });
    },
    list: (now_ms) =>
      [...jobs.values()]
        .filter(({ seen_ms }) => seen_ms > now_ms - FORGOTTEN_MS)
        .map(({ figures }) => figures),
  };
}

/** Null: the job is finished, or was never opened. */
function figuresOf(job_id: string, state: JobState, now_ms: number): JobFigures | null {
  const { record, frontier } = state;
  if (!record || record.finished_ms !== null) return null;
  const { project, kind, created_ms } = record.spec;
  const { total, done, failed, cancelled } = record.counts;
  const finished = done + failed + cancelled;
  const in_flight = frontier?.inFlight() ?? 0;
  return {
    job_id,
    project,
    kind,
    created_ms,
    total,
    finished,
    in_flight,
    waits_for: waitsFor(state, now_ms),
    waits_for_sites: frontier?.pausedSites(MAX_SITES) ?? [],
  };
}

/** Why no further item starts now; null: items start or run. */
export function waitsFor(state: JobState, now_ms: number): string | null {
  const { record, frontier, payer, window, units } = state;
  if (!record || record.phase === "creating") return "its items are being stored";
  if (record.phase === "cancelling") return "its last items to stop";
  if (record.paused_ms != null) return "the operator, who paused it";
  if (payer?.status === "paused") return "its customer, who is suspended";
  if (frontier === null)
    return state.in_progress.has("loading") ? "its items to be loaded" : "a share of the cluster";
  if (frontier.inFlight() > 0) return null;
  if (payer === null) return "its key to be read";
  // No item may start now: its site has as many in flight as it may, or the item waits for another attempt.
  if (frontier.demand() === 0) {
    const due_ms = frontier.nextDueMs();
    return due_ms < Infinity ? `busy sites and retries, until ${new Date(due_ms).toISOString()}` : null;
  }
  if (window === 0) return "a share of the cluster";
  if (payer.limit !== null && units === 0 && state.exhausted_month !== monthOf(now_ms))
    return "units of the quota of its key";
  return null;
}
