/** Metrics of the filing system. */
import { answerSeries, SECONDS, type MetricTable } from "../../../cluster/ports/metrics.ts";
import { FILINGS_ERRORS } from "../../../schemas/errors.ts";
import { SOURCE_KINDS } from "../../../schemas/filing-source.ts";

const LANES = ["sync", "batch"];
const GRANTS = ["granted", "paused", "rate_limited"];
/** Outcomes of a request to the filing system: its own, those of throttling, and problems of the connection. */
const FILING_OUTCOMES = (
  "ok unchanged not_modified missing redirect refused broken too_large incomplete slot_expired " +
  "throttled_threshold throttled_identity_refused throttled_http_403 throttled_http_429 throttled_http_503 " +
  "dns_nxdomain dns_error tls_error network_refused network_reset network_unreachable network_protocol network_encoding " +
  "blocked_destination timeout aborted"
).split(" ");
const FILING_OPERATIONS = ["resolve", "submissions", "latest", "index", "facts", "search", "document"];

export const FILING_METRICS = {
  trawl_filings_slots_total: {
    kind: "counter",
    help: "Slots of the filing system granted, and refused because of a pause or a full queue",
    labels: ["lane", "outcome"],
    values: { lane: LANES, outcome: GRANTS },
  },
  trawl_filings_slot_wait_seconds: {
    kind: "histogram",
    help: "Time from the request for a slot of the filing system to the grant",
    labels: ["lane"],
    values: { lane: LANES },
    buckets: SECONDS,
  },
  trawl_filings_requests_total: {
    kind: "counter",
    help: "Requests to the filing system, by kind and outcome",
    labels: ["kind", "outcome"],
    values: { kind: SOURCE_KINDS, outcome: FILING_OUTCOMES },
  },
  trawl_filings_pause_level: {
    kind: "gauge",
    help: "Consecutive pauses that the filing system asked for; 0: none",
    labels: [],
  },
  trawl_filings_answers_total: {
    kind: "counter",
    help: "Filing operations answered",
    labels: ["operation", "outcome", "cached"],
    series: answerSeries(FILING_OPERATIONS, Object.keys(FILINGS_ERRORS)),
  },
} as const satisfies MetricTable;

declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends Readonly<typeof FILING_METRICS> {}
}
