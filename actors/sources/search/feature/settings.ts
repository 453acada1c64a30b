/** The settings of search. */
import { type Static, Type } from "typebox";
import {
  closed,
  listSetting,
  optionalSetting,
  type Rule,
  textSetting,
  WEB,
} from "../../../../node/settings.ts";
import { toMicros } from "../../../../schemas/accounts.ts";

const AMOUNT: Rule = {
  fits: (raw) => toMicros(raw) !== null,
  expected: "an amount as 0.005, with at most six decimal places",
};

export const SETTINGS = {
  search: Type.Object(
    {
      searxng_urls: listSetting({
        env: "TRAWL_SEARXNG_URLS",
        shared: true,
        rule: WEB,
        description: "Metasearch instances (SearXNG JSON API); none: the built-in index over stored pages.",
      }),
      local_index: Type.Enum(["project", "shared", "off"], {
        env: "TRAWL_LOCAL_INDEX",
        default: "project",
        shared: true,
        description:
          "The built-in search over stored pages. project: a project finds the pages it retrieved; shared: every project finds all (a single tenant); off.",
      }),
      fallback_url: optionalSetting({
        env: "TRAWL_FALLBACK_SEARCH_URL",
        shared: true,
        rule: WEB,
        description: "Fallback search API with the format of Brave Web Search.",
      }),
      fallback_key: optionalSetting({
        env: "TRAWL_FALLBACK_SEARCH_KEY",
        secret: true,
        description: "The X-Subscription-Token of the fallback search API.",
      }),
      fallback_price: textSetting({
        env: "TRAWL_FALLBACK_SEARCH_PRICE",
        default: "0.005",
        shared: true,
        rule: AMOUNT,
        description: "The price of one request to the fallback search API, in US dollars.",
      }),
    },
    closed,
  ),
};

export type SearchSettings = Static<typeof SETTINGS.search>;
