/** Answers of /metrics are those that prom-client would serve, line by line. */
import fc from "fast-check";
import { Counter, Histogram, Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { GATEWAY_METRICS } from "../../gateway/metrics.ts";
import { METRICS } from "../../ops/metrics.ts";
import { prometheusMetrics } from "../../cluster/adapters/telemetry/metrics.prometheus.ts";

const linesOf = (text: string, name: string): string[] =>
  text
    .split("\n")
    .filter((line) => line.includes(name))
    .toSorted();

const ROUTES = ["/v1/fetch", '/a "quoted" route', "back\\slash", ""] as const;

describe("metrics as Prometheus reads them", () => {
  test("counters and histograms render as prom-client's own would", async () => {
    const calls = fc.array(
      fc.record({
        route: fc.constantFrom(...ROUTES),
        status: fc.constantFrom("2xx", "4xx"),
        seconds: fc.oneof(
          fc.constantFrom(0, 0.005, 0.25, 150),
          fc.integer({ min: 0, max: 200_000 }).map((ms) => ms / 1000),
        ),
      }),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(calls, async (made) => {
        const ours = prometheusMetrics(METRICS);
        const registry = new Registry();
        const requests = GATEWAY_METRICS.trawl_http_requests_total;
        const durations = GATEWAY_METRICS.trawl_http_request_duration_seconds;
        const count = new Counter({
          name: "trawl_http_requests_total",
          help: requests.help,
          labelNames: [...requests.labels],
          registers: [registry],
        });
        const duration = new Histogram({
          name: "trawl_http_request_duration_seconds",
          help: durations.help,
          labelNames: [...durations.labels],
          buckets: [...durations.buckets],
          registers: [registry],
        });
        for (const { route, status, seconds } of made) {
          const labels = { route, method: "GET", status };
          ours.count("trawl_http_requests_total", labels);
          count.inc(labels);
          ours.observe("trawl_http_request_duration_seconds", { route }, seconds);
          duration.observe({ route }, seconds);
        }
        const [rendered, expected] = [await ours.render(), await registry.metrics()];
        for (const name of ["trawl_http_requests_total", "trawl_http_request_duration_seconds"])
          expect(linesOf(rendered, name)).toEqual(linesOf(expected, name));
      }),
      { numRuns: 25 },
    );
  });

  test("labels given as one object again and again are counted as equal ones are", async () => {
    const metrics = prometheusMetrics(METRICS);
    const sent = { direction: "sent" } as const;
    for (const by of [1, 10]) {
      metrics.count("trawl_http_body_bytes_total", sent, by);
      metrics.count("trawl_http_body_bytes_total", { direction: "received" }, 100 * by);
      metrics.count("trawl_http_body_bytes_total", sent, by);
      metrics.count("trawl_http_body_bytes_total", { direction: "sent" }, by);
    }
    expect(linesOf(await metrics.render(), "trawl_http_body_bytes_total{")).toEqual([
      'trawl_http_body_bytes_total{direction="received"} 1100',
      'trawl_http_body_bytes_total{direction="sent"} 33',
    ]);
  });

  test("a counter without labels is there before it first counts, and adds what it counts", async () => {
    const ours = prometheusMetrics(METRICS);
    expect(await ours.render()).toContain("\ntrawl_http_aborted_total 0\n");
    ours.count("trawl_http_aborted_total", {}, 3);
    expect(await ours.render()).toContain("\ntrawl_http_aborted_total 3\n");
  });
});
