/** Metrics of searches. */
import { BOOLEANS, type MetricTable } from "../../../cluster/ports/metrics.ts";
import { SEARCH_ERRORS } from "../../../schemas/errors.ts";

const SEARCH_PROVIDERS = ["metasearch", "fallback"];

export const SEARCH_METRICS = {
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
} as const satisfies MetricTable;

declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends Readonly<typeof SEARCH_METRICS> {}
}
