/** An invoice as one HTML page without scripts or other files, to be printed. Pure. */
import type { Invoice, InvoiceLine } from "../../schemas/invoices.ts";

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => ESCAPES[sign]!);

const STYLE = `body{font:14px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#111}
table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{text-align:left;padding:.35rem .5rem;border-bottom:1px solid #ccc}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}tfoot td{font-weight:600;border-bottom:0}
dl{display:grid;grid-template-columns:10rem 1fr;margin:0}dt{color:#555}dd{margin:0}pre{white-space:pre-wrap}
@media print{body{margin:0}}`;

/** One page with a title, the same for every page of accounts. `content` is HTML. */
export const page = (title: string, content: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head>` +
  `<body><h1>${escapeHtml(title)}</h1>${content}</body></html>\n`;

export const terms = (entries: readonly (readonly [string, string])[]): string =>
  `<dl>${entries.map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`).join("")}</dl>`;

type Column<T> = readonly [name: string, value: (row: T) => string | number];

/** A number is right-aligned. */
export function htmlTable<T>(columns: readonly Column<T>[], rows: readonly T[], foot = ""): string {
  const cell = (value: string | number): string =>
    /^-?[\d.]+$/.test(String(value))
      ? `<td class="n">${value}</td>`
      : `<td>${escapeHtml(String(value))}</td>`;
  const head = columns.map(([name]) => `<th>${escapeHtml(name)}</th>`).join("");
  const body = rows
    .map((row) => `<tr>${columns.map(([, value]) => cell(value(row))).join("")}</tr>`)
    .join("");
  return `<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody>${foot}</table>`;
}

export function invoicePage(invoice: Invoice): string {
  const { id, customer, period, status, currency, total, issued_at, paid_at, voided_at, exchange_rate } =
    invoice;
  const entries: [string, string][] = [
    ["Invoice", id],
    ["Customer", customer],
    ["Period", period],
    ["Status", status],
    ["Issued", issued_at.slice(0, 10)],
    ...(paid_at === null ? [] : ([["Paid", paid_at.slice(0, 10)]] as [string, string][])),
    ...(voided_at === null ? [] : ([["Void since", voided_at.slice(0, 10)]] as [string, string][])),
    ["Currency", currency],
    ...(exchange_rate === null
      ? []
      : ([["One US dollar", `${exchange_rate} ${currency}`]] as [string, string][])),
  ];
  const hasCost = invoice.lines.some(({ cost_usd }) => cost_usd !== null);
  const columns: Column<InvoiceLine>[] = [
    ["Period", (line) => line.period],
    ["Category", (line) => line.category],
    ["Requests", (line) => line.requests],
    ["Succeeded", (line) => line.succeeded],
    ["Price", (line) => line.unit_price ?? ""],
    ...(hasCost ? ([["Cost, USD", (line) => line.cost_usd ?? ""]] as Column<InvoiceLine>[]) : []),
    [`Amount, ${currency}`, (line) => line.amount],
  ];
  const foot = `<tfoot><tr><td colspan="${columns.length - 1}">Total, ${currency}</td><td class="n">${total}</td></tr></tfoot>`;
  return page(`Invoice ${id}`, terms(entries) + htmlTable(columns, invoice.lines, foot));
}
