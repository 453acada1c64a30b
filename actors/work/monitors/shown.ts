/** A change as clients see it: in the list, and in what is delivered. Pure. */
import type { MonitorChange, MonitoredState } from "../../../schemas/monitors.ts";
import type { Baseline, StoredChange } from "./stored-monitor.ts";

const NUMBER_CHARS = 8;

export const stateShown = ({ sha256, retrieved_at, status }: Baseline): MonitoredState => ({
  sha256,
  retrieved_at,
  status,
});

export const changeShown = ({
  monitor_id,
  number,
  url,
  checked_ms,
  previous,
  current,
  diff,
  diff_truncated,
}: StoredChange): Omit<MonitorChange, "delivery"> => ({
  id: `evt_${monitor_id.slice("mon_".length)}${number.toString(36).padStart(NUMBER_CHARS, "0")}`,
  monitor_id,
  url,
  checked_at: new Date(checked_ms).toISOString(),
  previous: stateShown(previous),
  current: stateShown(current),
  diff,
  diff_truncated,
});
