/** The search feature: its settings, and what it contributes to a node. open.ts assembles it. */
import * as collections from "../collections.ts";
import { feature } from "../../../node/feature.ts";
import { SETTINGS } from "./settings.ts";

export const searchFeature = feature({
  name: "search",
  settings: SETTINGS,
  collections: Object.values(collections),
  async open(context, settings) {
    const { openSearch } = await import("./open.ts");
    return openSearch(context, settings.search);
  },
});
