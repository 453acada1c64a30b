/** Metrics that a node has of itself: its stores, its requests out, its readers and its disk. */
import { SECONDS, type MetricTable } from "../cluster/ports/metrics.ts";
import { CONTENT_KINDS } from "../schemas/fetch.ts";

const STORES = ["documents", "object_storage"];
const CACHES = { cache: ["pages", "searches", "filings"] };
const DIRECTIONS = { direction: ["received", "sent"] };
const STORE_OPERATIONS = {
  documents: ["get", "get_many", "put", "remove", "list", "remove_range", "remove_expired"],
  object_storage: ["put", "head", "get", "remove"],
};
const STORE_SERIES = Object.entries(STORE_OPERATIONS).flatMap(([store, operations]) =>
  operations.map((operation) => ({ store, operation })),
);
const TASK_FAILURES =
  "timeout out_of_memory crashed threw full killed starved unavailable cannot_start aborted".split(" ");

export const NODE_METRICS = {
  trawl_build_info: {
    kind: "gauge",
    help: "Which program runs, in labels; always 1",
    labels: ["version", "commit", "node_version"],
  },
  trawl_http_server_info: { kind: "gauge", help: "Which HTTP adapter serves", labels: ["name"] },
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
  trawl_store_operation_duration_seconds: {
    kind: "histogram",
    help: "Time of an operation of a store",
    labels: ["store", "operation"],
    series: STORE_SERIES,
    buckets: SECONDS,
  },
  trawl_documents_written_total: {
    kind: "counter",
    help: "Documents that were written, by their collection",
    labels: ["collection"],
  },
  trawl_store_errors_total: {
    kind: "counter",
    help: "Operations of a store that failed",
    labels: ["store", "operation"],
    series: STORE_SERIES,
  },
  trawl_store_failing: {
    kind: "gauge",
    help: "1 while a store refuses writes",
    labels: ["store"],
    values: { store: STORES },
  },
  trawl_damaged_documents_total: {
    kind: "counter",
    help: "Times that a document was not what was stored, by how it was found; each of them is in the log",
    labels: ["found"],
    values: { found: ["read", "scrub"] },
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
  trawl_object_storage_uploads_total: {
    kind: "counter",
    help: "Objects uploaded to S3: single, one body each; shared, several small bodies at once",
    labels: ["kind"],
    values: { kind: ["single", "shared"] },
  },
  trawl_shared_objects_swept_total: {
    kind: "counter",
    help: "Objects that small bodies share, by what became of them: indexed, their bodies are found again; rewritten, little was left of them; removed",
    labels: ["outcome"],
    values: { outcome: ["indexed", "rewritten", "removed"] },
  },
  trawl_disk_free_bytes: { kind: "gauge", help: "Free space where the data folder is", labels: [] },
  trawl_disk_size_bytes: { kind: "gauge", help: "Size of the disk where the data folder is", labels: [] },
  trawl_reader_tasks: {
    kind: "gauge",
    help: "Documents in reader processes of this node, by task and state: running, waiting",
    labels: ["task", "state"],
  },
  trawl_ocr_pages_total: {
    kind: "counter",
    help: "Scanned pages given to the program that recognises text, by outcome: ok, failed",
    labels: ["outcome"],
    values: { outcome: ["ok", "failed"] },
  },
  trawl_work_failures_total: {
    kind: "counter",
    help: "Tasks in child processes that failed, by task and reason",
    labels: ["task", "reason"],
    values: { task: CONTENT_KINDS, reason: TASK_FAILURES },
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
  trawl_crashes_total: {
    kind: "counter",
    help: "Failures that no code handled, after which the process ends: unhandled_rejection, uncaught_exception",
    labels: ["kind"],
    values: { kind: ["unhandled_rejection", "uncaught_exception"] },
  },
} as const satisfies MetricTable;

declare module "../cluster/ports/metrics.ts" {
  interface KnownMetrics extends Readonly<typeof NODE_METRICS> {}
}
