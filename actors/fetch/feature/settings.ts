/** The settings of fetches: politeness, routes and open copies. */
import { type Static, Type } from "typebox";
import {
  closed,
  listSetting,
  optionalSetting,
  type Rule,
  textSetting,
  WEB,
  WEB_OR_NONE,
} from "../../../node/settings.ts";
import { TIER_TABLE, TIERS } from "../../../schemas/tier-table.ts";
import { readCapacity } from "../../tiers/policy.ts";
import { readPrice } from "../prices.ts";

/** The browser's follows from the node. */
const DEFAULT_CAPACITIES = TIERS.flatMap((tier) => {
  const { capacity } = TIER_TABLE[tier];
  return capacity === null ? [] : [`${tier} ${capacity}`];
}).join(", ");

const PRICE: Rule = {
  fits: (text) => readPrice(text) !== null,
  expected: "prices in US dollars as proxy=0.002, proxy_render=0.005 or proxy_render.high=0.02",
};
const CAPACITY: Rule = {
  fits: (text) => readCapacity(text) !== null,
  expected: "a tier and a number from 1 to 99999, as browser=4",
};
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
  tiers: Type.Object(
    {
      archive_url: textSetting({
        env: "TRAWL_ARCHIVE_URL",
        default: "https://web.archive.org",
        shared: true,
        rule: WEB_OR_NONE,
        description: "Wayback-compatible archive (CDX and id_ replay); none turns the route off.",
      }),
      proxy_url: optionalSetting({
        env: "TRAWL_PROXY_URL",
        shared: true,
        rule: WEB,
        description: "Residential HTTP(S) proxy; {session} and {country} are filled in.",
      }),
      render_url: optionalSetting({
        env: "TRAWL_RENDER_URL",
        shared: true,
        rule: WEB,
        description:
          "Rendering service: POST JSON {url, country, wait}, or one of those in actors/tiers/README.md.",
      }),
      render_key: optionalSetting({
        env: "TRAWL_RENDER_KEY",
        secret: true,
        description: "The key of the rendering service.",
      }),
      prices: listSetting({
        env: "TRAWL_PRICES",
        default: ["proxy=0.002", "proxy_render=0.005"],
        shared: true,
        rule: PRICE,
        description:
          "The price of an attempt on a premium route in US dollars, optionally by difficulty (proxy_render.high=0.02).",
      }),
      capacities: listSetting({
        env: "TRAWL_TIER_CAPACITY",
        default: [],
        rule: CAPACITY,
        description: `Calls that a tier of this node runs at once, as browser=4 or archive=2; default: ${DEFAULT_CAPACITIES}, browser by cores and memory.`,
      }),
      chromium_path: optionalSetting({
        env: "TRAWL_CHROMIUM_PATH",
        description:
          "The browser to run; default: the system's Chromium or Chrome, else the one of npx playwright install, else the one from npm; none turns the route browser off.",
      }),
      chromium_sandbox: Type.Optional(
        Type.Enum(["auto", "required", "off"], {
          env: "TRAWL_CHROMIUM_SANDBOX",
          description:
            "The browser's sandbox: required turns the route browser off where the kernel refuses it; auto runs without there and says so in /ready; off: never. Default: required when the service is root, else auto.",
        }),
      ),
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
