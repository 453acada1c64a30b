/** The tiers of a node: their settings, and their actors, which are placed by role. open.ts assembles them. */
import { feature } from "../../../../node/feature.ts";
import { Spend } from "../../../business/accounts/feature/tokens.ts";
import { SETTINGS } from "./settings.ts";
import { CountryRoutes, OwnTiers, Premium } from "./tokens.ts";

export const tiersFeature = feature({
  name: "tiers",
  settings: SETTINGS,
  collections: [],
  needs: { spending: Spend },
  provides: { costs: Premium, country_routes: CountryRoutes, own: OwnTiers },
  async open(node, { tiers }) {
    const { openTiersFeature } = await import("./open.ts");
    return openTiersFeature(node, tiers);
  },
});
