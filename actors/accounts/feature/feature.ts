/** The accounts feature: keys, what is left of their limits, and what was used. open.ts assembles it. */
import { feature } from "../../../node/feature.ts";

export const accountsFeature = feature({
  name: "accounts",
  settings: {},
  collections: {
    expiring: [
      "ledger",
      "usage_days",
      "usage_key_days",
      "usage_key_months",
      "alert_deliveries",
      "debug_records",
      "request_spend",
    ],
    rebuildable: [],
    async sealed() {
      const { ALERT_HOOKS, sealedHooks } = await import("../alerts.ts");
      return { [ALERT_HOOKS]: sealedHooks };
    },
  },
  async open(context) {
    const { openAccounts } = await import("./open.ts");
    return openAccounts(context);
  },
});
