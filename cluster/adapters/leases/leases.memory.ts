/** Leases within one process, on a given clock: for tests and the simulator. */
import type { Clock } from "../../ports/clock.ts";
import { Fault } from "../../ports/fault.ts";
import {
  ASSIGNER,
  type ClaimTerms,
  CLOCK_READING_TTL_MS,
  type ClockReading,
  EPOCHS_OF_GENERATION,
  type Leases,
  presenceTtlMs,
  type StoredTable,
} from "../../ports/leases.ts";

interface StoredLease {
  readonly node: string;
  readonly epoch: number;
  revision: number;
  renewed_ms: number;
}

interface NamedLease {
  readonly holder: string;
  revision: number;
  text: string;
  renewed_ms: number;
}

export interface MemoryLeases extends Leases {
  /** Loses everything, as a server does whose disk was replaced. */
  readonly wipe: () => void;
  /** Loses the table of assignments alone, as a server does that lost one stream. */
  readonly loseTable: () => void;
  /** Remembers what is stored; what is returned goes back to it, as a server does that is restored from a copy of its disk. */
  readonly copy: () => () => void;
}

export function memoryLeases(clock: Clock, ttl_ms = 3_000, store_name = "store"): MemoryLeases {
  const leases = new Map<number, StoredLease>();
  const named = new Map<string, NamedLease>();
  const listeners = new Set<() => void>();
  let table: StoredTable | null = null;
  const members = new Map<string, number>();
  const clocks = new Map<string, ClockReading & { readonly stored_ms: number }>();
  const settings = new Map<string, string>();
  /** Counts the changes of all leases, like the revisions of a NATS bucket. */
  let revision = 0;
  let stores = 0;
  let created_ms = clock.mono();

  const storeId = (): string => `${store_name}-${stores}`;

  function current<K, L extends { readonly renewed_ms: number }>(of: Map<K, L>, key: K): L | null {
    const lease = of.get(key);
    if (lease && clock.mono() - lease.renewed_ms < ttl_ms) return lease;
    of.delete(key);
    return null;
  }
  function assertTerms(what: string, { store_id, revision: reached }: ClaimTerms): void {
    if (store_id !== storeId() || revision < reached)
      throw new Fault("bus_unreachable", `Cannot ${what}: the lease store is another one`);
  }

  return {
    ttl_ms,
    async hold(name, holder, terms) {
      assertTerms(`take the lease "${name}"`, terms);
      if (current(named, name)) return null;
      named.set(name, { holder, revision: ++revision, text: "", renewed_ms: clock.mono() });
      return revision;
    },
    async renewHeld(name, holder, text, known) {
      const lease = current(named, name);
      if (lease?.holder !== holder || lease.revision < known) return null;
      Object.assign(lease, { revision: ++revision, text, renewed_ms: clock.mono() });
      return revision;
    },
    async releaseHeld(name, known) {
      if (known === undefined || current(named, name)?.revision === known) named.delete(name);
    },
    heldNames: async () => new Set([...named.keys()].filter((name) => current(named, name))),
    textOf: async (name) => current(named, name)?.text ?? null,
    look: async () => ({
      table_revision: table?.revision ?? 0,
      assigner_revision: current(named, ASSIGNER)?.revision ?? 0,
    }),
    table: async () => table,
    async writeTable(next, known, terms) {
      assertTerms("write the table of assignments", terms);
      if ((table?.revision ?? 0) !== known) return null;
      table = { revision: ++revision, table: next };
      for (const call of listeners) call();
      return revision;
    },
    onTable(call) {
      listeners.add(call);
      return { [Symbol.dispose]: () => void listeners.delete(call) };
    },
    async survey() {
      const held = new Set([...leases.keys()].filter((partition) => current(leases, partition)));
      return { store_id: storeId(), age_ms: clock.mono() - created_ms, revision, held };
    },
    async create(partition, node, terms) {
      assertTerms(`claim partition ${partition}`, terms);
      if (current(leases, partition)) return null;
      const epoch = terms.generation * EPOCHS_OF_GENERATION + ++revision;
      leases.set(partition, { node, epoch, revision, renewed_ms: clock.mono() });
      return { epoch, revision };
    },
    async renew(partition, node, lease) {
      const owned = current(leases, partition);
      if (owned?.node !== node || owned.epoch !== lease.epoch) return { kind: "lost" };
      Object.assign(owned, { revision: ++revision, renewed_ms: clock.mono() });
      return { kind: "renewed", revision };
    },
    async release(partition, lease) {
      if (current(leases, partition)?.revision === lease.revision) leases.delete(partition);
    },
    announcePresence: async (node) => void members.set(node, clock.mono()),
    removePresence: async (node) => void members.delete(node),
    async members() {
      const since_ms = clock.mono() - presenceTtlMs(ttl_ms);
      for (const [node, seen_ms] of members) if (seen_ms <= since_ms) members.delete(node);
      return [...members.keys()];
    },
    async compareClocks(node, clock_ms) {
      const stored_ms = clock.mono();
      clocks.set(node, { node, id: ++revision, ahead_ms: clock_ms - clock.wall(), stored_ms });
      for (const [name, reading] of clocks)
        if (reading.stored_ms <= stored_ms - CLOCK_READING_TTL_MS) clocks.delete(name);
      return [...clocks.values()];
    },
    async agreeOn(name, value) {
      if (!settings.has(name)) settings.set(name, value);
      return settings.get(name)!;
    },
    overrule: async (name, value) => void settings.set(name, value),
    close: async () => {},
    copy() {
      const then = { table, revision };
      const restores = [restorable(leases), restorable(named)];
      return () => {
        ({ table, revision } = then);
        for (const restore of restores) restore();
      };
    },
    loseTable() {
      table = null;
    },
    wipe() {
      for (const map of [leases, named, members, settings]) map.clear();
      table = null;
      revision = 0;
      stores++;
      created_ms = clock.mono();
    },
  };
}

/** Remembers the leases as they are; what is returned puts them back. */
function restorable<K, L extends object>(leases: Map<K, L>): () => void {
  const copied = (from: Iterable<readonly [K, L]>): [K, L][] =>
    [...from].map(([key, lease]) => [key, { ...lease }]);
  const then = copied(leases);
  return () => {
    leases.clear();
    for (const [key, lease] of copied(then)) leases.set(key, lease);
  };
}
