/** The search feature: its settings, and what it contributes to a node. open.ts assembles it. */
import * as collections from "../collections.ts";
import { feature } from "../../../../node/feature.ts";
import { Spend } from "../../../business/accounts/feature/tokens.ts";
import { ItemKinds } from "../../../work/jobs/feature/tokens.ts";
import { StatusParts } from "../../../business/status/feature/tokens.ts";
import { SETTINGS } from "./settings.ts";
import { IndexOfPages, PageSearch } from "./tokens.ts";

export const searchFeature = feature({
  name: "search",
  settings: SETTINGS,
  collections: Object.values(collections),
  needs: { spending: Spend },
  provides: { search: PageSearch, index: IndexOfPages, kinds: ItemKinds, status: StatusParts },
  async open(node, settings) {
    const { openSearch } = await import("./open.ts");
    return openSearch(node, settings.search);
  },
});
