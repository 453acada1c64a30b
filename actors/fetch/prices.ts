/** The price of an attempt on a premium route, by the operator's price list, in whole millionths of a US dollar. */
import { toMicros } from "../../schemas/accounts.ts";
import { PREMIUM_TIERS, type PremiumTier } from "../../schemas/fetch.ts";

/** A rendered page may have a price by its difficulty. */
const NAMES = [...PREMIUM_TIERS, "proxy_render.low", "proxy_render.medium", "proxy_render.high"] as const;
type PriceName = (typeof NAMES)[number];

/** Micros an attempt; a name that is absent costs what its route costs, a route that is absent nothing. */
export type Prices = Readonly<Partial<Record<PriceName, number>>>;

/** "proxy=0.002" as a name and micros; null when it is not of this form. */
export function readPrice(text: string): readonly [PriceName, number] | null {
  const [given_name = "", amount = ""] = text.split("=", 2).map((part) => part.trim());
  const name = NAMES.find((each) => each === given_name);
  const micros = toMicros(amount);
  return name !== undefined && micros !== null ? [name, micros] : null;
}

export const readPrices = (list: readonly string[]): Prices =>
  Object.fromEntries(list.map((text) => readPrice(text)).filter((price) => price !== null));

/** The highest cost of an attempt, which is reserved before it. */
export function priceMost(prices: Prices, tier: PremiumTier): number {
  const named = NAMES.filter((name) => name === tier || name.startsWith(`${tier}.`));
  return Math.max(0, ...named.map((name) => prices[name] ?? 0));
}

/**
 * Reasons after which the provider charges nothing: it was not asked, not reachable, or refused. With any other reason
 * the attempt counts as used, whatever came back.
 */
const FREE: ReadonlySet<string> = new Set([
  "proxy_unreachable",
  "proxy_refused",
  "proxy_connect_failed",
  "provider_unreachable",
  "provider_over_budget",
  "provider_rate_limited",
  "provider_refused",
  "provider_failed",
  // The service is down, or its answer is no page.
  "provider_error",
  "provider_bad_answer",
  // The tier had no place, is down, or its node is gone: no page came of it.
  "proxy_busy",
  "proxy_unavailable",
  "proxy_lost",
  "proxy_render_busy",
  "proxy_render_unavailable",
  "proxy_render_lost",
]);

/** What an attempt cost; `difficulty` is the attempt's detail, where the rendering service tells it. */
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
