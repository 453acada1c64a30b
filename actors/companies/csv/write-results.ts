/** The results of a company batch job as CSV, one row per item, written while they are read. */
import { stringify } from "csv-stringify/sync";

export interface ResultRow {
  readonly index: number;
  /** The item as the caller sent it, as text. */
  readonly input: string;
  readonly status: string;
  readonly company_id: string | null;
  readonly name: string | null;
  readonly country: string | null;
  readonly company_status: string | null;
  readonly legal_form: string | null;
  readonly match_score: number | null;
  /** scheme:value */
  readonly identifiers: readonly string[];
  readonly error: string | null;
}

const COLUMNS = [
  "index",
  "input",
  "status",
  "company_id",
  "name",
  "country",
  "company_status",
  "legal_form",
  "match_score",
  "identifiers",
  "error",
] as const satisfies readonly (keyof ResultRow)[];

/** So many rows become one piece of text. */
const ROWS_A_PIECE = 200;

/** A cell that a spreadsheet would take for a formula gets an apostrophe before it. */
export async function* writeResultsCsv(
  rows: AsyncIterable<ResultRow> | Iterable<ResultRow>,
): AsyncGenerator<string> {
  const write = (records: readonly ResultRow[]): string =>
    stringify(
      records.map((row) => ({ ...row, identifiers: row.identifiers.join(";") })),
      { columns: [...COLUMNS], escape_formulas: true, record_delimiter: "\r\n" },
    );
  yield `${COLUMNS.join(",")}\r\n`;
  let piece: ResultRow[] = [];
  for await (const row of rows) {
    piece.push(row);
    if (piece.length < ROWS_A_PIECE) continue;
    yield write(piece);
    piece = [];
  }
  if (piece.length > 0) yield write(piece);
}
