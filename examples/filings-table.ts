/**
 * The latest annual report of each company as a CSV table: one batch, whose results come in the order of the tickers.
 *
 *   node filings-table.ts HLI TWF-A > reports.csv
 */
import { Trawl } from "@trawl/client";

const { TRAWL_URL: url = "http://127.0.0.1:8080", TRAWL_KEY: key = "" } = process.env;
const tickers = process.argv.slice(2);
if (tickers.length === 0) throw new Error("Usage: node filings-table.ts TICKER…");
const trawl = new Trawl({ url, key });

const cell = (value: string | number | null | undefined): string => {
  const text = `${value ?? ""}`;
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const row = (...values: (string | number | null | undefined)[]): void =>
  console.log(values.map(cell).join(","));

row("ticker", "company", "cik", "form", "filed", "period", "accession", "document", "error");
const latest = tickers.map((ticker) => ({ op: "latest", ticker, forms: "10-K" }));
for await (const { input, result, error } of trawl.batch.filings(latest)) {
  const filing = result?.op === "latest" ? result : null;
  row(
    input.ticker,
    filing?.name,
    filing?.cik,
    filing?.form,
    filing?.filing_date,
    filing?.report_date,
    filing?.accession,
    filing?.primary_document_url,
    error,
  );
}
