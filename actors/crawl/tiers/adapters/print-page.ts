/** A document in memory as PDF, in a page of the pool that runs no script and reaches no network. */
import type { PrintReply } from "../../../../schemas/printing.ts";
import type { BrowserPool } from "./browser-pool.ts";
import { LATE, settled, untilAborted } from "./in-time.ts";
import { firstLine } from "./running-browsers.ts";

const PRINT_MS = 30_000;
const FOOTER = `<p style="width:100%;margin:0 18mm;text-align:right;font:8px sans-serif"><span class="pageNumber"></span> / <span class="totalPages"></span></p>`;

export const printPage =
  (pool: Pick<BrowserPool, "lease">) =>
  async (html: string, signal: AbortSignal): Promise<PrintReply> => {
    const lease = await pool.lease({ javaScriptEnabled: false, offline: true, colorScheme: "light" }, signal);
    if (lease.kind === "failed") return { kind: "failed", detail: lease.detail };
    const { context, page, release } = lease;
    const printing = (async (): Promise<PrintReply> => {
      await context.route("**/*", (route) => route.abort());
      await page.setContent(html, { waitUntil: "domcontentloaded" });
      const pdf = await page.pdf({
        format: "A4",
        margin: { top: "18mm", right: "18mm", bottom: "18mm", left: "18mm" },
        printBackground: true,
        tagged: true,
        displayHeaderFooter: true,
        headerTemplate: "<span></span>",
        footerTemplate: FOOTER,
      });
      return { kind: "printed", pdf };
    })().catch((problem: unknown): PrintReply => ({ kind: "failed", detail: firstLine(problem) }));
    try {
      const printed = await untilAborted(settled(printing, PRINT_MS), signal);
      return printed === LATE || printed === null
        ? { kind: "failed", detail: "The browser did not print the page in time" }
        : printed;
    } finally {
      await release();
    }
  };
