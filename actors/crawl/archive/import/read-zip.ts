/** The directory of a ZIP file, also Zip64, and its entries as they are stored (APPNOTE 6.3.10): what a WACZ file needs. */
import { Readable } from "node:stream";
import { createInflateRaw } from "node:zlib";

export interface ZipEntry {
  readonly name: string;
  readonly method: number;
  readonly packed_bytes: number;
  readonly header_offset: number;
}

/** Throws what reading throws. */
export type ReadRange = (first: number, length: number) => Promise<Buffer>;

/** With the longest comment. */
const END_BYTES = 22 + 65_535;
const MAX_DIRECTORY_BYTES = 16 * 1_048_576;
const MAX_ENTRIES = 10_000;
const [END, END_64, LOCATOR_64, ENTRY] = [0x06054b50, 0x06064b50, 0x07064b50, 0x02014b50];
export const STORED = 0;
export const DEFLATED = 8;
const MAX_32 = 0xffffffff;

export class BadZip extends Error {}

/** Throws BadZip. */
export async function zipEntries(read: ReadRange, bytes: number): Promise<readonly ZipEntry[]> {
  const tail_bytes = Math.min(bytes, END_BYTES);
  const tail = await read(bytes - tail_bytes, tail_bytes);
  const at = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (at < 0 || at + 22 > tail.length || tail.readUInt32LE(at) !== END)
    throw new BadZip("It has no directory: the file is cut off, or no ZIP file");
  let count = tail.readUInt16LE(at + 10);
  let directory_bytes = tail.readUInt32LE(at + 12);
  let directory_offset = tail.readUInt32LE(at + 16);
  const locator = at - 20;
  if (locator >= 0 && tail.readUInt32LE(locator) === LOCATOR_64) {
    const end_64 = await read(Number(tail.readBigUInt64LE(locator + 8)), 56);
    if (end_64.length < 56 || end_64.readUInt32LE() !== END_64) throw new BadZip("Its Zip64 end is damaged");
    count = Number(end_64.readBigUInt64LE(32));
    directory_bytes = Number(end_64.readBigUInt64LE(40));
    directory_offset = Number(end_64.readBigUInt64LE(48));
  }
  if (directory_bytes > MAX_DIRECTORY_BYTES || count > MAX_ENTRIES)
    throw new BadZip(`Its directory has more than ${MAX_ENTRIES} entries`);
  const directory = await read(directory_offset, directory_bytes);
  const entries: ZipEntry[] = [];
  for (let next = 0; entries.length < count;) {
    if (next + 46 > directory.length || directory.readUInt32LE(next) !== ENTRY)
      throw new BadZip("Its directory is damaged");
    const name_end = next + 46 + directory.readUInt16LE(next + 28);
    const extra_end = name_end + directory.readUInt16LE(next + 30);
    entries.push(entryOf(directory, next, name_end, directory.subarray(name_end, extra_end)));
    next = extra_end + directory.readUInt16LE(next + 32);
  }
  return entries;
}

function entryOf(directory: Buffer, at: number, name_end: number, extra: Buffer): ZipEntry {
  const sizes = {
    bytes: directory.readUInt32LE(at + 24),
    packed_bytes: directory.readUInt32LE(at + 20),
    header_offset: directory.readUInt32LE(at + 42),
  };
  for (let next = 0; next + 4 <= extra.length; next += 4 + extra.readUInt16LE(next + 2)) {
    if (extra.readUInt16LE(next) !== 1) continue;
    let value = next + 4;
    for (const name of ["bytes", "packed_bytes", "header_offset"] as const) {
      if (sizes[name] !== MAX_32 || value + 8 > extra.length) continue;
      sizes[name] = Number(extra.readBigUInt64LE(value));
      value += 8;
    }
  }
  const { packed_bytes, header_offset } = sizes;
  const name = directory.toString("utf8", at + 46, name_end);
  return { name, method: directory.readUInt16LE(at + 10), packed_bytes, header_offset };
}

/** Where the bytes of the entry begin. Throws BadZip. */
export async function contentOffset(read: ReadRange, { header_offset, name }: ZipEntry): Promise<number> {
  const head = await read(header_offset, 30);
  if (head.length < 30) throw new BadZip(`The entry "${name}" is cut off`);
  return header_offset + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
}

/** The content of an entry that is deflated. */
export async function* inflatedEntry(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const inflate = createInflateRaw();
  const source = Readable.from(pieces);
  source.on("error", (problem) => inflate.destroy(problem));
  try {
    for await (const piece of source.pipe(inflate)) yield piece as Buffer;
  } finally {
    source.destroy();
  }
}
