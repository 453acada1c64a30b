/** Assembles the tiers of a node and what attempts on premium routes cost. */
import type { RoleActor } from "../../../../cluster/role-actor.ts";
import type { OpenFeature, OpeningNode } from "../../../../node/feature.ts";
import type { Spending } from "../../../business/accounts/spend.ts";
import { type PremiumCosts, premiumCosts } from "../../fetch/premium.ts";
import { readPrices } from "../../fetch/prices.ts";
import type { PremiumTier } from "../../../../schemas/tier-table.ts";
import type { TiersSettings } from "./settings.ts";

interface TiersNeed {
  readonly spending: Spending;
}

interface TiersProvide {
  readonly costs: PremiumCosts;
  readonly country_routes: readonly PremiumTier[];
  readonly own: readonly RoleActor[];
}

/** A node without tiers loads no transport. */
export async function openTiersFeature(
  node: OpeningNode,
  settings: TiersSettings,
): Promise<OpenFeature<TiersNeed, TiersProvide>> {
  const tiers =
    node.topology.tiers.size > 0
      ? await (await import("./open-tiers.ts")).openTiers(node, settings)
      : { actors: [], printers: [], warnings: () => [], close: async () => {} };
  return {
    role_actors: [...tiers.actors, ...tiers.printers],
    join: (_, { spending }) => ({
      provides: {
        costs: premiumCosts({ prices: readPrices(settings.prices), spending }),
        country_routes: countryRoutes(settings),
        own: tiers.actors,
      },
      warnings: tiers.warnings,
    }),
    close: tiers.close,
  };
}

/** Rendering services are told the country; a proxy is where its address has a place for it. */
const countryRoutes = ({ proxy_url, render_url }: TiersSettings): readonly PremiumTier[] => [
  ...(proxy_url?.includes("{country}") ? (["proxy"] as const) : []),
  ...(render_url === undefined ? [] : (["proxy_render"] as const)),
];
