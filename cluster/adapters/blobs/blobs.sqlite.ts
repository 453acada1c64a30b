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
import { statSync } from "node:fs";
import { join } from "node:path";
import {
  sha256Of,
  TOUCH_AFTER_MS,
  type Blobs,
  type ByteRange,
  type ListedBlob,
  type StoredBlob,
} from "../../ports/blobs.ts";
import { Fault } from "../../ports/fault.ts";
import { sqliteWrites } from "../files/grouped-writes.sqlite.ts";
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
/** A row that this or an earlier process stored longer ago than this is on the disk. */
const WRITTEN_BACK_MS = 60_000;
const LISTED_AT_ONCE = 1_000;
/** For the digests: contents are read from the cache of the system (ops/decisions/0134-memory-under-load.md). */
const CACHE_KIB = 4_096;

/** Digests apart from contents, so that finding and listing blobs reads no contents. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS contents (id INTEGER PRIMARY KEY, content BLOB) STRICT;
  CREATE TABLE IF NOT EXISTS blobs (
    sha256 BLOB PRIMARY KEY,
    id INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    packed INTEGER NOT NULL,
    stored_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`;

interface Row {
  /** Of its content. */
  readonly id: number;
  readonly bytes: number;
  /** Whether the content is compressed. */
  readonly packed: boolean;
  readonly stored_ms: number;
}

/** One algorithm: a content-addressed store in rows, before one in files. */
export function sqliteBlobs(folder: string, options: FileBlobsOptions = {}): Blobs {
  const { durability = "power" } = options;
  const larger = fileBlobs(folder, options);
  const path = join(folder, "small.sqlite");
  const { database, write, assertSynced, close } = sqliteWrites(path, {
    durability,
    schema: SCHEMA,
    cache_kib: CACHE_KIB,
    unwritable: (count, cause) =>
      new Fault("bodies_unreachable", `Cannot write ${count} bodies to "${path}"`, { cause }),
    beforeCommit: assertThere,
  });
  const inode = statSync(path).ino;
  const find = database.prepare("SELECT id, bytes, packed, stored_ms FROM blobs WHERE sha256 = ?");
  const readContent = database.prepare("SELECT content FROM contents WHERE id = ?");
  const insertContent = database.prepare("INSERT INTO contents (content) VALUES (?)");
  const insert = database.prepare("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?, ?)");
  const touch = database.prepare("UPDATE blobs SET stored_ms = ? WHERE sha256 = ?");
  const removeContent = database.prepare("DELETE FROM contents WHERE id = ?");
  const removeRow = database.prepare("DELETE FROM blobs WHERE sha256 = ?");
  const listRows = database.prepare(
    `SELECT sha256, stored_ms FROM blobs WHERE sha256 >= ? ORDER BY sha256 LIMIT ${LISTED_AT_ONCE}`,
  );

  /** SQLite goes on writing to a file that was moved or removed: what it would store is lost. */
  function assertThere(): void {
    if (statSync(path).ino !== inode) throw new Error(`"${path}" was replaced by another file`);
  }

  function orFault<T>(what: string, run: () => T): T {
    try {
      assertThere();
      return run();
    } catch (cause) {
      throw new Fault("bodies_unreachable", `Cannot ${what} in "${path}"`, { cause });
    }
  }

  function rowOf(digest: Buffer): Row | null {
    const row = find.get(digest);
    if (!row) return null;
    const [id, bytes, stored_ms] = [Number(row["id"]), Number(row["bytes"]), Number(row["stored_ms"])];
    return { id, bytes, packed: row["packed"] === 1, stored_ms };
  }

  const contentOf = ({ id }: Row): Buffer => {
    const content = readContent.get(id)?.["content"] as Uint8Array | null | undefined;
    // SQLite has nothing for a content without bytes.
    return content ? Buffer.from(content.buffer, content.byteOffset, content.byteLength) : Buffer.alloc(0);
  };

  /** In a transaction. */
  function drop(digest: Buffer, { id }: Row): void {
    removeContent.run(id);
    removeRow.run(digest);
  }

  /** In a transaction. Returns 0 when nothing is left to be synced. */
  function store(digest: Buffer, bytes: number, stored: Buffer, packed: boolean): number {
    const now_ms = Date.now();
    const existing = rowOf(digest);
    if (
      existing &&
      existing.packed === packed &&
      existing.bytes === bytes &&
      contentOf(existing).equals(stored)
    ) {
      const age_ms = now_ms - existing.stored_ms;
      if (age_ms > TOUCH_AFTER_MS) touch.run(now_ms, digest);
      return age_ms > WRITTEN_BACK_MS && age_ms <= TOUCH_AFTER_MS ? 0 : 1;
    }
    if (existing) drop(digest, existing);
    const { lastInsertRowid } = insertContent.run(stored);
    insert.run(digest, lastInsertRowid, bytes, packed ? 1 : 0, now_ms);
    return 1;
  }

  /** Null: it does not fit into a row. */
  async function putWhole(content: Buffer): Promise<StoredBlob | null> {
    const packed = await compressWhole(content);
    const stored = packed ?? content;
    if (stored.length > MAX_ROW_BYTES) return null;
    const sha256 = sha256Of(content);
    const digest = Buffer.from(sha256, "hex");
    await write(() => store(digest, content.length, stored, packed !== null), true);
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

  async function* read(sha256: string, row: Row, { first, last }: ByteRange): AsyncGenerator<Buffer> {
    const stored = orFault(`read body "${sha256}"`, () => contentOf(row));
    const content = row.packed ? await decompressWhole(stored, row.bytes) : stored;
    if (content.length !== row.bytes) throw new WrongContent(`The content has ${content.length} bytes`);
    yield content.subarray(first, last + 1);
  }

  /** A wrong row is removed, so that the blob counts as none, unless it has been replaced meanwhile. */
  async function* discarding(
    sha256: string,
    row: Row,
    pieces: AsyncGenerator<Buffer>,
  ): AsyncGenerator<Buffer> {
    try {
      yield* pieces;
    } catch (cause) {
      if (!isContentProblem(cause)) throw cause;
      const digest = Buffer.from(sha256, "hex");
      await write(() => {
        if (rowOf(digest)?.id === row.id) drop(digest, row);
        return 0;
      }, false);
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
      const row = orFault(`find body "${sha256}"`, () => rowOf(Buffer.from(sha256, "hex")));
      return row ? { bytes: row.bytes } : larger.head(sha256);
    },
    async get(sha256, range) {
      const row = orFault(`find body "${sha256}"`, () => rowOf(Buffer.from(sha256, "hex")));
      if (!row) return larger.get(sha256, range);
      const pieces = read(sha256, row, range ?? { first: 0, last: row.bytes - 1 });
      return discarding(sha256, row, range ? pieces : verified(sha256, pieces));
    },
    async remove(sha256, stored_before_ms = Infinity) {
      const digest = Buffer.from(sha256, "hex");
      let isKept = false;
      const removed = await write(() => {
        const row = rowOf(digest);
        isKept = row !== null && row.stored_ms >= stored_before_ms;
        if (row === null || isKept) return 0;
        drop(digest, row);
        return 1;
      }, false);
      const isFileRemoved = await larger.remove(sha256, stored_before_ms);
      return !isKept && (removed === 1 || isFileRemoved);
    },
    async *list(digits) {
      const listed = new Set<string>();
      const first = Buffer.from(digits, "hex");
      for (let from = Buffer.concat([first, Buffer.alloc(31)]); ;) {
        const rows = orFault("list bodies", () => listRows.all(from)).map((row): ListedBlob => {
          const digest = row["sha256"] as Uint8Array;
          return { sha256: Buffer.from(digest).toString("hex"), stored_ms: Number(row["stored_ms"]) };
        });
        const ours = rows.filter(({ sha256 }) => sha256.startsWith(digits));
        for (const row of ours) {
          listed.add(row.sha256);
          yield row;
        }
        if (ours.length < LISTED_AT_ONCE) break;
        from = Buffer.from(`${ours.at(-1)!.sha256}00`, "hex");
      }
      for await (const blob of larger.list(digits)) if (!listed.has(blob.sha256)) yield blob;
    },
    readMark: () => larger.readMark(),
    writeMark: (mark) => larger.writeMark(mark),
    isEmpty: async () =>
      orFault("look for bodies", () => listRows.all(Buffer.alloc(0)).length === 0) && larger.isEmpty(),
    async ping() {
      orFault("find anything", assertSynced);
      await larger.ping();
    },
    async close() {
      await close();
      await larger.close();
    },
  };
}
