/** Leases within one process, on a given clock: for tests and the simulator. */
import type { Clock } from "../../ports/clock.ts";
import { type Leases, presenceTtlMs } from "../../ports/leases.ts";

interface StoredLease {
  readonly node: string;
  readonly epoch: number;
  revision: number;
  renewed_ms: number;
}

export function memoryLeases(clock: Clock, ttl_ms = 3_000): Leases {
  const leases = new Map<number, StoredLease>();
  const members = new Map<string, number>();
  const settings = new Map<string, string>();
  /** One counter for all leases, like the revisions of a NATS bucket. */
  let revision = 0;

  function currentLease(partition: number): StoredLease | null {
    const lease = leases.get(partition);
    if (lease && clock.mono() - lease.renewed_ms < ttl_ms) return lease;
    leases.delete(partition);
    return null;
  }

  return {
    ttl_ms,
    async create(partition, node) {
      if (currentLease(partition)) return null;
      const epoch = ++revision;
      leases.set(partition, { node, epoch, revision: epoch, renewed_ms: clock.mono() });
      return { epoch, revision: epoch };
    },
    async renew(partition, node, lease) {
      const current = currentLease(partition);
      if (!current || current.node !== node || current.epoch !== lease.epoch) return { kind: "lost" };
      current.revision = ++revision;
      current.renewed_ms = clock.mono();
      return { kind: "renewed", revision };
    },
    async release(partition, lease) {
      if (currentLease(partition)?.revision === lease.revision) leases.delete(partition);
    },
    announcePresence: async (node) => void members.set(node, clock.mono()),
    removePresence: async (node) => void members.delete(node),
    async members() {
      const since_ms = clock.mono() - presenceTtlMs(ttl_ms);
      for (const [node, seen_ms] of members) if (seen_ms <= since_ms) members.delete(node);
      return [...members.keys()];
    },
    async agreeOn(name, value) {
      if (!settings.has(name)) settings.set(name, value);
      return settings.get(name)!;
    },
    close: async () => {},
  };
}
