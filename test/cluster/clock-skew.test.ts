/** Clocks of nodes are compared; a node whose clock is wrong owns nothing until it is set. */
import { describe, expect, test } from "vitest";
import { memoryBus } from "../../cluster/adapters/bus/bus.memory.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { skewOf } from "../../cluster/clock-skew.ts";
import { distributed } from "../../cluster/distributed.ts";
import { MIN_PARTITIONS } from "../../cluster/placement.ts";
import { Counter, counterActor } from "../harness/counter.actor.ts";

function world() {
  const time = virtualClock(Date.UTC(2026, 0, 1));
  const [bus, leases, documents] = [memoryBus(time), memoryLeases(time), memoryDocuments()];
  let nodes = 0;
  async function join(ahead_ms = 0, owns = true) {
    const clock = time.node(ahead_ms);
    const telemetry = silentTelemetry();
    const node = await distributed(
      owns ? [counterActor()] : [],
      { clock, random: seededRandom(1), bus, leases, documents, ...telemetry },
      { name: `node-${nodes++}`, owns },
    );
    return { ...node, clock, telemetry };
  }
  return { time, join };
}

describe("the skew of a clock", () => {
  const skews = (ahead: readonly number[]) => {
    const all = new Map(ahead.map((ms, n) => [`n${n}`, ms]));
    return ahead.map((_, n) => skewOf(all, `n${n}`));
  };

  test.each([
    ["a node that is alone has none", [30_000], [null]],
    ["of two nodes the one that the store's clock contradicts has it", [0, 30_000], [0, 30_000]],
    ["the store's clock alone is outvoted", [30_000, 30_000], [0, 0]],
    ["one of three has it, whatever the store's clock says", [-500, -60_000, -500], [0, -59_500, 0]],
    [
      "where halves contradict each other the store's clock decides",
      [0, 0, 30_000, 30_000, 30_000],
      [0, 0, 30_000, 30_000, 30_000],
    ],
    ["a tie is the side of the store's clock", [0, 30_000, 30_000], [0, 30_000, 30_000]],
  ])("%s", (_, ahead, expected) => {
    expect(skews(ahead)).toEqual(expected);
  });
});

describe("a node whose clock", () => {
  test("agrees with the others serves, and says so", async () => {
    const { time, join } = world();
    const [first, second] = [await join(100), await join(-100)];
    await time.advance(10_000);
    expect([first, second].map(({ partitions }) => partitions().length)).not.toContain(0);
    expect(Math.abs(second.clockSkew.skew_ms()!)).toBeLessThanOrEqual(200);
    expect(second.telemetry.lines.filter(({ message }) => message.includes("clock"))).toEqual([]);
  });

  test("is off by 300 ms warns, and serves", async () => {
    const { time, join } = world();
    await Promise.all([join(), join()]);
    const late = await join(-300);
    await time.advance(10_000);
    expect(late.clockSkew.skew_ms()).toBe(-300);
    expect(late.partitions().length).toBeGreaterThan(0);
    expect(late.telemetry.counts.get("trawl_clock_skew_seconds")).toBe(-0.3);
    expect(late.telemetry.lines.filter(({ level }) => level === "warn")).toMatchObject([
      { level: "warn", message: "This node's clock is away from the cluster's", fields: { skew_ms: -300 } },
    ]);
  });

  test("is off by two seconds when it joins owns nothing, until the clock is set", async () => {
    const { time, join } = world();
    const [first, second] = [await join(), await join()];
    await time.advance(5_000);
    const wrong = await join(30_000);
    await time.advance(10_000);
    expect(wrong.clockSkew.isTooLarge()).toBe(true);
    expect(wrong.partitions()).toEqual([]);
    expect(first.partitions().length + second.partitions().length).toBe(MIN_PARTITIONS);
    // It still asks the others.
    expect(await wrong.ask(Counter, "a", "add", { by: 1 })).toEqual({ count: 1 });
    wrong.clock.step(-30_000);
    await time.advance(20_000);
    expect(wrong.clockSkew.isTooLarge()).toBe(false);
    expect(Math.abs(wrong.clockSkew.skew_ms()!)).toBeLessThan(100);
    expect(wrong.partitions().length).toBeGreaterThan(0);
  });

  test("runs away hands everything off before it is two and a half seconds wrong", async () => {
    const { time, join } = world();
    const nodes = [await join(), await join(), await join()];
    await time.advance(10_000);
    const [wrong] = nodes;
    wrong!.clock.step(-60_000);
    let worst_ms = 0;
    for (let step = 0; step < 600 && wrong!.partitions().length > 0; step++) {
      await time.advance(500);
      worst_ms = Math.max(worst_ms, time.now() - wrong!.clock.now());
    }
    expect(wrong!.partitions()).toEqual([]);
    expect(worst_ms).toBeLessThan(2_900);
    await time.advance(5_000);
    expect(nodes.slice(1).reduce((sum, { partitions }) => sum + partitions().length, 0)).toBe(MIN_PARTITIONS);
  });
});
