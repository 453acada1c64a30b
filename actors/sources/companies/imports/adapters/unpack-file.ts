/**
 * The bytes of a file, unpacked: of a zip with one file in it, of a gzip, or as they are. A zip is read by its central directory, so that
 * files of more than 4 GiB are whole; its checksum is compared at the end.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { pipeline, type Readable, Transform } from "node:stream";
import { crc32, createGunzip, createInflateRaw } from "node:zlib";
import { type Entry, openPromise, type ZipFileOptions } from "yauzl";
import { type FileDigest, type ImportFiles, type UnpackedFile, UnreadableFile } from "../file-record.ts";

export const importFiles: ImportFiles = { digestOf, unpackFile };

async function digestOf(path: string, signal: AbortSignal): Promise<FileDigest> {
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    for await (const chunk of createReadStream(path, { signal, highWaterMark: 2 ** 20 })) {
      hash.update(chunk as Buffer);
      bytes += (chunk as Buffer).length;
    }
  } catch (cause) {
    throw new UnreadableFile(`Cannot read "${path}"`, { cause });
  }
  return { sha256: hash.digest("hex"), bytes };
}

async function unpackFile(path: string): Promise<UnpackedFile> {
  let read = 0;
  const count = new Transform({
    transform(chunk: Buffer, _, done) {
      read += chunk.length;
      done(null, chunk);
    },
  });
  return { bytes: explained(path, await streamOf(path, count)), read: () => read };
}

async function* explained(path: string, chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  try {
    yield* chunks;
  } catch (cause) {
    if (cause instanceof UnreadableFile) throw cause;
    throw new UnreadableFile(`Cannot unpack "${path}": ${(cause as Error).message}`, { cause });
  }
}

async function streamOf(path: string, count: Transform): Promise<AsyncIterable<Buffer>> {
  const magic = await firstBytes(path);
  if (magic.length >= 4 && magic.readUInt32LE(0) === 0x04_03_4b_50) return zipStream(path, count);
  const chained =
    magic[0] === 0x1f && magic[1] === 0x8b
      ? chain(createReadStream(path), count, createGunzip())
      : chain(createReadStream(path, { highWaterMark: 2 ** 18 }), count);
  return chained;
}

async function firstBytes(path: string): Promise<Buffer> {
  try {
    if (!(await stat(path)).isFile()) throw new Error("it is no file");
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw new UnreadableFile(`Cannot open "${path}": ${(cause as Error).message}`, { cause });
  }
}

/** The last stream; it fails where one before it fails. */
function chain(...streams: readonly [Readable, Transform, ...Transform[]]): AsyncIterable<Buffer> {
  return pipeline(streams as unknown as [Readable, Transform], () => {}) as unknown as AsyncIterable<Buffer>;
}

async function* zipStream(path: string, count: Transform): AsyncIterable<Buffer> {
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false });
  try {
    const files: Entry[] = [];
    for await (const entry of zip.eachEntry()) if (!entry.fileName.endsWith("/")) files.push(entry);
    const [file] = files;
    if (files.length !== 1 || file === undefined)
      throw new UnreadableFile(`Cannot read "${path}": the zip has ${files.length} files, and should have 1`);
    const { compressionMethod } = file;
    if (compressionMethod !== STORED && compressionMethod !== DEFLATED)
      throw new UnreadableFile(
        `Cannot read "${path}": the compression ${compressionMethod} of the zip is not known`,
      );
    const stored = await zip.openReadStreamPromise(file, { decodeFileData: false } as ZipFileOptions);
    const unpack = compressionMethod === DEFLATED ? [createInflateRaw({ chunkSize: 2 ** 18 })] : [];
    yield* checked(path, file, chain(stored, count, ...unpack));
  } finally {
    zip.close();
  }
}

/** Compression methods of a zip. */
const [STORED, DEFLATED] = [0, 8];

async function* checked(path: string, file: Entry, chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let sum = 0;
  let bytes = 0;
  for await (const chunk of chunks) {
    sum = crc32(chunk, sum);
    bytes += chunk.length;
    yield chunk;
  }
  if (bytes !== file.uncompressedSize || sum !== file.crc32)
    throw new UnreadableFile(`Cannot read "${path}": the checksum of the file in the zip is wrong`);
}
