/**
 * Documents in one SQLite file. Writes that arrive in the same tick share a transaction, and a sync of the log
 * (cluster/adapters/files/grouped-writes.sqlite.ts). Writes to rebuildable collections do not wait for the sync.
 *
 * Other processes may read and write the file at the same time (`trawl key`).
 */
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import {
  type DocumentPlace,
  endOfPrefix,
  type KeyRange,
  MAX_DOCUMENT_BYTES,
  type Documents,
  type Versioned,
} from "../../ports/documents.ts";
import { Fault } from "../../ports/fault.ts";
import type { Durability } from "../files/durable-files.ts";
import { sqliteWrites } from "../files/grouped-writes.sqlite.ts";
import { checksumOf, isSound, readVersioned } from "./checksum.ts";

/** More saves reads of the system's cache, at most 2 µs each (ops/decisions/0126-sqlite-page-cache.md and 0278). */
const CACHE_KIB = 4_096;
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS documents (
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    value TEXT NOT NULL,
    tag TEXT,
    expires_at_ms INTEGER,
    checksum INTEGER,
    PRIMARY KEY (collection, key)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS documents_by_tag ON documents (collection, tag, key) WHERE tag IS NOT NULL;
  CREATE INDEX IF NOT EXISTS documents_by_end ON documents (collection, expires_at_ms) WHERE expires_at_ms IS NOT NULL`;

export interface SqliteOptions {
  /** Default `power`. */
  readonly durability?: Durability;
  /** Collections that are only caches: `process` is enough for them. */
  readonly rebuildable?: readonly string[];
  /**
   * Looks through the whole file first when the last process that had it open was killed: its log is still there. 1 GB takes some
   * seconds. Throws an Error that names the damage. Default: no, for commands beside a service.
   */
  readonly checks_unclean_end?: boolean;
  /**
   * Adds the column of checksums to a file of an earlier version, whose processes cannot write it afterwards. Default: no, and such a
   * file has no checksums, for commands beside a service of that version.
   */
  readonly adds_checksums?: boolean;
}

/** Whether it has the column of checksums. */
function hasChecksums(database: DatabaseSync, adds: boolean): boolean {
  const columns = database.prepare("PRAGMA table_info(documents)").all();
  if (columns.some(({ name }) => name === "checksum")) return true;
  if (adds) database.exec("ALTER TABLE documents ADD COLUMN checksum INTEGER");
  return adds;
}

function assertSound(database: DatabaseSync, path: string): void {
  const [found] = database.prepare("PRAGMA quick_check(1)").all();
  const result = String(found?.["quick_check"]).replaceAll(/\s+/g, " ");
  if (result === "ok") return;
  database.close();
  throw new Error(
    `Cannot use the documents in "${path}": the file is damaged (${result}). Restore a backup (trawl restore), or recover what ` +
      "is left with sqlite3's .recover into a new file",
  );
}

type Row = Record<string, unknown> | undefined;

const versioned = (collection: string, key: string, row: Row): Versioned | null =>
  row
    ? readVersioned({ collection, key }, String(row["value"]), Number(row["version"]), row["checksum"])
    : null;

function conditionsOf({ tag, tags, tag_prefix, from, to, reverse }: KeyRange) {
  const conditions: [string, SQLInputValue | undefined][] = [
    ["tag = ?", tag],
    ["tag >= ?", tag_prefix],
    ["tag < ?", tag_prefix && endOfPrefix(tag_prefix)],
    ["key >= ?", from],
    ["key < ?", to],
  ];
  const set = conditions.filter(([, value]) => value !== undefined);
  const ofTags = tags ? [`tag IN (${tags.map(() => "?").join(", ")})`] : [];
  return {
    where: [...set.map(([text]) => text), ...ofTags].map((text) => ` AND ${text}`).join(""),
    given: [...set.map(([, value]) => value!), ...(tags ?? [])],
    order: tag_prefix === undefined ? `key ${reverse ? "DESC" : "ASC"}` : "tag, key",
  };
}

/** Limit of one call of `verify`. */
const MAX_VERIFIED_CHARS = 2 * 2 ** 20;

export function sqliteDocuments(
  path: string,
  {
    durability = "power",
    rebuildable = [],
    checks_unclean_end = false,
    adds_checksums = false,
  }: SqliteOptions = {},
): Documents {
  const isUnclean = checks_unclean_end && (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const { database, write, assertSynced, synced, close } = sqliteWrites(path, {
    durability,
    schema: SCHEMA,
    cache_kib: CACHE_KIB,
    unwritable: (count, cause) =>
      new Fault("documents_unreachable", `Cannot write ${count} documents to "${path}"`, { cause }),
    beforeCommit: assertThere,
  });
  const { ino: inode } = statSync(path);

  /** SQLite goes on writing to a file that was moved or removed: what it would acknowledge is lost. */
  function assertThere(): void {
    if (statSync(path).ino !== inode) throw new Error(`"${path}" was replaced by another file`);
  }

  if (isUnclean) assertSound(database, path);
  const prepared = new Map<string, StatementSync>();
  const sql = (text: string): StatementSync => {
    const existing = prepared.get(text);
    if (existing) return existing;
    const created = database.prepare(text);
    prepared.set(text, created);
    return created;
  };
  const isChecked = hasChecksums(database, adds_checksums);
  const checksum = isChecked ? "checksum" : "NULL AS checksum";
  const read = database.prepare(
    `SELECT version, value, ${checksum} FROM documents WHERE collection = ? AND key = ?`,
  );
  const create = database.prepare(
    `INSERT OR IGNORE INTO documents (value, tag, expires_at_ms, ${isChecked ? "checksum, " : ""}collection, key, version)
     VALUES (?, ?, ?, ${isChecked ? "?, " : ""}?, ?, 1)`,
  );
  const replace = database.prepare(
    `UPDATE documents SET value = ?, version = version + 1, tag = ?, expires_at_ms = ?${isChecked ? ", checksum = ?" : ""}
     WHERE collection = ? AND key = ? AND version = ?`,
  );

  /** `isOrdered`: the log keeps the order of writes, so the sync of a later one is its own. */
  const enqueue = (collection: string, run: () => number, isOrdered = false): Promise<number> =>
    write(run, !isOrdered && !rebuildable.includes(collection));

  function orFault<T>(what: string, run: () => T): T {
    try {
      return run();
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      throw new Fault("documents_unreachable", `Cannot ${what} in "${path}"`, { cause });
    }
  }

  return {
    get: async (collection, key) =>
      orFault(`read "${collection}/${key}"`, () => versioned(collection, key, read.get(collection, key))),
    async getMany(collection, keys) {
      assert(keys.length <= 1_000, "At most 1,000 documents are read at once");
      return orFault(`read ${keys.length} of "${collection}"`, () =>
        keys.map((key) => versioned(collection, key, read.get(collection, key))),
      );
    },
    async put(collection, key, value, version, options) {
      const text = JSON.stringify(value);
      assert(Buffer.byteLength(text) <= MAX_DOCUMENT_BYTES, `Document "${collection}/${key}" is too large`);
      const [tag, expires] = [options?.tag ?? null, options?.expires_at_ms ?? null];
      const row = [text, tag, expires, ...(isChecked ? [checksumOf(text)] : []), collection, key];
      const run = (): number =>
        Number((version === 0 ? create.run(...row) : replace.run(...row, version)).changes);
      const changed = await enqueue(collection, run, options?.ordered === true);
      return changed === 1;
    },
    async remove(collection, key, version) {
      const text = "DELETE FROM documents WHERE collection = ? AND key = ? AND version = ?";
      return (await enqueue(collection, () => Number(sql(text).run(collection, key, version).changes))) === 1;
    },
    async list(collection, range) {
      assert(range.limit >= 1 && range.limit <= 1_000, "Between 1 and 1,000 documents are listed at once");
      const { where, given, order } = conditionsOf(range);
      const text = `SELECT key, version, value, ${checksum} FROM documents WHERE collection = ?${where} ORDER BY ${order} LIMIT ?`;
      return orFault(`list "${collection}"`, () =>
        sql(text)
          .all(collection, ...given, range.limit)
          .map((row) => {
            const key = String(row["key"]);
            return { key, ...versioned(collection, key, row)! };
          }),
      );
    },
    removeRange(collection, from, to) {
      const text = "DELETE FROM documents WHERE collection = ? AND key >= ? AND key < ?";
      return enqueue(collection, () => Number(sql(text).run(collection, from, to).changes));
    },
    removeExpired(collection, before_ms, limit) {
      const text = `DELETE FROM documents WHERE rowid IN
         (SELECT rowid FROM documents WHERE collection = ? AND expires_at_ms < ? LIMIT ?)`;
      return enqueue(collection, () => Number(sql(text).run(collection, before_ms, limit).changes));
    },
    verify: async (after, limit) =>
      orFault("look through the documents", () => {
        const text = `SELECT collection, key, value, ${checksum} FROM documents WHERE (collection, key) > (?, ?)
          ORDER BY collection, key LIMIT ?`;
        const damaged: DocumentPlace[] = [];
        let last: DocumentPlace | null = null;
        let [looked, chars] = [0, 0];
        for (const row of sql(text).iterate(after?.collection ?? "", after?.key ?? "", limit)) {
          const json = String(row["value"]);
          last = { collection: String(row["collection"]), key: String(row["key"]) };
          if (!isSound(json, row["checksum"])) damaged.push(last);
          looked++;
          chars += json.length;
          if (chars > MAX_VERIFIED_CHARS) break;
        }
        return { looked, damaged, last };
      }),
    synced,
    isEmpty: async () =>
      orFault("look for documents", () => sql("SELECT 1 FROM documents LIMIT 1").get() === undefined),
    ping: async () =>
      orFault("ask", () => {
        assertSynced();
        assertThere();
        sql("SELECT 1").get();
      }),
    close,
  };
}
