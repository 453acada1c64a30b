/**
 * The fetch feature: fetches, and the politeness of the domains they ask. Its settings, and what it contributes to a node.
 * open.ts assembles it.
 */
import * as collections from "../collections.ts";
import { feature } from "../../../../node/feature.ts";
import { Spend } from "../../../business/accounts/feature/tokens.ts";
import { ItemKinds } from "../../../work/jobs/feature/tokens.ts";
import { IndexOfPages, PageSearch } from "../../../sources/search/feature/tokens.ts";
import { StatusParts } from "../../../business/status/feature/tokens.ts";
import { CountryRoutes, OwnTiers, Premium } from "../../tiers/feature/tokens.ts";
import { modelProblem, SETTINGS } from "./settings.ts";
import { PageItems, PageReaders, Pages } from "./tokens.ts";

export const fetchFeature = feature({
  name: "fetch",
  settings: SETTINGS,
  problem: modelProblem,
  collections: Object.values(collections),
  sealed: async () => ({ [collections.SESSIONS.name]: (await import("../sessions.ts")).sealedSessions }),
  needs: {
    costs: Premium,
    country_routes: CountryRoutes,
    index: IndexOfPages,
    readers: PageReaders,
    search: PageSearch,
    spending: Spend,
    tiers: OwnTiers,
  },
  provides: { items: PageItems, kinds: ItemKinds, pages: Pages, status: StatusParts },
  async open(node, settings) {
    const { openFetch } = await import("./open.ts");
    return openFetch(node, settings);
  },
});
