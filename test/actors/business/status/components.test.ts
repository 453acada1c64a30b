/** The rules of each component: the specification, "Component status rules". */
import { describe, expect, test } from "vitest";
import { judge } from "../../../../actors/business/status/component.ts";
import {
  API,
  ARCHIVE,
  BATCH_JOBS,
  BROWSER,
  companyComponent,
  FETCH,
  FILINGS,
  PAID_TIERS,
  SEARCH,
  STORAGE,
} from "../../../../actors/business/status/components.ts";
import type { Facts } from "../../../../actors/business/status/figures.ts";

const says = (spec: typeof API, facts: Facts): string => {
  const { status, reasons } = judge(spec, facts);
  return [status, ...reasons].join(" ");
};

const rates = (name: string, successes: number, requests = 1_000, counted = "requests"): Facts => ({
  workers: 2,
  [`${name}.successes`]: successes,
  [`${name}.${counted}`]: requests,
});

describe("success rates", () => {
  test.each([
    ["search", SEARCH, [950, 949, 799, 499], "low_success_rate", "requests"],
    ["fetch", FETCH, [850, 849, 599, 299], "low_success_rate", "requests"],
    ["browser", BROWSER, [800, 799, 499, 99], "tier_errors", "attempts"],
    ["archive", ARCHIVE, [800, 799, 499, 99], "tier_errors", "attempts"],
    ["paid", PAID_TIERS, [800, 799, 499, 99], "tier_errors", "attempts"],
    ["filings", FILINGS, [850, 849, 599, 299], "low_success_rate", "requests"],
    [
      "company_gleif",
      companyComponent("gleif", "GLEIF"),
      [850, 849, 499, 199],
      "low_success_rate",
      "requests",
    ],
  ] as const)("of %s", (name, spec, successes, reason, counted) => {
    const facts = (count: number): Facts => ({ ...rates(name, count, 1_000, counted), "browser.workers": 1 });
    expect(successes.map((count) => says(spec, facts(count)))).toEqual([
      "operational",
      `degraded ${reason}`,
      `partial_outage ${reason}`,
      `major_outage ${reason}`,
    ]);
  });

  test.each([
    ["search", SEARCH, "requests", 19, 20],
    ["fetch", FETCH, "requests", 19, 20],
    ["filings", FILINGS, "requests", 19, 20],
    ["company_krs", companyComponent("krs", "KRS"), "requests", 19, 20],
    ["browser", BROWSER, "attempts", 9, 10],
    ["archive", ARCHIVE, "attempts", 9, 10],
    ["paid", PAID_TIERS, "attempts", 9, 10],
  ] as const)("of too few count for nothing: %s", (name, spec, counted, few, enough) => {
    const facts = (count: number): Facts => ({ ...rates(name, 0, count, counted), "browser.workers": 1 });
    expect(judge(spec, facts(few)).status).toBe("operational");
    expect(judge(spec, facts(enough)).status).toBe("major_outage");
  });
});

describe("workers and queues", () => {
  test.each([SEARCH, FETCH, BATCH_JOBS])("$id without a worker", (spec) => {
    expect(says(spec, { workers: 0 })).toBe("major_outage no_workers");
    expect(says(spec, { workers: 1 })).toBe("operational");
    // How many there are is not known: figures older than 60 s are absent, not zero.
    expect(says(spec, {})).toBe("operational");
  });

  test("browser rendering without a browser worker", () => {
    expect(says(BROWSER, { workers: 3 })).toBe("major_outage no_workers");
    expect(says(BROWSER, { "browser.workers": 1 })).toBe("operational");
  });

  test.each([
    ["search", SEARCH],
    ["fetch", FETCH],
  ] as const)("queue lag of %s", (name, spec) => {
    const lag = (s: number): string => says(spec, { workers: 1, [`${name}.sync_queue_lag_s`]: s });
    expect([15, 15.1, 60.1, 120.1].map(lag)).toEqual([
      "operational",
      "degraded queue_lag",
      "partial_outage queue_lag",
      "major_outage queue_lag",
    ]);
  });

  test("the time of fetches, of enough of them", () => {
    const slow = (requests: number, ms: number): string =>
      says(FETCH, { ...rates("fetch", requests, requests), "fetch.latency_p95_ms": ms });
    expect(slow(20, 120_000)).toBe("degraded high_latency");
    expect(slow(20, 60_000)).toBe("operational");
    expect(slow(19, 120_000)).toBe("operational");
  });
});

test.each([
  [{ "search.engines": 4, "search.engines_healthy": 2 }, "operational"],
  [{ "search.engines": 4, "search.engines_healthy": 1 }, "degraded engines_reduced"],
  [{ "search.engines": 4, "search.engines_healthy": 0 }, "major_outage engines_unavailable"],
  [
    { "search.engines": 4, "search.engines_healthy": 0, "search.fallback": 1 },
    "partial_outage engines_unavailable",
  ],
  [{ "search.engines": 4 }, "operational"],
  [{ "search.engines": 0, "search.fallback": 1 }, "operational"],
])("search engines: %j", (facts, expected) => {
  expect(says(SEARCH, { workers: 1, ...facts })).toBe(expected);
});

test.each([
  [{ database_ok: 1, cache_ok: 1, object_storage_ok: 1 }, "operational", "operational"],
  [{ database_ok: 0, cache_ok: 1 }, "major_outage database_unreachable", "major_outage database_unreachable"],
  [{ cache_ok: 0 }, "major_outage cache_unreachable", "major_outage cache_unreachable"],
  [{ object_storage_ok: 0 }, "operational", "degraded object_storage_unreachable"],
])("stores: %j", (facts, api, storage) => {
  expect([says(API, facts), says(STORAGE, facts)]).toEqual([api, storage]);
});

test.each([
  [{ "jobs.scheduler_last_run_s": 30 }, "operational"],
  [{ "jobs.scheduler_last_run_s": 31 }, "degraded scheduler_stalled"],
  [{ "jobs.scheduler_last_run_s": 121 }, "partial_outage scheduler_stalled"],
  [{ "jobs.oldest_waiting_job_s": 900 }, "operational"],
  [{ "jobs.oldest_waiting_job_s": 901 }, "degraded jobs_waiting"],
  [
    { "jobs.oldest_waiting_job_s": 3_601, "jobs.scheduler_last_run_s": 31 },
    "partial_outage scheduler_stalled jobs_waiting",
  ],
])("batch jobs: %j", (facts, expected) => {
  expect(says(BATCH_JOBS, { workers: 1, ...facts })).toBe(expected);
});

test.each([
  [{ "filings.backoff_active": 1 }, "degraded filings_backoff"],
  [{ "filings.slots.latency_p95_ms": 5_000 }, "operational"],
  [{ "filings.slots.latency_p95_ms": 10_000 }, "degraded throttled"],
])("the filing system: %j", (facts, expected) => {
  expect(says(FILINGS, facts)).toBe(expected);
});

test.each([
  [{ canary_ok: 0 }, "partial_outage canary_failed"],
  [{ canary_ok: 1 }, "operational"],
  [{ backoff_active: 1 }, "degraded source_backoff"],
  [{ schema_drift: 1 }, "degraded schema_drift"],
  [{ requests: 20, successes: 20, parse_failures: 2 }, "operational"],
  [{ requests: 20, successes: 20, parse_failures: 3 }, "degraded parse_failures"],
  [{ requests: 19, successes: 19, parse_failures: 19 }, "operational"],
])("a company source: %j", (facts, expected) => {
  const named = Object.entries(facts).map(([name, value]) => [`company_prh.${name}`, value]);
  expect(says(companyComponent("prh", "PRH"), Object.fromEntries(named))).toBe(expected);
});

test("metrics are aggregate numbers under the specification's keys", () => {
  const keys = [
    SEARCH,
    FETCH,
    BROWSER,
    ARCHIVE,
    PAID_TIERS,
    FILINGS,
    BATCH_JOBS,
    STORAGE,
    companyComponent("x", "X"),
  ].flatMap(({ metrics }) => Object.keys(metrics({})));
  const specified =
    "success_rate requests latency_p95_ms workers_alive sync_queue_backlog sync_queue_lag_s batch_queue_backlog " +
    "engines_healthy_share fallback_available fallback_share fallback_success_rate attempts scheduler_last_run_s running_jobs " +
    "oldest_waiting_job_s queue_backlog database_ok cache_ok object_storage_ok throttle_wait_p95_ms backoff_active rate_limit_rps " +
    "parse_failure_rate canary_ok schema_drift change_feed_lag_s";
  expect([...new Set(keys)].toSorted()).toEqual(specified.split(" ").toSorted());
  expect(FETCH.metrics({ "fetch.requests": 4, "fetch.successes": 3 })).toMatchObject({ success_rate: 0.75 });
});
