/**
 * Invariants that must hold after every event of a simulation, seen from outside the nodes: by the origins, whose time is the true one,
 * by the document store, and by the bus.
 */
import type { DistributedCluster } from "../../cluster/distributed.ts";
import { MIN_PARTITIONS, partitionOf, usesTable } from "../../cluster/placement.ts";
import type { Bus } from "../../cluster/ports/bus.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { ASSIGNER, type Leases } from "../../cluster/ports/leases.ts";
import { MAX_SLEW } from "../../cluster/adapters/time/steady-time.ts";

/** A request that an origin sees. */
export interface Start {
  readonly site: string;
  /** An origin of the site; its wishes hold for it alone. Default: the site has one. */
  readonly origin?: string;
  /** The Crawl-delay in robots.txt of the origin; the domain knew it when it granted the slot. Default: none. */
  readonly crawl_delay_ms?: number;
  readonly item: string;
  /** True time of the request, and of the grant that it was sent with. */
  readonly at_ms: number;
  readonly granted_ms: number;
}

/** A Retry-After of one origin that the owner of its site has acknowledged. */
export interface Pause {
  readonly from_ms: number;
  readonly known_ms: number;
  readonly until_ms: number;
}

/** So long before its lease lapses a node has stopped to write for its keys. */
const STOPPED_MS = 500;
/** Two readings of clocks of whole milliseconds. */
const ROUNDING_MS = 2;

/** Owners are looked at in so many calls at least once, although no node has heard what may have it own more. */
const LOOK_EVERY = 20;

export interface Checker {
  readonly onStart: (start: Start) => void;
  readonly onPause: (origin: string, pause: Pause) => void;
  /** The message with the Retry-After was lost with the data of the bus, whether it is known already or will be. */
  readonly onPauseLost: (origin: string, length_ms: number) => void;
  /** A node's way to the store and the bus, on which writes and readers are watched. */
  readonly watch: (
    node: string,
    ports: { bus: Bus; documents: Documents },
  ) => { bus: Bus; documents: Documents };
  /** A node's way to the leases, the bus and the store above all faults: what the node sends and hears, when it does. */
  readonly watchSending: (
    node: string,
    ports: { leases: Leases; bus: Bus; documents: Documents },
  ) => { leases: Leases; bus: Bus; documents: Documents };
  /**
   * Throws what does not hold at this moment. Owners are looked at when a node has heard what may have it own more (a lease, a renewal, a
   * reader), and in each LOOK_EVERYth call: each node is asked for each partition.
   */
  readonly check: (nodes: Iterable<readonly [string, DistributedCluster]>) => void;
}

/** `ttl_ms`: how long leases last in truth; null: nodes may believe in them for longer, and their writes are not watched. */
export function checker(
  delay_ms: number,
  shardBy: Readonly<Record<string, string>>,
  {
    clock,
    ttl_ms,
    partitions = MIN_PARTITIONS,
  }: { readonly clock: Pick<Clock, "mono">; readonly ttl_ms: number | null; readonly partitions?: number },
): Checker {
  /** By site, and by origin. */
  const latest = new Map<string, number>();
  /** By origin. */
  const pauses = new Map<string, Pause[]>();
  const lostPauses = new Set<string>();
  const nameOf = (origin: string, length_ms: number): string => `${origin} ${length_ms}`;
  const readerEpochs = new Map<number, number>();
  /** By node and partition: the epoch under which it reads. */
  const ownEpochs = new Map<string, number>();
  /** By collection and key. */
  const writers = new Map<string, { epoch: number; version: number; node: string }>();
  const owners: (string | undefined)[] = Array.from({ length: partitions });
  /** By node and partition, or by node where it has one lease: the lease, and when its last claim or renewal that was answered had been sent. */
  const leased = new Map<string, { readonly epoch: number; readonly sent_ms: number }>();
  const problems: string[] = [];
  let hasGained = true;
  let unseenCalls = 0;

  function onStart({ site, origin = `http://${site}`, crawl_delay_ms = 0, at_ms, granted_ms }: Start): void {
    for (const [of, apart_ms] of [
      [site, delay_ms],
      [origin, crawl_delay_ms],
    ] as const) {
      const before_ms = latest.get(of);
      const least_ms = apart_ms * (1 - MAX_SLEW.faster) - ROUNDING_MS;
      if (before_ms !== undefined && at_ms - before_ms < least_ms)
        problems.push(`${of} was hit after ${at_ms - before_ms} ms`);
      latest.set(of, at_ms);
    }
    for (const { from_ms, known_ms, until_ms } of pauses.get(origin) ?? []) {
      if (lostPauses.has(nameOf(origin, until_ms - from_ms))) continue;
      const open_ms = until_ms - (until_ms - from_ms) * MAX_SLEW.faster - ROUNDING_MS;
      if (granted_ms > known_ms && at_ms < open_ms)
        problems.push(`${origin} was hit ${Math.round(until_ms - at_ms)} ms before its Retry-After ended`);
    }
  }

  function onWritten(node: string, collection: string, key: string, version: number): void {
    const shard_by = shardBy[collection];
    if (shard_by === undefined) return;
    const epoch = ownEpochs.get(`${node} ${partitionOf(shard_by, key, partitions)}`) ?? 0;
    const name = `${collection}/${key}`;
    const last = writers.get(name);
    if (last && version <= last.version) problems.push(`${name} has two writers of version ${version}`);
    if (last && epoch < last.epoch)
      problems.push(`${node} wrote ${name} under epoch ${epoch} after ${last.node} under ${last.epoch}`);
    if (last && epoch === last.epoch && node !== last.node)
      problems.push(`${node} and ${last.node} wrote ${name} under epoch ${epoch}`);
    writers.set(name, { epoch, version, node });
  }

  function onSending(node: string, collection: string, key: string): void {
    const shard_by = shardBy[collection];
    if (shard_by === undefined || ttl_ms === null) return;
    const place = usesTable(partitions) ? node : `${node} ${partitionOf(shard_by, key, partitions)}`;
    const lease = leased.get(place);
    const age_ms = lease === undefined ? Infinity : clock.mono() - lease.sent_ms;
    if (age_ms > ttl_ms - STOPPED_MS)
      problems.push(`${node} writes ${collection}/${key} ${age_ms} ms after it was leased`);
  }

  /** The deadline of what is answered counts from when it was asked. */
  function watchLeases(node: string, leases: Leases): Leases {
    const placeOf = (partition: number): string => `${node} ${partition}`;
    return {
      ...leases,
      async hold(name, ...rest) {
        const sent_ms = clock.mono();
        const revision = await leases.hold(name, ...rest);
        hasGained = true;
        if (revision !== null && name !== ASSIGNER) leased.set(node, { epoch: 0, sent_ms });
        return revision;
      },
      async renewHeld(name, ...rest) {
        const sent_ms = clock.mono();
        const revision = await leases.renewHeld(name, ...rest);
        hasGained = true;
        const held = leased.get(node);
        if (revision !== null && name !== ASSIGNER && held && sent_ms > held.sent_ms)
          leased.set(node, { epoch: 0, sent_ms });
        return revision;
      },
      async create(partition, ...rest) {
        const sent_ms = clock.mono();
        const lease = await leases.create(partition, ...rest);
        hasGained = true;
        if (lease) leased.set(placeOf(partition), { epoch: lease.epoch, sent_ms });
        return lease;
      },
      async renew(partition, owner, lease) {
        const sent_ms = clock.mono();
        const renewal = await leases.renew(partition, owner, lease);
        hasGained = true;
        const held = leased.get(placeOf(partition));
        if (renewal.kind === "renewed" && held?.epoch === lease.epoch && sent_ms > held.sent_ms)
          leased.set(placeOf(partition), { epoch: lease.epoch, sent_ms });
        return renewal;
      },
      release(partition, lease) {
        if (leased.get(placeOf(partition))?.epoch === lease.epoch) leased.delete(placeOf(partition));
        return leases.release(partition, lease);
      },
    };
  }

  function lookAtOwners(nodes: Iterable<readonly [string, DistributedCluster]>): void {
    hasGained = false;
    unseenCalls = 0;
    owners.fill(undefined);
    for (const [name, node] of nodes)
      for (let partition = 0; partition < owners.length; partition++) {
        if (!node.ownsPartition(partition)) continue;
        const other = owners[partition];
        if (other !== undefined) problems.push(`Partition ${partition} has two owners: ${other} and ${name}`);
        owners[partition] = name;
      }
  }

  return {
    onStart,
    onPause(origin, pause) {
      pauses.set(origin, [...(pauses.get(origin) ?? []), pause]);
    },
    onPauseLost(origin, length_ms) {
      lostPauses.add(nameOf(origin, length_ms));
    },
    watch: (node, { bus, documents }) => ({
      bus: {
        ...bus,
        async subscribe(partition, epoch, ...rest) {
          const subscription = await bus.subscribe(partition, epoch, ...rest);
          if (epoch <= (readerEpochs.get(partition) ?? 0))
            problems.push(`Partition ${partition} is read under epoch ${epoch} after a larger one`);
          readerEpochs.set(partition, epoch);
          ownEpochs.set(`${node} ${partition}`, epoch);
          return subscription;
        },
      },
      documents: {
        ...documents,
        async put(collection, key, value, version, options) {
          const isStored = await documents.put(collection, key, value, version, options);
          if (isStored) onWritten(node, collection, key, version + 1);
          return isStored;
        },
      },
    }),
    watchSending: (node, { leases, bus, documents }) => ({
      leases: watchLeases(node, leases),
      bus: {
        ...bus,
        async subscribe(...args) {
          const subscription = await bus.subscribe(...args);
          hasGained = true;
          return subscription;
        },
      },
      documents: {
        ...documents,
        put(collection, key, ...rest) {
          onSending(node, collection, key);
          return documents.put(collection, key, ...rest);
        },
      },
    }),
    check(nodes) {
      if (hasGained || ++unseenCalls >= LOOK_EVERY) lookAtOwners(nodes);
      if (problems.length > 0) throw new Error(problems.slice(0, 3).join("; "));
    },
  };
}
