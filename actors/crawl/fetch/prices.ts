/** The price of an attempt on a premium route, by the operator's price list, in whole millionths of a US dollar. */
import { toMicros } from "../../../schemas/accounts.ts";
import { PREMIUM_TIERS, type PremiumTier, TIER_TABLE, tierFailureOf } from "../../../schemas/tier-table.ts";

/** A tier, or a tier and a difficulty: "proxy_render.high". */
const NAMES: readonly string[] = PREMIUM_TIERS.flatMap((tier) => [
  tier,
  ...TIER_TABLE[tier].difficulties.map((difficulty) => `${tier}.${difficulty}`),
]);

/** Micros an attempt; a name that is absent costs what its route costs, a route that is absent nothing. */
export type Prices = Readonly<Partial<Record<string, number>>>;

/** "proxy=0.002" as a name and micros; null when it is not of this form. */
export function readPrice(text: string): readonly [string, number] | null {
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

/** Cost of an attempt; `difficulty` is the attempt's detail, where the rendering service tells it. */
export function priceOf(
  prices: Prices,
  tier: PremiumTier,
  reason: string,
  difficulty: string | null,
): number {
  // No page comes of a tier that did not take the call; with any other reason the attempt counts as used, whatever came back.
  if (TIER_TABLE[tier].free_reasons.includes(reason) || tierFailureOf(reason) !== null) return 0;
  return prices[`${tier}.${difficulty}`] ?? prices[tier] ?? 0;
}
