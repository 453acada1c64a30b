/** The operator's incidents and maintenance windows. Tagged "open", or "ended" with an expiry. */
import { collection } from "../../../cluster/collection.ts";
import type { StatusIncident, StatusMaintenance } from "../../../schemas/status.ts";

export const INCIDENTS = collection<StatusIncident>("status_incidents", { expires: true });
export const MAINTENANCE = collection<StatusMaintenance>("status_maintenance", { expires: true });
