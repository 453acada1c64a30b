/** trawl invoice list, show, preview, draw, paid, void: invoices of customers. A running service draws the month before by itself. */
import { Command } from "commander";
import { foldLedger } from "../../actors/business/accounts/fold.ts";
import { invoicePage } from "../../actors/business/accounts/feature/invoice-page.ts";
import { termsOf } from "../../actors/business/accounts/invoice-terms.ts";
import { customerNamed } from "../../actors/business/accounts/keys.ts";
import {
  changeInvoice,
  chargesOf,
  drawInvoice,
  findInvoice,
  listInvoices,
  monthBefore,
} from "../../actors/business/accounts/invoices.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { type Customer, isMonth, monthOf } from "../../schemas/accounts.ts";
import type { Invoice, InvoiceLine, InvoiceStatus } from "../../schemas/invoices.ts";
import { CommandError, type Context, type Json, table, withDocuments, withJson } from "./context.ts";

const BECAUSE = {
  no_usage: "it has used nothing that month that is not charged already",
  no_prices: "it is external and has no prices: trawl customer price",
  no_rate: "there is no rate of its currency: trawl rate set",
} as const;

export function invoiceCommand(context: Context): Command {
  const invoice = new Command("invoice").description("manage invoices");
  const becomes = (status: Exclude<InvoiceStatus, "issued">, name: string, description: string): void => {
    withJson(invoice.command(name))
      .description(description)
      .argument("<id>")
      .action(async (id: string, { json }: Json) => {
        const changed = await withDocuments(context, (documents) =>
          changeInvoice(documents, id, status, context.now()),
        );
        if (json) return context.out(JSON.stringify(changed));
        return context.err(`Invoice ${id} is ${changed.status}.`);
      });
  };

  withJson(invoice.command("list"))
    .description("list invoices, of one customer or of all")
    .argument("[customer]")
    .action(async (customer: string | undefined, { json }: Json) => {
      const invoices = await withDocuments(context, async (documents) => {
        if (customer !== undefined) await customerNamed(documents, customer);
        return listInvoices(documents, customer);
      });
      if (json) return context.out(JSON.stringify(invoices, null, 2));
      const row = ({ id, period, status, total, currency, issued_at }: Invoice): string[] => [
        id,
        period,
        status,
        `${total} ${currency}`,
        issued_at,
      ];
      return context.out(table(["INVOICE", "PERIOD", "STATUS", "TOTAL", "ISSUED AT"], invoices.map(row)));
    });
  withJson(invoice.command("show"))
    .description("print an invoice as a page (HTML), or with --json as JSON")
    .argument("<id>")
    .action(async (id: string, { json }: Json) => {
      const found = await withDocuments(context, (documents) => findInvoice(documents, id));
      if (!found) throw new CommandError(`Cannot show invoice "${id}": there is none with this id`);
      return context.out(json ? JSON.stringify(found, null, 2) : invoicePage(found));
    });
  withJson(invoice.command("draw"))
    .description("draw up the invoice of a month that is over, also anew where the last one is void")
    .argument("<customer>")
    .option("--month <YYYY-MM>", "default: the month before")
    .action(async (name: string, { month: given, json }: Json & { readonly month?: string }) => {
      const now_ms = context.now();
      const month = given ?? monthBefore(monthOf(now_ms));
      if (!isMonth(month) || month >= monthOf(now_ms))
        throw new CommandError(`Cannot draw up "${month}": name a month that is over, for example 2026-10`);
      const { invoices } = await context.config();
      const drawn = await withCharges(context, name, (documents, customer) =>
        drawInvoice(documents, customer, month, now_ms, true, termsOf(invoices)),
      );
      if (drawn.kind === "none")
        throw new CommandError(`Cannot draw up ${month} of "${name}": ${BECAUSE[drawn.because]}`);
      if (json) return context.out(JSON.stringify(drawn.invoice));
      const { id, payable, currency } = drawn.invoice;
      return context.err(
        `Invoice ${id} ${drawn.kind === "drawn" ? "is issued" : "exists"}: ${payable} ${currency}.`,
      );
    });
  withJson(invoice.command("preview"))
    .description("print what a month comes to so far; nothing is issued")
    .argument("<customer>")
    .option("--month <YYYY-MM>", "default: this month")
    .action(async (name: string, { month: given, json }: Json & { readonly month?: string }) => {
      const now_ms = context.now();
      const month = given ?? monthOf(now_ms);
      if (!isMonth(month) || month > monthOf(now_ms))
        throw new CommandError(`Cannot add "${month}" up: name this month or one before, as 2026-10`);
      const charged = await withCharges(context, name, (documents, customer) =>
        chargesOf(documents, customer, month),
      );
      if (charged.kind === "none")
        throw new CommandError(`Cannot add ${month} of "${name}" up: ${BECAUSE[charged.because]}`);
      const { currency, total, lines, exchange_rate } = charged;
      if (json)
        return context.out(
          JSON.stringify({ customer: name, period: month, currency, total, exchange_rate, lines }, null, 2),
        );
      const row = (line: InvoiceLine): string[] => [
        line.period,
        line.category,
        String(line.requests),
        String(line.succeeded),
        line.unit_price ?? "cost",
        line.amount,
      ];
      const head = ["PERIOD", "CATEGORY", "REQUESTS", "SUCCEEDED", "PRICE", currency];
      return context.out(table(head, [...lines.map(row), ["", "(all)", "", "", "", total]]));
    });
  becomes("paid", "paid", "record that an invoice was paid");
  becomes("void", "void", "declare an invoice void");
  return invoice;
}

/** Runs the work once everything that the customer has used until now is added up. */
const withCharges = <T>(
  context: Context,
  name: string,
  work: (documents: Documents, customer: Customer) => Promise<T>,
): Promise<T> =>
  withDocuments(context, async (documents) => {
    const customer = await customerNamed(documents, name);
    await addUp(documents, name);
    return work(documents, customer);
  });

/** A running service adds the same batches up at times: then one of both begins again. */
async function addUp(documents: Documents, customer: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await foldLedger(documents, customer);
    } catch (problem) {
      if (attempt === 5) throw problem;
    }
  }
}
