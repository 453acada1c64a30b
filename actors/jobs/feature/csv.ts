/** Items of a job as rows of CSV (RFC 4180). */
import type { BatchKind, CsvCell } from "../../../gateway/batch.ts";
import type { JobItem } from "../../../schemas/jobs.ts";

export interface CsvTable {
  readonly columns: readonly string[];
  readonly rows: (item: JobItem) => readonly (readonly CsvCell[])[];
}

/** Columns of every kind, before its own. */
const COMMON = ["index", "status", "error"] as const;

/** The table of a kind: its own columns, or input and result as JSON. */
export function csvOf({ csv }: BatchKind): CsvTable {
  const common = ({ index, status, error }: JobItem): readonly CsvCell[] => [index, status, error];
  if (!csv)
    return {
      columns: [...COMMON, "input", "result"],
      rows: (item) => [
        [...common(item), JSON.stringify(item.input), item.result && JSON.stringify(item.result)],
      ],
    };
  return {
    columns: [...COMMON, ...csv.columns],
    rows: (item) => csv.rows(item.input, item.result).map((row) => [...common(item), ...row]),
  };
}

/** One line with its end. */
export const csvLine = (cells: readonly CsvCell[]): string => `${cells.map(cellOf).join(",")}\r\n`;

/** A spreadsheet takes a text that begins with one of these for a formula; with an apostrophe before it, it is a text. */
const FORMULA = /^[=+\-@\t\r]/;

function cellOf(value: CsvCell): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
