/** trawl customer create, list, budget, billing, spend, suspend, activate: changes the document store; a running service follows within 5 seconds. */
import { Command, Option } from "commander";
import { readRate } from "../../actors/business/accounts/exchange.ts";
import {
  createCustomer,
  customerNamed,
  listCustomers,
  setBilling,
  setCustomerBudget,
  setCustomerStatus,
  setPrices,
} from "../../actors/business/accounts/keys.ts";
import { readUsage, type UsageCell } from "../../actors/business/accounts/read-usage.ts";
import { dayOf } from "../../schemas/ledger.ts";
import { type Customer, fromMicros, isMonth, monthOf, toMicros } from "../../schemas/accounts.ts";
import { BILLING_CATEGORIES } from "../../schemas/common.ts";
import { CommandError, type Context, type Json, table, withDocuments, withJson } from "./context.ts";
import { amount } from "./key.ts";

interface CreateOptions extends Json {
  readonly external?: boolean;
  readonly currency: Customer["currency"];
}

interface BillingOptions extends Json {
  readonly to: string;
  readonly address: readonly string[];
  readonly taxId?: string;
}

export function customerCommand(context: Context): Command {
  const customer = new Command("customer").description("manage customers, which own projects");
  const becomes = (name: string, status: Customer["status"], description: string): void => {
    withJson(customer.command(name))
      .description(description)
      .argument("<name>")
      .action(async (whose: string, { json }: Json) => {
        const changed = await withDocuments(context, (documents) =>
          setCustomerStatus(documents, whose, status),
        );
        if (json) return context.out(JSON.stringify(changed));
        return context.err(`Customer "${whose}" is ${changed.status}.`);
      });
  };
  withJson(customer.command("create"))
    .description("create a customer")
    .argument("<name>", "a-z, 0-9, - and _")
    .option("--external", "it does not see provider costs")
    .addOption(
      new Option("--currency <code>", "the currency of its amounts")
        .choices(["USD", "CHF", "EUR"])
        .default("USD"),
    )
    .action(async (name: string, { external, currency, json }: CreateOptions) => {
      const { created, rate } = await withDocuments(context, async (documents) => ({
        created: await createCustomer(
          documents,
          { name, external: external ?? false, currency },
          context.now(),
        ),
        rate: await readRate(documents, currency),
      }));
      if (rate === null)
        context.err(
          `There is no rate of ${currency}: its amounts count as US dollars until trawl rate set ${currency} 0.9`,
        );
      if (json) return context.out(JSON.stringify(created));
      return context.err(`Customer "${name}" is created.`);
    });
  withJson(customer.command("list"))
    .description("list customers with their limits")
    .action(async ({ json }: Json) => {
      const customers = await withDocuments(context, listCustomers);
      if (json) return context.out(JSON.stringify(customers, null, 2));
      const rows = customers.map(({ name, status, currency, external, budget_micros }) => [
        name,
        status,
        currency,
        external ? "external" : "own",
        budget_micros === null ? "none" : fromMicros(budget_micros),
      ]);
      return context.out(table(["CUSTOMER", "STATUS", "CURRENCY", "KIND", "BUDGET"], rows));
    });
  withJson(customer.command("budget"))
    .description("limit what all projects of a customer together may spend in a month")
    .argument("<name>")
    .argument("<amount>", "for example 250.50, or none", (text) => (text === "none" ? null : amount(text)))
    .action(async (name: string, micros: number | null, { json }: Json) => {
      const changed = await withDocuments(context, (documents) => setCustomerBudget(documents, name, micros));
      if (json) return context.out(JSON.stringify(changed));
      return context.err(
        micros === null
          ? `Customer "${name}" has no budget limit.`
          : `Customer "${name}" may spend ${fromMicros(micros)} a month.`,
      );
    });
  withJson(customer.command("billing"))
    .description("say who a customer's later invoices are to")
    .argument("<name>")
    .requiredOption("--to <name>", "the company or person")
    .option("--address <lines...>", "the lines of the address", [])
    .option("--tax-id <number>", "such as a VAT number")
    .action(async (name: string, { to, address, taxId, json }: BillingOptions) => {
      const changed = await withDocuments(context, (documents) =>
        setBilling(documents, name, { name: to, address: [...address], tax_id: taxId ?? null }),
      );
      if (json) return context.out(JSON.stringify(changed));
      return context.err(`Later invoices of "${name}" are to ${to}.`);
    });
  withJson(customer.command("price"))
    .description("set what a customer pays for a succeeded request; replaces all its prices")
    .argument("<name>")
    .argument("<category=amount...>", "for example fetch_own=0.001 search=0.002, or none")
    .option("--from <YYYY-MM>", "the first month they hold for; default: this one")
    .action(async (name: string, words: readonly string[], { from, json }: Json & { from?: string }) => {
      const this_month = monthOf(context.now());
      const month = from ?? this_month;
      if (!isMonth(month) || month < this_month)
        throw new CommandError(`Cannot set prices from "${month}": name this month or a later one`);
      const per_request = pricesIn(words);
      const changed = await withDocuments(context, (documents) =>
        setPrices(documents, name, month, per_request),
      );
      if (json) return context.out(JSON.stringify(changed));
      const list = Object.entries(per_request).map(
        ([category, micros]) => `${category} ${fromMicros(micros)}`,
      );
      return context.err(
        `Customer "${name}" pays from ${month}: ${list.join(", ") || "what providers cost"} (${changed.currency}).`,
      );
    });
  withJson(customer.command("spend"))
    .description(
      "show what a customer used and spent today and this month, by project, in US dollars and days of UTC",
    )
    .argument("<name>")
    .action(async (name: string, { json }: Json) => {
      const now_ms = context.now();
      const [today, until] = [dayOf(now_ms), dayOf(now_ms + DAY_MS)];
      const question = { customer: name, since: `${monthOf(now_ms)}-01`, until, key: null, by_key: false };
      const cells = await withDocuments(context, async (documents) => {
        await customerNamed(documents, name);
        return readUsage(documents, question);
      });
      const rows = spendOf(cells, today);
      if (json) return context.out(JSON.stringify(rows, null, 2));
      context.out(
        table(
          ["PROJECT", "TODAY", "REQUESTS", "MONTH", "REQUESTS"],
          rows.map(({ project, today: day, month }) => [
            project,
            day.cost_usd,
            String(day.requests),
            month.cost_usd,
            String(month.requests),
          ]),
        ),
      );
    });
  becomes("suspend", "suspended", "refuse all requests with the customer's keys");
  becomes("activate", "active", "accept requests with the customer's keys again");
  return customer;
}

const DAY_MS = 86_400_000;

interface Spend {
  readonly requests: number;
  /** A decimal. */
  readonly cost_usd: string;
}

/** A row for each project that was used this month, and the customer's last. */
export function spendOf(
  cells: readonly UsageCell[],
  today: string,
): readonly { readonly project: string; readonly today: Spend; readonly month: Spend }[] {
  const sum = (of: readonly UsageCell[]): Spend => ({
    requests: of.reduce((total, { usage }) => total + usage.requests, 0),
    cost_usd: fromMicros(of.reduce((total, { usage }) => total + usage.cost_micros, 0)),
  });
  const row = (project: string, of: readonly UsageCell[]) => ({
    project,
    today: sum(of.filter(({ day }) => day === today)),
    month: sum(of),
  });
  const projects = [...new Set(cells.map(({ project }) => project))].toSorted();
  return [
    ...projects.map((project) =>
      row(
        project,
        cells.filter((cell) => cell.project === project),
      ),
    ),
    row("(all)", cells),
  ];
}

/** "fetch_own=0.001" and so on, or none. */
function pricesIn(words: readonly string[]): Record<string, number> {
  if (words.length === 1 && words[0] === "none") return {};
  const prices: Record<string, number> = {};
  for (const word of words) {
    const [category, decimal = ""] = word.split("=") as [string, string?];
    const micros = toMicros(decimal);
    if (micros === null || !(BILLING_CATEGORIES as readonly string[]).includes(category))
      throw new CommandError(
        `"${word}" is no price as fetch_own=0.001; categories are ${BILLING_CATEGORIES.join(", ")}`,
      );
    if (category in prices) throw new CommandError(`"${word}" is a second price of ${category}`);
    prices[category] = micros;
  }
  return prices;
}
