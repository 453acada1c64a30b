/** What an attempt on a premium route costs, by the operator's price list. Whole millionths of a US dollar, no floats. */
import { toMicros } from "../../schemas/accounts.ts";
import { PREMIUM_TIERS, type PremiumTier } from "../../schemas/fetch.ts";

/** Of rendering, a harder page may have a price of its own. */
const NAMES = [...PREMIUM_TIERS, "proxy_render.low", "proxy_render.medium", "proxy_render.high"] as const;
type PriceName = (typeof NAMES)[number];

/** Micros an attempt; a name that is absent costs what its route costs, a route that is absent nothing. */
export type Prices = Readonly<Partial<Record<PriceName, number>>>;

/** "proxy=0.002" as a name and micros; null for what is none. */
export function readPrice(text: string): readonly [PriceName, number] | null {
  const [said = "", amount = ""] = text.split("=", 2).map((part) => part.trim());
  const name = NAMES.find((known) => known === said);
  const micros = toMicros(amount);
  return name !== undefined && micros !== null ? [name, micros] : null;
}

export const readPrices = (list: readonly string[]): Prices =>
  Object.fromEntries(list.map((text) => readPrice(text)).filter((price) => price !== null));

/** The most an attempt can cost: so much is reserved before it. */
export function priceMost(prices: Prices, tier: PremiumTier): number {
  const named = NAMES.filter((name) => name === tier || name.startsWith(`${tier}.`));
  return Math.max(0, ...named.map((name) => prices[name] ?? 0));
}

/**
 * Reasons behind which no provider has done anything it charges for: it was not asked, was not there, or refused.
 * Everything else has used it, whatever came back.
 */
const FREE: ReadonlySet<string> = new Set([
  "proxy_unreachable",
  "proxy_refused",
  "provider_unreachable",
  "provider_over_budget",
  "provider_rate_limited",
  "provider_refused",
  "provider_failed",
]);

/** What an attempt cost; `difficulty` is the attempt's detail where rendering told it. */
export function priceOf(
  prices: Prices,
  tier: PremiumTier,
  reason: string,
  difficulty: string | null,
): number {
  if (FREE.has(reason)) return 0;
  const exact = prices[`${tier}.${difficulty}` as PriceName];
  return exact ?? prices[tier] ?? 0;
}
