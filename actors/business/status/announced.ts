/** Incidents and windows of which webhooks may not have been told yet. */
import type { StatusNotice } from "../../../schemas/alerts.ts";
import { type Notices, windowAt } from "./evaluate.ts";

/** A webhook is told of what is younger. All nodes are away for less, or what they missed is no news any more. */
const NEWS_MS = 24 * 3_600_000;

export function recentNotices({ incidents, maintenance }: Notices, now_ms: number): readonly StatusNotice[] {
  const all: StatusNotice[] = [
    ...incidents.map((incident) => ({
      type: "status.incident" as const,
      incident,
      maintenance: null,
      state: `${incident.id} ${incident.updated_at}`,
      since_ms: Date.parse(incident.updated_at),
    })),
    ...maintenance.map((window) => {
      const shown = windowAt(window, now_ms);
      const { status } = shown;
      const by_time_ms = {
        scheduled: 0,
        in_progress: Date.parse(window.starts_at),
        completed: Date.parse(window.ends_at),
      };
      // Completed before its end, it changed when the operator said so.
      const by_itself_ms = window.completed_at === null ? by_time_ms[status] : 0;
      return {
        type: "status.maintenance" as const,
        incident: null,
        maintenance: shown,
        state: `${window.id} ${window.updated_at} ${status}`,
        since_ms: Math.max(Date.parse(window.updated_at), by_itself_ms),
      };
    }),
  ];
  return all.filter(({ since_ms }) => since_ms > now_ms - NEWS_MS);
}
