/**
 * Webhook bodies of their monitors: `{success, type, id, webhookId, data, metadata}`, where `id` is that of the check, as docs.firecrawl.dev
 * has `monitor.page` and `monitor.check.completed`. They are sent of checks that found a change.
 */
import type { FirecrawlMonitorEvent, MonitorChange } from "../../schemas/monitors.ts";
import { changedSummary } from "./monitors.ts";

interface Changed {
  readonly change: Pick<MonitorChange, "monitor_id" | "url" | "diff">;
  /** Number of the visit. */
  readonly number: number;
  /** Equal in every attempt. */
  readonly event_id: string;
  readonly metadata: Readonly<Record<string, string>>;
}

export function monitorEvent(
  name: FirecrawlMonitorEvent,
  { change, number, event_id, metadata }: Changed,
): object {
  const id = String(number);
  const of = { monitorId: change.monitor_id, checkId: id };
  const page = {
    url: change.url,
    status: "changed",
    error: null,
    diff: change.diff && { text: change.diff },
  };
  const check = { status: "completed", summary: changedSummary() };
  const data = [{ ...of, ...(name === "monitor.page" ? page : check) }];
  return { success: true, type: name, id, webhookId: event_id, data, metadata };
}
