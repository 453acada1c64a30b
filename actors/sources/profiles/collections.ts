/** The stored pages of the profile site, by the digest of their address. */
import { collection } from "../../../cluster/collection.ts";
import type { StoredProfilePage } from "../../../schemas/profiles.ts";

export const PROFILE_PAGES = collection<StoredProfilePage>("profile_pages", {
  expires: true,
  rebuildable: true,
});
