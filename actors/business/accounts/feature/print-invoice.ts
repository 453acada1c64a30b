/** An invoice as PDF, made by a browser of whichever node has one. */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { RoleClient } from "../../../../cluster/role-actor.ts";
import { unavailable } from "../../../../gateway/http-errors.ts";
import type { Reply } from "../../../../gateway/http.ts";
import { MAX_PRINT_CHARS, PRINTER } from "../../../../schemas/printing.ts";

const PRINT_MS = 40_000;
const HEADERS = {
  "Content-Type": "application/pdf",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-store",
};
const BUSY_S = 5;
const NO_BROWSER_S = 60;

/** 503, with the reason, where no browser is there or it does not print. */
export async function printInvoice(
  { call, clock }: { readonly call: RoleClient; readonly clock: Clock },
  { id, html, signal }: { readonly id: string; readonly html: string; readonly signal: AbortSignal },
): Promise<Reply> {
  if (html.length > MAX_PRINT_CHARS)
    return unavailable(
      "The invoice has too many lines for a PDF: print the page, with format=html",
      NO_BROWSER_S,
    );
  const result = await call(
    PRINTER,
    "print",
    { html },
    {
      signal,
      deadline_ms: clock.now() + PRINT_MS,
      open: () => ({ answer: () => null, close: () => {}, mayRepeat: () => true }),
    },
  );
  switch (result.kind) {
    case "done":
      return result.reply.kind === "printed"
        ? {
            status: 200,
            headers: { ...HEADERS, "Content-Disposition": `attachment; filename="${id}.pdf"` },
            body: result.reply.pdf,
          }
        : unavailable(`The browser did not print the invoice: ${result.reply.detail}`, BUSY_S);
    case "busy":
      return unavailable("The browser prints other invoices, try again", BUSY_S);
    case "no_node":
      return unavailable(
        "This service has no browser to print a PDF with: print the page, with format=html",
        NO_BROWSER_S,
      );
    case "unavailable":
    case "lost":
      return unavailable("The node that printed the invoice is gone, try again", BUSY_S);
  }
}
