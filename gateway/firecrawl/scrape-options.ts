/** Their options of a page, and what they are of a fetch. */
import { Type } from "typebox";
import { MAX_TIMEOUT_S, MAX_WAIT_FOR_MS, MIN_TIMEOUT_S } from "../../schemas/fetch.ts";
import { PREMIUM_TIERS } from "../../schemas/tier-table.ts";
import { actionsOption } from "./actions.ts";
import { formatsOption, formatWishes } from "./formats.ts";
import { type Given, option, type Options, type Ours, refused, taken } from "./option.ts";

const Tags = Type.Array(Type.String());
const Ms = Type.Number({ minimum: 0 });

const PROXIES: Readonly<Record<string, Ours>> = {
  basic: { allow_paid: false },
  auto: {},
  stealth: { tiers: PREMIUM_TIERS },
  enhanced: { tiers: PREMIUM_TIERS },
};

export const SCRAPE_OPTIONS: Options = {
  formats: formatsOption,
  onlyMainContent: option(
    Type.Boolean(),
    "false: `only_main_content: false`; links are always of the whole page",
    (only) => (only ? {} : { only_main_content: false }),
  ),
  includeTags: option(Tags, "`include_selectors`: CSS selectors", (tags) => ({ include_selectors: tags })),
  excludeTags: option(Tags, "`exclude_selectors`: CSS selectors", (tags) => ({ exclude_selectors: tags })),
  headers: option(
    Type.Record(Type.String(), Type.String()),
    "`headers`; `User-Agent` and `Accept-Language` become `user_agent`, which needs permission, and `accept_language`",
    headersOf,
  ),
  timeout: option(
    Ms,
    `\`timeout_s\`: milliseconds here, from ${MIN_TIMEOUT_S} to ${MAX_TIMEOUT_S} s; then 408, and the page is fetched on`,
    (ms) => ({ timeout_s: Math.min(MAX_TIMEOUT_S, Math.max(MIN_TIMEOUT_S, ms / 1000)) }),
  ),
  waitFor: option(
    Type.Integer({ minimum: 0, maximum: MAX_WAIT_FOR_MS }),
    "`wait_for.ms`, 15 s at most; a value over 0 takes a browser",
    (ms) => (ms === 0 ? {} : { wait_for: { ms } }),
  ),
  maxAge: option(Ms, "`cache_ttl_s`: milliseconds here; 0 fetches anew", (ms) => ({
    cache_ttl_s: Math.floor(ms / 1000),
  })),
  location: option(
    Type.Object({
      country: Type.Optional(Type.String()),
      languages: Type.Optional(Type.Array(Type.String())),
    }),
    "`country` of the exit on routes with proxies, and `accept_language`",
    ({ country, languages = [] }) => ({
      ...(country !== undefined && { country: country.toLowerCase() }),
      ...(languages.length > 0 && { accept_language: languages.join(", ") }),
    }),
  ),
  proxy: option(
    Type.Enum(["basic", "auto", "stealth", "enhanced"]),
    "`basic`: no routes that cost money; `auto`: all routes; `stealth` and `enhanced`: only proxies and rendering services, where the operator has set up one",
    (name) => PROXIES[name]!,
  ),
  removeBase64Images: option(Type.Boolean(), "pictures within a page are never in Markdown"),
  blockAds: option(Type.Boolean(), "without effect: text and Markdown have no advertisements"),
  parsers: option(
    Type.Array(Type.Union([Type.Literal("pdf"), Type.Object({ type: Type.Literal("pdf") })])),
    "`pdf`: PDFs are read; `[]`: `accept_pdf: false`. `maxPages` is without effect",
    (parsers) => (parsers.length === 0 ? { accept_pdf: false } : {}),
  ),
  fastMode: option(Type.Boolean(), "without effect"),
  useMock: option(Type.String(), "without effect"),
  origin: option(Type.String(), "without effect"),
  integration: option(Type.String(), "without effect"),
  mobile: option(Type.Boolean(), "`device: mobile`; takes a browser", (mobile) =>
    mobile ? { device: "mobile" } : {},
  ),
  actions: actionsOption,
  alexandria: refused("There is no catalogue of tools, so findTools() has none to list"),
  skipTlsVerification: refused("Certificates of sites are always checked"),
  storeInCache: refused(
    "Every page is kept for the cache; maxAge: 0 asks for a fresh one",
    (value) => value === true,
  ),
  minAge: refused("The cache has no least age", (value) => value === 0),
  lockdown: refused("A page that is not in the cache is always fetched"),
  redactPII: refused("Personal data is not taken out of pages"),
  profile: refused("There are no profiles of browsers"),
  zeroDataRetention: refused("Pages and ledger rows are kept; the operator says how long"),
};

function headersOf(given: Readonly<Record<string, string>>): Ours {
  const named = (name: string): string | undefined =>
    Object.entries(given).find(([each]) => each.toLowerCase() === name)?.[1];
  const [user_agent, accept_language] = [named("user-agent"), named("accept-language")];
  const rest = Object.entries(given).filter(([name]) => !/^(?:user-agent|accept-language)$/i.test(name));
  return {
    ...(rest.length > 0 && { headers: Object.fromEntries(rest) }),
    ...(user_agent !== undefined && { user_agent }),
    ...(accept_language !== undefined && { accept_language }),
  };
}

/** Options of a fetch. Throws Refused. */
export const fetchOptionsOf = (given: Given): Record<string, unknown> => ({
  ...formatWishes(["markdown"]),
  ...taken(SCRAPE_OPTIONS, given),
});
