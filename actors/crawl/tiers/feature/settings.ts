/** The settings of the tiers: the services behind them, their prices and capacities, the browser. */
import { type Static, Type } from "typebox";
import {
  closed,
  listSetting,
  optionalSetting,
  type Rule,
  textSetting,
  WEB,
  WEB_OR_NONE,
} from "../../../../node/settings.ts";
import { TIER_TABLE, TIERS } from "../../../../schemas/tier-table.ts";
import { readPrice } from "../../fetch/prices.ts";
import { readCapacity } from "../policy.ts";

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
const ARCHIVE: Rule = {
  fits: (text) => text === "imports" || WEB_OR_NONE.fits(text),
  expected: "an http or https URL, imports or none",
};
export const SETTINGS = {
  tiers: Type.Object(
    {
      archive_url: textSetting({
        env: "TRAWL_ARCHIVE_URL",
        default: "https://web.archive.org",
        shared: true,
        rule: ARCHIVE,
        description:
          "Wayback-compatible archive (CDX and id_ replay); imports gives archives that were imported alone, none turns the route off.",
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
          "Rendering service: POST JSON {url, country, wait}, or one of those in actors/crawl/tiers/README.md.",
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
};

export type TiersSettings = Static<typeof SETTINGS.tiers>;
