/**
 * The features of the service, in the order in which their settings and routes are listed. They start in the order of what
 * they need of each other (node/start-order.ts). A new source is a folder in actors/ and a line here.
 */
import { accountsFeature } from "../actors/business/accounts/feature/feature.ts";
import { archiveFeature } from "../actors/crawl/archive/feature/feature.ts";
import { companiesFeature, companyIndexFeature } from "../actors/sources/companies/feature/feature.ts";
import { fetchFeature } from "../actors/crawl/fetch/feature/feature.ts";
import { filingsFeature } from "../actors/sources/filings/feature/feature.ts";
import { jobsFeature } from "../actors/work/jobs/feature/feature.ts";
import { monitorsFeature } from "../actors/work/monitors/feature/feature.ts";
import { profilesFeature } from "../actors/sources/profiles/feature/feature.ts";
import { searchFeature } from "../actors/sources/search/feature/feature.ts";
import { sinksFeature } from "../actors/work/sinks/feature/feature.ts";
import { sitesFeature } from "../actors/crawl/sites/feature/feature.ts";
import { statusFeature } from "../actors/business/status/feature/feature.ts";
import { tiersFeature } from "../actors/crawl/tiers/feature/feature.ts";
import { demoFeature } from "./demo.ts";

export const FEATURES = [
  accountsFeature,
  filingsFeature,
  profilesFeature,
  companiesFeature,
  companyIndexFeature,
  searchFeature,
  tiersFeature,
  fetchFeature,
  sitesFeature,
  demoFeature,
  jobsFeature,
  sinksFeature,
  monitorsFeature,
  archiveFeature,
  statusFeature,
] as const;
