/** Reads WARC files member by member, for tests on machines without other readers. It accepts what the writer must write, no more. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { crc32, inflateRawSync } from "node:zlib";

export interface ReadRecord {
  readonly type: string;
  /** In their order. */
  readonly fields: readonly (readonly [string, string])[];
  readonly field: (name: string) => string | null;
  readonly block: Buffer;
  /** Parts of a block of HTTP: its lines as Latin-1, and what is behind them. */
  readonly http: { readonly lines: readonly string[]; readonly payload: Buffer };
  /** Where its member is in the file. */
  readonly offset: number;
  readonly length: number;
}

const HEAD_BYTES = 10;
const TRAILER_BYTES = 8;

/** Throws when a member is no record, or a length, checksum or digest is wrong. */
export function readWarc(file: Buffer): readonly ReadRecord[] {
  const records: ReadRecord[] = [];
  for (let offset = 0; offset < file.length;) {
    const { content, length } = member(file, offset);
    records.push({ ...readRecord(content), offset, length });
    offset += length;
  }
  return records;
}

function member(file: Buffer, offset: number): { readonly content: Buffer; readonly length: number } {
  assert.equal(file.readUInt32LE(offset) & 0xffffff, 0x088b1f, `No gzip member at ${offset}`);
  const inflated = inflateRawSync(file.subarray(offset + HEAD_BYTES), { info: true }) as unknown as {
    readonly buffer: Buffer;
    readonly engine: { readonly bytesWritten: number };
  };
  const end = offset + HEAD_BYTES + inflated.engine.bytesWritten;
  assert.equal(file.readUInt32LE(end), crc32(inflated.buffer));
  assert.equal(file.readUInt32LE(end + 4), inflated.buffer.length % 2 ** 32);
  return { content: inflated.buffer, length: end + TRAILER_BYTES - offset };
}

function readRecord(content: Buffer): Omit<ReadRecord, "offset" | "length"> {
  const [lines, rest] = headOf(content);
  assert.equal(lines[0], "WARC/1.1");
  const fields = lines.slice(1).map((line) => {
    const colon = line.indexOf(": ");
    assert(colon > 0, `No field: ${line}`);
    return [line.slice(0, colon), line.slice(colon + 2)] as const;
  });
  const field = (name: string): string | null =>
    fields.find(([each]) => each.toLowerCase() === name.toLowerCase())?.[1] ?? null;
  const length = Number(field("Content-Length"));
  const block = rest.subarray(0, length);
  assert.equal(rest.subarray(length).toString("latin1"), "\r\n\r\n");
  assert.match(field("WARC-Record-ID")!, /^<urn:uuid:[0-9a-f-]{36}>$/);
  assert.match(field("WARC-Date")!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const isHttp = field("Content-Type")?.startsWith("application/http") === true;
  const [http_lines, payload] = isHttp ? headOf(block) : [[], block];
  const type = field("WARC-Type")!;
  const block_digest = field("WARC-Block-Digest");
  if (block_digest !== null) assert.equal(block_digest, digestOf(block));
  if (type === "response" && field("WARC-Payload-Digest") !== null)
    assert.equal(field("WARC-Payload-Digest"), digestOf(payload));
  return { type, fields, field, block, http: { lines: http_lines, payload } };
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

function headOf(bytes: Buffer): [lines: string[], rest: Buffer] {
  const end = bytes.indexOf("\r\n\r\n");
  assert(end >= 0, "The head has no end");
  return [bytes.toString("latin1", 0, end).split("\r\n"), bytes.subarray(end + 4)];
}

/** The entries of a ZIP file by its directory, in their order. Entries must be stored as they are, in Zip64. */
export function readZip(file: Buffer): ReadonlyMap<string, Buffer> {
  const end = file.length - 22;
  assert.equal(file.readUInt32LE(end), 0x06054b50);
  const zip64 = Number(file.readBigUInt64LE(end - 20 + 8));
  assert.equal(file.readUInt32LE(zip64), 0x06064b50);
  const count = Number(file.readBigUInt64LE(zip64 + 32));
  const entries = new Map<string, Buffer>();
  let at = Number(file.readBigUInt64LE(zip64 + 48));
  for (let n = 0; n < count; n++) {
    assert.equal(file.readUInt32LE(at), 0x02014b50);
    const name_bytes = file.readUInt16LE(at + 28);
    const extra = at + 46 + name_bytes;
    const name = file.toString("utf8", at + 46, extra);
    const length = Number(file.readBigUInt64LE(extra + 4));
    const local = Number(file.readBigUInt64LE(extra + 20));
    const begin = local + 30 + file.readUInt16LE(local + 26) + file.readUInt16LE(local + 28);
    const content = file.subarray(begin, begin + length);
    assert.equal(crc32(content), file.readUInt32LE(at + 16), name);
    entries.set(name, content);
    at = extra + file.readUInt16LE(at + 30);
  }
  return entries;
}
