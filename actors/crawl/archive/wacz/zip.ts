/**
 * A ZIP file of entries that are stored as they are (APPNOTE 6.3.10), as segments of known length: where each byte is follows from the
 * lengths and checksums of the entries alone. Zip64 is written for each entry, so that a file has one form whatever its size.
 */
import type { WaczEntry } from "../layout.ts";

type ZipEntry = Pick<WaczEntry, "name" | "bytes" | "crc32">;

export type Segment =
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly kind: "entry"; readonly name: string; readonly length: number };

const VERSION_ZIP64 = 45;
const MAX_32 = 0xffffffff;
const MAX_16 = 0xffff;
/** Names are UTF-8. */
const FLAGS = 0x0800;
/** 1980-01-01: the entries have their times inside. */
const DATE = 0x0021;

export const lengthOf = (segment: Segment): number =>
  segment.kind === "bytes" ? segment.bytes.length : segment.length;

export function zipSegments(entries: readonly ZipEntry[]): readonly Segment[] {
  const segments: Segment[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const head = localHeader(entry);
    central.push(centralHeader(entry, offset));
    segments.push({ kind: "bytes", bytes: head }, { kind: "entry", name: entry.name, length: entry.bytes });
    offset += head.length + entry.bytes;
  }
  const directory = Buffer.concat(central);
  segments.push({
    kind: "bytes",
    bytes: Buffer.concat([directory, ending(entries.length, directory.length, offset)]),
  });
  return segments;
}

const u16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
};
const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};

/** Fields of both headers: from the version that is needed to the checksum, and the two sizes, which stand in the extra field. */
const shared = ({ crc32 }: ZipEntry): Buffer =>
  Buffer.concat([
    u16(VERSION_ZIP64),
    u16(FLAGS),
    u16(0),
    u16(0),
    u16(DATE),
    u32(crc32),
    u32(MAX_32),
    u32(MAX_32),
  ]);

function localHeader(entry: ZipEntry): Buffer {
  const name = Buffer.from(entry.name);
  const extra = Buffer.concat([u16(1), u16(16), u64(entry.bytes), u64(entry.bytes)]);
  return Buffer.concat([u32(0x04034b50), shared(entry), u16(name.length), u16(extra.length), name, extra]);
}

function centralHeader(entry: ZipEntry, offset: number): Buffer {
  const name = Buffer.from(entry.name);
  const extra = Buffer.concat([u16(1), u16(24), u64(entry.bytes), u64(entry.bytes), u64(offset)]);
  return Buffer.concat([
    u32(0x02014b50),
    u16(VERSION_ZIP64),
    shared(entry),
    u16(name.length),
    u16(extra.length),
    // No comment, the first disk, no attributes.
    u16(0),
    u16(0),
    u16(0),
    u32(0),
    u32(MAX_32),
    name,
    extra,
  ]);
}

function ending(count: number, bytes: number, offset: number): Buffer {
  const zip64 = Buffer.concat([
    u32(0x06064b50),
    u64(44),
    u16(VERSION_ZIP64),
    u16(VERSION_ZIP64),
    u32(0),
    u32(0),
    u64(count),
    u64(count),
    u64(bytes),
    u64(offset),
  ]);
  const locator = Buffer.concat([u32(0x07064b50), u32(0), u64(offset + bytes), u32(1)]);
  const end = Buffer.concat([
    u32(0x06054b50),
    u16(0),
    u16(0),
    u16(MAX_16),
    u16(MAX_16),
    u32(MAX_32),
    u32(MAX_32),
    u16(0),
  ]);
  return Buffer.concat([zip64, locator, end]);
}
