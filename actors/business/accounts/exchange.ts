/**
 * US dollars, as providers bill, and the currency of a customer: the operator's rates. Spend is
 * reserved and settled in US dollars; a limit in another currency is converted when it is read (schemas/accounts.ts).
 */
import type { Documents } from "../../../cluster/ports/documents.ts";
import { type Currency, EXCHANGE_RATES, type ExchangeRate } from "./collections.ts";

const ONE = 1_000_000;

/** Null: the operator has set no rate. Throws Fault. */
export async function readRate(documents: Documents, currency: Currency): Promise<ExchangeRate | null> {
  if (currency === "USD") return { currency, per_usd_micros: ONE, set_at: new Date(0).toISOString() };
  return EXCHANGE_RATES.get(documents, currency);
}

/** Without a rate amounts count one to one. */
export const perUsdMicros = async (documents: Documents, currency: Currency): Promise<number> =>
  (await readRate(documents, currency))?.per_usd_micros ?? ONE;

export const listRates = async (documents: Documents): Promise<readonly ExchangeRate[]> =>
  (await EXCHANGE_RATES.list(documents, { limit: 100 })).map(({ value }) => value);

/** Throws Fault. */
export async function setRate(
  documents: Documents,
  currency: Exclude<Currency, "USD">,
  per_usd_micros: number,
  now_ms: number,
): Promise<ExchangeRate> {
  const rate: ExchangeRate = { currency, per_usd_micros, set_at: new Date(now_ms).toISOString() };
  await EXCHANGE_RATES.update(documents, currency, () => ({ value: rate }));
  return rate;
}
