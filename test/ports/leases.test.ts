import { setTimeout as sleep } from "node:timers/promises";
import { describe } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { natsLeases } from "../../cluster/adapters/leases/leases.nats.ts";
import type { Leases } from "../../cluster/ports/leases.ts";
import { engines } from "../harness/engines.ts";
import { leasesSuite } from "./leases.ts";

const { bus: nats } = await engines("bus");

const LEASES: Record<string, () => Promise<{ leases: Leases; pass: (ms: number) => Promise<void> }>> = {
  async memory() {
    const clock = virtualClock();
    return { leases: memoryLeases(clock), pass: (ms) => clock.advance(ms) };
  },
  ...(nats && {
    // The server keeps the time here, so it really passes.
    async NATS() {
      const leases = await natsLeases(`${nats["TRAWL_BUS"]}/suite-${Date.now()}`, { ttl_ms: 1_500 });
      return { leases, pass: (ms: number) => sleep(ms) };
    },
  }),
};

describe.each(Object.entries(LEASES))("leases in %s", (_, connect) => {
  leasesSuite(connect);
});
