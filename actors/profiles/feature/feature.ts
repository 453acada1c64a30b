/** The profiles feature: its settings, and what it contributes to a node. open.ts assembles it. */
import * as collections from "../collections.ts";
import { feature } from "../../../node/feature.ts";
import { SETTINGS } from "./settings.ts";

export const profilesFeature = feature({
  name: "profiles",
  settings: SETTINGS,
  collections: Object.values(collections),
  async open(context, settings) {
    const { openProfiles } = await import("./open.ts");
    return openProfiles(context, settings.profile_site);
  },
});
