/** Draws up the invoices of the month before, on every node: the document of an invoice is written once. */
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import type { Log } from "../../cluster/ports/log.ts";
import { monthOf } from "../../schemas/accounts.ts";
import { drawInvoice, monthBefore } from "./invoices.ts";
import { eachCustomer } from "./keys.ts";

interface DrawInvoicesDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly log: Log;
  /** Waits until everything that was answered before is in the sums. Throws Fault. */
  readonly refresh: (customer: string) => Promise<void>;
}

/** After the month's end: requests that began in it are answered, and their rows are stored. */
const AFTER_MS = 10 * 60_000;

/** To be called every minute. It does nothing once every customer of the month was looked at. */
export function invoiceDrawing({ documents, clock, log, refresh }: DrawInvoicesDeps) {
  let done_month = "";
  return async (isStopped: () => boolean): Promise<void> => {
    const month = monthBefore(monthOf(clock.now() - AFTER_MS));
    if (month === done_month) return;
    for await (const customer of eachCustomer(documents)) {
      if (isStopped()) return;
      await refresh(customer.name);
      const drawn = await drawInvoice(documents, customer, month, clock.now());
      const { name } = customer;
      if (drawn.kind === "drawn") log.info("An invoice is issued", { customer: name, id: drawn.invoice.id });
      if (drawn.kind === "none" && drawn.because !== "no_usage")
        log.warn("An invoice cannot be drawn up", { customer: name, month, because: drawn.because });
    }
    done_month = month;
  };
}
