/** The search feature: its settings, and what it contributes to a node. open.ts assembles it. */
import { feature } from "../../../node/feature.ts";
import { SETTINGS } from "./settings.ts";

export const searchFeature = feature({
  name: "search",
  settings: SETTINGS,
  collections: { expiring: ["searches"], rebuildable: ["searches"] },
  async open(context, settings) {
    const { openSearch } = await import("./open.ts");
    return openSearch(context, settings.search);
  },
});
