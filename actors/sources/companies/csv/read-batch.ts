/**
 * A batch job's items from a CSV file, row by row, while the file is being received. The header names the columns, in any
 * order: ref, name, country, city, identifiers (several separated by `;`), project_ref. The separator is a comma, a
 * semicolon or a tab, whichever the header has. The values of the cells are not checked here.
 */
import { Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import type { CsvRow } from "../../../../schemas/csv.ts";
import { decodeText, UnreadableText } from "./decode-text.ts";

export interface CsvItem {
  readonly ref?: string;
  readonly name?: string;
  readonly country?: string;
  readonly city?: string;
  readonly identifiers?: readonly string[];
  readonly project_ref?: string;
}

export interface CsvLimits {
  readonly max_items: number;
  readonly max_bytes: number;
  /** A longer row is refused: its quote was probably never closed. */
  readonly max_row_chars: number;
}

export const CSV_LIMITS: CsvLimits = { max_items: 50_000, max_bytes: 64 * 2 ** 20, max_row_chars: 65_536 };

export const CSV_COLUMNS: readonly string[] = [
  "ref",
  "name",
  "country",
  "city",
  "identifiers",
  "project_ref",
];
const SEPARATORS = [",", ";", "\t"] as const;
const MAX_HEADER_CHARS = 4_096;

class TooLarge extends Error {}

/** A text that is read in pieces, with the part up to the first line break in its first piece. */
async function headerOf(texts: AsyncIterator<string>): Promise<string> {
  let header = "";
  while (!/[\r\n]./.test(header) && header.length < MAX_HEADER_CHARS) {
    const { done, value } = await texts.next();
    if (done) break;
    header += value;
  }
  return header;
}

function separatorOf(header: string): string {
  const line = header.split(/[\r\n]/, 1)[0]!;
  const counts = SEPARATORS.map((separator) => line.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))]!;
}

const isKnown = (column: string): boolean => CSV_COLUMNS.includes(column);

/** Spreadsheets write `sep=;` into the line before the header. */
const isSeparatorLine = ([first, ...others]: readonly string[]): boolean =>
  first?.trim().toLowerCase() === "sep=" && others.every((cell) => cell === "");

/** The problem of the header; null: none. A column that is not known is not read. */
function problemOfHeader(columns: readonly string[]): string | null {
  const twice = columns.find((column, at) => isKnown(column) && columns.indexOf(column) !== at);
  if (twice !== undefined) return `The header has the column "${twice}" twice`;
  return columns.includes("ref") || columns.includes("name") || columns.includes("identifiers")
    ? null
    : "The header has none of the columns ref, name, identifiers";
}

function itemOf(columns: readonly string[], cells: readonly string[]): CsvItem {
  const given = columns.flatMap((column, at) => {
    const cell = cells[at]?.trim() ?? "";
    if (cell === "" || !isKnown(column)) return [];
    if (column === "country") return [[column, cell.toUpperCase()] as const];
    const identifiers = cell
      .split(";")
      .map((identifier) => identifier.trim())
      .filter(Boolean);
    return [[column, column === "identifiers" ? identifiers : cell] as const];
  });
  return Object.fromEntries(given) as CsvItem;
}

/** Ends after the first row of kind `refused`. Throws what reading the chunks throws. */
export async function* readBatchCsv(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limits: CsvLimits = CSV_LIMITS,
): AsyncGenerator<CsvRow<CsvItem>> {
  async function* bounded(): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > limits.max_bytes) throw new TooLarge();
      yield chunk;
    }
  }
  const texts = decodeText(bounded());
  let columns: readonly string[] | null = null;
  let items = 0;
  /** The line after the last row that was parsed. */
  let next_line = 1;
  try {
    const header = await headerOf(texts);
    const parser = parse({
      bom: true,
      delimiter: separatorOf(header),
      info: true,
      max_record_size: limits.max_row_chars,
      // Called when a row is parsed, which is before it is read below: an error ends the stream and drops what waits in it.
      on_record: (record: string[], { lines }) => {
        next_line = lines + 1;
        return record;
      },
      relax_column_count: true,
      skip_empty_lines: true,
    });
    const source = Readable.from(
      (async function* () {
        yield header;
        yield* texts;
      })(),
    );
    // compose destroys both when the caller stops reading or one of them fails.
    for await (const { record, info } of source.compose(parser) as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      const row = info.lines - lineBreaksIn(record);
      if (columns === null && isSeparatorLine(record)) continue;
      if (columns === null) {
        const names = record.map((cell) => cell.trim().toLowerCase());
        const problem = problemOfHeader(names);
        if (problem !== null) {
          yield { kind: "refused", status: 422, row, message: problem };
          return;
        }
        columns = names;
        for (const name of names.filter((each) => each !== "" && !isKnown(each)))
          yield { kind: "unknown_column", name };
        continue;
      }
      if (record.every((cell) => cell.trim() === "")) continue;
      if (++items > limits.max_items) {
        const message = `The file has more than ${limits.max_items} rows`;
        yield { kind: "refused", status: 413, row, message };
        return;
      }
      if (record.slice(columns.length).some((cell) => cell.trim() !== ""))
        yield {
          kind: "bad_row",
          row,
          message: `Row ${row} has ${record.length} cells, the header ${columns.length}`,
        };
      else yield { kind: "item", row, item: itemOf(columns, record) };
    }
    if (columns === null)
      yield { kind: "refused", status: 422, row: null, message: "The file has no header" };
  } catch (problem) {
    yield refusalOf(problem, next_line, limits);
  }
}

const lineBreaksIn = (record: readonly string[]): number =>
  record.reduce((count, cell) => count + cell.split(/\r\n|\n|\r/).length - 1, 0);

function refusalOf(problem: unknown, row: number, limits: CsvLimits): CsvRow<CsvItem> {
  if (problem instanceof TooLarge) {
    const message = `The file is larger than ${limits.max_bytes} bytes`;
    return { kind: "refused", status: 413, row: null, message };
  }
  if (problem instanceof UnreadableText)
    return { kind: "refused", status: 422, row, message: `${problem.message}, near row ${row}` };
  if (!(problem instanceof CsvError)) throw problem;
  const message =
    problem.code === "CSV_QUOTE_NOT_CLOSED"
      ? `The quote that opens in row ${row} is not closed`
      : problem.code === "CSV_MAX_RECORD_SIZE"
        ? `Row ${row} is longer than ${limits.max_row_chars} characters: a quote may not be closed`
        : `Row ${row} has a quote inside a cell: quotes are doubled inside quotes, and stand at both ends of a cell`;
  return { kind: "refused", status: 422, row, message };
}
