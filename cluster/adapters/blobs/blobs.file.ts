/**
 * Bodies as files named by their digest: `ab/abcd…` holds exactly these bytes, `abcd….zst` the same through zstd, where
 * the first piece showed that it helps (`zstdcat` reads it: the size stands in a frame that decoders skip).
 *
 * Written beside and renamed, so a body is there whole or not at all, also after kill -9. Nothing is flushed to the
 * disk by force: a power cut may take the bodies of the last half minute along, or leave them torn.
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
import { AGAIN_MS, type Bodies, type ByteRange, type StoredBody } from "../../ports/blobs.ts";
import { Fault } from "../../ports/fault.ts";
import {
  FIRST_BYTES,
  helps,
  packing,
  packSmall,
  readPieces,
  slices,
  type Source,
  sourceOf,
  unpack,
  unpacking,
} from "../documents/compression.ts";

/** A skippable frame (RFC 8878, 3.1.2) with the size of the body as eight bytes, little-endian. */
const FRAME_BYTES = 16;
const FRAME_MAGIC = 0x184d2a50;
/** What a crash left in the folder of unfinished bodies is removed at start once it is this old. */
const STALE_MS = 60 * 60_000;

function frame(bytes: number): Buffer {
  const written = Buffer.alloc(FRAME_BYTES);
  written.writeUInt32LE(FRAME_MAGIC, 0);
  written.writeUInt32LE(8, 4);
  written.writeBigUInt64LE(BigInt(bytes), 8);
  return written;
}

const missing = (problem: unknown): boolean => (problem as NodeJS.ErrnoException).code === "ENOENT";

async function orNull<T>(wanted: Promise<T>): Promise<T | null> {
  try {
    return await wanted;
  } catch (problem) {
    if (missing(problem)) return null;
    throw problem;
  }
}

/** Storing it again counts as storing it. */
function renew(path: string, mtimeMs: number): void {
  const now = new Date();
  if (now.getTime() - mtimeMs > AGAIN_MS) utimesSync(path, now, now);
}

async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (problem) {
    if (!missing(problem)) throw problem;
    await mkdir(dirname(to), { recursive: true });
    await rename(from, to);
  }
}

async function* readPlain(path: string, range: ByteRange): AsyncGenerator<Buffer> {
  const handle = await open(path);
  try {
    yield* readPieces(handle, range);
  } finally {
    await handle.close();
  }
}

const readPacked = (path: string, range: ByteRange): AsyncGenerator<Buffer> =>
  unpacking(createReadStream(path, { start: FRAME_BYTES, highWaterMark: FIRST_BYTES }), range);

async function* readSmall(path: string, bytes: number, { first, last }: ByteRange): AsyncGenerator<Buffer> {
  const whole = await unpack((await readFile(path)).subarray(FRAME_BYTES), bytes);
  yield whole.subarray(first, last + 1);
}

export function fileBodies(folder: string): Bodies {
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

  async function faultless<T>(what: string, wanted: Promise<T>): Promise<T> {
    try {
      return await wanted;
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      throw new Fault("bodies_unreachable", `Cannot ${what} in "${folder}"`, { cause });
    }
  }

  interface Found {
    readonly path: string;
    readonly bytes: number;
    readonly packed: boolean;
    readonly stored_ms: number;
  }

  async function find(sha256: string): Promise<Found | null> {
    const there = await orNull(stat(plain(sha256)));
    if (there) return { path: plain(sha256), bytes: there.size, packed: false, stored_ms: there.mtimeMs };
    const handle = await orNull(open(packed(sha256)));
    if (!handle) return null;
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(FRAME_BYTES), 0, FRAME_BYTES, 0);
      if (bytesRead < FRAME_BYTES || buffer.readUInt32LE(0) !== FRAME_MAGIC)
        throw new Fault("bodies_unreachable", `Cannot read "${packed(sha256)}": it is not whole`);
      const { mtimeMs } = await handle.stat();
      const bytes = Number(buffer.readBigUInt64LE(8));
      return { path: packed(sha256), bytes, packed: true, stored_ms: mtimeMs };
    } finally {
      await handle.close();
    }
  }

  /** Writes a new file and gives it its name; what goes wrong leaves nothing behind. */
  async function place(
    write: (handle: FileHandle) => Promise<{ to: string; body: StoredBody }>,
  ): Promise<StoredBody> {
    const path = newPath();
    const handle = await open(path, "wx");
    try {
      const { to, body } = await write(handle);
      await handle.close();
      const there = await find(body.sha256);
      if (there) {
        renew(there.path, there.stored_ms);
        await rm(path, { force: true });
      } else await move(path, to);
      return body;
    } catch (problem) {
      await handle.close().catch(() => {});
      await rm(path, { force: true });
      throw problem;
    }
  }

  /**
   * At most FIRST_BYTES, at once: these go to the page cache of the system in 0.1 ms, and by way of the thread pool in
   * 0.7. What a power cut left torn is written again.
   */
  function putSmall(content: Buffer): StoredBody {
    const sha256 = createHash("sha256").update(content).digest("hex");
    const small = packSmall(content, FRAME_BYTES);
    const pieces = small ? [frame(content.length), small] : [content];
    const to = small ? packed(sha256) : plain(sha256);
    const body = { sha256, bytes: content.length };
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
    const there = statSync(to, { throwIfNoEntry: false });
    if (there?.size === bytes) {
      renew(to, there.mtimeMs);
      return body;
    }
    const path = newPath();
    try {
      writeFileSync(path, Buffer.concat(pieces), { flag: "wx" });
      try {
        renameSync(path, to);
      } catch (problem) {
        if (!missing(problem)) throw problem;
        mkdirSync(dirname(to), { recursive: true });
        renameSync(path, to);
      }
    } catch (problem) {
      rmSync(path, { force: true });
      throw problem;
    }
    return body;
  }

  /** Looks and removes at one go, so that nobody in this process stores it in between. */
  function removeNow(sha256: string, stored_before_ms: number): boolean {
    let removed = false;
    for (const path of [plain(sha256), packed(sha256)]) {
      const there = statSync(path, { throwIfNoEntry: false });
      if (!there || there.mtimeMs >= stored_before_ms) continue;
      rmSync(path, { force: true });
      removed = true;
    }
    return removed;
  }

  async function putStream(first: Buffer, source: Source): Promise<StoredBody> {
    const digest = createHash("sha256");
    let bytes = 0;
    async function* content(): AsyncGenerator<Buffer> {
      for await (const piece of source.from(first)) {
        digest.update(piece);
        bytes += piece.length;
        yield piece;
      }
    }
    const helped = helps(first, FRAME_BYTES);
    return place(async (handle) => {
      if (helped) await handle.writeFile(frame(0));
      for await (const piece of helped ? packing(content()) : content()) await handle.writeFile(piece);
      if (helped) await handle.write(frame(bytes), 0, FRAME_BYTES, 0);
      const sha256 = digest.digest("hex");
      return { to: helped ? packed(sha256) : plain(sha256), body: { sha256, bytes } };
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
      if (Buffer.isBuffer(content) && content.length <= FIRST_BYTES)
        return faultless("store a body", (async () => putSmall(content))());
      const source = sourceOf(Buffer.isBuffer(content) ? slices(content) : content);
      try {
        const { first, ended } = await source.readFirst(FIRST_BYTES);
        return await (ended ? putSmall(first) : putStream(first, source));
      } catch (cause) {
        await source.leave();
        if (source.threw(cause) || cause instanceof Fault) throw cause;
        throw new Fault("bodies_unreachable", `Cannot store a body in "${folder}"`, { cause });
      }
    },
    async head(sha256) {
      const there = await faultless(`find body "${sha256}"`, find(sha256));
      return there && { bytes: there.bytes };
    },
    async get(sha256, range) {
      const there = await faultless(`find body "${sha256}"`, find(sha256));
      if (!there) return null;
      const wanted = range ?? { first: 0, last: there.bytes - 1 };
      if (!there.packed) return read(sha256, readPlain(there.path, wanted));
      return read(
        sha256,
        there.bytes <= FIRST_BYTES
          ? readSmall(there.path, there.bytes, wanted)
          : readPacked(there.path, wanted),
      );
    },
    remove: (sha256, stored_before_ms = Infinity) =>
      faultless(`remove body "${sha256}"`, (async () => removeNow(sha256, stored_before_ms))()),
    async *list(prefix) {
      const names = (await faultless("list bodies", orNull(readdir(join(folder, prefix))))) ?? [];
      for (const name of names) {
        const there = await faultless("list bodies", orNull(stat(join(folder, prefix, name))));
        if (there) yield { sha256: name.slice(0, 64), stored_ms: there.mtimeMs };
      }
    },
    ping: () => faultless("find anything", access(unfinished)),
    close: async () => {},
  };
}
