/** Draws up the invoices of the month before, on every node: the document of an invoice is written once. */
import type { Node } from "../../../cluster/node-record.ts";
import { monthOf } from "../../../schemas/accounts.ts";
import type { InvoiceTerms } from "./invoice-terms.ts";
import { drawInvoice, monthBefore } from "./invoices.ts";
import { eachCustomer } from "./keys.ts";
import type { Refresh } from "./read-usage.ts";

/** After the month's end: requests that began in it are answered, and their rows are stored. */
const AFTER_MS = 10 * 60_000;
/** Sums are added up at once; clocks of two nodes may be seconds apart. */
const MAX_SUMS_AGE_MS = 60_000;

/** To be called every minute. It does nothing once every customer of the month was looked at, with its usage added up. */
export function invoiceDrawing({
  documents,
  clock,
  log,
  refresh,
  terms,
}: Pick<Node, "documents" | "clock" | "log"> & {
  readonly refresh: Refresh;
  readonly terms: InvoiceTerms;
}) {
  let done_month = "";
  return async (isStopped: () => boolean): Promise<void> => {
    const month = monthBefore(monthOf(clock.now() - AFTER_MS));
    if (month === done_month) return;
    let isComplete = true;
    for await (const customer of eachCustomer(documents)) {
      if (isStopped()) return;
      const refreshed_ms = await refresh(customer.name);
      const { name } = customer;
      if (refreshed_ms === null || refreshed_ms < clock.now() - MAX_SUMS_AGE_MS) {
        log.warn("An invoice waits until the usage of its customer is added up", { customer: name, month });
        isComplete = false;
        continue;
      }
      const drawn = await drawInvoice(documents, customer, month, clock.now(), false, terms);
      if (drawn.kind === "drawn") log.info("An invoice is issued", { customer: name, id: drawn.invoice.id });
      if (drawn.kind === "none" && drawn.because !== "no_usage")
        log.warn("An invoice cannot be drawn up", { customer: name, month, because: drawn.because });
    }
    if (isComplete) done_month = month;
  };
}
