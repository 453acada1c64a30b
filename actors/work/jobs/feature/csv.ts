/** Items of a job as rows of CSV (RFC 4180). */
import type { BatchKind } from "../../../../gateway/batch.ts";
import type { CsvCell } from "../../../../gateway/csv-lines.ts";
import type { JobItem } from "../../../../schemas/jobs.ts";

export interface CsvTable {
  readonly columns: readonly string[];
  readonly rows: (item: JobItem) => readonly (readonly CsvCell[])[];
}

/** Columns of every kind that has no table of its own, before the kind's columns. */
const COMMON = ["index", "status", "error"] as const;

/** The table of a kind: its own, or the common columns with its own columns, or with input and result as JSON. */
export function csvOf({ csv, csv_table }: BatchKind): CsvTable {
  if (csv_table) return { columns: csv_table.columns, rows: (item) => [csv_table.row(item)] };
  const common = ({ index, status, error }: JobItem): readonly CsvCell[] => [index, status, error];
  if (!csv)
    return {
      columns: [...COMMON, "input", "result"],
      rows: (item) => [
        [...common(item), JSON.stringify(item.input), item.result && JSON.stringify(item.result)],
      ],
    };
  // RFC 4180: each line has as many fields as the header.
  const filled = (row: readonly CsvCell[]): readonly CsvCell[] => csv.columns.map((_, at) => row[at]);
  return {
    columns: [...COMMON, ...csv.columns],
    rows: (item) => csv.rows(item.input, item.result).map((row) => [...common(item), ...filled(row)]),
  };
}
