/** HTML pages without scripts and other files, for people: an invoice, a debug record. Pure. */
import { hash } from "node:crypto";

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => ESCAPES[sign]!);

/** Paper is light in every scheme. Its digest allows it, and no other style of a page. */
const STYLE = `:root{color-scheme:light dark}body{font:14px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:light-dark(#111,#e8e8e8);background:light-dark(#fff,#161616)}
table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{text-align:left;padding:.35rem .5rem;border-bottom:1px solid light-dark(#ccc,#444);overflow-wrap:anywhere}
td.n{text-align:right;font-variant-numeric:tabular-nums}tfoot td{font-weight:600;border-bottom:0}
dl{display:grid;grid-template-columns:10rem 1fr;margin:0}dt{color:light-dark(#555,#aaa)}dd{margin:0;overflow-wrap:anywhere}
pre{white-space:pre-wrap;overflow-wrap:anywhere}
.parties{display:flex;flex-wrap:wrap;gap:0 4rem}h2{font-size:1rem;margin:1rem 0 0}.sums{width:auto;margin-left:auto}.sums th{font-weight:400}.sums tr:last-child>*{font-weight:600}
@media print{:root{color-scheme:light}@page{size:A4;margin:18mm}body{margin:0;max-width:none}}`;

/** The pages carry no script and load nothing. */
export const PAGE_HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${hash("sha256", STYLE, "base64")}'; frame-ancestors 'none'`,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
};

/** `content` is HTML. */
export const htmlPage = (title: string, content: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head>` +
  `<body><main><h1>${escapeHtml(title)}</h1>${content}</main></body></html>\n`;

export const htmlHeading = (text: string): string => `<h2>${escapeHtml(text)}</h2>`;

export const htmlTerms = (entries: readonly (readonly [string, string])[]): string =>
  `<dl>${entries.map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`).join("")}</dl>`;

export type Column<T> = readonly [name: string, value: (row: T) => string | number | null];

/** Numbers are right-aligned. */
export function htmlTable<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  total: string | null = null,
): string {
  const cell = (value: string | number | null): string =>
    /^-?[\d.]+$/.test(String(value))
      ? `<td class="n">${value}</td>`
      : `<td>${escapeHtml(String(value ?? ""))}</td>`;
  const head = columns.map(([name]) => `<th>${escapeHtml(name)}</th>`).join("");
  const body = rows.map((row) => `<tr>${columns.map(([, value]) => cell(value(row))).join("")}</tr>`);
  const foot =
    total === null
      ? ""
      : `<tfoot><tr><td colspan="${columns.length - 1}">Total</td>${cell(total)}</tr></tfoot>`;
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody>${foot}</table>`;
}
