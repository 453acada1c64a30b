/**
 * The records of a CSV file: comma, double quotes, UTF-8, the first record has the columns' names. Fields may contain line breaks, so a
 * record's place is its number and its first byte. Records end as the header does: at a line feed, or at a carriage return alone. A record that is no CSV is bad, and the next one is read. The records are cut
 * here and not by csv-parse, which took a third of the time of an import.
 */
import { parse as parseText } from "csv-parse/sync";
import { type FilePlace, type FileRecord, UnreadableFile } from "./file-record.ts";

/** GLEIF's header has 20 KB. */
const MAX_HEADER_BYTES = 2 ** 20;
/** A quote that is never closed takes no more than this. */
const MAX_RECORD_BYTES = 2 ** 20;
const MAX_TEXT = 2_048;

export interface CsvFile {
  readonly columns: readonly string[];
  /** Lists of records, as they come. */
  readonly records: AsyncIterable<readonly FileRecord<readonly string[]>[]>;
}

/** Throws UnreadableFile: it has no header. */
export async function readCsv(bytes: AsyncIterable<Buffer>, after: FilePlace | null): Promise<CsvFile> {
  const chunks = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  let header: Header | null = null;
  while (header === null && head.length < MAX_HEADER_BYTES) {
    const { value, done } = await chunks.next();
    if (!done) head = Buffer.concat([head, value]);
    header = headerOf(head, done === true);
    if (done) break;
  }
  if (header === null) throw new UnreadableFile("The file has no header of CSV columns");
  const start = after === null || after.line === 0 ? { line: 0, offset: header.end } : after;
  return { columns: header.columns, records: recordsFrom(head, chunks, start, header) };
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** `delimiter`: the last byte of the header and of every other record. */
interface Header {
  readonly columns: readonly string[];
  readonly end: number;
  readonly delimiter: number;
}

/** The next end of a line, where the file's first end of a line can be a carriage return alone. Null: the bytes end before it. */
function lineEndFrom(head: Buffer, from: number, isWhole: boolean): Pick<Header, "end" | "delimiter"> | null {
  for (let at = from; at < head.length; at++) {
    if (head[at] === LINE_FEED) return { end: at + 1, delimiter: LINE_FEED };
    if (head[at] !== CARRIAGE_RETURN) continue;
    if (at + 1 === head.length && !isWhole) return null;
    if (head[at + 1] !== LINE_FEED) return { end: at + 1, delimiter: CARRIAGE_RETURN };
  }
  return isWhole ? { end: head.length, delimiter: LINE_FEED } : null;
}

/** Null: the bytes end before the header does. */
function headerOf(head: Buffer, isWhole: boolean): Header | null {
  const bom = head.subarray(0, 3).equals(BOM) ? 3 : 0;
  for (let line = lineEndFrom(head, bom, isWhole); line; line = lineEndFrom(head, line.end, isWhole)) {
    try {
      const [columns] = parseText(head.subarray(bom, line.end), { relax_column_count: true }) as string[][];
      if (columns !== undefined) return { columns: columns.map((column) => column.trim()), ...line };
    } catch {
      // A name with a line break: the header ends later.
    }
    if (line.end === head.length) break;
  }
  return null;
}

type CsvRecord = FileRecord<readonly string[]>;

const QUOTE = 0x22;
const COMMA = 0x2c;

/**
 * The first byte behind the record that begins at `from`. A quote counts at the beginning of a field only. Null: the bytes end before it;
 * "open": within quotes.
 */
function endOfRecord(bytes: Buffer, from: number, delimiter: number): number | "open" | null {
  let isBeginning = true;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === delimiter) return at + 1;
    if (isBeginning && byte === QUOTE) {
      do {
        at++;
        while (at < bytes.length && bytes[at] !== QUOTE) at++;
        if (at >= bytes.length) return "open";
        at++;
      } while (bytes[at] === QUOTE);
      at--;
    }
    isBeginning = byte === COMMA;
  }
  return null;
}

/** The fields of a record of which every quote that opens is closed. */
function fieldsOf(text: string): string[] {
  if (!text.includes('"')) return text.split(",");
  const fields: string[] = [];
  for (let at = 0; ; at++) {
    let value = "";
    let from = at;
    if (text.charCodeAt(at) === QUOTE) {
      let close = text.indexOf('"', ++from);
      while (text.charCodeAt(close + 1) === QUOTE) {
        value += text.slice(from, close + 1);
        from = close + 2;
        close = text.indexOf('"', from);
      }
      value += text.slice(from, close);
      from = close + 1;
    }
    const comma = text.charCodeAt(from) === COMMA ? from : text.indexOf(",", from);
    at = comma < 0 ? text.length : comma;
    fields.push(at === from ? value : value + text.slice(from, at));
    if (comma < 0) return fields;
  }
}

async function* recordsFrom(
  head: Buffer,
  chunks: AsyncIterator<Buffer>,
  start: FilePlace,
  { columns, delimiter }: Header,
): AsyncIterable<readonly CsvRecord[]> {
  let { line, offset } = start;
  /** The bytes from the place on; a record that is too long has no end yet. */
  let rest: Buffer = Buffer.alloc(0);
  let isSkipping = false;
  /** Bytes of the file before the place that were not read yet. */
  let before = start.offset;

  function recordOf(bytes: Buffer, reason: string | null): CsvRecord {
    const text = (reason === null ? bytes : bytes.subarray(0, MAX_TEXT))
      .toString()
      .replace(/(?:\r?\n|\r)$/, "");
    const fields = reason === null ? fieldsOf(text) : [];
    const isWhole = reason === null && fields.length === columns.length;
    return {
      record: isWhole ? fields : null,
      reason: isWhole ? null : (reason ?? "columns"),
      text: isWhole ? "" : text.slice(0, MAX_TEXT),
      line: ++line,
      offset,
      end: (offset += bytes.length),
    };
  }

  /** Takes what is complete off the rest. */
  function* taken(isLast: boolean): Generator<CsvRecord> {
    let from = 0;
    while (from < rest.length) {
      const found = endOfRecord(rest, from, delimiter);
      const isTooLong = (typeof found === "number" ? found : rest.length) - from > MAX_RECORD_BYTES;
      if (isTooLong || (found === "open" && isLast)) {
        const line_end = rest.indexOf(delimiter, from);
        isSkipping = line_end < 0;
        const end = isSkipping ? rest.length : line_end + 1;
        yield recordOf(rest.subarray(from, end), isTooLong ? "csv_max_record_size" : "csv_quote_not_closed");
        from = end;
        continue;
      }
      if (typeof found !== "number" && !isLast) break;
      const end = typeof found === "number" ? found : rest.length;
      const bytes = rest.subarray(from, end);
      from = end;
      if (isEmpty(bytes)) offset += bytes.length;
      else yield recordOf(bytes, null);
    }
    rest = rest.subarray(from);
  }

  for await (let chunk of concat(head, chunks)) {
    const skipped = Math.min(before, chunk.length);
    before -= skipped;
    chunk = chunk.subarray(skipped);
    if (isSkipping) {
      const line_end = chunk.indexOf(delimiter);
      isSkipping = line_end < 0;
      const length = isSkipping ? chunk.length : line_end + 1;
      offset += length;
      chunk = chunk.subarray(length);
    }
    if (chunk.length === 0) continue;
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const found = [...taken(false)];
    if (found.length > 0) yield found;
  }
  const last = [...taken(true)];
  if (last.length > 0) yield last;
}

const isEmpty = (bytes: Buffer): boolean =>
  bytes.length <= 2 && bytes.toString().replace(/(?:\r?\n|\r)$/, "") === "";

async function* concat(head: Buffer, chunks: AsyncIterator<Buffer>): AsyncIterable<Buffer> {
  yield head;
  for (;;) {
    const { value, done } = await chunks.next();
    if (done) return;
    yield value;
  }
}
