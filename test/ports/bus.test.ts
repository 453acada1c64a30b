import { describe, expect, test } from "vitest";
import { memoryBus } from "../../cluster/adapters/bus/bus.memory.ts";
import { natsBus } from "../../cluster/adapters/bus/bus.nats.ts";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { settled, virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import type { Bus, Letter } from "../../cluster/ports/bus.ts";
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
  const letter: Letter = {
    stream: "work",
    partition: 1,
    name: "a",
    key: "b",
    body: "1",
    once: "once",
    reply_to: null,
    deadline_ms: null,
  };

  test("forgets after five minutes that it had a letter", async () => {
    const clock = virtualClock();
    const bus = memoryBus(clock);
    await bus.send(letter);
    await clock.advance(299_999);
    expect(await bus.send(letter)).toBe(false);
    await clock.advance(1);
    expect(await bus.send(letter)).toBe(true);
  });

  test("forgets a question nobody read for 170 s", async () => {
    const clock = virtualClock();
    const bus = memoryBus(clock);
    await bus.send({ ...letter, stream: "sync" });
    await clock.advance(170_000);
    let read = 0;
    await bus.read(
      1,
      1,
      () => read++,
      () => {},
      () => true,
    );
    await settled();
    expect(read).toBe(0);
  });
});
