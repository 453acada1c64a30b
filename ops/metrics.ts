/** The tables of metrics of all parts of the program, as one. The compiler names a part whose table is missing here. */
import { type MetricName, type MetricSpec, RUNTIME_METRICS } from "../cluster/ports/metrics.ts";
import { NODE_METRICS } from "../node/metrics.ts";
import { GATEWAY_METRICS } from "../gateway/metrics.ts";
import { FETCH_METRICS } from "../actors/fetch/metrics.ts";
import { TIER_METRICS } from "../actors/tiers/metrics.ts";
import { JOB_METRICS } from "../actors/jobs/metrics.ts";
import { SEARCH_METRICS } from "../actors/search/metrics.ts";
import { PROFILE_METRICS } from "../actors/profiles/metrics.ts";
import { FILING_METRICS } from "../actors/filings/metrics.ts";
import { COMPANY_METRICS } from "../actors/companies/metrics.ts";
import { ACCOUNT_METRICS } from "../actors/accounts/metrics.ts";
import { SITE_METRICS } from "../actors/sites/metrics.ts";
import { STATUS_METRICS } from "../actors/status/metrics.ts";

export const METRICS: Readonly<Record<MetricName, MetricSpec>> = {
  ...RUNTIME_METRICS,
  ...NODE_METRICS,
  ...GATEWAY_METRICS,
  ...FETCH_METRICS,
  ...TIER_METRICS,
  ...JOB_METRICS,
  ...SEARCH_METRICS,
  ...PROFILE_METRICS,
  ...FILING_METRICS,
  ...COMPANY_METRICS,
  ...ACCOUNT_METRICS,
  ...SITE_METRICS,
  ...STATUS_METRICS,
};
