/**
 * The components of the status that the specification names, with their rules as a table each. A slice declares its
 * components at its door and reports the figures they are judged by. Pure.
 */
import type { ComponentSpec, Finding } from "./component.ts";
import {
  above,
  below,
  levels,
  MIN_ATTEMPTS,
  MIN_REQUESTS,
  onlyDegraded,
  rateOf,
  tellingRate,
  when,
} from "./component.ts";
import type { Facts } from "./figures.ts";

/** Nodes that have the role worker, and each store as the reading gateway sees it (1 or 0): facts that no slice reports. */
export const WORKERS = "workers";
export const DATABASE_OK = "database_ok";
export const CACHE_OK = "cache_ok";
export const OBJECT_STORAGE_OK = "object_storage_ok";

const QUEUE_LAG_S = levels(15, 60, 120);
const FETCH_P95_MS = 60_000;
const SLOT_WAIT_P95_MS = 5_000;
const SCHEDULER_S = { degraded: 30, partial_outage: 120, major_outage: null };
const WAITING_JOB_S = { degraded: 15 * 60, partial_outage: 60 * 60, major_outage: null };
const MAX_PARSE_FAILURES = 0.1;

const stores = (facts: Facts): readonly (Finding | null)[] => [
  when(facts[DATABASE_OK] === 0, "major_outage", "database_unreachable"),
  when(facts[CACHE_OK] === 0, "major_outage", "cache_unreachable"),
];

const noWorkers = (count: number | undefined): Finding | null =>
  when(count === 0, "major_outage", "no_workers");

export const API: ComponentSpec = {
  id: "api",
  group: null,
  name: "API",
  description: "The HTTP interface",
  deployed_with: null,
  findings: stores,
  metrics: (facts) => ({
    requests: facts["api.requests"],
    success_rate: rateOf(facts["api.successes"], facts["api.requests"]),
    latency_p95_ms: facts["api.latency_p95_ms"],
  }),
};

export const STORAGE: ComponentSpec = {
  id: "storage",
  group: null,
  name: "Storage",
  description: "The database, the cache and the stored pages and documents",
  deployed_with: null,
  findings: (facts) => [
    ...stores(facts),
    when(facts[OBJECT_STORAGE_OK] === 0, "degraded", "object_storage_unreachable"),
  ],
  metrics: (facts) => ({
    database_ok: facts[DATABASE_OK],
    cache_ok: facts[CACHE_OK],
    object_storage_ok: facts[OBJECT_STORAGE_OK],
  }),
};

const queue = (facts: Facts, name: string) => ({
  workers_alive: facts[WORKERS],
  sync_queue_backlog: facts[`${name}.sync_queue_backlog`],
  sync_queue_lag_s: facts[`${name}.sync_queue_lag_s`],
  batch_queue_backlog: facts[`${name}.batch_queue_backlog`],
});

const share = (part: number | undefined, of: number | undefined): number | undefined =>
  part === undefined || of === undefined || of === 0 ? undefined : part / of;

export const SEARCH: ComponentSpec = {
  id: "search",
  group: null,
  name: "Search",
  description: "Web search",
  deployed_with: "search.engines",
  findings: (facts) => {
    const { "search.engines": engines, "search.engines_healthy": healthy } = facts;
    const rate = tellingRate(facts["search.successes"], facts["search.requests"], MIN_REQUESTS);
    const hasFallback = facts["search.fallback"] === 1;
    const isNone = healthy === 0;
    return [
      noWorkers(facts[WORKERS]),
      below("low_success_rate", rate, levels(0.95, 0.8, 0.5)),
      when(isNone, hasFallback ? "partial_outage" : "major_outage", "engines_unavailable"),
      isNone ? null : below("engines_reduced", share(healthy, engines), onlyDegraded(0.5)),
      above("queue_lag", facts["search.sync_queue_lag_s"], QUEUE_LAG_S),
    ];
  },
  metrics: (facts) => ({
    requests: facts["search.requests"],
    success_rate: rateOf(facts["search.successes"], facts["search.requests"]),
    latency_p95_ms: facts["search.latency_p95_ms"],
    engines_healthy_share: rateOf(facts["search.engines_healthy"], facts["search.engines"]),
    fallback_available: facts["search.fallback"],
    fallback_share: rateOf(facts["search.fallback_requests"], facts["search.requests"]),
    fallback_success_rate: rateOf(facts["search.fallback_successes"], facts["search.fallback_requests"]),
    ...queue(facts, "search"),
  }),
};

export const FETCH: ComponentSpec = {
  id: "fetch",
  group: null,
  name: "Fetch",
  description: "Retrieval of pages and documents",
  deployed_with: null,
  findings: (facts) => [
    noWorkers(facts[WORKERS]),
    below(
      "low_success_rate",
      tellingRate(facts["fetch.successes"], facts["fetch.requests"], MIN_REQUESTS),
      levels(0.85, 0.6, 0.3),
    ),
    (facts["fetch.requests"] ?? 0) < MIN_REQUESTS
      ? null
      : above("high_latency", facts["fetch.latency_p95_ms"], onlyDegraded(FETCH_P95_MS)),
    above("queue_lag", facts["fetch.sync_queue_lag_s"], QUEUE_LAG_S),
  ],
  metrics: (facts) => ({
    requests: facts["fetch.requests"],
    success_rate: rateOf(facts["fetch.successes"], facts["fetch.requests"]),
    latency_p95_ms: facts["fetch.latency_p95_ms"],
    ...queue(facts, "fetch"),
  }),
};

/** A route is judged by what it needs (a browser, an archive, a provider), never by what sites answer. */
const tierFindings =
  (name: string) =>
  (facts: Facts): readonly (Finding | null)[] => [
    below(
      "tier_errors",
      tellingRate(facts[`${name}.successes`], facts[`${name}.attempts`], MIN_ATTEMPTS),
      levels(0.8, 0.5, 0.1),
    ),
  ];
const tierMetrics =
  (name: string) =>
  (facts: Facts): Readonly<Record<string, number | undefined>> => ({
    attempts: facts[`${name}.attempts`],
    success_rate: rateOf(facts[`${name}.successes`], facts[`${name}.attempts`]),
    latency_p95_ms: facts[`${name}.latency_p95_ms`],
  });

export const BROWSER: ComponentSpec = {
  id: "browser_rendering",
  group: null,
  name: "Browser rendering",
  description: "Pages that need a browser",
  deployed_with: "browser.workers",
  findings: (facts) => [noWorkers(facts["browser.workers"] ?? 0), ...tierFindings("browser")(facts)],
  metrics: (facts) => ({
    ...tierMetrics("browser")(facts),
    workers_alive: facts["browser.workers"] ?? 0,
    queue_backlog: facts["browser.queue_backlog"],
  }),
};

export const ARCHIVE: ComponentSpec = {
  id: "archive",
  group: null,
  name: "Archive",
  description: "Copies of pages in a web archive",
  deployed_with: "archive.workers",
  findings: tierFindings("archive"),
  metrics: tierMetrics("archive"),
};

export const PAID_TIERS: ComponentSpec = {
  id: "paid_tiers",
  group: null,
  name: "Premium routes",
  description: "The residential network and the rendering service",
  deployed_with: "paid.workers",
  findings: tierFindings("paid"),
  metrics: tierMetrics("paid"),
};

export const FILINGS: ComponentSpec = {
  id: "filings",
  group: null,
  name: "Filings",
  description: "The filing system",
  deployed_with: "filings.rate_limit_rps",
  findings: (facts) => [
    when((facts["filings.backoff_active"] ?? 0) > 0, "degraded", "filings_backoff"),
    below(
      "low_success_rate",
      tellingRate(facts["filings.successes"], facts["filings.requests"], MIN_REQUESTS),
      levels(0.85, 0.6, 0.3),
    ),
    above("throttled", facts["filings.slots.latency_p95_ms"], onlyDegraded(SLOT_WAIT_P95_MS)),
  ],
  metrics: (facts) => ({
    requests: facts["filings.requests"],
    success_rate: rateOf(facts["filings.successes"], facts["filings.requests"]),
    latency_p95_ms: facts["filings.latency_p95_ms"],
    throttle_wait_p95_ms: facts["filings.slots.latency_p95_ms"],
    backoff_active: facts["filings.backoff_active"],
    rate_limit_rps: facts["filings.rate_limit_rps"],
  }),
};

export const BATCH_JOBS: ComponentSpec = {
  id: "batch_jobs",
  group: null,
  name: "Batch jobs",
  description: "Jobs of up to 50,000 items",
  deployed_with: null,
  findings: (facts) => [
    noWorkers(facts[WORKERS]),
    above("scheduler_stalled", facts["jobs.scheduler_last_run_s"], SCHEDULER_S),
    above("jobs_waiting", facts["jobs.oldest_waiting_job_s"], WAITING_JOB_S),
  ],
  metrics: (facts) => ({
    workers_alive: facts[WORKERS],
    running_jobs: facts["jobs.running_jobs"],
    oldest_waiting_job_s: facts["jobs.oldest_waiting_job_s"],
    scheduler_last_run_s: facts["jobs.scheduler_last_run_s"],
    queue_backlog: facts["jobs.queue_backlog"],
  }),
};

/** A source of company data. `title` is the publisher's name for it. */
export function companyComponent(source: string, title: string): ComponentSpec {
  const id = `company_${source}`;
  return {
    id,
    group: "company_data",
    name: title,
    description: "A source of company data",
    deployed_with: `${id}.requests`,
    findings: (facts) => {
      const { [`${id}.requests`]: requests, [`${id}.parse_failures`]: unreadable } = facts;
      const isTelling = (requests ?? 0) >= MIN_REQUESTS;
      return [
        below(
          "low_success_rate",
          tellingRate(facts[`${id}.successes`], requests, MIN_REQUESTS),
          levels(0.85, 0.5, 0.2),
        ),
        when(facts[`${id}.canary_ok`] === 0, "partial_outage", "canary_failed"),
        when((facts[`${id}.backoff_active`] ?? 0) > 0, "degraded", "source_backoff"),
        when(facts[`${id}.schema_drift`] === 1, "degraded", "schema_drift"),
        isTelling
          ? above("parse_failures", share(unreadable, requests), onlyDegraded(MAX_PARSE_FAILURES))
          : null,
      ];
    },
    metrics: (facts) => ({
      requests: facts[`${id}.requests`],
      success_rate: rateOf(facts[`${id}.successes`], facts[`${id}.requests`]),
      parse_failure_rate: rateOf(facts[`${id}.parse_failures`], facts[`${id}.requests`]),
      canary_ok: facts[`${id}.canary_ok`],
      backoff_active: facts[`${id}.backoff_active`],
      schema_drift: facts[`${id}.schema_drift`],
      change_feed_lag_s: facts["companies.change_feed_lag_s"],
    }),
  };
}
