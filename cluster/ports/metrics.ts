/**
 * Numbers for operators. METRICS is the only place where a metric is named (Prometheus naming, units last), and it fixes
 * the labels: each label has a closed set of values, never a domain, URL, key or job id. To add a metric, add a row here
 * and call `metrics.count`, `gauge` or `observe` with its name.
 */
import { ATTEMPT_REASON_CLASSES } from "../../schemas/attempt-reasons.ts";
import { FETCH_ERRORS, FILINGS_ERRORS, PROFILE_ERRORS, SEARCH_ERRORS } from "../../schemas/errors.ts";
import { CONTENT_KINDS } from "../../schemas/fetch.ts";
import { SOURCE_KINDS } from "../../schemas/filing-source.ts";
import { JOB_KINDS } from "../../schemas/jobs.ts";
import { PROFILE_OPS, PROFILE_PAGES } from "../../schemas/profiles.ts";
import { FAULT_CODES } from "./fault.ts";
import { PREMIUM_TIERS, TIERS } from "../../schemas/tier-table.ts";

export interface MetricSpec {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
  /** The values of each label, where they are few: then each series is there from the start, as 0. */
  readonly values?: Readonly<Record<string, readonly string[]>>;
  /** The same where not every combination of values occurs. */
  readonly series?: readonly Readonly<Record<string, string>>[];
}

const STORES = ["documents", "object_storage"];
const LANES = ["sync", "batch"];
const GRANTS = ["granted", "paused", "rate_limited"];
const CACHES = { cache: ["pages", "searches", "filings"] };
const DIRECTIONS = { direction: ["received", "sent"] };
const STORE_OPERATIONS = {
  documents: ["get", "get_many", "put", "remove", "list", "remove_range", "remove_expired"],
  object_storage: ["put", "head", "get", "remove"],
};
const STORE_SERIES = Object.entries(STORE_OPERATIONS).flatMap(([store, operations]) =>
  operations.map((operation) => ({ store, operation })),
);
const FETCH_OUTCOMES = ["ok", "http_3xx", "http_4xx", "http_5xx", ...Object.keys(FETCH_ERRORS)];
const SEARCH_PROVIDERS = ["metasearch", "fallback"];
const BOOLEANS = ["false", "true"];
/** What a request to the filing system came to: its own outcomes, its throttling, and problems of the connection. */
const FILING_OUTCOMES = (
  "ok unchanged not_modified missing redirect refused broken too_large incomplete slot_expired " +
  "throttled_threshold throttled_identity_refused throttled_http_403 throttled_http_429 throttled_http_503 " +
  "dns_nxdomain dns_error tls_error network_refused network_reset network_unreachable network_protocol network_encoding " +
  "blocked_destination timeout aborted"
).split(" ");
const FILING_OPERATIONS = ["resolve", "submissions", "latest", "index", "facts", "search", "document"];
const TASK_FAILURES =
  "timeout out_of_memory crashed threw full killed starved unavailable cannot_start aborted".split(" ");
/** An answer by its operation, fresh or from a cache, and each of its errors. */
const answerSeries = (operations: readonly string[], errors: readonly string[]) =>
  operations.flatMap((operation) => [
    ...BOOLEANS.map((cached) => ({ operation, outcome: "ok", cached })),
    ...errors.map((outcome) => ({ operation, outcome, cached: "false" })),
  ]);
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 150] as const;

export const METRICS = {
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
  trawl_egress_requests_waiting: {
    kind: "gauge",
    help: "Outgoing requests that have no answer yet",
    labels: [],
  },
  trawl_egress_phase_duration_seconds: {
    kind: "histogram",
    help: "Time of one phase of an outgoing request that was answered; a kept connection has the phase first_byte only",
    labels: ["phase"],
    values: { phase: ["dns", "connect", "tls", "first_byte"] },
    buckets: SECONDS,
  },
  trawl_egress_body_bytes_total: {
    kind: "counter",
    help: "Bytes of bodies of outgoing requests and their answers, compressed as they travel",
    labels: ["direction"],
    values: DIRECTIONS,
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
  trawl_http_server_info: { kind: "gauge", help: "Which HTTP adapter serves", labels: ["name"] },
  trawl_build_info: {
    kind: "gauge",
    help: "Which program runs, in labels; always 1",
    labels: ["version", "commit", "node_version"],
  },
  trawl_component_status: {
    kind: "gauge",
    help: "A component of the public status: 0 operational, 1 maintenance, 2 degraded, 3 partial outage, 4 major outage",
    labels: ["component"],
  },
  trawl_store_operation_duration_seconds: {
    kind: "histogram",
    help: "Time of an operation of a store",
    labels: ["store", "operation"],
    series: STORE_SERIES,
    buckets: SECONDS,
  },
  trawl_store_errors_total: {
    kind: "counter",
    help: "Operations of a store that failed",
    labels: ["store", "operation"],
    series: STORE_SERIES,
  },
  trawl_bus_delivery_delay_seconds: {
    kind: "histogram",
    help: "Time from when the bus stored an envelope until the owner of its partition got it",
    labels: ["stream"],
    values: { stream: ["sync", "work"] },
    buckets: SECONDS,
  },
  trawl_bus_redeliveries_total: {
    kind: "counter",
    help: "Envelopes stored before this node began to read their partition: an earlier owner has not acknowledged them",
    labels: ["stream"],
    values: { stream: ["sync", "work"] },
  },
  trawl_actor_asks_repeated_total: {
    kind: "counter",
    help: "Asks that were sent again because no answer came for ten seconds, or their partition moved",
    labels: [],
  },
  trawl_lease_renewals_late_total: {
    kind: "counter",
    help: "Leases of partitions that were renewed after two thirds of their time",
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
  trawl_reader_tasks: {
    kind: "gauge",
    help: "Documents in reader processes of this node, by task and state: running, waiting",
    labels: ["task", "state"],
  },
  trawl_browser_memory_bytes: {
    kind: "gauge",
    help: "Memory of all browser processes of this node while pages are open, without the content of files",
    labels: [],
  },
  trawl_disk_free_bytes: { kind: "gauge", help: "Free space where the data folder is", labels: [] },
  trawl_disk_size_bytes: { kind: "gauge", help: "Size of the disk where the data folder is", labels: [] },
  trawl_partitions_owned: { kind: "gauge", help: "Partitions that this node owns", labels: [] },
  trawl_actor_pending_asks: {
    kind: "gauge",
    help: "Questions to actors that wait for their answer",
    labels: [],
  },
  trawl_actor_background_work: {
    kind: "gauge",
    help: "Work of actors that runs beside their turns",
    labels: [],
  },
  trawl_domain_slot_wait_seconds: {
    kind: "histogram",
    help: "Time from the request for a polite slot of a domain to the grant, with the pauses and delays of its origin",
    labels: [],
    buckets: SECONDS,
  },
  trawl_jobs_running: { kind: "gauge", help: "Batch jobs of this node that have started", labels: [] },
  trawl_job_queue_items: {
    kind: "gauge",
    help: "Items of this node's batch jobs that no attempt has taken",
    labels: [],
  },
  trawl_job_oldest_waiting_seconds: {
    kind: "gauge",
    help: "Age of the oldest batch job of this node that has not started; 0: none waits",
    labels: [],
  },
  trawl_job_scheduler_wait_seconds: {
    kind: "gauge",
    help: "How long a job of this node has had no turn, or no answer of the scheduler; an unfinished job has a turn each second",
    labels: [],
  },
  trawl_damaged_documents_total: {
    kind: "counter",
    help: "Times that a document was not what was stored, by how it was found; each of them is in the log",
    labels: ["found"],
    values: { found: ["read", "scrub"] },
  },
  trawl_store_failing: {
    kind: "gauge",
    help: "1 while a store refuses writes",
    labels: ["store"],
    values: { store: STORES },
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
  trawl_fetch_requests_total: {
    kind: "counter",
    help: "Fetches answered",
    labels: ["outcome", "cached", "category"],
    series: [
      ...FETCH_OUTCOMES.map((outcome) => ({ outcome, cached: "false", category: "fetch_own" })),
      { outcome: "ok", cached: "false", category: "fetch_paid" },
      { outcome: "ok", cached: "true", category: "fetch_cached" },
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
  trawl_search_requests_total: {
    kind: "counter",
    help: "Searches answered, by provider; none: no provider could answer",
    labels: ["provider", "outcome", "cached"],
    series: [
      ...SEARCH_PROVIDERS.flatMap((provider) =>
        ["found", "nothing_found"].flatMap((outcome) =>
          BOOLEANS.map((cached) => ({ provider, outcome, cached })),
        ),
      ),
      ...[...Object.keys(SEARCH_ERRORS), "fallback_http_3xx", "fallback_http_4xx", "fallback_http_5xx"].map(
        (outcome) => ({ provider: "none", outcome, cached: "false" }),
      ),
    ],
  },
  trawl_search_upstream_total: {
    kind: "counter",
    help: "Requests to metasearch instances and to the fallback API",
    labels: ["provider", "reason"],
    values: {
      provider: SEARCH_PROVIDERS,
      reason: [
        "ok",
        "timeout",
        "unreachable",
        "invalid_answer",
        "captcha",
        "http_3xx",
        "http_4xx",
        "http_5xx",
      ],
    },
  },
  trawl_search_index_pages: { kind: "gauge", help: "Pages in the built-in search index", labels: [] },
  trawl_profiles_requests_total: {
    kind: "counter",
    help: "Requests to the profile site, by kind, route and outcome",
    labels: ["kind", "tier", "outcome"],
    values: {
      kind: PROFILE_PAGES,
      tier: PREMIUM_TIERS,
      outcome: ["page", "final", "blocked", "limited", "failed"],
    },
  },
  trawl_profiles_answers_total: {
    kind: "counter",
    help: "Profile operations answered",
    labels: ["operation", "outcome", "cached"],
    series: answerSeries(PROFILE_OPS, Object.keys(PROFILE_ERRORS)),
  },
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
  trawl_company_slots_total: {
    kind: "counter",
    help: "Slots of company sources granted, and refused because of a pause or a full queue",
    labels: ["source", "outcome"],
  },
  trawl_company_slot_wait_seconds: {
    kind: "histogram",
    help: "Time from the request for a slot of a company source to the grant",
    labels: ["source"],
    buckets: SECONDS,
  },
  trawl_company_source_pause_level: {
    kind: "gauge",
    help: "Consecutive pauses that a company source asked for; 0: none",
    labels: ["source"],
  },
  trawl_company_documents_compared_total: {
    kind: "counter",
    help: "JSON documents of company sources whose fields were compared with those of earlier ones",
    labels: ["source"],
  },
  trawl_alert_deliveries_total: {
    kind: "counter",
    help: "Attempts to deliver usage alerts, by outcome: delivered, http, error, blocked",
    labels: ["outcome"],
    values: { outcome: ["delivered", "http", "error", "blocked"] },
  },
  trawl_company_deliveries_total: {
    kind: "counter",
    help: "Attempts to deliver a change of a company, by outcome: delivered, http, error, blocked",
    labels: ["outcome"],
    values: { outcome: ["delivered", "http", "error", "blocked"] },
  },
  trawl_company_feed_lag_seconds: {
    kind: "gauge",
    help: "Age of the oldest change of a company that had no number in the change feed, when it got one",
    labels: [],
  },
  trawl_cache_hits_total: {
    kind: "counter",
    help: "Answers from a cache",
    labels: ["cache"],
    values: CACHES,
  },
  trawl_cache_misses_total: {
    kind: "counter",
    help: "Lookups that a cache could not answer",
    labels: ["cache"],
    values: CACHES,
  },
  trawl_bodies_collection_stopped: {
    kind: "gauge",
    help: "1 while bodies are not removed: apart, they do not belong to the documents; too_many, more than a fifth would go",
    labels: ["reason"],
    values: { reason: ["apart", "too_many"] },
  },
  trawl_bodies_removed_total: {
    kind: "counter",
    help: "Stored bodies removed because nothing referred to them",
    labels: [],
  },
  trawl_work_failures_total: {
    kind: "counter",
    help: "Tasks in child processes that failed, by task and reason",
    labels: ["task", "reason"],
    values: { task: CONTENT_KINDS, reason: TASK_FAILURES },
  },
  trawl_memory_limit_bytes: {
    kind: "gauge",
    help: "Bytes of bodies and messages that this node may hold in memory at once",
    labels: [],
  },
  trawl_memory_reserved_bytes: {
    kind: "gauge",
    help: "Bytes of bodies and messages reserved in memory",
    labels: [],
  },
  trawl_memory_waiting: { kind: "gauge", help: "Reservations of memory that wait for room", labels: [] },
  trawl_memory_refusals_total: {
    kind: "counter",
    help: "Reservations of memory that found no room in time",
    labels: [],
  },
  trawl_tier_capacity: {
    kind: "gauge",
    help: "Calls that a tier of this node takes at once",
    labels: ["tier"],
  },
  trawl_tier_calls: {
    kind: "gauge",
    help: "Calls of a tier of this node, by state: in_use, waiting",
    labels: ["tier", "state"],
  },
  trawl_tier_calls_total: {
    kind: "counter",
    help: "Calls that a tier of this node ended, by what they say of it: success, infrastructure, neutral",
    labels: ["tier", "outcome"],
    values: { tier: TIERS, outcome: ["success", "infrastructure", "neutral"] },
  },
  trawl_tier_refusals_total: {
    kind: "counter",
    help: "Calls that a tier of this node refused, by reason: busy, unavailable",
    labels: ["tier", "reason"],
    values: { tier: TIERS, reason: ["busy", "unavailable"] },
  },
  trawl_tier_breaker_open: {
    kind: "gauge",
    help: "1 while a tier of this node is unavailable because its provider fails",
    labels: ["tier"],
  },
  trawl_browser_pages: { kind: "gauge", help: "Pages open in browsers on this node", labels: [] },
  trawl_browser_ends_total: {
    kind: "counter",
    help: "Browsers closed, by reason: pages, memory, hung, crashed, idle, closed",
    labels: ["reason"],
    values: { reason: ["pages", "memory", "hung", "crashed", "idle", "closed"] },
  },
  trawl_jobs_total: {
    kind: "counter",
    help: "Batch jobs that ended",
    labels: ["kind", "status"],
    values: { kind: JOB_KINDS, status: ["completed", "cancelled"] },
  },
  trawl_job_items_total: {
    kind: "counter",
    help: "Items of batch jobs that were settled or put back for another attempt",
    labels: ["kind", "status"],
    values: {
      kind: JOB_KINDS,
      status: ["done", "failed", "retry_transient", "retry_blocked", "retry_busy", "retry_fault"],
    },
  },
  trawl_job_callbacks_total: {
    kind: "counter",
    help: "Callback attempts, by outcome",
    labels: ["outcome"],
    values: { outcome: ["delivered", "http", "error", "blocked"] },
  },
  trawl_actor_activations: { kind: "gauge", help: "Activations on this node", labels: ["kind"] },
  trawl_actor_mailbox_depth: { kind: "gauge", help: "Messages waiting in mailboxes", labels: ["kind"] },
  trawl_actor_oldest_message_seconds: {
    kind: "gauge",
    help: "How long the oldest message has waited in a mailbox, or for its turn to be stored; 0: none waits",
    labels: ["kind"],
  },
  trawl_clock_skew_seconds: {
    kind: "gauge",
    help: "How far this node's clock is ahead of the cluster's; negative: behind",
    labels: [],
  },
  trawl_actor_store_waits: {
    kind: "gauge",
    help: "Activations on this node that wait for the document store",
    labels: [],
  },
  trawl_actor_failures_total: { kind: "counter", help: "Turns that threw", labels: ["kind"] },
  trawl_dead_letters_total: {
    kind: "counter",
    help: "Messages without a caller that were given up after five broken turns; trawl dead-letters shows them",
    labels: ["kind"],
  },
  trawl_crashes_total: {
    kind: "counter",
    help: "Failures that no code handled, after which the process ends: unhandled_rejection, uncaught_exception",
    labels: ["kind"],
    values: { kind: ["unhandled_rejection", "uncaught_exception"] },
  },
  trawl_unreadable_messages_total: {
    kind: "counter",
    help: "Messages left to the next owner of their partition because this version cannot read them",
    labels: [],
  },
  trawl_partitions: {
    kind: "gauge",
    help: "Partitions of the cluster by whether a node owns them: owned, unowned",
    labels: ["state"],
    values: { state: ["owned", "unowned"] },
  },
  trawl_faults_total: {
    kind: "counter",
    help: "Faults of the bus, the document store and the blob store",
    labels: ["code"],
    values: { code: FAULT_CODES },
  },
} as const satisfies Record<string, MetricSpec>;

export type MetricName = keyof typeof METRICS;
export type MetricLabels<M extends MetricName> = Readonly<
  Record<(typeof METRICS)[M]["labels"][number], string>
>;

export interface Metrics {
  /** The series is there from now on, as 0: of labels whose values are known only when the service starts. */
  begin<M extends MetricName>(metric: M, labels: MetricLabels<M>): void;
  count<M extends MetricName>(metric: M, labels: MetricLabels<M>, by?: number): void;
  gauge<M extends MetricName>(metric: M, labels: MetricLabels<M>, value: number): void;
  observe<M extends MetricName>(metric: M, labels: MetricLabels<M>, value: number): void;
}

const ignore = (): void => {};

/** Counts nothing: the default where a caller gives no metrics. */
export const SILENT_METRICS: Metrics = { begin: ignore, count: ignore, gauge: ignore, observe: ignore };
