/** From facts, incidents and maintenance windows to the status of the service. Pure; the time is an argument. */
import type {
  MaintenanceState,
  Reason,
  ServiceStatus,
  Status,
  StatusComponent,
  StatusIncident,
  StatusMaintenance,
} from "../../../schemas/status.ts";
import { WINDOW_S } from "../../../schemas/status.ts";
import { type ComponentSpec, judge, worse } from "./component.ts";
import type { Facts } from "./figures.ts";

/** Resolved incidents and completed windows are shown for this long. */
export const SHOWN_AFTER_MS = 7 * 86_400_000;

export interface Notices {
  readonly incidents: readonly StatusIncident[];
  /** As stored; `status` follows from the time unless it is completed. */
  readonly maintenance: readonly StatusMaintenance[];
}

export const NO_NOTICES: Notices = { incidents: [], maintenance: [] };

/** Without the service one can do nothing: only these components' major outage is one of the service. */
const ESSENTIAL: ReadonlySet<string> = new Set(["api", "search", "fetch", "storage"]);

const DESCRIPTIONS: Readonly<Record<Status, string>> = {
  operational: "All systems are operational",
  maintenance: "Maintenance is in progress",
  degraded: "Some components are degraded",
  partial_outage: "Some components are out of service",
  major_outage: "A major outage is in progress",
};

/** `specs` are those of the deployment, in the order in which they are listed. */
export function evaluate(
  specs: readonly ComponentSpec[],
  facts: Facts,
  notices: Notices,
  now_ms: number,
): ServiceStatus {
  const { incidents, maintenance } = shownNotices(notices, now_ms);
  const components = specs.map((spec) => componentStatus(spec, facts, { incidents, maintenance }));
  const status = overall(components);
  return {
    status,
    description: DESCRIPTIONS[status],
    updated_at: new Date(now_ms).toISOString(),
    window_s: WINDOW_S,
    components,
    incidents: [...incidents],
    maintenance: [...maintenance],
  };
}

/**
 * A component under maintenance counts as that, whatever its figures say: they follow from it. An unresolved incident makes
 * it at least as bad as its impact, also then.
 */
function componentStatus(spec: ComponentSpec, facts: Facts, notices: Notices): StatusComponent {
  const { id, group, name, description, metrics } = spec;
  const judged = judge(spec, facts);
  const isMaintained = notices.maintenance.some(
    ({ status, components }) => status === "in_progress" && names(components, id),
  );
  let status: Status = isMaintained ? "maintenance" : judged.status;
  const reasons = new Set<Reason>(judged.reasons);
  if (isMaintained) reasons.add("maintenance");
  for (const incident of notices.incidents) {
    if (incident.status === "resolved" || incident.impact === "none" || !incident.components.includes(id))
      continue;
    status = worse(status, incident.impact);
    reasons.add("incident");
  }
  const known = Object.entries(metrics(facts)).filter(([, value]) => value !== undefined);
  return {
    id,
    group,
    name,
    description,
    status,
    reasons: [...reasons],
    metrics: Object.fromEntries(known) as StatusComponent["metrics"],
  };
}

/** No components: the whole service. */
const names = (components: readonly string[], id: string): boolean =>
  components.length === 0 || components.includes(id);

export const overall = (components: readonly Pick<StatusComponent, "id" | "group" | "status">[]): Status =>
  components.reduce<Status>((status, component) => worse(status, counted(component)), "operational");

function counted({ id, group, status }: Pick<StatusComponent, "id" | "group" | "status">): Status {
  const isOutage = status === "partial_outage" || status === "major_outage";
  if (group === "company_data" && isOutage) return "degraded";
  return status === "major_outage" && !ESSENTIAL.has(id) ? "partial_outage" : status;
}

/** The notices that are shown now: incidents newest first, windows soonest first. */
export function shownNotices({ incidents, maintenance }: Notices, now_ms: number): Notices {
  const isRecent = (at: string | null): boolean => at === null || now_ms - Date.parse(at) < SHOWN_AFTER_MS;
  return {
    incidents: incidents
      .filter(({ resolved_at }) => isRecent(resolved_at))
      .toSorted((a, b) => b.created_at.localeCompare(a.created_at)),
    maintenance: maintenance
      .map((window) => windowAt(window, now_ms))
      .filter(({ completed_at }) => isRecent(completed_at))
      .toSorted((a, b) => a.starts_at.localeCompare(b.starts_at)),
  };
}

/** A stored window with the state that follows from the time. */
export function windowAt(window: StatusMaintenance, now_ms: number): StatusMaintenance {
  const status = maintenanceState(window, now_ms);
  const completed_at = window.completed_at ?? (status === "completed" ? window.ends_at : null);
  return { ...window, status, completed_at };
}

export function maintenanceState(
  { starts_at, ends_at, completed_at }: Pick<StatusMaintenance, "starts_at" | "ends_at" | "completed_at">,
  now_ms: number,
): MaintenanceState {
  if (completed_at !== null || now_ms >= Date.parse(ends_at)) return "completed";
  return now_ms >= Date.parse(starts_at) ? "in_progress" : "scheduled";
}

/** The incidents and windows that name the component. */
export const noticesOf = (
  { incidents, maintenance }: Pick<ServiceStatus, "incidents" | "maintenance">,
  id: string,
): { readonly incidents: StatusIncident[]; readonly maintenance: StatusMaintenance[] } => ({
  incidents: incidents.filter(({ components }) => components.includes(id)),
  maintenance: maintenance.filter(({ components }) => names(components, id)),
});
