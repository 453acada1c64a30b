/**
 * The features of the service, in the order in which they are opened: a feature that reserves hosts or offers a search
 * stands before the features that use it. A new source is a folder in actors/ and a line here.
 */
import { accountsFeature } from "../actors/accounts/feature/feature.ts";
import { companiesFeature } from "../actors/companies/feature/feature.ts";
import { fetchFeature } from "../actors/fetch/feature/feature.ts";
import { filingsFeature } from "../actors/filings/feature/feature.ts";
import { jobsFeature } from "../actors/jobs/feature/feature.ts";
import { profilesFeature } from "../actors/profiles/feature/feature.ts";
import { searchFeature } from "../actors/search/feature/feature.ts";
import { statusFeature } from "../actors/status/feature/feature.ts";
import { demoFeature } from "./demo.ts";

export const FEATURES = [
  accountsFeature,
  filingsFeature,
  profilesFeature,
  companiesFeature,
  searchFeature,
  fetchFeature,
  demoFeature,
  jobsFeature,
  statusFeature,
] as const;
