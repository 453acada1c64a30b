/**
 * US dollars, as providers bill, and the currency of a customer: the operator's rates. Spend is
 * reserved and settled in US dollars; a limit in another currency is converted when it is read (schemas/accounts.ts).
 */
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Customer } from "../../schemas/accounts.ts";

type Currency = Customer["currency"];

/** Stored as `exchange_rates/<currency>`. */
export interface ExchangeRate {
  readonly currency: Currency;
  /** Millionths of the currency for one US dollar. */
  readonly per_usd_micros: number;
  readonly set_at: string;
}

const COLLECTION = "exchange_rates";
const ONE = 1_000_000;
const MAX_ATTEMPTS = 20;

/** Null: the operator has set no rate. Throws Fault. */
export async function readRate(documents: Documents, currency: Currency): Promise<ExchangeRate | null> {
  if (currency === "USD") return { currency, per_usd_micros: ONE, set_at: new Date(0).toISOString() };
  return ((await documents.get(COLLECTION, currency))?.value ?? null) as ExchangeRate | null;
}

/** Without a rate amounts count one to one. */
export const perUsdMicros = async (documents: Documents, currency: Currency): Promise<number> =>
  (await readRate(documents, currency))?.per_usd_micros ?? ONE;

export const listRates = async (documents: Documents): Promise<readonly ExchangeRate[]> =>
  (await documents.list(COLLECTION, { limit: 100 })).map(({ value }) => value as ExchangeRate);

/** Throws Fault. */
export async function setRate(
  documents: Documents,
  currency: Exclude<Currency, "USD">,
  per_usd_micros: number,
  now_ms: number,
): Promise<ExchangeRate> {
  const rate: ExchangeRate = { currency, per_usd_micros, set_at: new Date(now_ms).toISOString() };
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
    const stored = await documents.get(COLLECTION, currency);
    if (await documents.put(COLLECTION, currency, rate, stored?.version ?? 0)) return rate;
  }
  throw new Error(`Cannot set the rate of ${currency}: other processes change it at the same time`);
}
