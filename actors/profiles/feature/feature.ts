/** The profiles feature: its settings, and what it contributes to a node. open.ts assembles it. */
import { feature } from "../../../node/feature.ts";
import { SETTINGS } from "./settings.ts";

export const profilesFeature = feature({
  name: "profiles",
  settings: SETTINGS,
  collections: { expiring: ["profile_pages"], rebuildable: ["profile_pages"] },
  async open(context, settings) {
    const { openProfiles } = await import("./open.ts");
    return openProfiles(context, settings.profile_site);
  },
});
