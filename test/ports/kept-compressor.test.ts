/** zstd in a context that is kept (cluster/adapters/blobs/kept-compressor.ts). */
import { randomBytes } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { keptCompressor } from "../../cluster/adapters/blobs/kept-compressor.ts";

const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };
const MAX_BYTES = 65_536;

test("frames are those of zstdCompressSync, byte for byte, whatever was compressed before", () => {
  const compress = keptCompressor(MAX_BYTES, LEVEL);
  const page = Buffer.from("<p>again and again</p>".repeat(3_000));
  const contents = [0, 1, 100, 8_192, 40_000, MAX_BYTES, MAX_BYTES + 1].flatMap((bytes) => [
    page.subarray(0, bytes),
    randomBytes(bytes),
  ]);
  for (const content of [...contents, ...contents.toReversed()]) {
    const frame = compress(content);
    expect(frame.equals(zstdCompressSync(content, { ...LEVEL, pledgedSrcSize: content.length }))).toBe(true);
    expect(zstdDecompressSync(frame).equals(content)).toBe(true);
  }
});

test("a frame is not overwritten by the next one", () => {
  const compress = keptCompressor(MAX_BYTES, LEVEL);
  const first = compress(Buffer.from("first".repeat(100)));
  compress(Buffer.from("second".repeat(100)));
  expect(zstdDecompressSync(first).toString()).toBe("first".repeat(100));
});
