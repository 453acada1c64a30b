/** An invoice as a page to be printed. Pure. */
import { type Column, htmlPage, htmlTable, htmlTerms } from "../../../../gateway/html-page.ts";
import type { Invoice, InvoiceLine } from "../../../../schemas/invoices.ts";

export function invoicePage(invoice: Invoice): string {
  const { id, currency, paid_at, voided_at, exchange_rate, lines } = invoice;
  const entries: readonly (readonly [string, string | null])[] = [
    ["Invoice", id],
    ["Customer", invoice.customer],
    ["Period", invoice.period],
    ["Status", invoice.status],
    ["Issued", invoice.issued_at.slice(0, 10)],
    ["Paid", paid_at && paid_at.slice(0, 10)],
    ["Void since", voided_at && voided_at.slice(0, 10)],
    ["Currency", currency],
    ["One US dollar", exchange_rate && `${exchange_rate} ${currency}`],
  ];
  const shown = entries.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  const cost: Column<InvoiceLine> = ["Cost, USD", (line) => line.cost_usd];
  const columns: readonly Column<InvoiceLine>[] = [
    ["Period", (line) => line.period],
    ["Category", (line) => line.category],
    ["Requests", (line) => line.requests],
    ["Succeeded", (line) => line.succeeded],
    ["Price", (line) => line.unit_price],
    ...(lines.some(({ cost_usd }) => cost_usd !== null) ? [cost] : []),
    [`Amount, ${currency}`, (line) => line.amount],
  ];
  return htmlPage(`Invoice ${id}`, htmlTerms(shown) + htmlTable(columns, lines, invoice.total));
}
