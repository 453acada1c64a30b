/**
 * The fetch feature: fetches, the routes they take, and the politeness of the domains they ask. Its settings, and what it
 * contributes to a node. open.ts assembles it.
 */
import * as collections from "../collections.ts";
import { feature } from "../../../node/feature.ts";
import { SETTINGS } from "./settings.ts";

export const fetchFeature = feature({
  name: "fetch",
  settings: SETTINGS,
  collections: Object.values(collections),
  async open(context, settings) {
    const { openFetch } = await import("./open.ts");
    return openFetch(context, settings);
  },
});
