/** The tables of metrics of all parts of the program, as one. The compiler names a part whose table is missing here. */
import { type MetricName, type MetricSpec, RUNTIME_METRICS } from "../cluster/ports/metrics.ts";
import { NODE_METRICS } from "../node/metrics.ts";
import { GATEWAY_METRICS } from "../gateway/metrics.ts";
import { FETCH_METRICS } from "../actors/crawl/fetch/metrics.ts";
import { MODEL_METRICS } from "../actors/crawl/fetch/model/metrics.ts";
import { TIER_METRICS } from "../actors/crawl/tiers/metrics.ts";
import { JOB_METRICS } from "../actors/work/jobs/metrics.ts";
import { SEARCH_METRICS } from "../actors/sources/search/metrics.ts";
import { PROFILE_METRICS } from "../actors/sources/profiles/metrics.ts";
import { FILING_METRICS } from "../actors/sources/filings/metrics.ts";
import { COMPANY_METRICS } from "../actors/sources/companies/metrics.ts";
import { ACCOUNT_METRICS } from "../actors/business/accounts/metrics.ts";
import { MONITOR_METRICS } from "../actors/work/monitors/metrics.ts";
import { SINK_METRICS } from "../actors/work/sinks/metrics.ts";
import { SITE_METRICS } from "../actors/crawl/sites/metrics.ts";
import { STATUS_METRICS } from "../actors/business/status/metrics.ts";

export const METRICS: Readonly<Record<MetricName, MetricSpec>> = {
  ...RUNTIME_METRICS,
  ...NODE_METRICS,
  ...GATEWAY_METRICS,
  ...FETCH_METRICS,
  ...MODEL_METRICS,
  ...TIER_METRICS,
  ...JOB_METRICS,
  ...SEARCH_METRICS,
  ...PROFILE_METRICS,
  ...FILING_METRICS,
  ...COMPANY_METRICS,
  ...ACCOUNT_METRICS,
  ...MONITOR_METRICS,
  ...SINK_METRICS,
  ...SITE_METRICS,
  ...STATUS_METRICS,
};
