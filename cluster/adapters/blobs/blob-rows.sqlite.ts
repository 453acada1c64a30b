/**
 * The rows of `small.sqlite`: contents of small blobs under their digests, in one file that a single process writes. Which blobs are
 * rows, and what a reader is given of them: blobs.sqlite.ts.
 */
import { statSync } from "node:fs";
import { TOUCH_AFTER_MS, type ListedBlob } from "../../ports/blobs.ts";
import { Fault } from "../../ports/fault.ts";
import type { Durability } from "../files/durable-files.ts";
import { sqliteWrites } from "../files/grouped-writes.sqlite.ts";

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

export interface BlobRow {
  /** Id of its content. */
  readonly id: number;
  readonly bytes: number;
  /** Whether the content is compressed. */
  readonly packed: boolean;
  readonly stored_ms: number;
}

/** A content as it is stored. */
interface StoredContent {
  /** Bytes of the content itself. */
  readonly bytes: number;
  readonly stored: Buffer;
  /** Whether it is compressed. */
  readonly packed: boolean;
}

/** Methods throw the Fault bodies_unreachable. */
export interface BlobRows {
  readonly find: (sha256: string) => BlobRow | null;
  /** As it is stored. */
  readonly contentOf: (sha256: string, row: BlobRow) => Buffer;
  readonly put: (sha256: string, content: StoredContent) => Promise<void>;
  /** The row as it is at that moment is removed if `mayRemove`, which is not asked when there is none. Returns whether it was. */
  readonly remove: (sha256: string, mayRemove: (row: BlobRow) => boolean) => Promise<boolean>;
  /** In the order of digests, those that begin with `digits` (an even number). */
  readonly list: (digits: string) => Generator<ListedBlob>;
  readonly isEmpty: () => boolean;
  readonly ping: () => void;
  readonly close: () => Promise<void>;
}

export function blobRows(path: string, durability: Durability): BlobRows {
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

  function rowOf(digest: Buffer): BlobRow | null {
    const row = find.get(digest);
    if (!row) return null;
    const [id, bytes, stored_ms] = [Number(row["id"]), Number(row["bytes"]), Number(row["stored_ms"])];
    return { id, bytes, packed: row["packed"] === 1, stored_ms };
  }

  const contentOf = ({ id }: BlobRow): Buffer => {
    const content = readContent.get(id)?.["content"] as Uint8Array | null | undefined;
    // SQLite has nothing for a content without bytes.
    return content ? Buffer.from(content.buffer, content.byteOffset, content.byteLength) : Buffer.alloc(0);
  };

  /** In a transaction. */
  function drop(digest: Buffer, { id }: BlobRow): void {
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

  return {
    find: (sha256) => orFault(`find body "${sha256}"`, () => rowOf(Buffer.from(sha256, "hex"))),
    contentOf: (sha256, row) => orFault(`read body "${sha256}"`, () => contentOf(row)),
    async put(sha256, { bytes, stored, packed }) {
      await write(() => store(Buffer.from(sha256, "hex"), bytes, stored, packed), true);
    },
    async remove(sha256, mayRemove) {
      const digest = Buffer.from(sha256, "hex");
      const removed = await write(() => {
        const row = rowOf(digest);
        if (row === null || !mayRemove(row)) return 0;
        drop(digest, row);
        return 1;
      }, false);
      return removed === 1;
    },
    *list(digits) {
      for (let from = Buffer.concat([Buffer.from(digits, "hex"), Buffer.alloc(31)]); ;) {
        const rows = orFault("list bodies", () => listRows.all(from)).map((row): ListedBlob => {
          const digest = row["sha256"] as Uint8Array;
          return { sha256: Buffer.from(digest).toString("hex"), stored_ms: Number(row["stored_ms"]) };
        });
        const ours = rows.filter(({ sha256 }) => sha256.startsWith(digits));
        yield* ours;
        if (ours.length < LISTED_AT_ONCE) return;
        from = Buffer.from(`${ours.at(-1)!.sha256}00`, "hex");
      }
    },
    isEmpty: () => orFault("look for bodies", () => listRows.all(Buffer.alloc(0)).length === 0),
    ping: () => orFault("find anything", assertSynced),
    close,
  };
}
