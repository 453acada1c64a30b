/**
 * zstd for small contents in one context that is kept: `zstdCompressSync` makes a new one for each content, which takes two thirds of
 * the 40 to 60 µs of 8 KiB. The frames are the same, byte for byte.
 *
 * Node has no public call for it: a stream compresses in another thread, and its `reset` makes the context anew. So this uses
 * the stream's handle as `zlib` itself does, and where that is not as expected everything is compressed by `zstdCompressSync`.
 */
import { constants, createZstdCompress, zstdCompressSync } from "node:zlib";

export const MIN_CHUNK_BYTES = 16 * 1024;

/** A stream's handle, as `zlib` uses it (lib/zlib.js of Node, processChunkSync). */
interface Handle {
  writeSync(
    flush: number,
    from: Buffer,
    from_at: number,
    from_bytes: number,
    to: Buffer,
    to_at: number,
    to_bytes: number,
  ): void;
}
interface Internals {
  readonly _handle?: Partial<Handle>;
  /** The bytes of `to` that are left, and those of `from`. */
  readonly _writeState?: Uint32Array;
}

interface Compressor {
  readonly handle: Handle;
  readonly left: Uint32Array;
  readonly scratch: Buffer;
}

/** Any content as one frame; the kept context has those of at most `max_bytes`. */
export function keptCompressor(
  max_bytes: number,
  options: NonNullable<Parameters<typeof createZstdCompress>[0]>,
): (content: Buffer) => Buffer {
  let compressor: Compressor | null | undefined;

  function compressKept(content: Buffer): Buffer | null {
    compressor ??= openCompressor(max_bytes, options);
    if (compressor === null) return null;
    const { handle, left, scratch } = compressor;
    handle.writeSync(constants.ZSTD_e_end, content, 0, content.length, scratch, 0, scratch.length);
    const [to_left, from_left] = left;
    // The frame has not ended: the scratch was too small, or it failed.
    if (from_left !== 0 || to_left === 0 || to_left === scratch.length) return null;
    return Buffer.from(scratch.subarray(0, scratch.length - to_left!));
  }

  return (content) => {
    const frame = content.length <= max_bytes ? compressKept(content) : null;
    if (frame !== null) return frame;
    if (content.length <= max_bytes) compressor = null;
    return zstdCompressSync(content, {
      ...options,
      pledgedSrcSize: content.length,
      // Most of what is compressed comes out in one piece.
      chunkSize: Math.max(MIN_CHUNK_BYTES, Math.ceil(content.length / 2)),
    });
  };
}

function openCompressor(
  max_bytes: number,
  options: NonNullable<Parameters<typeof createZstdCompress>[0]>,
): Compressor | null {
  const stream = createZstdCompress(options);
  // An error of the handle destroys the stream, which nothing else reads.
  stream.on("error", () => {});
  const { _handle: handle, _writeState: left } = stream as unknown as Internals;
  if (typeof handle?.writeSync !== "function" || left?.length !== 2) return null;
  // Content that does not shrink grows by a frame's header and three bytes for each 128 KiB (ZSTD_compressBound).
  return { handle: handle as Handle, left, scratch: Buffer.allocUnsafeSlow(max_bytes + 1_024) };
}
