/** The accounts feature: keys, what is left of their limits, and what was used. open.ts assembles it. */
import * as collections from "../collections.ts";
import { feature } from "../../../../node/feature.ts";
import { termsOf } from "../invoice-terms.ts";
import { SETTINGS } from "./settings.ts";
import { Payers, Spend, StatusAlerts } from "./tokens.ts";

export const accountsFeature = feature({
  name: "accounts",
  settings: SETTINGS,
  collections: Object.values(collections),
  async sealed() {
    const { sealedHooks } = await import("../alerts.ts");
    return { [collections.ALERT_HOOKS.name]: sealedHooks };
  },
  needs: {},
  provides: { payers: Payers, spending: Spend, announceNotices: StatusAlerts },
  async open(_, settings) {
    const { openAccounts } = await import("./open.ts");
    const terms = termsOf(settings.invoices);
    return { join: (node) => openAccounts(node, terms) };
  },
});
