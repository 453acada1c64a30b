/**
 * The company register: its settings, and what it contributes to a node. Its index is a feature of its own: the filing
 * system, which is a source of the register, looks companies up there.
 */
import { feature } from "../../../../node/feature.ts";
import { CURSOR_KEYS } from "../cursor.ts";
import { COMPANY_DECISIONS } from "../decisions.ts";
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
import { Payers, Spend } from "../../../business/accounts/feature/tokens.ts";
import { FilingDocuments } from "../../filings/feature/tokens.ts";
import { ItemKinds } from "../../../work/jobs/feature/tokens.ts";
import { Profiles } from "../../profiles/feature/tokens.ts";
import { StatusParts } from "../../../business/status/feature/tokens.ts";
import { IMPORT_SCHEDULES } from "../imports/schedule.ts";
import { SETTINGS } from "./settings.ts";
import { CompanyImports, FindCompany, IndexOfCompanies } from "./tokens.ts";

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
    IMPORT_SCHEDULES,
    COMPANY_DECISIONS,
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
  needs: {
    index: IndexOfCompanies,
    imported: CompanyImports,
    payers: Payers,
    readFilings: FilingDocuments,
    readProfile: Profiles,
    spending: Spend,
  },
  provides: { kinds: ItemKinds, status: StatusParts },
  async open(node, settings) {
    const { openCompanies } = await import("./open.ts");
    return openCompanies(node, settings.companies);
  },
});

export const companyIndexFeature = feature({
  name: "company_index",
  settings: {},
  collections: [],
  needs: {},
  provides: { index: IndexOfCompanies, find: FindCompany, imported: CompanyImports },
  async open(node) {
    const { openCompanyIndex } = await import("./open-index.ts");
    return openCompanyIndex(node);
  },
});
