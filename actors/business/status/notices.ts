/**
 * Incidents and maintenance windows as stored: operators' commands write them, gateways read them every few seconds. Texts are
 * the operator's own and are shown to everyone.
 */
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { Random } from "../../../cluster/ports/random.ts";
import {
  COMPANY_COMPONENT,
  COMPONENT_IDS,
  type Impact,
  INCIDENT_STATES,
  type IncidentState,
  type StatusIncident,
  type StatusMaintenance,
} from "../../../schemas/status.ts";
import { maintenanceState, type Notices } from "./evaluate.ts";
import { type Collection } from "../../../cluster/collection.ts";
import { INCIDENTS, MAINTENANCE } from "./collections.ts";

/** The most notices that are read of each kind and tag: further unresolved incidents are not shown. */
const MAX_READ = 100;
const MAX_TEXT = 2_000;
const MAX_TITLE = 200;
const MAX_UPDATES = 200;
/** After its end. */
const RETENTION_MS = 400 * 86_400_000;

/** The field that was wrong, that there is no such notice, or that its state does not allow it. */
type Wrong = "title" | "message" | "components" | "ends_at" | "missing" | "state";

/** Why an operator's change was refused, in a sentence. */
export class NoticeError extends Error {
  override readonly name = "NoticeError";
  readonly of: Wrong;

  constructor(of: Wrong, message: string) {
    super(message);
    this.of = of;
  }
}

interface Writer {
  readonly documents: Documents;
  readonly now_ms: number;
  readonly random: Random;
}

/** Throws Fault. */
export async function readNotices(documents: Documents): Promise<Notices> {
  const read = async <N>(collection: Collection<N>): Promise<readonly N[]> => {
    const found = await Promise.all(
      ["open", "ended"].map((tag) => collection.list(documents, { tag, limit: MAX_READ, reverse: true })),
    );
    return found.flat().map(({ value }) => value);
  };
  const [incidents, maintenance] = await Promise.all([read(INCIDENTS), read(MAINTENANCE)]);
  return { incidents, maintenance };
}

export interface IncidentText {
  readonly title: string;
  readonly message: string;
  readonly status: Exclude<IncidentState, "resolved">;
  readonly impact: Impact;
  readonly components: readonly string[];
}

/** Throws NoticeError, Fault. */
export async function openIncident(writer: Writer, text: IncidentText): Promise<StatusIncident> {
  const { documents, now_ms } = writer;
  const { title, message, status, impact, components } = text;
  const at = new Date(now_ms).toISOString();
  const incident: StatusIncident = {
    id: idOf("inc", writer),
    title: checkedText("title", title, MAX_TITLE),
    status,
    impact,
    components: checkedComponents(components),
    created_at: at,
    updated_at: at,
    resolved_at: null,
    updates: [{ at, status, message: checkedText("message", message, MAX_TEXT) }],
  };
  await create(documents, INCIDENTS, incident);
  return incident;
}

export interface IncidentChange {
  readonly message: string;
  /** Default: as it is. */
  readonly status?: IncidentState | undefined;
  readonly impact?: Impact | undefined;
  readonly components?: readonly string[] | undefined;
}

/** Any step forward; a step back is refused. Throws NoticeError, Fault. */
export function updateIncident(
  { documents, now_ms }: Omit<Writer, "random">,
  id: string,
  change: IncidentChange,
): Promise<StatusIncident> {
  return replace(documents, INCIDENTS, id, now_ms, (incident) => {
    const { status = incident.status, impact = incident.impact, message } = change;
    if (incident.status === "resolved") throw new NoticeError("state", `The incident "${id}" is resolved`);
    if (INCIDENT_STATES.indexOf(status) < INCIDENT_STATES.indexOf(incident.status))
      throw new NoticeError(
        "state",
        `The incident "${id}" is ${incident.status}: it cannot go back to ${status}`,
      );
    const at = new Date(now_ms).toISOString();
    const update = { at, status, message: checkedText("message", message, MAX_TEXT) };
    return {
      ...incident,
      status,
      impact,
      components: change.components ? checkedComponents(change.components) : incident.components,
      updated_at: at,
      resolved_at: status === "resolved" ? at : null,
      updates: [update, ...incident.updates].slice(0, MAX_UPDATES),
    };
  });
}

export interface MaintenanceText {
  readonly title: string;
  readonly message: string;
  readonly starts_ms: number;
  readonly ends_ms: number;
  /** Empty: the whole service. */
  readonly components: readonly string[];
}

/** Throws NoticeError, Fault. */
export async function scheduleMaintenance(writer: Writer, text: MaintenanceText): Promise<StatusMaintenance> {
  const { documents, now_ms } = writer;
  const { title, message, starts_ms, ends_ms, components } = text;
  if (ends_ms <= starts_ms) throw new NoticeError("ends_at", "The window must end after it starts");
  if (ends_ms <= now_ms) throw new NoticeError("ends_at", "The window would be over already");
  const at = new Date(now_ms).toISOString();
  const window = {
    starts_at: new Date(starts_ms).toISOString(),
    ends_at: new Date(ends_ms).toISOString(),
    completed_at: null,
  };
  const status = maintenanceState(window, now_ms);
  const maintenance: StatusMaintenance = {
    id: idOf("mnt", writer),
    title: checkedText("title", title, MAX_TITLE),
    status,
    components: components.length === 0 ? [] : checkedComponents(components),
    ...window,
    created_at: at,
    updated_at: at,
    updates: [{ at, status, message: checkedText("message", message, MAX_TEXT) }],
  };
  await create(documents, MAINTENANCE, maintenance);
  return maintenance;
}

/** Ends a window before its time; one that has not begun is called off. Throws NoticeError, Fault. */
export function completeMaintenance(
  { documents, now_ms }: Omit<Writer, "random">,
  id: string,
  message: string,
): Promise<StatusMaintenance> {
  return replace(documents, MAINTENANCE, id, now_ms, (window) => {
    if (maintenanceState(window, now_ms) === "completed")
      throw new NoticeError("state", `The maintenance "${id}" is completed`);
    const at = new Date(now_ms).toISOString();
    const update = { at, status: "completed", message: checkedText("message", message, MAX_TEXT) };
    return {
      ...window,
      status: "completed",
      updated_at: at,
      completed_at: at,
      updates: [update, ...window.updates].slice(0, MAX_UPDATES),
    };
  });
}

/** Ids in the order of time. */
function idOf(kind: "inc" | "mnt", { now_ms, random }: Writer): string {
  const chance = Math.floor(random.next() * 36 ** 4)
    .toString(36)
    .padStart(4, "0");
  return `${kind}_${now_ms.toString(36)}${chance}`;
}

function checkedText(field: "title" | "message", text: string, max: number): string {
  const trimmed = text.trim();
  if (trimmed === "") throw new NoticeError(field, `The ${field} is empty`);
  if (trimmed.length > max)
    throw new NoticeError(field, `The ${field} has ${trimmed.length} characters, at most ${max} are allowed`);
  return trimmed;
}

function checkedComponents(components: readonly string[]): string[] {
  if (components.length === 0) throw new NoticeError("components", "Name at least one component");
  for (const id of components)
    if (!(COMPONENT_IDS as readonly string[]).includes(id) && !COMPANY_COMPONENT.test(id))
      throw new NoticeError(
        "components",
        `There is no component "${id}": use ${COMPONENT_IDS.join(", ")} or company_<source>`,
      );
  return [...new Set(components)];
}

async function create<N extends StatusIncident | StatusMaintenance>(
  documents: Documents,
  collection: Collection<N>,
  notice: N,
): Promise<void> {
  if (!(await collection.put(documents, notice.id, notice, 0, { tag: "open" })))
    throw new NoticeError("state", `There is a notice "${notice.id}" already: try again`);
}

async function replace<N extends StatusIncident | StatusMaintenance>(
  documents: Documents,
  collection: Collection<N>,
  id: string,
  now_ms: number,
  change: (notice: N) => N,
): Promise<N> {
  const changed = await collection.update(documents, id, (notice) => {
    if (notice === null) throw new NoticeError("missing", `There is no notice "${id}"`);
    const value = change(notice);
    const isEnded = value.status === "resolved" || value.status === "completed";
    return {
      value,
      options: isEnded ? { tag: "ended", expires_at_ms: now_ms + RETENTION_MS } : { tag: "open" },
    };
  });
  return changed!.value;
}
