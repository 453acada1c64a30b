/** The metrics of the gateway: requests, bodies, refusals, rows of the ledger. */
import { SECONDS, type MetricTable } from "../cluster/ports/metrics.ts";

const DIRECTIONS = { direction: ["received", "sent"] };

export const GATEWAY_METRICS = {
  trawl_http_requests_total: {
    kind: "counter",
    help: "Requests answered, by route template, method and status class",
    labels: ["route", "method", "status"],
  },
  trawl_http_request_duration_seconds: {
    kind: "histogram",
    help: "Time from a request's head to the end of its answer",
    labels: ["route"],
    buckets: SECONDS,
  },
  trawl_http_aborted_total: {
    kind: "counter",
    help: "Requests whose client disconnected before the answer",
    labels: [],
  },
  trawl_http_requests_in_flight: {
    kind: "gauge",
    help: "Requests to the API that wait for an answer which no cache has",
    labels: [],
  },
  trawl_http_body_bytes_total: {
    kind: "counter",
    help: "Bytes of bodies of requests to the API and of answers with a known length",
    labels: ["direction"],
    values: DIRECTIONS,
  },
  trawl_auth_failures_total: {
    kind: "counter",
    help: "Requests refused because of their key",
    labels: ["reason"],
    values: { reason: ["missing", "invalid", "unavailable", "suspended"] },
  },
  trawl_rate_limited_total: {
    kind: "counter",
    help: "Requests refused with 429",
    labels: ["policy"],
    values: { policy: ["project", "key", "allowance"] },
  },
  trawl_operator_events_lost_total: {
    kind: "counter",
    help: "Changes by operators whose row of the audit log could not be stored; a line of the log has them",
    labels: [],
  },
  trawl_ledger_rows_waiting: {
    kind: "gauge",
    help: "Rows of the ledger that are not stored yet",
    labels: [],
  },
  trawl_ledger_lag_seconds: {
    kind: "gauge",
    help: "Age of the oldest row of the ledger that is not stored yet; 0: all are stored",
    labels: [],
  },
} as const satisfies MetricTable;

declare module "../cluster/ports/metrics.ts" {
  interface KnownMetrics extends Readonly<typeof GATEWAY_METRICS> {}
}
