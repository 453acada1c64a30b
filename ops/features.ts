/**
 * The features of the service, in the order in which their settings and routes are listed. They start in the order of what
 * they need of each other (node/start-order.ts). A new source is a folder in actors/ and a line here.
 */
import { accountsFeature } from "../actors/accounts/feature/feature.ts";
import { companiesFeature, companyIndexFeature } from "../actors/companies/feature/feature.ts";
import { fetchFeature } from "../actors/fetch/feature/feature.ts";
import { filingsFeature } from "../actors/filings/feature/feature.ts";
import { jobsFeature } from "../actors/jobs/feature/feature.ts";
import { profilesFeature } from "../actors/profiles/feature/feature.ts";
import { searchFeature } from "../actors/search/feature/feature.ts";
import { sitesFeature } from "../actors/sites/feature/feature.ts";
import { statusFeature } from "../actors/status/feature/feature.ts";
import { tiersFeature } from "../actors/tiers/feature/feature.ts";
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
  statusFeature,
] as const;
