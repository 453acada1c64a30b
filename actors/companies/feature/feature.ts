/** The company register: its settings, and what it contributes to a node. open.ts assembles it. */
import { feature } from "../../../node/feature.ts";
import { SETTINGS } from "./settings.ts";

export const companiesFeature = feature({
  name: "companies",
  settings: SETTINGS,
  collections: {
    expiring: ["company_ids", "company_checks", "company_people", "company_changes", "company_deliveries"],
    async sealed() {
      const { COMPANY_WATCHES, sealedWatches } = await import("../watch.ts");
      return { [COMPANY_WATCHES]: sealedWatches };
    },
    rebuildable: ["company_source_health", "company_source_shapes"],
  },
  async open(context, settings) {
    const { openCompanies } = await import("./open.ts");
    return openCompanies(context, settings.companies);
  },
});
