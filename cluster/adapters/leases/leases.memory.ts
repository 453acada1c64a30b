/** Leases within one process: for tests and for the simulator, on the clock they are given. */
import type { Clock } from "../../ports/clock.ts";
import { type Leases, presenceOf } from "../../ports/leases.ts";

interface Held {
  readonly node: string;
  readonly epoch: number;
  revision: number;
  renewed_ms: number;
}

export function memoryLeases(clock: Clock, ttl_ms = 3_000): Leases {
  const leases = new Map<number, Held>();
  const members = new Map<string, number>();
  const settings = new Map<string, string>();
  /** One counter for everything, as the revisions of a bucket. */
  let revision = 0;

  function holder(partition: number): Held | null {
    const held = leases.get(partition);
    if (held && clock.mono() - held.renewed_ms < ttl_ms) return held;
    leases.delete(partition);
    return null;
  }

  return {
    ttl_ms,
    async create(partition, node) {
      if (holder(partition)) return null;
      const epoch = ++revision;
      leases.set(partition, { node, epoch, revision: epoch, renewed_ms: clock.mono() });
      return { epoch, revision: epoch };
    },
    async renew(partition, node, lease) {
      const held = holder(partition);
      if (!held || held.node !== node || held.epoch !== lease.epoch) return { kind: "lost" };
      held.revision = ++revision;
      held.renewed_ms = clock.mono();
      return { kind: "renewed", revision };
    },
    async release(partition, lease) {
      if (holder(partition)?.revision === lease.revision) leases.delete(partition);
    },
    present: async (node) => void members.set(node, clock.mono()),
    absent: async (node) => void members.delete(node),
    async members() {
      const since_ms = clock.mono() - presenceOf(ttl_ms);
      for (const [node, seen_ms] of members) if (seen_ms <= since_ms) members.delete(node);
      return [...members.keys()];
    },
    async agree(name, value) {
      if (!settings.has(name)) settings.set(name, value);
      return settings.get(name)!;
    },
    close: async () => {},
  };
}
