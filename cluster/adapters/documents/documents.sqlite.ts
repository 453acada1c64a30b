/**
 * Documents in one SQLite file. Writes that arrive in the same tick share a transaction.
 *
 * WAL with `synchronous = NORMAL`: stored documents survive the end of the process, also kill -9. A power cut may lose
 * the last transactions, but never damages the file. Other processes may read and write it at the same time (`trawl
 * key`).
 */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { MAX_DOCUMENT_BYTES, type Documents, type Versioned } from "../../ports/documents.ts";
import { Fault } from "../../ports/fault.ts";

/** How long to wait for the lock of another process. The event loop is blocked meanwhile. */
const BUSY_MS = 2_000;

const SCHEMA = `
  PRAGMA busy_timeout = ${BUSY_MS};
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -65536;
  CREATE TABLE IF NOT EXISTS documents (
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    value TEXT NOT NULL,
    tag TEXT,
    expires_at_ms INTEGER,
    PRIMARY KEY (collection, key)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS documents_by_tag ON documents (collection, tag, key) WHERE tag IS NOT NULL;
  CREATE INDEX IF NOT EXISTS documents_by_end ON documents (collection, expires_at_ms) WHERE expires_at_ms IS NOT NULL`;

interface Write {
  readonly run: () => number;
  readonly resolve: (changed: number) => void;
  readonly reject: (fault: Fault) => void;
}

const versioned = (row: Record<string, unknown> | undefined): Versioned | null =>
  row ? { version: Number(row["version"]), value: JSON.parse(String(row["value"])) } : null;

export function sqliteDocuments(path: string): Documents {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  database.exec(SCHEMA);
  const prepared = new Map<string, StatementSync>();
  const sql = (text: string): StatementSync => {
    const existing = prepared.get(text);
    if (existing) return existing;
    const created = database.prepare(text);
    prepared.set(text, created);
    return created;
  };
  const read = database.prepare("SELECT version, value FROM documents WHERE collection = ? AND key = ?");
  const create = database.prepare("INSERT OR IGNORE INTO documents VALUES (?, ?, 1, ?, ?, ?)");
  const replace = database.prepare(
    `UPDATE documents SET value = ?, version = version + 1, tag = ?, expires_at_ms = ?
     WHERE collection = ? AND key = ? AND version = ?`,
  );

  let waiting: Write[] = [];

  function flush(): void {
    const writes = waiting;
    waiting = [];
    try {
      // A single statement is a transaction by itself.
      if (writes.length === 1) return writes[0]!.resolve(writes[0]!.run());
      database.exec("BEGIN IMMEDIATE");
      const changes = writes.map(({ run }) => run());
      database.exec("COMMIT");
      for (const [index, { resolve }] of writes.entries()) resolve(changes[index]!);
    } catch (cause) {
      if (database.isOpen && database.isTransaction) database.exec("ROLLBACK");
      const fault = new Fault(
        "documents_unreachable",
        `Cannot write ${writes.length} documents to "${path}"`,
        {
          cause,
        },
      );
      for (const { reject } of writes) reject(fault);
    }
  }

  function write(run: () => number): Promise<number> {
    return new Promise((resolve, reject) => {
      if (waiting.push({ run, resolve, reject }) === 1) setImmediate(flush);
    });
  }

  function orFault<T>(what: string, run: () => T): T {
    try {
      return run();
    } catch (cause) {
      throw new Fault("documents_unreachable", `Cannot ${what} in "${path}"`, { cause });
    }
  }

  return {
    get: async (collection, key) =>
      orFault(`read "${collection}/${key}"`, () => versioned(read.get(collection, key))),
    async getMany(collection, keys) {
      assert(keys.length <= 1_000, "At most 1,000 documents are read at once");
      return orFault(`read ${keys.length} of "${collection}"`, () =>
        keys.map((key) => versioned(read.get(collection, key))),
      );
    },
    async put(collection, key, value, version, options) {
      const text = JSON.stringify(value);
      assert(Buffer.byteLength(text) <= MAX_DOCUMENT_BYTES, `Document "${collection}/${key}" is too large`);
      const [tag, expires] = [options?.tag ?? null, options?.expires_at_ms ?? null];
      const changed = await write(() =>
        Number(
          (version === 0
            ? create.run(collection, key, text, tag, expires)
            : replace.run(text, tag, expires, collection, key, version)
          ).changes,
        ),
      );
      return changed === 1;
    },
    async remove(collection, key, version) {
      const text = "DELETE FROM documents WHERE collection = ? AND key = ? AND version = ?";
      return (await write(() => Number(sql(text).run(collection, key, version).changes))) === 1;
    },
    async list(collection, { tag, from, to, limit, reverse }) {
      assert(limit >= 1 && limit <= 1_000, "Between 1 and 1,000 documents are listed at once");
      const conditions: [string, SQLInputValue | undefined][] = [
        ["tag = ?", tag],
        ["key >= ?", from],
        ["key < ?", to],
      ];
      const given = conditions.filter(([, value]) => value !== undefined);
      const where = ["collection = ?", ...given.map(([text]) => text)].join(" AND ");
      const text = `SELECT key, version, value FROM documents WHERE ${where} ORDER BY key ${reverse ? "DESC" : "ASC"} LIMIT ?`;
      return orFault(`list "${collection}"`, () =>
        sql(text)
          .all(collection, ...given.map(([, value]) => value!), limit)
          .map((row) => ({ key: String(row["key"]), ...versioned(row)! })),
      );
    },
    removeRange(collection, from, to) {
      const text = "DELETE FROM documents WHERE collection = ? AND key >= ? AND key < ?";
      return write(() => Number(sql(text).run(collection, from, to).changes));
    },
    removeExpired(collection, before_ms, limit) {
      const text = `DELETE FROM documents WHERE rowid IN
         (SELECT rowid FROM documents WHERE collection = ? AND expires_at_ms < ? LIMIT ?)`;
      return write(() => Number(sql(text).run(collection, before_ms, limit).changes));
    },
    isEmpty: async () =>
      orFault("look for documents", () => sql("SELECT 1 FROM documents LIMIT 1").get() === undefined),
    ping: async () => orFault("ask", () => void sql("SELECT 1").get()),
    async close() {
      if (waiting.length > 0) flush();
      database.close();
    },
  };
}
