/** The profiles feature: its settings, and what it contributes to a node. open.ts assembles it. */
import * as collections from "../collections.ts";
import { feature } from "../../../../node/feature.ts";
import { Spend } from "../../../business/accounts/feature/tokens.ts";
import { PageReaders } from "../../../crawl/fetch/feature/tokens.ts";
import { ItemKinds } from "../../../work/jobs/feature/tokens.ts";
import { PageSearch } from "../../search/feature/tokens.ts";
import { Premium } from "../../../crawl/tiers/feature/tokens.ts";
import { PROFILE_OWNER } from "./owner.ts";
import { SETTINGS } from "./settings.ts";
import { Profiles } from "./tokens.ts";

export const profilesFeature = feature({
  name: "profiles",
  settings: SETTINGS,
  collections: Object.values(collections),
  // Owned also while profiles are off.
  hosts: (_, { profiles }) => [
    // Through a proxy is the only way; the tier that uses it takes a slot of the site.
    { name: PROFILE_OWNER, domains: profiles.hosts, isOpenToProxies: true },
  ],
  needs: { costs: Premium, search: PageSearch, spending: Spend },
  provides: { profiles: Profiles, readers: PageReaders, kinds: ItemKinds },
  async open(node, settings) {
    const { openProfiles } = await import("./open.ts");
    return openProfiles(node, settings.profile_site);
  },
});
