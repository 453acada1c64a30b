/** Invoices: one for each customer and month, as they are stored and as /v1/invoices shows them. Amounts are decimals of six places. */
import { type Static, Type } from "typebox";
import { Currency, type Customer } from "./accounts.ts";
import { BillingCategory, Nullable, Timestamp } from "./common.ts";

export const INVOICE_STATUSES = ["issued", "paid", "void"] as const;
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];

export const INVOICE_ID = "^inv-\\d{4}-\\d{2}-\\d{1,3}-[a-z0-9][a-z0-9_-]{0,62}$";

export const InvoiceLine = Type.Object({
  /** The month of the requests: an earlier one for rows that were written after its invoice. */
  period: Type.String(),
  category: BillingCategory,
  requests: Type.Integer(),
  /** Requests without an error: the only ones that a price is charged for. */
  succeeded: Type.Integer(),
  /** In the invoice's currency; null: the customer pays what providers cost. */
  unit_price: Nullable(Type.String()),
  /** What providers cost; null for an external customer. */
  cost_usd: Nullable(Type.String()),
  amount: Type.String(),
});
export type InvoiceLine = Static<typeof InvoiceLine>;

export const InvoiceSummary = Type.Object({
  id: Type.String(),
  customer: Type.String(),
  /** "2026-11" */
  period: Type.String(),
  status: Type.Enum([...INVOICE_STATUSES]),
  currency: Currency,
  total: Type.String(),
  issued_at: Timestamp,
  paid_at: Nullable(Timestamp),
  voided_at: Nullable(Timestamp),
});

/** GET /v1/invoices/{id}. */
export const Invoice = Type.Object({
  ...InvoiceSummary.properties,
  since: Timestamp,
  /** Not included. */
  until: Timestamp,
  /** The currency for one US dollar, where provider cost was converted; else null. */
  exchange_rate: Nullable(Type.String()),
  lines: Type.Array(InvoiceLine),
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
