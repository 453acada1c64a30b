/**
 * What bodies go through on their way to a store and back: zstd where it helps, in pieces and with backpressure. Where
 * they are stored, under which name and beside which size is the store's own.
 */
import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  zstdDecompressSync,
} from "node:zlib";
import type { ByteRange } from "../../ports/blobs.ts";

/** Bodies are handed on in pieces of this size. */
const PIECE_BYTES = 256 * 1024;
/** So much of a body decides whether it is packed. */
export const SAMPLE_BYTES = 64 * 1024;
/** Less than this is not worth the decoding: JPEG and PDF come to about 1. */
const MAX_COMPRESSED_RATIO = 0.9;
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

const compress = promisify(zstdCompress) as (content: Buffer, options: object) => Promise<Buffer>;
const decompress = promisify(zstdDecompress) as (content: Buffer) => Promise<Buffer>;

const isWorthwhile = (packed_bytes: number, plain_bytes: number): boolean =>
  packed_bytes < plain_bytes * MAX_COMPRESSED_RATIO;

/**
 * Whether packing a body that begins like this is worth it: the same answer whether it comes whole or in pieces.
 * `extra_bytes` is what the store adds to what is packed.
 */
export function isCompressible(first: Buffer, extra_bytes = 0): boolean {
  const sample = first.subarray(0, SAMPLE_BYTES);
  return isWorthwhile(extra_bytes + compressSample(sample).length, sample.length);
}

/** The whole of it packed, or null where that does not help. */
export async function compressWhole(whole: Buffer, extra_bytes = 0): Promise<Buffer | null> {
  if (whole.length > SAMPLE_BYTES) return isCompressible(whole, extra_bytes) ? compress(whole, LEVEL) : null;
  return compressSmall(whole, extra_bytes);
}

/** The same for at most FIRST_BYTES, at once. */
export function compressSmall(whole: Buffer, extra_bytes = 0): Buffer | null {
  const packed = compressSample(whole);
  return isWorthwhile(extra_bytes + packed.length, whole.length) ? packed : null;
}

/** At once: 8 KiB take 0.06 ms so, and 1.1 ms of CPU by way of the thread pool, most of it for the context. */
const compressSample = (sample: Buffer): Buffer =>
  zstdCompressSync(sample, { ...LEVEL, pledgedSrcSize: sample.length });

/** Of at most FIRST_BYTES at once, as above; what is larger in another thread. */
export const decompressWhole = async (packed: Buffer, bytes: number): Promise<Buffer> =>
  bytes <= SAMPLE_BYTES ? zstdDecompressSync(packed, { maxOutputLength: SAMPLE_BYTES }) : decompress(packed);

/** The stream's own buffer is the backpressure: reading the content waits while it is full. */
export async function* compressStream(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const stream = createZstdCompress(LEVEL);
  const feeding = (async () => {
    for await (const piece of content)
      if (!stream.write(piece)) await new Promise((resolve) => stream.once("drain", resolve));
    stream.end();
  })();
  feeding.catch((problem: Error) => stream.destroy(problem));
  try {
    for await (const piece of stream) yield piece as Buffer;
    await feeding;
  } finally {
    stream.destroy();
  }
}

/** A part of what was packed. Reads no further than it must, and ends its source. */
export async function* decompressRange(packed: Readable, { first, last }: ByteRange): AsyncGenerator<Buffer> {
  const stream = createZstdDecompress({ chunkSize: PIECE_BYTES });
  packed.on("error", (problem) => stream.destroy(problem));
  let at = 0;
  try {
    for await (const chunk of packed.pipe(stream)) {
      const piece = chunk as Buffer;
      const part = piece.subarray(Math.max(0, first - at), Math.max(0, last + 1 - at));
      at += piece.length;
      if (part.length > 0) yield part;
      // Where the end is wanted, the source's own end is waited for: only then is a connection good for another use.
      if (at > last + 1) return;
    }
    if (at <= last) throw new Error(`It ends at byte ${at}`);
  } finally {
    packed.destroy();
    stream.destroy();
  }
}

/** A part of a file. */
export async function* readPieces(handle: FileHandle, { first, last }: ByteRange): AsyncGenerator<Buffer> {
  for (let at = first; at <= last;) {
    const length = Math.min(PIECE_BYTES, last + 1 - at);
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) throw new Error(`It ends at byte ${at}`);
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

export async function* slices(whole: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < whole.length; at += PIECE_BYTES) yield whole.subarray(at, at + PIECE_BYTES);
}

/** Content on its way in. */
export interface ContentSource {
  /** The first bytes, at least so many unless it is shorter, and whether it ended with them. */
  readonly readFirst: (bytes: number) => Promise<{ first: Buffer; ended: boolean }>;
  /** Those first bytes and what follows them. */
  readonly from: (first: Buffer) => AsyncGenerator<Buffer>;
  /** Whether this was thrown by the content itself: then it is for the caller to hear, and no fault of the store. */
  readonly isOwnError: (problem: unknown) => boolean;
  /** Lets go of content that is not wanted any further. */
  readonly release: () => Promise<void>;
}

export function contentSource(content: AsyncIterable<Buffer>): ContentSource {
  const pieces = content[Symbol.asyncIterator]();
  let broken: { readonly problem: unknown } | null = null;
  async function next(): Promise<IteratorResult<Buffer>> {
    try {
      return await pieces.next();
    } catch (problem) {
      broken = { problem };
      throw problem;
    }
  }
  return {
    async readFirst(bytes) {
      const read: Buffer[] = [];
      for (let length = 0; length < bytes;) {
        const { done, value } = await next();
        if (done) return { first: Buffer.concat(read), ended: true };
        read.push(value);
        length += value.length;
      }
      return { first: Buffer.concat(read), ended: false };
    },
    async *from(first) {
      yield first;
      for (let piece = await next(); !piece.done; piece = await next()) yield piece.value;
    },
    isOwnError: (problem) => broken?.problem === problem,
    release: async () => void (await pieces.return?.().catch(() => {})),
  };
}
