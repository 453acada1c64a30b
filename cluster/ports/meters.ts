/**
 * What operators see: numbers and log lines. The table is the only place a number is named (Prometheus naming;
 * units last), so labels stay closed sets: never a domain, URL, key or job.
 */
interface Kind {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 150] as const;

export const METERS = {
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
  trawl_http_aborted_total: { kind: "counter", help: "Clients that left before their answer", labels: [] },
  trawl_http_server_info: { kind: "gauge", help: "Which HTTP adapter serves", labels: ["name"] },
  trawl_auth_failures_total: { kind: "counter", help: "Requests refused for their key", labels: ["reason"] },
  trawl_rate_limited_total: { kind: "counter", help: "Requests refused with 429", labels: ["policy"] },
  trawl_fetch_requests_total: {
    kind: "counter",
    help: "Fetches answered",
    labels: ["outcome", "cached", "category"],
  },
  trawl_fetch_attempts_total: { kind: "counter", help: "Routes tried", labels: ["tier", "reason"] },
  trawl_fetch_duration_seconds: {
    kind: "histogram",
    help: "Time one route took",
    labels: ["tier"],
    buckets: SECONDS,
  },
  trawl_search_requests_total: {
    kind: "counter",
    help: "Searches answered; provider none when nobody could",
    labels: ["provider", "outcome", "cached"],
  },
  trawl_search_upstream_total: {
    kind: "counter",
    help: "Questions to metasearch instances and the fallback API",
    labels: ["provider", "reason"],
  },
  trawl_search_index_pages: { kind: "gauge", help: "Pages in the built-in search index", labels: [] },
  trawl_filings_slots_total: {
    kind: "counter",
    help: "Slots of the filing system granted, and refused because it is left alone or too many wait",
    labels: ["lane", "outcome"],
  },
  trawl_filings_slot_wait_seconds: {
    kind: "histogram",
    help: "Time from asking for a slot of the filing system to having it",
    labels: ["lane"],
    buckets: SECONDS,
  },
  trawl_filings_requests_total: {
    kind: "counter",
    help: "Requests to the filing system, by what was asked for and what it came to",
    labels: ["kind", "outcome"],
  },
  trawl_filings_pause_level: {
    kind: "gauge",
    help: "Pauses in a row that the filing system asked for; 0: none",
    labels: [],
  },
  trawl_filings_answers_total: {
    kind: "counter",
    help: "Questions about filings answered",
    labels: ["operation", "outcome", "cached"],
  },
  trawl_cache_hits_total: { kind: "counter", help: "Answers from a cache", labels: ["cache"] },
  trawl_cache_misses_total: {
    kind: "counter",
    help: "Questions a cache could not answer",
    labels: ["cache"],
  },
  trawl_bodies_removed_total: {
    kind: "counter",
    help: "Stored bodies removed that nobody needed",
    labels: [],
  },
  trawl_work_failures_total: {
    kind: "counter",
    help: "Extractions cut off outside the process",
    labels: ["task", "reason"],
  },
  trawl_browser_pages: { kind: "gauge", help: "Pages open in browsers on this node", labels: [] },
  trawl_browser_ends_total: {
    kind: "counter",
    help: "Browsers closed: replaced for their pages or memory, hung, crashed, idle, or with the service",
    labels: ["reason"],
  },
  trawl_jobs_total: { kind: "counter", help: "Batch jobs that ended", labels: ["kind", "status"] },
  trawl_job_items_total: {
    kind: "counter",
    help: "Items of batch jobs that were settled, or put back to be tried again",
    labels: ["kind", "status"],
  },
  trawl_job_callbacks_total: {
    kind: "counter",
    help: "Attempts to call back, by what came of them",
    labels: ["outcome"],
  },
  trawl_actor_activations: { kind: "gauge", help: "Actors awake on this node", labels: ["kind"] },
  trawl_actor_mailbox_depth: { kind: "gauge", help: "Messages waiting in mailboxes", labels: ["kind"] },
  trawl_actor_failures_total: { kind: "counter", help: "Turns that threw", labels: ["kind"] },
  trawl_faults_total: { kind: "counter", help: "Faults of our own engines", labels: ["code"] },
} as const satisfies Record<string, Kind>;

export type Meter = keyof typeof METERS;
export type Labels<M extends Meter> = Readonly<Record<(typeof METERS)[M]["labels"][number], string>>;

export type Level = "debug" | "info" | "warn" | "error";

export interface Meters {
  count<M extends Meter>(meter: M, labels: Labels<M>, by?: number): void;
  gauge<M extends Meter>(meter: M, labels: Labels<M>, value: number): void;
  observe<M extends Meter>(meter: M, labels: Labels<M>, value: number): void;
  /** One log line. Secrets never belong in fields; query strings are cut by the caller. */
  say(level: Level, message: string, fields?: Readonly<Record<string, unknown>>): void;
}
