/** Metrics of sinks. */
import type { MetricTable } from "../../../cluster/ports/metrics.ts";
import { SINK_TYPES } from "../../../schemas/sinks.ts";
import { DELIVERY_OUTCOMES } from "../callbacks/delivery-outcome.ts";

export const SINK_METRICS = {
  trawl_sink_deliveries_total: {
    kind: "counter",
    help: "Attempts to deliver a part or a manifest of job results, by type of sink and outcome: delivered, http, error, blocked",
    labels: ["type", "outcome"],
    values: { type: SINK_TYPES, outcome: DELIVERY_OUTCOMES },
  },
} as const satisfies MetricTable;

declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends Readonly<typeof SINK_METRICS> {}
}
