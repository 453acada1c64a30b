/**
 * Invoices as documents: drawn up once for each customer and month from the ledger's sums, then paid or void. Drawing is
 * idempotent, so all nodes may try. A customer with prices pays them for each succeeded request; without prices it pays what
 * providers cost, at the operator's exchange rate. An external customer without prices cannot be charged.
 */
import type { Documents } from "../../../cluster/ports/documents.ts";
import {
  type Customer,
  fromMicros,
  fromUsd,
  monthEnds,
  NO_USAGE,
  toMicros,
  type Usage,
} from "../../../schemas/accounts.ts";
import { type Invoice, type InvoiceLine, type InvoiceStatus, pricesOf } from "../../../schemas/invoices.ts";
import { asBooked, bookedOf, type InvoiceTerms, NO_TERMS } from "./invoice-terms.ts";
import { readRate } from "./exchange.ts";
import { AccountError } from "./keys.ts";
import { addUsage, readUsage } from "./read-usage.ts";
import { INVOICES, type StoredInvoice, type Sums } from "./collections.ts";

/** By `<customer>:<month>:<number>`, tagged with the customer. */
const MAX_LIST = 1_000;

export type Drawn =
  | { readonly kind: "drawn" | "exists"; readonly invoice: Invoice }
  | { readonly kind: "none"; readonly because: "no_usage" | "no_prices" | "no_rate" };

const invoiceKey = (customer: string, month: string, number: number): string =>
  `${customer}:${month}:${String(number).padStart(3, "0")}`;

/** Null: no invoice can have this id. */
function keyOfId(id: string): string | null {
  const parts = /^inv-(\d{4}-\d{2})-(\d{1,3})-(.+)$/.exec(id);
  return parts && invoiceKey(parts[3]!, parts[1]!, Number(parts[2]));
}

export async function findInvoice(documents: Documents, id: string): Promise<Invoice | null> {
  const key = keyOfId(id);
  const stored = key === null ? null : await INVOICES.get(documents, key);
  return stored && asBooked(stored.invoice);
}

/** Newest first; at most 1,000. */
export async function listInvoices(documents: Documents, customer?: string): Promise<readonly Invoice[]> {
  const range = { limit: MAX_LIST, reverse: true, ...(customer !== undefined && { tag: customer }) };
  const invoices = (await INVOICES.list(documents, range)).map(({ value }) => asBooked(value.invoice));
  return invoices.toSorted((a, b) => (a.period < b.period ? 1 : a.period > b.period ? -1 : 0));
}

/** From issued to paid or void. Idempotent. Throws AccountError. */
export async function changeInvoice(
  documents: Documents,
  id: string,
  status: Exclude<InvoiceStatus, "issued">,
  now_ms: number,
): Promise<Invoice> {
  const key = keyOfId(id);
  const none = new AccountError(`Cannot change invoice "${id}": there is none with this id`);
  if (key === null) throw none;
  const changed = await INVOICES.update(documents, key, (stored) => {
    if (stored === null) throw none;
    const { invoice, counted } = stored;
    if (invoice.status === status) return null;
    if (invoice.status !== "issued")
      throw new AccountError(`Cannot make invoice "${id}" ${status}: it is ${invoice.status}`);
    const at = new Date(now_ms).toISOString();
    const next = { ...invoice, status, ...(status === "paid" ? { paid_at: at } : { voided_at: at }) };
    return { value: { invoice: next, counted }, options: { tag: invoice.customer } };
  });
  return asBooked(changed!.value.invoice);
}

/**
 * Draws up a month that is over, from the sums as they are. The month has an invoice already: that one, unless it is void
 * and `replaces_void`. Throws Fault.
 */
export async function drawInvoice(
  documents: Documents,
  customer: Customer,
  month: string,
  now_ms: number,
  replaces_void = false,
  terms: InvoiceTerms = NO_TERMS,
): Promise<Drawn> {
  const { name } = customer;
  const earlier = await monthInvoices(documents, name, month);
  const last = earlier.at(-1);
  if (last && !(replaces_void && last.invoice.status === "void"))
    return { kind: "exists", invoice: asBooked(last.invoice) };
  const charged = await chargesOf(documents, customer, month);
  if (charged.kind === "none") return charged;
  const { counted, total, exchange_rate, lines } = charged;
  const since_ms = Date.parse(`${month}-01T00:00:00Z`);
  const number = earlier.length + 1;
  const invoice: Invoice = {
    id: `inv-${month}-${number}-${name}`,
    customer: name,
    period: month,
    status: "issued",
    currency: customer.currency,
    total,
    issued_at: new Date(now_ms).toISOString(),
    paid_at: null,
    voided_at: null,
    since: new Date(since_ms).toISOString(),
    until: new Date(monthEnds(since_ms)).toISOString(),
    exchange_rate,
    ...bookedOf(customer, toMicros(total)!, terms, now_ms),
    lines,
  };
  const value: StoredInvoice = { invoice, counted };
  const isNew = await INVOICES.put(documents, invoiceKey(name, month, number), value, 0, { tag: name });
  if (isNew) return { kind: "drawn", invoice };
  // Another node was first.
  const [winner] = (await monthInvoices(documents, name, month)).slice(-1);
  return { kind: "exists", invoice: asBooked(winner!.invoice) };
}

export type Charges =
  | ({ readonly kind: "charged"; readonly counted: Sums } & Pick<
      Invoice,
      "currency" | "total" | "exchange_rate" | "lines"
    >)
  | (Drawn & { readonly kind: "none" });

/**
 * The charges of a month by the sums as they are, with late rows of the month before, and without those that the next month's invoice
 * charged. Throws Fault.
 */
export async function chargesOf(documents: Documents, customer: Customer, month: string): Promise<Charges> {
  const { name, currency } = customer;
  const counted = difference(await sumsOf(documents, name, month), await chargedLate(documents, name, month));
  // Usage of an external customer without prices cannot be charged, and does not keep the next month from it.
  const isFree = customer.external && pricesOf(customer, monthBefore(month)) === null;
  const late = isFree ? {} : await lateRows(documents, name, monthBefore(month));
  if (Object.keys(counted).length + Object.keys(late).length === 0)
    return { kind: "none", because: "no_usage" };

  const charged = [
    { period: monthBefore(month), sums: late },
    { period: month, sums: counted },
  ];
  const isPriced = ({ period }: { readonly period: string }): boolean => pricesOf(customer, period) !== null;
  if (customer.external && !charged.every((part) => isPriced(part) || isEmpty(part.sums)))
    return { kind: "none", because: "no_prices" };
  const rate = await readRate(documents, customer.currency);
  const isConverted = charged.some((part) => !isPriced(part) && !isEmpty(part.sums));
  if (isConverted && rate === null) return { kind: "none", because: "no_rate" };

  let total = 0;
  const lines: InvoiceLine[] = [];
  for (const { period, sums } of charged) {
    const prices = pricesOf(customer, period);
    for (const [category, { requests, succeeded, cost_micros }] of Object.entries(sums).toSorted(([a], [b]) =>
      a < b ? -1 : 1,
    )) {
      const price = prices && (prices[category] ?? 0);
      const amount = price === null ? fromUsd(cost_micros, rate!.per_usd_micros) : price * succeeded;
      total += amount;
      lines.push({
        period,
        category: category as InvoiceLine["category"],
        requests,
        succeeded,
        unit_price: price === null ? null : fromMicros(price),
        cost_usd: customer.external ? null : fromMicros(cost_micros),
        amount: fromMicros(amount),
      });
    }
  }
  const exchange_rate = isConverted && currency !== "USD" ? fromMicros(rate!.per_usd_micros) : null;
  return { kind: "charged", counted, currency, total: fromMicros(total), exchange_rate, lines };
}

async function monthInvoices(
  documents: Documents,
  customer: string,
  month: string,
): Promise<readonly StoredInvoice[]> {
  const range = { from: `${customer}:${month}:`, to: `${customer}:${month};`, limit: MAX_LIST };
  return (await INVOICES.list(documents, range)).map(({ value }) => value);
}

/** By category. */
async function sumsOf(documents: Documents, customer: string, month: string): Promise<Sums> {
  const until = new Date(monthEnds(Date.parse(`${month}-01T00:00:00Z`))).toISOString().slice(0, 10);
  const question = { customer, since: `${month}-01`, until, key: null, by_key: false };
  const sums: Record<string, Usage> = {};
  for (const { category, usage } of await readUsage(documents, question))
    sums[category] = addUsage(sums[category] ?? (NO_USAGE as Usage), usage);
  return Object.fromEntries(
    Object.entries(sums).map(([category, { requests, succeeded, cost_micros }]) => [
      category,
      { requests, succeeded, cost_micros },
    ]),
  );
}

/** Rows of a month that its own invoice does not charge: all of them where it has none; nothing where the operator made it void. */
async function lateRows(documents: Documents, customer: string, month: string): Promise<Sums> {
  const last = (await monthInvoices(documents, customer, month)).at(-1);
  if (last?.invoice.status === "void") return {};
  return difference(await sumsOf(documents, customer, month), last?.counted ?? {});
}

/** Rows of a month that the invoice of the next month charged as late. */
async function chargedLate(documents: Documents, customer: string, month: string): Promise<Sums> {
  const last = (await monthInvoices(documents, customer, monthAfter(month))).at(-1);
  if (!last || last.invoice.status === "void") return {};
  const lines = last.invoice.lines.filter(({ period }) => period === month);
  return Object.fromEntries(
    lines.map(({ category, requests, succeeded, cost_usd }) => [
      category,
      { requests, succeeded, cost_micros: toMicros(cost_usd ?? "0") ?? 0 },
    ]),
  );
}

/** By category, those that differ. */
function difference(now: Sums, before: Sums): Sums {
  const rest: Record<string, Sums[string]> = {};
  for (const [category, sum] of Object.entries(now)) {
    const counted = before[category] ?? NO_USAGE;
    if (sum.requests === counted.requests) continue;
    rest[category] = {
      requests: sum.requests - counted.requests,
      succeeded: sum.succeeded - counted.succeeded,
      cost_micros: sum.cost_micros - counted.cost_micros,
    };
  }
  return rest;
}

const isEmpty = (sums: Sums): boolean => Object.keys(sums).length === 0;

/** "2026-01" to "2025-12". */
export const monthBefore = (month: string): string =>
  new Date(Date.parse(`${month}-01T00:00:00Z`) - 1).toISOString().slice(0, 7);
/** "2025-12" to "2026-01". */
const monthAfter = (month: string): string =>
  new Date(monthEnds(Date.parse(`${month}-01T00:00:00Z`))).toISOString().slice(0, 7);
