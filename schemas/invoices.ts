/** Invoices: one for each customer and month, as they are stored and as /v1/invoices shows them. Amounts are decimals of six places. */
import { type Static, Type } from "typebox";
import { type Bill, Currency, type Customer, type SpendBasis } from "./accounts.ts";
import { type JobKind, UNANSWERED_AS } from "./jobs.ts";
import type { LedgerRow } from "./ledger.ts";
import { Field, Component, BillingCategory, Nullable, Timestamp } from "./common.ts";

export const INVOICE_STATUSES = ["issued", "paid", "void"] as const;
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];

export const INVOICE_ID = "^inv-\\d{4}-\\d{2}-\\d{1,3}-[a-z0-9][a-z0-9_-]{0,62}$";

export const InvoiceLine = Component("InvoiceLine", {
  period: Field(
    Type.String(),
    "The month of the requests: an earlier one for rows that were written after its invoice",
    "2026-11",
  ),
  category: Field(BillingCategory, "The billing category"),
  requests: Field(Type.Integer(), "Requests and items", 1200),
  succeeded: Field(
    Type.Integer(),
    "Requests without an error: the only ones that a price is charged for",
    1150,
  ),
  unit_price: Field(
    Nullable(Type.String()),
    "In the invoice's currency; null: the customer pays what providers cost",
    "0.001000",
  ),
  cost_usd: Field(
    Nullable(Type.String()),
    "What providers cost, in US dollars; null for external customers",
    "1.250000",
  ),
  amount: Field(Type.String(), "The amount of the line", "1.150000"),
});
export type InvoiceLine = Static<typeof InvoiceLine>;

export const InvoiceParty = Component("InvoiceParty", {
  name: Field(Type.String(), "The name of the company or person", "Acme AG"),
  address: Field(Type.Array(Type.String()), "The lines of the address", ["Bahnhofstrasse 1", "8001 Zürich"]),
  tax_id: Field(Nullable(Type.String()), "The number for tax; null: none is known", "CHE-123.456.788 MWST"),
});
export type InvoiceParty = Static<typeof InvoiceParty>;

const InvoiceTax = Component("InvoiceTax", {
  name: Field(Type.String(), "What the tax is called", "VAT"),
  percent: Field(Type.String(), "Of the net amount", "8.1"),
  amount: Field(Type.String(), "Rounded half up to two decimals", "3.34"),
});

export const InvoiceSummary = Component("InvoiceSummary", {
  id: Field(Type.String(), "The number of the invoice", "inv-2026-11-1-acme"),
  customer: Field(Type.String(), "The customer", "acme"),
  period: Field(Type.String(), "The month", "2026-11"),
  status: Field(Type.Enum([...INVOICE_STATUSES]), "Whether it is paid"),
  currency: Field(Currency, "ISO 4217", "CHF"),
  total: Field(Type.String(), "The sum of the lines, six decimals", "41.253285"),
  payable: Field(Type.String(), "What is to be paid, two decimals: the net amount with the tax", "44.59"),
  issued_at: Field(Timestamp, "When it was drawn up"),
  due_at: Field(
    Nullable(Timestamp),
    "When it is to be paid; null: invoices of version 0.2.0 and earlier say no date",
  ),
  paid_at: Field(Nullable(Timestamp), "When it was paid; null: it is not"),
  voided_at: Field(Nullable(Timestamp), "When it was made void; null: it is not"),
});

/** GET /v1/invoices/{id}. */
export const Invoice = Component("Invoice", {
  ...InvoiceSummary.properties,
  since: Field(Timestamp, "The first moment of the month"),
  /** Not included. */
  until: Field(Timestamp, "The first moment of the next"),
  exchange_rate: Field(
    Nullable(Type.String()),
    "The currency for one US dollar, where provider cost was converted; else null",
    "0.880000",
  ),
  seller: Field(
    Nullable(InvoiceParty),
    "As the operator's settings were at its issue; null: they named none",
  ),
  buyer: Field(InvoiceParty, "As the customer was at its issue"),
  payment: Field(
    Nullable(Type.String()),
    "How to pay, in the operator's words; null: not said",
    "IBAN CH93 0076 2011 6238 5295 7",
  ),
  net: Field(Type.String(), "The total rounded half up to two decimals", "41.25"),
  rounding: Field(
    Type.String(),
    "What the rounding adds to the total or, with a minus, takes from it",
    "-0.003285",
  ),
  tax: Field(Nullable(InvoiceTax), "The line of tax; null: none is charged"),
  lines: Field(Type.Array(InvoiceLine), "One for each billing category"),
});
export type Invoice = Static<typeof Invoice>;

/** Prices of a succeeded request, by billing category in millionths; null: the operator has set none. */
export function pricesOf(
  { prices = [] }: Pick<Customer, "prices">,
  month: string,
): Readonly<Record<string, number>> | null {
  const current = prices.filter(({ from }) => from <= month).at(-1);
  return current && Object.keys(current.per_request).length > 0 ? current.per_request : null;
}

type Prices = Readonly<Record<string, number>>;

/** Price of a request; a failed one costs nothing. */
export const priceOf = (prices: Prices, { category, ok }: Pick<Bill, "category" | "ok">): number =>
  ok ? (prices[category] ?? 0) : 0;

/** The most that a request of a kind can cost: the highest price of the kind's billing categories. */
export const priceMost = (prices: Prices, kind: JobKind): number =>
  Math.max(
    0,
    ...Object.entries(prices).map(([name, micros]) =>
      kindOf(name) === kindOf(UNANSWERED_AS[kind]) ? micros : 0,
    ),
  );

/**
 * Whether work may begin. `free`: it can cost the customer nothing, or no account has a limit. `held`: it has to wait until other
 * work settles. `refused`: nothing of the month is left for it.
 */
export type ChargeReply = "free" | "reserved" | "held" | "refused";

/** Work that is reserved for: the most that work of a kind can cost, or what an answer costs. */
export type ChargedWork = { readonly kind: JobKind } | Pick<Bill, "category" | "ok">;

/** Row of a request or an item that is settled. */
export type ChargedRow = Pick<LedgerRow, "request_id" | "project" | "key" | "category" | "ok" | "at_ms">;

const kindOf = (category: string): string => category.replace(/_.*$/, "");

export const basisOf = (customer: Pick<Customer, "prices">, month: string): SpendBasis =>
  pricesOf(customer, month) === null ? "provider_cost" : "charge";
