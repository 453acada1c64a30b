/** Metrics of monitors. */
import type { MetricTable } from "../../../cluster/ports/metrics.ts";
import { VISIT_OUTCOMES } from "../../../schemas/monitors.ts";
import { DELIVERY_OUTCOMES } from "../callbacks/delivery-outcome.ts";

export const MONITOR_METRICS = {
  trawl_monitor_visits_total: {
    kind: "counter",
    help: "Visits of monitored pages that ended, by what they found",
    labels: ["outcome"],
    values: { outcome: VISIT_OUTCOMES },
  },
  trawl_monitor_deliveries_total: {
    kind: "counter",
    help: "Attempts to deliver changes of monitored pages, by outcome: delivered, http, error, blocked",
    labels: ["outcome"],
    values: { outcome: DELIVERY_OUTCOMES },
  },
} as const satisfies MetricTable;

declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends Readonly<typeof MONITOR_METRICS> {}
}
