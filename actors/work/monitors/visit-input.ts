/** The input of a monitor's visits, as it is sealed in its document. */
import type { Secrets } from "../../../cluster/ports/secrets.ts";
import type { MonitorFetch } from "../../../schemas/monitors.ts";
import { monitorPlace, type StoredMonitor } from "./stored-monitor.ts";

export interface VisitInput {
  /** The item of a visit's job. */
  readonly item: Readonly<Record<string, unknown>>;
  /** The client's options of it. */
  readonly given: MonitorFetch;
}

/** Throws Fault secret_unreadable. */
export const openVisitInput = (
  { open }: Pick<Secrets, "open">,
  { id, input }: Pick<StoredMonitor, "id" | "input">,
): VisitInput => JSON.parse(open(input, monitorPlace(id, "input"))) as VisitInput;
