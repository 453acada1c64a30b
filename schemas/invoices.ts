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
  /** What providers cost; null for an external customer. */
  cost_usd: Field(
    Nullable(Type.String()),
    "What providers cost, in US dollars; null for external customers",
    "1.250000",
  ),
  amount: Field(Type.String(), "The amount of the line", "1.150000"),
});
export type InvoiceLine = Static<typeof InvoiceLine>;

export const InvoiceSummary = Component("InvoiceSummary", {
  id: Field(Type.String(), "The number of the invoice", "inv-2026-11-1-acme"),
  customer: Field(Type.String(), "The customer", "acme"),
  period: Field(Type.String(), "The month", "2026-11"),
  status: Field(Type.Enum([...INVOICE_STATUSES]), "Whether it is paid"),
  currency: Field(Currency, "ISO 4217", "CHF"),
  total: Field(Type.String(), "The sum of the lines", "41.250000"),
  issued_at: Field(Timestamp, "When it was drawn up"),
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
  lines: Field(Type.Array(InvoiceLine), "One for each billing category"),
});
export type Invoice = Static<typeof Invoice>;

/** What the customer pays for a succeeded request, by billing category in millionths; null: the operator has set no prices. */
export function pricesOf(
  { prices = [] }: Pick<Customer, "prices">,
  month: string,
): Readonly<Record<string, number>> | null {
  const current = prices.filter(({ from }) => from <= month).at(-1);
  return current && Object.keys(current.per_request).length > 0 ? current.per_request : null;
}

type Prices = Readonly<Record<string, number>>;

/** What is charged for a request; a failed one costs nothing. */
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

/** What is reserved: the most that work of a kind can cost, or what an answer costs. */
export type ChargedWork = { readonly kind: JobKind } | Pick<Bill, "category" | "ok">;

/** What is settled: the row of a request or an item. */
export type ChargedRow = Pick<LedgerRow, "request_id" | "project" | "key" | "category" | "ok" | "at_ms">;

const kindOf = (category: string): string => category.replace(/_.*$/, "");

export const basisOf = (customer: Pick<Customer, "prices">, month: string): SpendBasis =>
  pricesOf(customer, month) === null ? "provider_cost" : "charge";
