/** Assembles the tiers of a node and what attempts on premium routes cost. */
import type { RoleActor } from "../../../../cluster/role-actor.ts";
import type { OpenFeature, OpeningNode } from "../../../../node/feature.ts";
import type { Spending } from "../../../business/accounts/spend.ts";
import { type PremiumCosts, premiumCosts } from "../../fetch/premium.ts";
import { readPrices } from "../../fetch/prices.ts";
import type { TiersSettings } from "./settings.ts";

interface TiersNeed {
  readonly spending: Spending;
}

interface TiersProvide {
  readonly costs: PremiumCosts;
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
      : { actors: [], warnings: () => [], close: async () => {} };
  return {
    role_actors: tiers.actors,
    join: (_, { spending }) => ({
      provides: {
        costs: premiumCosts({ prices: readPrices(settings.prices), spending }),
        own: tiers.actors,
      },
      warnings: tiers.warnings,
    }),
    close: tiers.close,
  };
}
