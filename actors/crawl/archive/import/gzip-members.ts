/** Reads the gzip members of a file one after another, in pieces (RFC 1952). A broken one ends early and says so. */
import { crc32, createInflateRaw } from "node:zlib";
import type { ByteSource } from "./byte-source.ts";

export const GZIP_MAGIC = Buffer.from([0x1f, 0x8b, 0x08]);
const HEAD_BYTES = 10;
const TRAILER_BYTES = 8;
/** So much gives at most 16 MB, which wait in memory. */
const SLICE_BYTES = 16_384;
const MAX_NAME_BYTES = 65_536;
const [HAS_CRC, HAS_EXTRA, HAS_NAME, HAS_COMMENT, RESERVED] = [2, 4, 8, 16, 0xe0];

export interface GzipMember {
  readonly content: AsyncIterable<Buffer>;
  /** Known when the content has ended; null: it is whole. */
  readonly problem: () => "broken_gzip" | "gzip_checksum" | null;
}

/** Null: here is no member. The source stands behind the member when its content was read to its end. */
export async function gzipMember(source: ByteSource): Promise<GzipMember | null> {
  const head = await source.peek(HEAD_BYTES);
  if (head.length < HEAD_BYTES || !head.subarray(0, 3).equals(GZIP_MAGIC) || (head[3]! & RESERVED) !== 0)
    return null;
  await source.take(HEAD_BYTES);
  const flags = head[3]!;
  if (flags & HAS_EXTRA) {
    const length = await source.take(2);
    await source.take(length.length < 2 ? 0 : length.readUInt16LE());
  }
  for (const flag of [HAS_NAME, HAS_COMMENT]) if (flags & flag) await skipText(source);
  if (flags & HAS_CRC) await source.take(2);
  let problem: ReturnType<GzipMember["problem"]> = null;
  return {
    content: inflated(source, (found) => (problem = found)),
    problem: () => problem,
  };
}

async function skipText(source: ByteSource): Promise<void> {
  for (let n = 0; n < MAX_NAME_BYTES; n++) {
    const [byte] = await source.take(1);
    if (byte === undefined || byte === 0) return;
  }
}

async function* inflated(
  source: ByteSource,
  onProblem: (problem: "broken_gzip" | "gzip_checksum") => void,
): AsyncGenerator<Buffer> {
  const inflate = createInflateRaw();
  let made: Buffer[] = [];
  let failure: Error | null = null as Error | null;
  inflate.on("data", (piece: Buffer) => made.push(piece));
  /** Ends the wait for a slice: a stream that fails may never call back. */
  let onFailure = (): void => {};
  inflate.on("error", (problem) => {
    failure = problem;
    onFailure();
  });
  let [sum, bytes, given] = [0, 0, 0];
  try {
    for (;;) {
      const slice = await source.piece(SLICE_BYTES);
      if (slice === null) return onProblem("broken_gzip");
      given += slice.length;
      await new Promise<void>((resolve) => {
        onFailure = resolve;
        inflate.write(slice, () => resolve());
      });
      for (const piece of made) {
        sum = crc32(piece, sum);
        bytes += piece.length;
        yield piece;
      }
      made = [];
      if (failure !== null) {
        // The next member may begin within the slice.
        source.giveBack(slice);
        return onProblem("broken_gzip");
      }
      const unused = given - inflate.bytesWritten;
      if (unused <= 0) continue;
      source.giveBack(slice.subarray(slice.length - unused));
      break;
    }
  } finally {
    inflate.destroy();
  }
  const trailer = await source.take(TRAILER_BYTES);
  if (trailer.length < TRAILER_BYTES) return onProblem("broken_gzip");
  if (trailer.readUInt32LE() !== sum || trailer.readUInt32LE(4) !== bytes % 2 ** 32)
    onProblem("gzip_checksum");
}
