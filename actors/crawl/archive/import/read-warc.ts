/**
 * Reads WARC files of any writer record by record: versions 1.0 and 1.1 (ISO 28500), plain or as gzip members. A record that cannot be read
 * is told, and reading goes on at the next one; memory is that of one record's head.
 */
import { ByteSource } from "./byte-source.ts";
import { GZIP_MAGIC, gzipMember } from "./gzip-members.ts";

export type RecordProblem =
  | "broken_gzip"
  | "gzip_checksum"
  | "bad_record"
  | "wrong_length"
  | "truncated_record";

export interface WarcRecordRead {
  readonly type: string;
  /** The first field of this name, in lower case; null: it has none. */
  readonly field: (name: string) => string | null;
  readonly bytes: number;
  /** May be left at any place. */
  readonly block: AsyncIterable<Buffer>;
  /** Whether the file had less than the length says, known when the block has ended. */
  readonly isShort: () => boolean;
}

export interface WarcEvents {
  readonly onRecord: (record: WarcRecordRead) => Promise<void>;
  readonly onProblem: (problem: RecordProblem) => void;
  /** Everything before this byte of the file was read: reading may begin here again. */
  readonly onPlace: (offset: number) => Promise<void>;
}

const MAX_LINE_BYTES = 65_536;
const MAX_FIELDS = 1_000;
const PIECE_BYTES = 65_536;
const RECORD_MARK = Buffer.from("WARC/");
const VERSION = /^WARC\/(?:0\.\d+|1\.[01])\s*$/;

/** True: the file begins as a WARC file does, plain or compressed. */
export const isWarc = (first: Buffer): boolean =>
  first.subarray(0, RECORD_MARK.length).equals(RECORD_MARK) || first.subarray(0, 3).equals(GZIP_MAGIC);

/** `from`: where the source begins in the file. Throws what the source and `events` throw. */
export async function readWarc(source: ByteSource, from: number, events: WarcEvents): Promise<void> {
  const place = (): Promise<void> => events.onPlace(from + source.offset);
  for (;;) {
    const first = await source.peek(RECORD_MARK.length);
    if (first.length === 0) return;
    if (!first.subarray(0, 3).equals(GZIP_MAGIC)) {
      if (!(await readRecord(source, events, "truncated_record"))) return;
      await place();
      continue;
    }
    const member = await gzipMember(source);
    if (member === null) {
      events.onProblem("broken_gzip");
      await source.take(1);
      if (!(await source.skipTo(GZIP_MAGIC))) return;
      continue;
    }
    const content = new ByteSource(member.content);
    while (await readRecord(content, events, "wrong_length", member.problem));
    const problem = member.problem();
    if (problem !== null) events.onProblem(problem);
    if (problem === "broken_gzip" && !(await source.skipTo(GZIP_MAGIC))) return;
    await place();
  }
}

/** False: there is no further one. */
async function readRecord(
  source: ByteSource,
  { onRecord, onProblem }: WarcEvents,
  ifShort: RecordProblem,
  brokenBy: () => RecordProblem | null = () => null,
): Promise<boolean> {
  if (!(await atRecord(source, onProblem))) return false;
  const fields = await readFields(source);
  const length = Number(/^\d{1,15}$/.exec(fields?.get("content-length") ?? "")?.[0] ?? Number.NaN);
  if (fields === null || Number.isNaN(length) || !fields.get("warc-type")) {
    if (brokenBy() === null) onProblem("bad_record");
    return true;
  }
  let left = length;
  async function* block(): AsyncGenerator<Buffer> {
    while (left > 0) {
      const piece = await source.piece(Math.min(left, PIECE_BYTES));
      if (piece === null) return;
      left -= piece.length;
      yield piece;
    }
  }
  await onRecord({
    type: fields.get("warc-type")!.toLowerCase(),
    field: (name) => fields.get(name) ?? null,
    bytes: length,
    block: block(),
    isShort: () => left > 0,
  });
  for await (const _ of block());
  if (left > 0 && brokenBy() === null) onProblem(ifShort);
  return true;
}

/** Goes to the next line that begins a record; bytes between records other than line ends are told. */
async function atRecord(source: ByteSource, onProblem: WarcEvents["onProblem"]): Promise<boolean> {
  for (;;) {
    const next = await source.peek(RECORD_MARK.length);
    if (next.length === 0) return false;
    if (next[0] === 0x0d || next[0] === 0x0a) {
      await source.take(1);
      continue;
    }
    if (next.equals(RECORD_MARK)) return true;
    onProblem("wrong_length");
    return source.skipTo(RECORD_MARK);
  }
}

/** By name in lower case. Null: this is no head of a record. */
async function readFields(source: ByteSource): Promise<ReadonlyMap<string, string> | null> {
  const version = await source.line(MAX_LINE_BYTES);
  if (version === null || !VERSION.test(version)) return null;
  const fields = new Map<string, string>();
  let last: string | null = null;
  for (let n = 0; n < MAX_FIELDS; n++) {
    const line = await source.line(MAX_LINE_BYTES);
    if (line === null) return null;
    if (line === "") return fields;
    const colon = line.indexOf(":");
    if (/^[ \t]/.test(line) && last !== null) fields.set(last, `${fields.get(last)} ${line.trim()}`);
    else if (colon > 0) {
      last = line.slice(0, colon).trim().toLowerCase();
      if (!fields.has(last)) fields.set(last, Buffer.from(line.slice(colon + 1).trim(), "latin1").toString());
    } else return null;
  }
  return null;
}
