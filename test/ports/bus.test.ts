import { describe, expect, test } from "vitest";
import { memoryBus } from "../../cluster/adapters/bus/bus.memory.ts";
import { natsBus } from "../../cluster/adapters/bus/bus.nats.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { settled, virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import type { Bus, Envelope } from "../../cluster/ports/bus.ts";
import { engines } from "../harness/engines.ts";
import { busSuite } from "./bus.ts";

const { bus: nats } = await engines("bus");

const BUSES: Record<string, () => Promise<Bus>> = {
  memory: async () => memoryBus(systemClock()),
  ...(nats && { NATS: () => natsBus(`${nats["TRAWL_BUS"]}/suite-${Date.now()}`) }),
};

describe.each(Object.entries(BUSES))("the bus in %s", (_, connect) => {
  busSuite(connect);
});

describe("the bus in memory", () => {
  const envelope: Envelope = {
    stream: "work",
    partition: 1,
    name: "a",
    key: "b",
    body: "1",
    dedup_id: "once",
    reply_to: null,
    timeout_ms: null,
  };

  test("forgets a dedup_id after five minutes", async () => {
    const clock = virtualClock();
    const bus = memoryBus(clock);
    await bus.send(envelope);
    await clock.advance(299_999);
    expect(await bus.send(envelope)).toBe(false);
    await clock.advance(1);
    expect(await bus.send(envelope)).toBe(true);
  });

  test("drops an ask that no reader took for 170 s", async () => {
    const clock = virtualClock();
    const bus = memoryBus(clock);
    await bus.send({ ...envelope, stream: "sync" });
    await clock.advance(170_000);
    let read = 0;
    await bus.subscribe(
      1,
      1,
      () => void read++,
      () => {},
      () => true,
    );
    await settled();
    expect(read).toBe(0);
  });
});
