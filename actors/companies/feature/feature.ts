/** The company register: its settings, and what it contributes to a node. open.ts assembles it. */
import { feature } from "../../../node/feature.ts";
import { CURSOR_KEYS } from "../cursor.ts";
import { COMPANY_CHANGES, COMPANY_FEED_STATE } from "../feed/changes.ts";
import { SOURCE_HEALTH, SOURCE_SHAPES } from "../source-health.ts";
import { SOURCE_SLOTS } from "../source-slots.ts";
import {
  COMPANIES,
  COMPANY_CHECKS,
  COMPANY_EDGES,
  COMPANY_IDS,
  COMPANY_PEOPLE,
  REMOVED_PEOPLE,
} from "../stored-company.ts";
import { COMPANY_DELIVERIES, COMPANY_WATCHES, sealedWatches, WATCHED_COMPANIES } from "../watch.ts";
import { SETTINGS } from "./settings.ts";

export const companiesFeature = feature({
  name: "companies",
  settings: SETTINGS,
  collections: [
    COMPANIES,
    COMPANY_CHECKS,
    COMPANY_PEOPLE,
    COMPANY_IDS,
    COMPANY_EDGES,
    REMOVED_PEOPLE,
    COMPANY_CHANGES,
    COMPANY_FEED_STATE,
    COMPANY_WATCHES,
    WATCHED_COMPANIES,
    COMPANY_DELIVERIES,
    SOURCE_HEALTH,
    SOURCE_SHAPES,
    CURSOR_KEYS,
    SOURCE_SLOTS,
  ],
  sealed: async () => ({ [COMPANY_WATCHES.name]: sealedWatches }),
  async open(context, settings) {
    const { openCompanies } = await import("./open.ts");
    return openCompanies(context, settings.companies);
  },
});
