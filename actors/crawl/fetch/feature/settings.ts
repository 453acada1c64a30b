/** The settings of fetches: politeness and open copies. */
import { type Static, Type } from "typebox";
import {
  closed,
  optionalSetting,
  type Rule,
  textSetting,
  WEB,
  WEB_OR_NONE,
} from "../../../../node/settings.ts";

const EMAIL: Rule = {
  fits: (text) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text),
  expected: "an e-mail address",
};

export const SETTINGS = {
  politeness: Type.Object(
    {
      min_delay_ms: Type.Integer({
        env: "TRAWL_POLITE_DELAY_MS",
        default: 500,
        minimum: 0,
        maximum: 3_600_000,
        shared: true,
        agreed: true,
        description: "The least time between two requests to one domain.",
      }),
      max_concurrency: Type.Integer({
        env: "TRAWL_POLITE_CONCURRENCY",
        default: 2,
        minimum: 1,
        maximum: 1_000,
        shared: true,
        agreed: true,
        description: "The most concurrent requests to one domain.",
      }),
    },
    closed,
  ),
  alternates: Type.Object(
    {
      guardian_url: textSetting({
        env: "TRAWL_GUARDIAN_URL",
        default: "https://content.guardianapis.com",
        shared: true,
        rule: WEB,
        description: "The Guardian's content API, used for its own articles that cannot be fetched.",
      }),
      guardian_key: optionalSetting({
        env: "TRAWL_GUARDIAN_KEY",
        secret: true,
        description: "The key of the Guardian's content API; without it the API is not used.",
      }),
      unpaywall_url: textSetting({
        env: "TRAWL_UNPAYWALL_URL",
        default: "https://api.unpaywall.org/v2",
        shared: true,
        rule: WEB,
        description: "Register of open-access copies by DOI (Unpaywall format).",
      }),
      unpaywall_email: optionalSetting({
        env: "TRAWL_UNPAYWALL_EMAIL",
        shared: true,
        rule: EMAIL,
        description: "The e-mail address that the register requires; without it the register is not used.",
      }),
      common_crawl_url: textSetting({
        env: "TRAWL_COMMON_CRAWL_URL",
        default: "none",
        shared: true,
        rule: WEB_OR_NONE,
        description: "Common Crawl's index (https://index.commoncrawl.org), for batch items; none: not used.",
      }),
      common_crawl_data_url: textSetting({
        env: "TRAWL_COMMON_CRAWL_DATA_URL",
        default: "https://data.commoncrawl.org",
        shared: true,
        rule: WEB,
        description: "The address of Common Crawl's captures.",
      }),
    },
    closed,
  ),
};

export type FetchSettings = { readonly [S in keyof typeof SETTINGS]: Static<(typeof SETTINGS)[S]> };
