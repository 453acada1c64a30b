/**
 * The table of assignments in its NATS bucket: a head that is replaced by compare-and-set, and the base that it names, which is never changed. A
 * node that has the base reads the head alone.
 */
import { randomUUID } from "node:crypto";
import type { KV } from "@nats-io/kv";
import { Fault } from "../../ports/fault.ts";
import type { AssignmentTable, StoredTable } from "../../ports/leases.ts";
import type { NatsLink } from "../bus/connection.nats.ts";
import {
  changesFrom,
  decodeBase,
  decodeHead,
  emptyBase,
  encodeBase,
  encodeHead,
  tableOf,
  type TableBase,
} from "./table-text.ts";

const HEAD = "t";
/** Keys of bases begin with it. */
const BASE = "b.";
/** A base is removed once a later head names another one: a reader that finds none reads the head again. */
const MAX_READS = 5;

export interface TableStore {
  /** That of the head; 0: there is none. */
  readonly revision: () => Promise<number>;
  readonly read: () => Promise<StoredTable | null>;
  /** Null: the head of that revision has been replaced. */
  readonly write: (table: AssignmentTable, revision: number) => Promise<number | null>;
  readonly onWrite: (call: () => void) => Disposable;
}

interface WriteResult {
  readonly revision: number;
  readonly base: TableBase;
}

export function tableStore(
  { nc, jsm, name: cluster }: NatsLink,
  tables: KV,
  stream: string,
  unlessWrongRevision: <T>(call: Promise<T>) => Promise<T | null>,
): TableStore {
  const prefix = `$KV.${cluster}-table.`;
  /** The base of the head that was read or written last. */
  let known: WriteResult | null = null;
  let looked_seq = 0;
  /** A base without a head, which a writer left that was too late, is the last message of the stream. */
  let orphan = { seq: 0, revision: 0 };

  async function baseOf(key: string | null, partitions: number): Promise<TableBase | null> {
    if (key === null) return emptyBase(partitions);
    if (known?.base.key === key) return known.base;
    const stored = await tables.get(key);
    return stored && decodeBase(key, stored.string());
  }

  async function newBase(table: AssignmentTable): Promise<TableBase & { readonly seq: number }> {
    const key = BASE + randomUUID();
    const seq = await tables.create(key, encodeBase(table.assignments));
    return { key, assignments: table.assignments, seq };
  }

  async function writeHead(
    table: AssignmentTable,
    base: TableBase,
    changed: readonly number[],
    revision: number,
  ) {
    const text = encodeHead(table, base.key, changed);
    const written = await unlessWrongRevision(
      revision === 0 ? tables.create(HEAD, text) : tables.update(HEAD, text, revision),
    );
    if (written !== null) known = { revision: written, base };
    return written;
  }

  return {
    async revision() {
      const { state } = await jsm.streams.info(stream);
      looked_seq = state.last_seq;
      return looked_seq === orphan.seq ? orphan.revision : looked_seq;
    },

    async read() {
      for (let n = 0; n < MAX_READS; n++) {
        const stored = await tables.get(HEAD);
        if (!stored) return null;
        const head = decodeHead(stored.string());
        const base = await baseOf(head.base, head.partitions);
        if (!base) continue;
        const { revision } = stored;
        known = { revision, base };
        if (revision < looked_seq) orphan = { seq: looked_seq, revision };
        return { revision, table: tableOf(head, base) };
      }
      throw new Fault("bus_unreachable", "Cannot read the table of assignments: its base is missing");
    },

    async write(table, revision) {
      const base =
        revision === 0
          ? emptyBase(table.assignments.length)
          : known?.revision === revision
            ? known.base
            : null;
      const changed = base && changesFrom(base, table);
      if (base && changed) return writeHead(table, base, changed, revision);
      const next = await newBase(table);
      const written = await writeHead(table, next, [], revision);
      // Bases of earlier heads, and of writers that were too late.
      if (written !== null) await jsm.streams.purge(stream, { filter: `${prefix}${BASE}>`, seq: next.seq });
      return written;
    },

    onWrite(call) {
      // The message of a write, as the server gets it: the write may be refused, and it is only a hint to look.
      const subscription = nc.subscribe(prefix + HEAD, { callback: () => call() });
      return { [Symbol.dispose]: () => subscription.unsubscribe() };
    },
  };
}
