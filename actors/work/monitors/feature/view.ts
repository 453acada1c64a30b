/** A monitor as clients see it. */
import { Fault } from "../../../../cluster/ports/fault.ts";
import { type Secrets, shownAddress } from "../../../../cluster/ports/secrets.ts";
import type { Monitor, MonitorFetch } from "../../../../schemas/monitors.ts";
import { isPrivateField } from "../../../../schemas/job-inputs.ts";
import { stateShown } from "../shown.ts";
import { monitorPlace, type StoredMonitor } from "../stored-monitor.ts";
import { openVisitInput } from "../visit-input.ts";
import { iso } from "../../../lib/iso.ts";

/** `secret`: of a webhook that is new. */
export function monitorView(
  secrets: Pick<Secrets, "open">,
  monitor: StoredMonitor,
  secret: string | null,
): Monitor {
  const { id, url, label, schedule, watch, webhook, paused, created_ms, due_ms, last_visit, baseline } =
    monitor;
  const { failures, checks, changes } = monitor;
  const isInterval = schedule.kind === "interval";
  return {
    id,
    url,
    label,
    every_s: isInterval ? schedule.every_s : null,
    cron: isInterval ? null : schedule.cron,
    timezone: isInterval ? "UTC" : schedule.timezone,
    watch,
    fetch: fetchOptions(secrets, monitor),
    webhook: webhook && {
      url: shownAddress(secrets, webhook.url, monitorPlace(id, "webhook_url")),
      last_status: webhook.last_status,
      is_off: webhook.is_off,
    },
    paused,
    created_at: iso(created_ms),
    next_check_at: paused === null ? iso(due_ms) : null,
    last_check: last_visit && {
      at: iso(last_visit.at_ms),
      outcome: last_visit.outcome,
      error: last_visit.error,
      job_id: last_visit.job_id,
    },
    failures,
    checks,
    changes,
    current: baseline && stateShown(baseline),
    secret,
  };
}

/** Options that the client gave in `fetch`, but for those that may be secret. Null: no key of this node opens them. */
function fetchOptions(secrets: Pick<Secrets, "open">, monitor: StoredMonitor): MonitorFetch | null {
  try {
    const { given } = openVisitInput(secrets, monitor);
    return Object.fromEntries(
      Object.entries(given).filter(([name]) => !isPrivateField(name)),
    ) as MonitorFetch;
  } catch (problem) {
    if (problem instanceof Fault) return null;
    throw problem;
  }
}
