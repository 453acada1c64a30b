/**
 * Blobs as files named by their digest: `ab/abcd…` holds exactly the bytes, `abcd….zst` the bytes compressed with zstd,
 * used where a sample shows that compression helps. `zstdcat` reads it: the original size stands in a frame that
 * decoders skip.
 *
 * A blob is written to a temporary file and renamed, so it exists completely or not at all, also after kill -9. With
 * the durability `power` the file is synced before it is renamed, and its folder before `put` resolves: what a document
 * names afterwards survives a power cut. With `process` a power cut may lose or truncate the blobs of the last half
 * minute.
 *
 * A file that is torn or wrong is never served whole: a read of all of it proves the digest, and removes the file when it
 * fails. Storing the body again compares the bytes with those of the file, and replaces a wrong one.
 */
import { createHash } from "node:crypto";
import { createReadStream, readFileSync, rmSync, statSync } from "node:fs";
import { open, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { sha256Of, type Blobs, type ByteRange, type StoredBlob, type StoreMark } from "../../ports/blobs.ts";
import { Fault } from "../../ports/fault.ts";
import type { Durability } from "../files/durable-files.ts";
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
import { isContentProblem, verified } from "./verify.ts";
import { nullIfMissing, touch, wholeFiles } from "./whole-files.ts";

/** A skippable frame (RFC 8878 §3.1.2) with the size of the body as eight bytes, little-endian. */
const FRAME_BYTES = 16;
const FRAME_MAGIC = 0x184d2a50;
/** The file of the mark, in the folder itself. */
const MARK = "store.json";
const EMPTY_SHA256 = createHash("sha256").digest("hex");

function frame(bytes: number): Buffer {
  const written = Buffer.alloc(FRAME_BYTES);
  written.writeUInt32LE(FRAME_MAGIC, 0);
  written.writeUInt32LE(8, 4);
  written.writeBigUInt64LE(BigInt(bytes), 8);
  return written;
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

interface StoredFile {
  readonly path: string;
  readonly bytes: number;
  readonly packed: boolean;
  readonly inode: number;
}

/** `plain`: its path uncompressed. A file that is torn so that its size shows it counts as none. */
async function findFile(plain: string, sha256: string): Promise<StoredFile | null> {
  const plain_stat = await nullIfMissing(stat(plain));
  if (plain_stat && (plain_stat.size > 0 || sha256 === EMPTY_SHA256))
    return { path: plain, bytes: plain_stat.size, packed: false, inode: plain_stat.ino };
  const packed_path = `${plain}.zst`;
  const handle = await nullIfMissing(open(packed_path));
  if (!handle) return null;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(FRAME_BYTES), 0, FRAME_BYTES, 0);
    if (bytesRead < FRAME_BYTES || buffer.readUInt32LE(0) !== FRAME_MAGIC) return null;
    const { ino } = await handle.stat();
    return { path: packed_path, bytes: Number(buffer.readBigUInt64LE(8)), packed: true, inode: ino };
  } finally {
    await handle.close();
  }
}

/** The bytes of a body, inclusive. */
function piecesOf({ path, bytes, packed }: StoredFile, range: ByteRange): AsyncGenerator<Buffer> {
  if (!packed) return readUncompressed(path, range);
  return bytes <= SAMPLE_BYTES ? readSmall(path, bytes, range) : readCompressed(path, range);
}

/** Removes a file whose content is wrong, so that the body counts as none, unless it has been replaced meanwhile. */
function discard({ path, inode }: StoredFile): void {
  if (statSync(path, { throwIfNoEntry: false })?.ino === inode) rmSync(path, { force: true });
}

export interface FileBlobsOptions {
  /** Default `power`. */
  readonly durability?: Durability;
}

export function fileBlobs(folder: string, { durability = "power" }: FileBlobsOptions = {}): Blobs {
  const files = wholeFiles(folder, durability);

  const plain = (sha256: string): string => join(folder, sha256.slice(0, 2), sha256);
  const packed = (sha256: string): string => `${plain(sha256)}.zst`;

  async function orFault<T>(what: string, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      throw new Fault("bodies_unreachable", `Cannot ${what} in "${folder}"`, { cause });
    }
  }

  /** For at most SAMPLE_BYTES. */
  async function putSmall(content: Buffer): Promise<StoredBlob> {
    const sha256 = sha256Of(content);
    const small = compressSmall(content, FRAME_BYTES);
    const stored = small ? Buffer.concat([frame(content.length), small]) : content;
    const to = small ? packed(sha256) : plain(sha256);
    const body = { sha256, bytes: content.length };
    const existing = statSync(to, { throwIfNoEntry: false });
    if (existing?.size === stored.length && readFileSync(to).equals(stored)) {
      touch(to, existing.mtimeMs);
      await files.confirm(to, existing.mtimeMs);
      return body;
    }
    if (durability === "process") {
      files.writeAtOnce(stored, to);
      return body;
    }
    return files.write(async (handle) => {
      await handle.writeFile(stored);
      return { to, result: body };
    });
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

  async function readMark(): Promise<StoreMark | null> {
    const text = await nullIfMissing(readFile(join(folder, MARK), "utf8"));
    return text === null ? null : (JSON.parse(text) as StoreMark);
  }

  async function isEmpty(): Promise<boolean> {
    const folders = (await readdir(folder)).filter((name) => /^[0-9a-f]{2}$/.test(name));
    for (const name of folders) if ((await readdir(join(folder, name))).length > 0) return false;
    return true;
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
    return files.write(async (handle) => {
      if (compressed) await handle.writeFile(frame(0));
      for await (const piece of compressed ? compressStream(content()) : content())
        await handle.writeFile(piece);
      if (compressed) await handle.write(frame(bytes), 0, FRAME_BYTES, 0);
      const sha256 = digest.digest("hex");
      return { to: compressed ? packed(sha256) : plain(sha256), result: { sha256, bytes } };
    });
  }

  async function* read(
    sha256: string,
    file: StoredFile,
    pieces: AsyncGenerator<Buffer>,
  ): AsyncGenerator<Buffer> {
    try {
      yield* pieces;
    } catch (cause) {
      const isDamaged = isContentProblem(cause);
      if (isDamaged) discard(file);
      const code = isDamaged ? "body_damaged" : "bodies_unreachable";
      throw new Fault(code, `Cannot read body "${sha256}" in "${folder}"`, { cause });
    }
  }

  return {
    async put(content) {
      if (Buffer.isBuffer(content) && content.length <= SAMPLE_BYTES)
        return orFault("store a body", putSmall(content));
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
      const file = await orFault(`find body "${sha256}"`, findFile(plain(sha256), sha256));
      return file && { bytes: file.bytes };
    },
    async get(sha256, range) {
      const file = await orFault(`find body "${sha256}"`, findFile(plain(sha256), sha256));
      if (!file) return null;
      const wanted_range = range ?? { first: 0, last: file.bytes - 1 };
      const pieces = piecesOf(file, wanted_range);
      return read(sha256, file, range ? pieces : verified(sha256, pieces));
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
    readMark: () => orFault("read the mark", readMark()),
    writeMark: (mark) => orFault("write the mark", files.writeFixed(MARK, JSON.stringify(mark))),
    isEmpty: () => orFault("look for bodies", isEmpty()),
    ping: () => orFault("find anything", files.ping()),
    close: async () => {},
  };
}
