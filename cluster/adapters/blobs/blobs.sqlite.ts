/**
 * Small blobs as rows of one SQLite file, `small.sqlite` in the folder, for a single process; larger ones, and those that an
 * earlier version stored, are files of the same folder (`blobs.file.ts`). A file of its own costs a blob its name, two
 * syncs and several times the CPU of a row; rows that are stored at the same time share one transaction and one sync.
 *
 * A blob of at most MAX_WHOLE_BYTES is a row unless more than MAX_ROW_BYTES are left of it when it is compressed. So the
 * content alone decides where it is. Removed rows leave room for new ones; the file does not shrink.
 *
 * A power cut that tears the log takes the last rows away, whole. A row whose bytes are not those of its digest is removed
 * when it is read as a whole, and replaced when its content is stored again.
 */
import { join } from "node:path";
import { sha256Of, type Blobs, type ByteRange, type StoredBlob } from "../../ports/blobs.ts";
import { Fault } from "../../ports/fault.ts";
import { type BlobRow, blobRows } from "./blob-rows.sqlite.ts";
import { fileBlobs, type FileBlobsOptions } from "./blobs.file.ts";
import {
  compressWhole,
  type ContentSource,
  contentSource,
  decompressWhole,
  MAX_SYNC_BYTES,
} from "./compression.ts";
import { isContentProblem, verified, WrongContent } from "./verify.ts";

/** A stream of less is read into memory before it is stored. */
const MAX_WHOLE_BYTES = MAX_SYNC_BYTES;
/** A row that a read has in memory. Larger rows would fill the log, which is written to the disk twice. */
const MAX_ROW_BYTES = 128 * 1024;

export function sqliteBlobs(folder: string, options: FileBlobsOptions = {}): Blobs {
  const { durability = "power" } = options;
  const larger = fileBlobs(folder, options);
  const path = join(folder, "small.sqlite");
  const rows = blobRows(path, durability);

  /** Null: it does not fit into a row. */
  async function putWhole(content: Buffer): Promise<StoredBlob | null> {
    const packed = await compressWhole(content);
    const stored = packed ?? content;
    if (stored.length > MAX_ROW_BYTES) return null;
    const sha256 = sha256Of(content);
    await rows.put(sha256, { bytes: content.length, stored, packed: packed !== null });
    return { sha256, bytes: content.length };
  }

  async function putStream(source: ContentSource): Promise<StoredBlob> {
    try {
      const { first, ended } = await source.readFirst(MAX_WHOLE_BYTES + 1);
      const stored = ended ? await putWhole(first) : null;
      return stored ?? (await larger.put(ended ? first : source.from(first)));
    } catch (problem) {
      await source.release();
      throw problem;
    }
  }

  async function* read(sha256: string, row: BlobRow, { first, last }: ByteRange): AsyncGenerator<Buffer> {
    const stored = rows.contentOf(sha256, row);
    const content = row.packed ? await decompressWhole(stored, row.bytes) : stored;
    if (content.length !== row.bytes) throw new WrongContent(`The content has ${content.length} bytes`);
    yield content.subarray(first, last + 1);
  }

  /** A wrong row is removed, so that the blob counts as none, unless it has been replaced meanwhile. */
  async function* discarding(
    sha256: string,
    row: BlobRow,
    pieces: AsyncGenerator<Buffer>,
  ): AsyncGenerator<Buffer> {
    try {
      yield* pieces;
    } catch (cause) {
      if (!isContentProblem(cause)) throw cause;
      await rows.remove(sha256, ({ id }) => id === row.id);
      throw new Fault("body_damaged", `Cannot read body "${sha256}" in "${path}"`, { cause });
    }
  }

  return {
    async put(content) {
      if (!Buffer.isBuffer(content)) return putStream(contentSource(content));
      const stored = content.length <= MAX_WHOLE_BYTES ? await putWhole(content) : null;
      return stored ?? larger.put(content);
    },
    async head(sha256) {
      const row = rows.find(sha256);
      return row ? { bytes: row.bytes } : larger.head(sha256);
    },
    async get(sha256, range) {
      const row = rows.find(sha256);
      if (!row) return larger.get(sha256, range);
      const pieces = read(sha256, row, range ?? { first: 0, last: row.bytes - 1 });
      return discarding(sha256, row, range ? pieces : verified(sha256, pieces));
    },
    async remove(sha256, stored_before_ms = Infinity) {
      let isKept = false;
      const isRowRemoved = await rows.remove(sha256, ({ stored_ms }) => {
        isKept = stored_ms >= stored_before_ms;
        return !isKept;
      });
      const isFileRemoved = await larger.remove(sha256, stored_before_ms);
      return !isKept && (isRowRemoved || isFileRemoved);
    },
    async *list(digits) {
      const listed = new Set<string>();
      for (const row of rows.list(digits)) {
        listed.add(row.sha256);
        yield row;
      }
      for await (const blob of larger.list(digits)) if (!listed.has(blob.sha256)) yield blob;
    },
    readMark: () => larger.readMark(),
    writeMark: (mark) => larger.writeMark(mark),
    isEmpty: async () => rows.isEmpty() && larger.isEmpty(),
    async ping() {
      rows.ping();
      await larger.ping();
    },
    async close() {
      await rows.close();
      await larger.close();
    },
  };
}
