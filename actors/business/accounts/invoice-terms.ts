/**
 * The sum of a month as an invoice that can be booked: seller and buyer, the date due, two decimals and the tax on them. Pure; amounts are millionths.
 */
import { type Customer, fromMicros, toMicros } from "../../../schemas/accounts.ts";
import type { Invoice, InvoiceParty } from "../../../schemas/invoices.ts";

/** By settings of the operator. */
export interface InvoiceTerms {
  /** Null: invoices name no seller. */
  readonly seller: InvoiceParty | null;
  /** Null: no tax is charged. */
  readonly tax: { readonly name: string; readonly percent: string } | null;
  readonly due_days: number;
  /** How to pay, in the operator's words. */
  readonly payment: string | null;
}

export const NO_TERMS: InvoiceTerms = { seller: null, tax: null, due_days: 30, payment: null };

export const termsOf = (settings: {
  readonly seller_name?: string | undefined;
  readonly seller_address: readonly string[];
  readonly seller_tax_id?: string | undefined;
  readonly tax_name: string;
  readonly tax_percent?: string | undefined;
  readonly due_days: number;
  readonly payment?: string | undefined;
}): InvoiceTerms => ({
  seller:
    settings.seller_name === undefined
      ? null
      : {
          name: settings.seller_name,
          address: [...settings.seller_address],
          tax_id: settings.seller_tax_id ?? null,
        },
  tax: settings.tax_percent === undefined ? null : { name: settings.tax_name, percent: settings.tax_percent },
  due_days: settings.due_days,
  payment: settings.payment ?? null,
});

export const isPercent = (text: string): boolean =>
  /^\d{1,2}(\.\d{1,2})?$/.test(text) && toMicros(text) !== null;

/** Millionths in a hundredth of the currency. */
const CENT = 10_000n;
const DAY_MS = 86_400_000;

type Amounts = Pick<Invoice, "net" | "rounding" | "tax" | "payable">;

/** The net amount is the sum rounded half up to two decimals, once; the tax is of the net amount, rounded alike. */
export function amountsOf(total_micros: number, tax: InvoiceTerms["tax"]): Amounts {
  const total = BigInt(total_micros);
  const net = halfUp(total, CENT) * CENT;
  // Percent in millionths of a percent: 100 of them are the whole.
  const percent = BigInt(toMicros(tax?.percent ?? "0")!);
  const taxed = halfUp(net * percent, CENT * 100_000_000n) * CENT;
  const difference = net - total;
  return {
    net: decimals(net),
    rounding: `${difference < 0n ? "-" : ""}${fromMicros(Number(difference < 0n ? -difference : difference))}`,
    tax: tax && { ...tax, amount: decimals(taxed) },
    payable: decimals(net + taxed),
  };
}

const halfUp = (value: bigint, unit: bigint): bigint => (value + unit / 2n) / unit;

/** Two decimals of whole hundredths. */
const decimals = (micros: bigint): string => fromMicros(Number(micros)).slice(0, -4);

/** Everything that a new invoice takes from the terms and its customer, as both are at present. */
export const bookedOf = (
  { name, billing }: Pick<Customer, "name" | "billing">,
  total_micros: number,
  terms: InvoiceTerms,
  issued_ms: number,
): Pick<Invoice, "seller" | "buyer" | "due_at" | "payment"> & Amounts => ({
  seller: terms.seller,
  buyer: billing ?? { name, address: [], tax_id: null },
  due_at: new Date(issued_ms + terms.due_days * DAY_MS).toISOString(),
  payment: terms.payment,
  ...amountsOf(total_micros, terms.tax),
});

/** An invoice that was stored before invoices had parties names the customer, charges no tax and has no date due. */
export const asBooked = (stored: Invoice): Invoice =>
  // Absent in documents of earlier versions.
  (stored.payable as string | undefined) === undefined
    ? {
        ...stored,
        ...bookedOf({ name: stored.customer }, toMicros(stored.total)!, NO_TERMS, 0),
        due_at: null,
      }
    : stored;
