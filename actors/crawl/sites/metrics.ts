/** Metrics of maps of sites and crawls. */
import type { MetricTable } from "../../../cluster/ports/metrics.ts";

export const SITE_METRICS = {
  trawl_map_requests_total: {
    kind: "counter",
    help: "Maps of sites answered; cut: the time, the quota or a limit of spend ended before everything was read",
    labels: ["outcome"],
    values: { outcome: ["found", "nothing_found", "cut"] },
  },
} as const satisfies MetricTable;

type SiteMetrics = typeof SITE_METRICS;
declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends SiteMetrics {}
}
