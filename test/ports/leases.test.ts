import { describe } from "vitest";
import { virtualClock } from "../../cluster/adapters/clock.virtual.ts";
import { memoryLeases } from "../../cluster/adapters/leases.memory.ts";
import type { Leases } from "../../cluster/ports/leases.ts";
import { leasesSuite } from "./leases.ts";

const LEASES: Record<string, () => Promise<{ leases: Leases; pass: (ms: number) => Promise<void> }>> = {
  async memory() {
    const clock = virtualClock();
    return { leases: memoryLeases(clock), pass: (ms) => clock.advance(ms) };
  },
};

describe.each(Object.entries(LEASES))("leases in %s", (_, connect) => {
  leasesSuite(connect);
});
