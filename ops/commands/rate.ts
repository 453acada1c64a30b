/** trawl rate set, list: the operator's exchange rates. A running service follows within 5 seconds. */
import { Argument, Command, InvalidArgumentError } from "commander";
import { listRates, setRate } from "../../actors/business/accounts/exchange.ts";
import { fromMicros, toMicros } from "../../schemas/accounts.ts";
import { type Context, type Json, table, withDocuments, withJson } from "./context.ts";

/** Outside of this range it is a mistake, and sums would leave the range in which numbers are exact. */
const MIN_MICROS = 10_000;
const MAX_MICROS = 100_000_000;

export function rateCommand(context: Context): Command {
  const rate = new Command("rate").description("manage exchange rates of customers' currencies");
  withJson(rate.command("set"))
    .description("set what one US dollar is in another currency; limits and invoices count at this rate")
    .addArgument(new Argument("<currency>").choices(["CHF", "EUR"]))
    .argument("<per-usd>", "for example 0.885, at most six decimals", perUsd)
    .action(async (currency: "CHF" | "EUR", per_usd_micros: number, { json }: Json) => {
      const set = await withDocuments(context, (documents) =>
        setRate(documents, currency, per_usd_micros, context.now()),
      );
      if (json) return context.out(JSON.stringify(set));
      return context.err(`One US dollar is ${fromMicros(per_usd_micros)} ${currency}.`);
    });
  withJson(rate.command("list"))
    .description("list the exchange rates")
    .action(async ({ json }: Json) => {
      const rates = await withDocuments(context, listRates);
      if (json) return context.out(JSON.stringify(rates, null, 2));
      const rows = rates.map(({ currency, per_usd_micros, set_at }) => [
        currency,
        fromMicros(per_usd_micros),
        set_at,
      ]);
      return context.out(table(["CURRENCY", "PER USD", "SET AT"], rows));
    });
  return rate;
}

function perUsd(text: string): number {
  const micros = toMicros(text);
  if (micros === null || micros < MIN_MICROS || micros > MAX_MICROS)
    throw new InvalidArgumentError("Not a rate as 0.885, from 0.01 to 100.");
  return micros;
}
