/** The settings of the profile site. Its domains are TRAWL_PROFILES_HOSTS, which politeness needs as well. */
import { type Static, Type } from "typebox";
import { closed, optionalSetting, WEB } from "../../../../node/settings.ts";

export const SETTINGS = {
  profile_site: Type.Object(
    {
      enabled: Type.Enum(["on", "off"], {
        env: "TRAWL_PROFILES",
        default: "off",
        shared: true,
        agreed: true,
        description:
          "on: company profiles are fetched, where a proxy or a rendering service is configured. Check the site's terms and your duties with persons' data first.",
      }),
      url: optionalSetting({
        env: "TRAWL_PROFILES_URL",
        shared: true,
        rule: WEB,
        description: "Where the profile site is asked; default: https://www. and its canonical domain.",
      }),
    },
    closed,
  ),
};

export type ProfilesSettings = Static<typeof SETTINGS.profile_site>;
