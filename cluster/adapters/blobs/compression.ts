/**
 * Compression of bodies for the blob stores: zstd where it helps, as a stream with backpressure. Names, places and
 * stored sizes belong to each store.
 */
import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  zstdCompress,
  zstdDecompress,
  zstdDecompressSync,
} from "node:zlib";
import type { ByteRange } from "../../ports/blobs.ts";
import { keptCompressor, MIN_CHUNK_BYTES } from "./kept-compressor.ts";
import { WrongContent } from "./verify.ts";

/** Size of the pieces in which bodies are read. */
const PIECE_BYTES = 256 * 1024;
/** Size of the sample that decides whether a body is compressed. */
export const SAMPLE_BYTES = 64 * 1024;
/**
 * Compressed size divided by original size above which compression is not worth the decompression. JPEG and PDF come to
 * about 1.
 */
const MAX_COMPRESSED_RATIO = 0.9;
/**
 * Up to this size content is compressed and decompressed at once, synchronously: 500 KB take up to 3 ms. Through the thread
 * pool a real page of 100 KB takes twice the CPU time, most of it for the context and for pieces of 16 KB.
 */
export const MAX_SYNC_BYTES = 512 * 1024;
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

const compress = promisify(zstdCompress) as (content: Buffer, options: object) => Promise<Buffer>;
const decompress = promisify(zstdDecompress) as (content: Buffer) => Promise<Buffer>;

const isWorthwhile = (packed_bytes: number, plain_bytes: number): boolean =>
  packed_bytes < plain_bytes * MAX_COMPRESSED_RATIO;

/**
 * Whether compressing a body that begins like this is worthwhile. The answer is the same for a whole body and for a
 * stream. `extra_bytes` is what the store adds to a compressed body.
 */
export function isCompressible(first: Buffer, extra_bytes = 0): boolean {
  const sample = first.subarray(0, SAMPLE_BYTES);
  return isWorthwhile(extra_bytes + compressSample(sample).length, sample.length);
}

/** The whole content compressed; null: compression does not help. */
export async function compressWhole(whole: Buffer, extra_bytes = 0): Promise<Buffer | null> {
  if (whole.length > MAX_SYNC_BYTES)
    return isCompressible(whole, extra_bytes) ? compress(whole, LEVEL) : null;
  return compressSmall(whole, extra_bytes);
}

/** At most MAX_SYNC_BYTES compressed, synchronously; null: compression does not help. */
export function compressSmall(whole: Buffer, extra_bytes = 0): Buffer | null {
  const packed = compressSample(whole);
  return isWorthwhile(extra_bytes + packed.length, whole.length) ? packed : null;
}

/** Synchronous: 8 KiB take 0.02 ms, and 1.1 ms of CPU through the thread pool, most of it for the context. */
const compressSample = keptCompressor(SAMPLE_BYTES, LEVEL);

/** Synchronous up to MAX_SYNC_BYTES; larger content in another thread. */
export const decompressWhole = async (packed: Buffer, bytes: number): Promise<Buffer> =>
  bytes <= MAX_SYNC_BYTES
    ? zstdDecompressSync(packed, {
        maxOutputLength: MAX_SYNC_BYTES,
        chunkSize: Math.max(MIN_CHUNK_BYTES, bytes),
      })
    : decompress(packed);

/** Reads more content only when the stream has room for it. */
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

/** A range of the original bytes. Reads no further than necessary, and always ends its source. */
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
      // A range up to the end waits for the end of the source: only then can its connection be reused.
      if (at > last + 1) return;
    }
    if (at <= last) throw new WrongContent(`The content ends at byte ${at}`);
  } finally {
    packed.destroy();
    stream.destroy();
  }
}

/** A range of a file. */
export async function* readPieces(handle: FileHandle, { first, last }: ByteRange): AsyncGenerator<Buffer> {
  for (let at = first; at <= last;) {
    const length = Math.min(PIECE_BYTES, last + 1 - at);
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) throw new WrongContent(`The content ends at byte ${at}`);
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

export async function* slices(whole: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < whole.length; at += PIECE_BYTES) yield whole.subarray(at, at + PIECE_BYTES);
}

/** Content that is being stored. */
export interface ContentSource {
  /** At least this many bytes from the start, fewer if the content is shorter, and whether it ended with them. */
  readonly readFirst: (bytes: number) => Promise<{ first: Buffer; ended: boolean }>;
  /** The first bytes and the rest of the content. */
  readonly from: (first: Buffer) => AsyncGenerator<Buffer>;
  /** Whether the content itself threw this error: then it is the caller's error and not a fault of the store. */
  readonly isOwnError: (problem: unknown) => boolean;
  /** Releases content that is not read to its end. */
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
