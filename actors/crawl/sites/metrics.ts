/** What maps of sites and crawls count. */
import type { MetricTable } from "../../../cluster/ports/metrics.ts";
import { DELIVERY_OUTCOMES } from "../../work/callbacks/delivery-outcome.ts";

export const SITE_METRICS = {
  trawl_map_requests_total: {
    kind: "counter",
    help: "Maps of sites answered; cut: the time, the quota or a limit of spend ended before everything was read",
    labels: ["outcome"],
    values: { outcome: ["found", "nothing_found", "cut"] },
  },
  trawl_crawl_deliveries_total: {
    kind: "counter",
    help: "Attempts to deliver events of crawls to their webhooks, by outcome: delivered, http, error, blocked",
    labels: ["outcome"],
    values: { outcome: DELIVERY_OUTCOMES },
  },
} as const satisfies MetricTable;

type SiteMetrics = typeof SITE_METRICS;
declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends SiteMetrics {}
}
