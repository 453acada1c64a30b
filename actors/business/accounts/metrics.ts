/** Metrics of accounts. */
import { DELIVERY_OUTCOMES } from "../../work/callbacks/delivery-outcome.ts";
import type { MetricTable } from "../../../cluster/ports/metrics.ts";

export const ACCOUNT_METRICS = {
  trawl_alert_deliveries_total: {
    kind: "counter",
    help: "Attempts to deliver usage alerts, by outcome: delivered, http, error, blocked",
    labels: ["outcome"],
    values: { outcome: DELIVERY_OUTCOMES },
  },
} as const satisfies MetricTable;

declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends Readonly<typeof ACCOUNT_METRICS> {}
}
