/** Rows of CSV (RFC 4180). */
import { stringify } from "csv-stringify/sync";

export type CsvCell = string | number | boolean | null | undefined;

/** Lines, each with its end. A cell that a spreadsheet would take for a formula gets an apostrophe before it. */
export const csvLines = (rows: readonly (readonly CsvCell[])[]): string =>
  stringify([...rows], {
    cast: { boolean: String },
    escape_formulas: true,
    // Without it a cell with a single line feed is not quoted.
    quoted_match: /[\r\n]/,
    record_delimiter: "\r\n",
  });
