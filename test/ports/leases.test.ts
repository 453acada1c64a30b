import { setTimeout as sleep } from "node:timers/promises";
import { describe } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { natsLeases } from "../../cluster/adapters/leases/leases.nats.ts";
import { engines } from "../harness/engines.ts";
import { type ConnectedLeases, leasesSuite, loseTableOf } from "./leases.ts";

const { bus: nats } = await engines("bus");

const LEASES: Record<string, () => Promise<ConnectedLeases>> = {
  async memory() {
    const clock = virtualClock();
    const leases = memoryLeases(clock);
    const loseTable = async () => leases.loseTable();
    return { leases, another: async () => leases, pass: (ms) => clock.advance(ms), loseTable };
  },
  ...(nats && {
    // The server keeps the time here, so it really passes.
    async NATS() {
      const address = `${nats["TRAWL_BUS"]}/suite-${Date.now()}`;
      const another = () => natsLeases(address, { ttl_ms: 1_500 });
      const loseTable = () => loseTableOf(address);
      return { leases: await another(), another, pass: (ms: number) => sleep(ms), loseTable };
    },
  }),
};

describe.each(Object.entries(LEASES))("leases in %s", (_, connect) => {
  leasesSuite(connect);
});
