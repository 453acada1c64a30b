import { setTimeout as sleep } from "node:timers/promises";
import { describe } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { natsLeases } from "../../cluster/adapters/leases/leases.nats.ts";
import { engines } from "../harness/engines.ts";
import { type ConnectedLeases, leasesSuite } from "./leases.ts";

const { bus: nats } = await engines("bus");

const LEASES: Record<string, () => Promise<ConnectedLeases>> = {
  async memory() {
    const clock = virtualClock();
    const leases = memoryLeases(clock);
    return { leases, another: async () => leases, pass: (ms) => clock.advance(ms) };
  },
  ...(nats && {
    // The server keeps the time here, so it really passes.
    async NATS() {
      const address = `${nats["TRAWL_BUS"]}/suite-${Date.now()}`;
      const another = () => natsLeases(address, { ttl_ms: 1_500 });
      return { leases: await another(), another, pass: (ms: number) => sleep(ms) };
    },
  }),
};

describe.each(Object.entries(LEASES))("leases in %s", (_, connect) => {
  leasesSuite(connect);
});
