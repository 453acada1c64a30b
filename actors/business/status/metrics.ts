/** The metrics of the public status. */
import type { MetricTable } from "../../../cluster/ports/metrics.ts";

export const STATUS_METRICS = {
  trawl_component_status: {
    kind: "gauge",
    help: "A component of the public status: 0 operational, 1 maintenance, 2 degraded, 3 partial outage, 4 major outage",
    labels: ["component"],
  },
} as const satisfies MetricTable;

declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends Readonly<typeof STATUS_METRICS> {}
}
