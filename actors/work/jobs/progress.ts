/** How a job gets on while it runs: how many items end per second, and why no further one starts. Not stored. */
import { monthOf } from "../../../schemas/accounts.ts";
import { type JobProgress, type JobRecord, type WaitCode } from "../../../schemas/jobs.ts";
import { iso } from "../../lib/iso.ts";
import { endedPerSecond } from "./ended-items.ts";
import type { JobState } from "./state.ts";

/** Sites shown of those that one job waits for. */
export const MAX_SITES = 5;

/** The one who paused the job; an operator's pause hides its client's. Null: it is not paused. */
export const pausedBy = ({
  paused_ms,
  client_paused_ms,
}: Pick<JobRecord, "paused_ms" | "client_paused_ms">): "operator" | "client" | null =>
  paused_ms != null ? "operator" : client_paused_ms != null ? "client" : null;

interface Wait {
  readonly code: WaitCode;
  /** When it is over; null: not known. */
  readonly until_ms: number | null;
}

/** Why no further item starts now; null: items start or run. */
export function waitOf(state: JobState, now_ms: number): Wait | null {
  const code = waitCodeOf(state, now_ms);
  return code && { code, until_ms: code === "sites" ? state.frontier!.nextDueMs() : null };
}

function waitCodeOf(state: JobState, now_ms: number): WaitCode | null {
  const { record, frontier, payer, window, units } = state;
  if (!record || record.phase === "creating") return "items_stored";
  if (record.phase === "cancelling") return "items_stopped";
  const by = pausedBy(record);
  if (by !== null) return by === "operator" ? "paused_by_operator" : "paused_by_client";
  if (payer?.status === "paused") return "customer_suspended";
  if (frontier === null) return state.in_progress.has("loading") ? "items_loaded" : "share";
  if (frontier.inFlight() > 0) return null;
  if (payer === null) return "key_read";
  // No item may start now: its site has as many in flight as it may, or the item waits for another attempt.
  if (frontier.demand() === 0) return frontier.nextDueMs() < Infinity ? "sites" : null;
  if (window === 0) return "share";
  if (payer.limit !== null && units === 0 && state.exhausted_month !== monthOf(now_ms)) return "quota";
  return null;
}

/** Null: the job has ended, or was never opened. */
export function progressOf(state: JobState, now_ms: number): JobProgress | null {
  const { record, frontier, ended } = state;
  if (!record || record.finished_ms !== null) return null;
  const wait = waitOf(state, now_ms);
  return {
    items_per_s: endedPerSecond(ended, now_ms),
    in_flight: frontier?.inFlight() ?? 0,
    waits_for: wait?.code ?? null,
    waits_until: wait?.until_ms == null ? null : iso(wait.until_ms),
    waits_for_sites: [...(frontier?.pausedSites(MAX_SITES) ?? [])],
  };
}
