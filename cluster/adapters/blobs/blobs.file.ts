/**
 * Blobs as files named by their digest: `ab/abcd…` holds exactly the bytes, `abcd….zst` the bytes compressed with zstd,
 * used where a sample shows that compression helps. `zstdcat` reads it: the original size stands in a frame that
 * decoders skip.
 *
 * A blob is written to a temporary file and renamed, so it exists completely or not at all, also after kill -9. Files
 * are not synced: a power cut may lose or truncate the blobs of the last half minute.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  createReadStream,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { access, mkdir, open, readdir, readFile, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TOUCH_AFTER_MS, type Blobs, type ByteRange, type StoredBlob } from "../../ports/blobs.ts";
import { Fault } from "../../ports/fault.ts";
import {
  SAMPLE_BYTES,
  isCompressible,
  compressStream,
  compressSmall,
  readPieces,
  slices,
  type ContentSource,
  contentSource,
  decompressWhole,
  decompressRange,
} from "./compression.ts";

/** A skippable frame (RFC 8878 §3.1.2) with the size of the body as eight bytes, little-endian. */
const FRAME_BYTES = 16;
const FRAME_MAGIC = 0x184d2a50;
/** Temporary files older than this are leftovers of a crash and are removed at start. */
const STALE_MS = 60 * 60_000;

function frame(bytes: number): Buffer {
  const written = Buffer.alloc(FRAME_BYTES);
  written.writeUInt32LE(FRAME_MAGIC, 0);
  written.writeUInt32LE(8, 4);
  written.writeBigUInt64LE(BigInt(bytes), 8);
  return written;
}

const isMissing = (problem: unknown): boolean => (problem as NodeJS.ErrnoException).code === "ENOENT";

async function nullIfMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (problem) {
    if (isMissing(problem)) return null;
    throw problem;
  }
}

/** Updates the time of a blob that is stored again. */
function touch(path: string, mtimeMs: number): void {
  const now = new Date();
  if (now.getTime() - mtimeMs > TOUCH_AFTER_MS) utimesSync(path, now, now);
}

async function moveFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (problem) {
    if (!isMissing(problem)) throw problem;
    await mkdir(dirname(to), { recursive: true });
    await rename(from, to);
  }
}

async function* readUncompressed(path: string, range: ByteRange): AsyncGenerator<Buffer> {
  const handle = await open(path);
  try {
    yield* readPieces(handle, range);
  } finally {
    await handle.close();
  }
}

const readCompressed = (path: string, range: ByteRange): AsyncGenerator<Buffer> =>
  decompressRange(createReadStream(path, { start: FRAME_BYTES, highWaterMark: SAMPLE_BYTES }), range);

async function* readSmall(path: string, bytes: number, { first, last }: ByteRange): AsyncGenerator<Buffer> {
  const whole = await decompressWhole((await readFile(path)).subarray(FRAME_BYTES), bytes);
  yield whole.subarray(first, last + 1);
}

/** One algorithm: a content-addressed store in files. */
export function fileBlobs(folder: string): Blobs {
  const unfinished = join(folder, "unfinished");
  mkdirSync(unfinished, { recursive: true });
  for (const name of readdirSync(unfinished)) {
    const path = join(unfinished, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
    if (Date.now() - mtimeMs > STALE_MS) rmSync(path, { force: true });
  }

  const plain = (sha256: string): string => join(folder, sha256.slice(0, 2), sha256);
  const packed = (sha256: string): string => `${plain(sha256)}.zst`;

  const newPath = (): string => join(unfinished, randomBytes(12).toString("hex"));

  async function orFault<T>(what: string, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      throw new Fault("bodies_unreachable", `Cannot ${what} in "${folder}"`, { cause });
    }
  }

  interface StoredFile {
    readonly path: string;
    readonly bytes: number;
    readonly packed: boolean;
    readonly stored_ms: number;
  }

  async function find(sha256: string): Promise<StoredFile | null> {
    const plain_stat = await nullIfMissing(stat(plain(sha256)));
    if (plain_stat)
      return { path: plain(sha256), bytes: plain_stat.size, packed: false, stored_ms: plain_stat.mtimeMs };
    const handle = await nullIfMissing(open(packed(sha256)));
    if (!handle) return null;
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(FRAME_BYTES), 0, FRAME_BYTES, 0);
      if (bytesRead < FRAME_BYTES || buffer.readUInt32LE(0) !== FRAME_MAGIC)
        throw new Fault("bodies_unreachable", `Cannot read "${packed(sha256)}": it is truncated`);
      const { mtimeMs } = await handle.stat();
      const bytes = Number(buffer.readBigUInt64LE(8));
      return { path: packed(sha256), bytes, packed: true, stored_ms: mtimeMs };
    } finally {
      await handle.close();
    }
  }

  /** Writes a temporary file and renames it; removes it when anything fails. */
  async function storeFile(
    write: (handle: FileHandle) => Promise<{ to: string; body: StoredBlob }>,
  ): Promise<StoredBlob> {
    const path = newPath();
    const handle = await open(path, "wx");
    try {
      const { to, body } = await write(handle);
      await handle.close();
      const existing = await find(body.sha256);
      if (existing) {
        touch(existing.path, existing.stored_ms);
        await rm(path, { force: true });
      } else await moveFile(path, to);
      return body;
    } catch (problem) {
      await handle.close().catch(() => {});
      await rm(path, { force: true });
      throw problem;
    }
  }

  /**
   * For at most SAMPLE_BYTES, synchronously: writing to the page cache takes 0.1 ms, through the thread pool 0.7 ms. A
   * file that a power cut truncated has the wrong size and is written again.
   */
  function putSmall(content: Buffer): StoredBlob {
    const sha256 = createHash("sha256").update(content).digest("hex");
    const small = compressSmall(content, FRAME_BYTES);
    const pieces = small ? [frame(content.length), small] : [content];
    const to = small ? packed(sha256) : plain(sha256);
    const body = { sha256, bytes: content.length };
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
    const existing = statSync(to, { throwIfNoEntry: false });
    if (existing?.size === bytes) {
      touch(to, existing.mtimeMs);
      return body;
    }
    const path = newPath();
    try {
      writeFileSync(path, Buffer.concat(pieces), { flag: "wx" });
      try {
        renameSync(path, to);
      } catch (problem) {
        if (!isMissing(problem)) throw problem;
        mkdirSync(dirname(to), { recursive: true });
        renameSync(path, to);
      }
    } catch (problem) {
      rmSync(path, { force: true });
      throw problem;
    }
    return body;
  }

  /** Synchronous, so that this process cannot store the blob between the check and the removal. */
  function removeSync(sha256: string, stored_before_ms: number): boolean {
    let removed = false;
    for (const path of [plain(sha256), packed(sha256)]) {
      const existing = statSync(path, { throwIfNoEntry: false });
      if (!existing || existing.mtimeMs >= stored_before_ms) continue;
      rmSync(path, { force: true });
      removed = true;
    }
    return removed;
  }

  async function putStream(first: Buffer, source: ContentSource): Promise<StoredBlob> {
    const digest = createHash("sha256");
    let bytes = 0;
    async function* content(): AsyncGenerator<Buffer> {
      for await (const piece of source.from(first)) {
        digest.update(piece);
        bytes += piece.length;
        yield piece;
      }
    }
    const compressed = isCompressible(first, FRAME_BYTES);
    return storeFile(async (handle) => {
      if (compressed) await handle.writeFile(frame(0));
      for await (const piece of compressed ? compressStream(content()) : content())
        await handle.writeFile(piece);
      if (compressed) await handle.write(frame(bytes), 0, FRAME_BYTES, 0);
      const sha256 = digest.digest("hex");
      return { to: compressed ? packed(sha256) : plain(sha256), body: { sha256, bytes } };
    });
  }

  async function* read(sha256: string, pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* pieces;
    } catch (cause) {
      throw new Fault("bodies_unreachable", `Cannot read body "${sha256}" in "${folder}"`, { cause });
    }
  }

  return {
    async put(content) {
      if (Buffer.isBuffer(content) && content.length <= SAMPLE_BYTES)
        return orFault("store a body", (async () => putSmall(content))());
      const source = contentSource(Buffer.isBuffer(content) ? slices(content) : content);
      try {
        const { first, ended } = await source.readFirst(SAMPLE_BYTES);
        return await (ended ? putSmall(first) : putStream(first, source));
      } catch (cause) {
        await source.release();
        if (source.isOwnError(cause) || cause instanceof Fault) throw cause;
        throw new Fault("bodies_unreachable", `Cannot store a body in "${folder}"`, { cause });
      }
    },
    async head(sha256) {
      const file = await orFault(`find body "${sha256}"`, find(sha256));
      return file && { bytes: file.bytes };
    },
    async get(sha256, range) {
      const file = await orFault(`find body "${sha256}"`, find(sha256));
      if (!file) return null;
      const wanted_range = range ?? { first: 0, last: file.bytes - 1 };
      if (!file.packed) return read(sha256, readUncompressed(file.path, wanted_range));
      return read(
        sha256,
        file.bytes <= SAMPLE_BYTES
          ? readSmall(file.path, file.bytes, wanted_range)
          : readCompressed(file.path, wanted_range),
      );
    },
    remove: (sha256, stored_before_ms = Infinity) =>
      orFault(`remove body "${sha256}"`, (async () => removeSync(sha256, stored_before_ms))()),
    async *list(prefix) {
      const names = (await orFault("list bodies", nullIfMissing(readdir(join(folder, prefix))))) ?? [];
      for (const name of names) {
        const file = await orFault("list bodies", nullIfMissing(stat(join(folder, prefix, name))));
        if (file) yield { sha256: name.slice(0, 64), stored_ms: file.mtimeMs };
      }
    },
    ping: () => orFault("find anything", access(unfinished)),
    close: async () => {},
  };
}
