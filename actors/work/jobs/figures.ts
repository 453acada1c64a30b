/** Which jobs of this node are not finished, and what they wait for, for operators. Not stored; bounded. */
import { LRUCache } from "lru-cache";
import type { WaitCode } from "../../../schemas/jobs.ts";
import { MAX_SITES, waitOf } from "./progress.ts";
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
  /** Some of the sites that told it to come back later; absent in reports of earlier versions. */
  readonly waits_for_sites?: readonly string[];
}

declare module "../../../cluster/ports/node-directory.ts" {
  interface NodeFigures {
    /** Jobs of this node that are not finished, at most 200. */
    readonly jobs?: readonly JobFigures[];
  }
}

const MAX_JOBS = 200;
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

const WAITS: Readonly<Record<WaitCode, string>> = {
  items_stored: "its items are being stored",
  items_stopped: "its last items to stop",
  items_loaded: "its items to be loaded",
  paused_by_operator: "the operator, who paused it",
  paused_by_client: "its client, who paused it",
  customer_suspended: "its customer, who is suspended",
  key_read: "its key to be read",
  share: "a share of the cluster",
  sites: "busy sites and retries",
  quota: "units of the quota of its key",
};

/** Why no further item starts now, for operators; null: items start or run. */
export function waitsFor(state: JobState, now_ms: number): string | null {
  const wait = waitOf(state, now_ms);
  if (wait === null) return null;
  const until = wait.until_ms === null ? "" : `, until ${new Date(wait.until_ms).toISOString()}`;
  return `${WAITS[wait.code]}${until}`;
}
