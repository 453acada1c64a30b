/**
 * The records of a CSV file: comma, double quotes, UTF-8, the first record has the columns' names. Fields may contain line breaks, so a
 * record's place is its number and its first byte. A record that is no CSV is bad, and the next one is read.
 */
import { Parser } from "csv-parse";
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
export async function readCsv(
  bytes: AsyncIterable<Buffer>,
  after: FilePlace | null,
  pause: () => Promise<void>,
): Promise<CsvFile> {
  const chunks = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  let header: { columns: readonly string[]; end: number } | null = null;
  while (header === null && head.length < MAX_HEADER_BYTES) {
    const { value, done } = await chunks.next();
    if (!done) head = Buffer.concat([head, value]);
    header = headerOf(head, done === true);
    if (done) break;
  }
  if (header === null) throw new UnreadableFile("The file has no header of CSV columns");
  const start = after === null || after.line === 0 ? { line: 0, offset: header.end } : after;
  return { columns: header.columns, records: recordsFrom(head, chunks, start, header.columns.length, pause) };
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Null: the bytes end before the header does. */
function headerOf(head: Buffer, isWhole: boolean): { columns: readonly string[]; end: number } | null {
  const bom = head.subarray(0, 3).equals(BOM) ? 3 : 0;
  for (
    let line_end = head.indexOf(0x0a);
    line_end >= 0 || isWhole;
    line_end = head.indexOf(0x0a, line_end + 1)
  ) {
    const end = line_end < 0 ? head.length : line_end + 1;
    try {
      const [columns] = parseText(head.subarray(bom, end), { relax_column_count: true }) as string[][];
      if (columns !== undefined) return { columns: columns.map((column) => column.trim()), end };
    } catch {
      // A name with a line break: the header ends later.
    }
    if (line_end < 0) break;
  }
  return null;
}

type CsvRecord = FileRecord<readonly string[]>;

/** A parser that begins at a byte of the file. */
function openParser(begin: number, columns: number, pause: () => Promise<void>) {
  const parser = new Parser({
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_BYTES,
  });
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  parser.on("error", failed.reject);

  function* taken(place: FilePlace): Generator<CsvRecord> {
    let { line, offset } = place;
    for (;;) {
      const next = parser.read() as { record: string[]; info: { bytes: number } } | null;
      if (next === null) return;
      const { record } = next;
      const end = begin + next.info.bytes;
      const isWhole = record.length === columns;
      yield {
        record: isWhole ? record : null,
        reason: isWhole ? null : "columns",
        text: isWhole ? "" : record.join(",").slice(0, MAX_TEXT),
        line: ++line,
        offset,
        end,
      };
      offset = end;
    }
  }

  return {
    /** Null: the last ones. `isDone` resolves when the parser has taken the bytes; it rejects for what is no CSV. */
    async feed(bytes: Buffer | null, place: () => FilePlace, onRecords: (records: CsvRecord[]) => void) {
      const event = bytes === null ? "end" : "drain";
      const { promise: done, resolve } = Promise.withResolvers<boolean>();
      const onDone = (): void => resolve(true);
      // Reading may drain the parser at once.
      parser.once(event, onDone);
      let isDone = false;
      if (bytes === null) parser.end();
      else isDone = parser.write(bytes);
      onRecords([...taken(place())]);
      if (isDone) return void parser.off(event, onDone);
      while (!isDone) {
        isDone = await Promise.race([done, failed.promise, pause().then(() => false)]);
        onRecords([...taken(place())]);
      }
    },
    close: () => void parser.destroy(),
  };
}

async function* recordsFrom(
  head: Buffer,
  chunks: AsyncIterator<Buffer>,
  start: FilePlace,
  columns: number,
  pause: () => Promise<void>,
): AsyncIterable<readonly CsvRecord[]> {
  let place = start;
  let parser = openParser(start.offset, columns, pause);
  /** The bytes from the place on that the parser has. */
  let tail: Buffer = Buffer.alloc(0);
  /** A record that is too long has no end yet. */
  let isSkipping = false;
  let found: CsvRecord[] = [];
  const onRecords = (records: CsvRecord[]): void => {
    if (records.length === 0) return;
    const end = records.at(-1)!.end;
    tail = tail.subarray(end - place.offset);
    place = { line: records.at(-1)!.line, offset: end };
    for (const record of records) found.push(record);
  };

  /** The record at the place is bad up to the next line. */
  function skipLine(reason: string): void {
    parser.close();
    const line_end = tail.indexOf(0x0a);
    const length = line_end < 0 ? tail.length : line_end + 1;
    const text = tail.subarray(0, Math.min(length, MAX_TEXT)).toString();
    isSkipping = line_end < 0;
    onRecords([
      { record: null, reason, text, line: place.line + 1, offset: place.offset, end: place.offset + length },
    ]);
    parser = openParser(place.offset, columns, pause);
  }

  async function feed(bytes: Buffer | null): Promise<void> {
    for (let next = bytes; ;) {
      try {
        await parser.feed(next, () => place, onRecords);
        if (next === bytes || bytes !== null) return;
        next = null;
      } catch (problem) {
        skipLine((problem as { readonly code?: string }).code?.toLowerCase() ?? "unreadable");
        if (tail.length === 0 && bytes !== null) return;
        next = tail;
      }
    }
  }

  let at = 0;
  for await (const chunk of concat(head, chunks)) {
    let from = Math.max(0, place.offset + tail.length - at);
    at += chunk.length;
    if (isSkipping && from < chunk.length) {
      const line_end = chunk.indexOf(0x0a, from);
      const to = line_end < 0 ? chunk.length : line_end + 1;
      place = { line: place.line, offset: place.offset + to - from };
      from = to;
      isSkipping = line_end < 0;
      parser = openParser(place.offset, columns, pause);
    }
    if (from >= chunk.length) continue;
    const bytes = chunk.subarray(from);
    tail = tail.length === 0 ? bytes : Buffer.concat([tail, bytes]);
    await feed(bytes);
    if (found.length > 0) yield found;
    found = [];
  }
  await feed(null);
  if (found.length > 0) yield found;
}

async function* concat(head: Buffer, chunks: AsyncIterator<Buffer>): AsyncIterable<Buffer> {
  yield head;
  for (;;) {
    const { value, done } = await chunks.next();
    if (done) return;
    yield value;
  }
}
