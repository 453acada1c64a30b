/** An invoice as a page to be printed. Pure. */
import { type Column, escapeHtml, htmlPage, htmlTable, htmlTerms } from "../../../../gateway/html-page.ts";
import type { Invoice, InvoiceLine, InvoiceParty } from "../../../../schemas/invoices.ts";

/** How amounts of the currency are written in English. */
const LOCALES: Readonly<Record<Invoice["currency"], string>> = { USD: "en-US", CHF: "en-CH", EUR: "en-IE" };

/** "1234.50" as "CHF 1’234.50". The decimal is never a float. */
export const money = (decimal: string, currency: Invoice["currency"]): string =>
  new Intl.NumberFormat(LOCALES[currency], { style: "currency", currency }).format(decimal as `${number}`);

export function invoicePage(invoice: Invoice): string {
  const { id, currency, paid_at, voided_at, due_at, exchange_rate, lines, seller, buyer, payment } = invoice;
  const entries: readonly (readonly [string, string | null])[] = [
    ["Number", id],
    ["Customer", invoice.customer],
    ["Period", `${invoice.since.slice(0, 10)} to ${dayBefore(invoice.until)}`],
    ["Status", invoice.status],
    ["Issued", invoice.issued_at.slice(0, 10)],
    ["Due", due_at && due_at.slice(0, 10)],
    ["Paid", paid_at && paid_at.slice(0, 10)],
    ["Void since", voided_at && voided_at.slice(0, 10)],
    ["Currency", currency],
    ["One US dollar", exchange_rate && `${exchange_rate} ${currency}`],
    ["Payment", payment],
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
  return htmlPage(
    `Invoice ${id}`,
    `<div class="parties">${seller === null ? "" : party("From", seller)}${party("To", buyer)}</div>` +
      htmlTerms(shown) +
      htmlTable(columns, lines, invoice.total) +
      sums(invoice),
  );
}

/** From the sum of six decimals to what is to be paid, each step with its name. */
function sums({ currency, rounding, net, tax, payable }: Invoice): string {
  const rows: readonly (readonly [string, string])[] = [
    ["Rounding of the total to two decimals, half up", `${rounding} ${currency}`],
    ["Net amount", money(net, currency)],
    ...(tax === null ? [] : [[`${tax.name} ${tax.percent} %`, money(tax.amount, currency)] as const]),
    ["To be paid", money(payable, currency)],
  ];
  const cells = rows.map(
    ([name, value]) =>
      `<tr><th scope="row">${escapeHtml(name)}</th><td class="n">${escapeHtml(value)}</td></tr>`,
  );
  return `<table class="sums"><tbody>${cells.join("")}</tbody></table>`;
}

const party = (role: string, { name, address, tax_id }: InvoiceParty): string =>
  `<section><h2>${role}</h2><p>${[name, ...address, ...(tax_id === null ? [] : [tax_id])].map(escapeHtml).join("<br>")}</p></section>`;

/** The last day of the period: its end is the first moment after it. */
const dayBefore = (until: string): string => new Date(Date.parse(until) - 1).toISOString().slice(0, 10);
