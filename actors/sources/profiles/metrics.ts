/** Metrics of the profile site. */
import { answerSeries, type MetricTable } from "../../../cluster/ports/metrics.ts";
import { PROFILE_ERRORS } from "../../../schemas/errors.ts";
import { PROFILE_OPS, PROFILE_PAGES } from "../../../schemas/profiles.ts";
import { PREMIUM_TIERS } from "../../../schemas/tier-table.ts";

export const PROFILE_METRICS = {
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
} as const satisfies MetricTable;

declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends Readonly<typeof PROFILE_METRICS> {}
}
