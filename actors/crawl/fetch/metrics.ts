/** Metrics of fetches. */
import { SECONDS, type MetricTable } from "../../../cluster/ports/metrics.ts";
import { ATTEMPT_REASON_CLASSES } from "../../../schemas/attempt-reasons.ts";
import { FETCH_ERRORS } from "../../../schemas/errors.ts";
import { TIERS } from "../../../schemas/tier-table.ts";

const FETCH_OUTCOMES = ["ok", "http_3xx", "http_4xx", "http_5xx", ...Object.keys(FETCH_ERRORS)];

export const FETCH_METRICS = {
  trawl_fetch_requests_total: {
    kind: "counter",
    help: "Fetches answered",
    labels: ["outcome", "cached", "category"],
    series: [
      // A premium route that failed has cost money, too.
      ...["fetch_own", "fetch_paid"].flatMap((category) =>
        FETCH_OUTCOMES.map((outcome) => ({ outcome, cached: "false", category })),
      ),
      { outcome: "ok", cached: "true", category: "fetch_cached" },
      // A stored page whose values a language model gave.
      { outcome: "ok", cached: "true", category: "fetch_paid" },
    ],
  },
  trawl_fetch_attempts_total: {
    kind: "counter",
    help: "Route attempts, by route and class of their reason (schemas/attempt-reasons.ts)",
    labels: ["tier", "reason"],
    values: { tier: [...TIERS, "source"], reason: ATTEMPT_REASON_CLASSES },
  },
  trawl_fetch_duration_seconds: {
    kind: "histogram",
    help: "Duration of one route's attempt",
    labels: ["tier"],
    values: { tier: TIERS },
    buckets: SECONDS,
  },
  trawl_archived_exchanges_total: {
    kind: "counter",
    help: "Exchanges with origins that were kept for an archive, by route",
    labels: ["tier"],
    values: { tier: TIERS },
  },
  trawl_domain_slot_wait_seconds: {
    kind: "histogram",
    help: "Time from the request for a polite slot of a domain to the grant, with the pauses and delays of its origin",
    labels: [],
    buckets: SECONDS,
  },
} as const satisfies MetricTable;

type FetchMetrics = typeof FETCH_METRICS;
declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends FetchMetrics {}
}
