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
import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  createReadStream,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { access, type FileHandle, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  sha256Of,
  TOUCH_AFTER_MS,
  type Blobs,
  type ByteRange,
  type StoredBlob,
  type StoreMark,
} from "../../ports/blobs.ts";
import { Fault } from "../../ports/fault.ts";
import { type Durability, folderSync, makeFolder, syncContent } from "../files/durable-files.ts";
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

/** A skippable frame (RFC 8878 §3.1.2) with the size of the body as eight bytes, little-endian. */
const FRAME_BYTES = 16;
const FRAME_MAGIC = 0x184d2a50;
/** Temporary files older than this are leftovers of a crash and are removed at start. */
const STALE_MS = 60 * 60_000;
/**
 * A file that was stored longer ago than this was written to the disk by the kernel. A younger one may come from a process
 * that ended between its rename and its sync, or that did not sync.
 */
const WRITTEN_BACK_MS = 60_000;
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

/** Whether two files hold the same bytes. */
async function areSame(written: FileHandle, bytes: number, path: string): Promise<boolean> {
  const handle = await nullIfMissing(open(path));
  if (!handle) return false;
  try {
    if ((await handle.stat()).size !== bytes) return false;
    if (bytes === 0) return true;
    const range = { first: 0, last: bytes - 1 };
    const stored = readPieces(handle, range);
    for await (const piece of readPieces(written, range)) {
      const { value, done } = await stored.next();
      if (done || !piece.equals(value)) return false;
    }
    return true;
  } finally {
    await handle.close();
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

export interface FileBlobsOptions {
  /** Default `power`. */
  readonly durability?: Durability;
}

/** One algorithm: a content-addressed store in files. */
export function fileBlobs(folder: string, { durability = "power" }: FileBlobsOptions = {}): Blobs {
  const unfinished = join(folder, "unfinished");
  makeFolder(unfinished, durability);
  for (const name of readdirSync(unfinished)) {
    const path = join(unfinished, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
    if (Date.now() - mtimeMs > STALE_MS) rmSync(path, { force: true });
  }
  const syncFolder = folderSync();
  /** Folders whose own names are synced. */
  const synced = new Set<string>();

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
    readonly inode: number;
  }

  /** A file that is torn so that its size shows it counts as none. */
  async function find(sha256: string): Promise<StoredFile | null> {
    const plain_stat = await nullIfMissing(stat(plain(sha256)));
    if (plain_stat && (plain_stat.size > 0 || sha256 === EMPTY_SHA256))
      return { path: plain(sha256), bytes: plain_stat.size, packed: false, inode: plain_stat.ino };
    const handle = await nullIfMissing(open(packed(sha256)));
    if (!handle) return null;
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(FRAME_BYTES), 0, FRAME_BYTES, 0);
      if (bytesRead < FRAME_BYTES || buffer.readUInt32LE(0) !== FRAME_MAGIC) return null;
      const { ino } = await handle.stat();
      return { path: packed(sha256), bytes: Number(buffer.readBigUInt64LE(8)), packed: true, inode: ino };
    } finally {
      await handle.close();
    }
  }

  /** Gives a file its name in the store, in place of a wrong file that has it. */
  async function nameFile(from: string, to: string): Promise<void> {
    try {
      await rename(from, to);
    } catch (problem) {
      if (!isMissing(problem)) throw problem;
      makeFolder(dirname(to), "process");
      await rename(from, to);
    }
    removeOther(to);
    if (durability === "power") await syncName(to);
  }

  /** Syncs the name of a file, and that of its folder when this process has not done so. */
  async function syncName(path: string): Promise<void> {
    const its = dirname(path);
    await syncFolder(its);
    if (synced.has(its)) return;
    await syncFolder(folder);
    synced.add(its);
  }

  /** The file that is there already holds the body: makes sure of what its first writer may have left out. */
  async function confirm(path: string, mtimeMs: number): Promise<void> {
    removeOther(path);
    if (durability === "process" || Date.now() - mtimeMs > WRITTEN_BACK_MS) return;
    const descriptor = openSync(path, "r");
    try {
      await syncContent(descriptor);
    } finally {
      closeSync(descriptor);
    }
    await syncName(path);
  }

  /** A body has one file. Another version may have compressed what this one does not, or the other way round. */
  function removeOther(path: string): void {
    const other = path.endsWith(".zst") ? path.slice(0, -".zst".length) : `${path}.zst`;
    if (statSync(other, { throwIfNoEntry: false })) rmSync(other, { force: true });
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
      await confirm(to, existing.mtimeMs);
      return body;
    }
    if (durability === "process") {
      writeSmall(stored, to);
      return body;
    }
    return storeFile(async (handle) => {
      await handle.writeFile(stored);
      return { to, body };
    });
  }

  /**
   * Synchronously: into the page cache takes 0.1 ms, through the thread pool 0.7 ms. Not where files are synced: then
   * every change of a name may wait for the journal of the file system.
   */
  function writeSmall(content: Buffer, to: string): void {
    const path = newPath();
    try {
      writeFileSync(path, content, { flag: "wx" });
      try {
        renameSync(path, to);
      } catch (problem) {
        if (!isMissing(problem)) throw problem;
        makeFolder(dirname(to), durability);
        renameSync(path, to);
      }
      removeOther(to);
    } catch (problem) {
      rmSync(path, { force: true });
      throw problem;
    }
  }

  /** Writes a temporary file and gives it its name; removes it when anything fails, or when the body is there already. */
  async function storeFile(
    write: (handle: FileHandle) => Promise<{ to: string; body: StoredBlob }>,
  ): Promise<StoredBlob> {
    const path = newPath();
    const handle = await open(path, "wx+");
    try {
      const { to, body } = await write(handle);
      const existing = statSync(to, { throwIfNoEntry: false });
      // Before it is compared, so that it is not removed meanwhile.
      if (existing) touch(to, existing.mtimeMs);
      if (existing && (await areSame(handle, (await handle.stat()).size, to))) {
        await handle.close();
        await rm(path, { force: true });
        await confirm(to, existing.mtimeMs);
        return body;
      }
      if (durability === "power") await handle.datasync();
      await handle.close();
      await nameFile(path, to);
      return body;
    } catch (problem) {
      await handle.close().catch(() => {});
      await rm(path, { force: true });
      throw problem;
    }
  }

  /** Removes a file whose content is wrong, so that the body counts as none, unless it has been replaced meanwhile. */
  function discard({ path, inode }: StoredFile): void {
    if (statSync(path, { throwIfNoEntry: false })?.ino === inode) rmSync(path, { force: true });
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

  async function writeMark(mark: StoreMark): Promise<void> {
    const path = newPath();
    const handle = await open(path, "wx");
    try {
      await handle.writeFile(JSON.stringify(mark));
      if (durability === "power") await handle.datasync();
    } finally {
      await handle.close();
    }
    await rename(path, join(folder, MARK));
    if (durability === "power") await syncFolder(folder);
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
    return storeFile(async (handle) => {
      if (compressed) await handle.writeFile(frame(0));
      for await (const piece of compressed ? compressStream(content()) : content())
        await handle.writeFile(piece);
      if (compressed) await handle.write(frame(bytes), 0, FRAME_BYTES, 0);
      const sha256 = digest.digest("hex");
      return { to: compressed ? packed(sha256) : plain(sha256), body: { sha256, bytes } };
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
      const file = await orFault(`find body "${sha256}"`, find(sha256));
      return file && { bytes: file.bytes };
    },
    async get(sha256, range) {
      const file = await orFault(`find body "${sha256}"`, find(sha256));
      if (!file) return null;
      const wanted_range = range ?? { first: 0, last: file.bytes - 1 };
      const pieces = !file.packed
        ? readUncompressed(file.path, wanted_range)
        : file.bytes <= SAMPLE_BYTES
          ? readSmall(file.path, file.bytes, wanted_range)
          : readCompressed(file.path, wanted_range);
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
    writeMark: (mark) => orFault("write the mark", writeMark(mark)),
    isEmpty: () => orFault("look for bodies", isEmpty()),
    ping: () => orFault("find anything", access(unfinished)),
    close: async () => {},
  };
}
