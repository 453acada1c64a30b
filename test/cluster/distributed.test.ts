/** Several nodes over one bus, one set of leases and one store, on one clock. */
import { describe, expect, test } from "vitest";
import type { WorkContext, ActorClient } from "../../cluster/actor.ts";
import { memoryBus } from "../../cluster/adapters/bus/bus.memory.ts";
import { settled, virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { distributed, type DistributedCluster } from "../../cluster/distributed.ts";
import { partitionOf, PARTITIONS } from "../../cluster/placement.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { Bus } from "../../cluster/ports/bus.ts";
import type { Leases } from "../../cluster/ports/leases.ts";
import { Counter, counterActor, type Trace } from "../harness/counter.actor.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

const START_MS = Date.UTC(2026, 0, 1);
type Work = (ask: ActorClient, context: WorkContext) => Promise<{ count: number }>;

function world() {
  const clock = virtualClock(START_MS);
  const bus = memoryBus(clock);
  const leases = memoryLeases(clock);
  const documents = memoryDocuments();
  const telemetry = silentTelemetry(),
    { metrics, log } = telemetry;
  let nodes = 0;
  async function join({ owns = true, work = undefined as Work | undefined, mine = leases } = {}) {
    const trace: Trace = { activations: 0, reminders: [], stumbles: 0 };
    /** What this node can reach; cut off, it reaches neither bus nor leases nor store. */
    const link = { cut: false };
    const through = <T extends object>(port: T): T =>
      new Proxy(port, {
        get(target, name) {
          const member = (target as Record<string | symbol, unknown>)[name];
          if (typeof member !== "function") return member;
          return (...args: unknown[]): unknown => {
            if (!link.cut) return (member as (...all: unknown[]) => unknown).apply(target, args);
            return Promise.reject(new Fault("bus_unreachable", "Cut off"));
          };
        },
      });
    const outside = { clock, random: seededRandom(1), metrics, log, documents: through(documents) };
    /** While `losing`, what the bus hands out does not arrive; `back`: the connection was away and is there again. */
    const line = { losing: false, back: (): void => {} };
    const lossy: Bus = {
      ...through(bus),
      subscribe: async (partition, epoch, take, ...rest) =>
        through(bus).subscribe(partition, epoch, (delivery) => line.losing || take(delivery), ...rest),
      onReconnect: (call) => (line.back = call),
    };
    const node = await distributed(
      owns ? [counterActor(work, trace)] : [],
      { ...outside, bus: lossy, leases: through<Leases>(mine) },
      { name: `node-${nodes++}`, owns },
    );
    return { ...node, trace, link, line };
  }
  return { clock, bus, documents, telemetry, join };
}

const partitionsOf = (...all: DistributedCluster[]) => all.flatMap((node) => [...node.partitions()]);
const readFar: Work = (ask) => ask(Counter, "far", "read", null);
const key = (n: number) => `k${n}`;
/** A key whose partition that node owns. */
const keyOn = (node: DistributedCluster, not = "") => {
  const own = new Set(node.partitions());
  const found = Array.from({ length: 2_000 }, (_, n) => key(n)).find(
    (name) => name !== not && own.has(partitionOf("counter", name)),
  );
  if (found === undefined) throw new Error("That node owns nothing");
  return found;
};

describe("nodes of one cluster", () => {
  test("share the partitions, each owned once, and share them again when one joins", async () => {
    const { clock, join } = world();
    const first = await join();
    await first.recovered;
    expect(partitionsOf(first)).toHaveLength(PARTITIONS);
    const second = await join();
    const third = await join();
    await clock.advance(20_000);
    expect(partitionsOf(first, second, third).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: PARTITIONS }, (_, n) => n),
    );
    for (const node of [first, second, third]) expect(node.partitions().length).toBeGreaterThan(8);
  });

  test("answer a gateway, which owns nothing, from wherever the key lives", async () => {
    const { clock, join } = world();
    const workers = [await join(), await join()];
    const gateway = await join({ owns: false });
    await clock.advance(10_000);
    expect(gateway.partitions()).toEqual([]);
    const counts = Array.from({ length: 40 }, (_, n) => gateway.ask(Counter, key(n), "add", { by: n }));
    await clock.advance(0);
    expect(await Promise.all(counts)).toEqual(Array.from({ length: 40 }, (_, n) => ({ count: n })));
    for (const { trace } of workers) expect(trace.activations).toBeGreaterThan(5);
  });

  test("ask and tell each other, on whatever node they are", async () => {
    const { clock, join } = world();
    const nodes = [
      await join({ work: readFar }),
      await join({ work: readFar }),
      await join({ work: readFar }),
    ];
    await clock.advance(10_000);
    await nodes[0]!.ask(Counter, "far", "note", { by: 5 });
    await clock.advance(0);
    for (let n = 0; n < 10; n++) {
      const answer = nodes[n % 3]!.ask(Counter, key(n), "work", null);
      await clock.advance(0);
      expect(await answer).toEqual({ count: 5 });
      void nodes[n % 3]!.ask(Counter, key(n), "pass", { to: "sum", by: n });
    }
    await clock.advance(0);
    const sum = nodes[0]!.ask(Counter, "sum", "read", null);
    await clock.advance(0);
    expect(await sum).toEqual({ count: 45 });
  });

  test("refuse one that would split partitions or time differently", async () => {
    const { clock, join } = world();
    await join();
    await clock.advance(1_000);
    const odd = {
      ...memoryLeases(clock),
      agreeOn: async (name: string) => (name === "partitions" ? "32" : name),
    };
    await expect(join({ mine: odd })).rejects.toThrow('its "partitions" is 32');
  });
});

async function cutOff(work?: Work) {
  const all = world();
  const [first, second] = [await all.join({ work: work! }), await all.join({ work: work! })];
  const gateway = await all.join({ owns: false });
  await all.clock.advance(10_000);
  return { ...all, first, second, gateway, here: keyOn(first) };
}

describe("a node that is cut off", () => {
  test("owns nothing from before its lease runs out, and the other one takes over", async () => {
    const contexts: WorkContext[] = [];
    const { clock, first, second, gateway, here } = await cutOff(async (_, context) => {
      contexts.push(context);
      return new Promise(() => {});
    });
    gateway.ask(Counter, here, "work", null).catch(() => {});
    await clock.advance(0);
    expect(contexts[0]!.ownsKey()).toBe(true);
    first.link.cut = true;
    await clock.advance(3_000);
    expect(contexts[0]!.ownsKey()).toBe(false);
    await clock.advance(3_000);
    expect(contexts[0]!.signal.aborted).toBe(true);
    expect(partitionsOf(first)).toEqual([]);
    expect(partitionsOf(second)).toHaveLength(PARTITIONS);
    // Redelivered: the ask is worked on where its key lives now.
    expect(contexts).toHaveLength(2);
    expect(contexts[1]!.ownsKey()).toBe(true);
  });

  test("never overlaps with its successor, whatever moment it is cut", async () => {
    for (let cut_ms = 0; cut_ms < 1_600; cut_ms += 200) {
      const contexts: WorkContext[] = [];
      const { clock, first, gateway, here } = await cutOff(async (_, context) => {
        contexts.push(context);
        return new Promise(() => {});
      });
      gateway.ask(Counter, here, "work", null).catch(() => {});
      await clock.advance(cut_ms);
      first.link.cut = true;
      for (let n = 0; n < 80; n++) {
        await clock.advance(100);
        expect(contexts.filter((context) => context.ownsKey()).length).toBeLessThanOrEqual(1);
      }
      expect(contexts).toHaveLength(2);
    }
  });

  test("leaves its asks to the next owner, which answers them", async () => {
    const { clock, first, gateway, here } = await cutOff();
    const deferred = gateway.ask(Counter, here, "wait", null);
    await clock.advance(0);
    first.link.cut = true;
    await clock.advance(6_000);
    void gateway.ask(Counter, here, "release", null);
    await clock.advance(0);
    expect(await deferred).toEqual({ count: 0 });
  });

  test("goes on from the snapshot, and what its late owner still stores is refused", async () => {
    const { clock, first, gateway, here, documents } = await cutOff();
    const before = gateway.ask(Counter, here, "add", { by: 5 });
    await clock.advance(0);
    await before;
    first.link.cut = true;
    await clock.advance(6_000);
    const after = gateway.ask(Counter, here, "add", { by: 1 });
    await clock.advance(0);
    expect(await after).toEqual({ count: 6 });
    expect(await documents.put("counter", here, { count: 99, reminder_ms: null }, 1)).toBe(false);
  });

  test("leaves its reminders to the next owner", async () => {
    const { clock, first, second, gateway, here } = await cutOff();
    void gateway.ask(Counter, here, "setReminder", { at_ms: clock.now() + 8_000 });
    await clock.advance(0);
    first.link.cut = true;
    await clock.advance(9_000);
    expect(first.trace.reminders).toEqual([]);
    expect(second.trace.reminders).toHaveLength(1);
  });

  test("comes back as one of them", async () => {
    const { clock, first, second } = await cutOff();
    const before = first.partitions().toSorted((a, b) => a - b);
    first.link.cut = true;
    await clock.advance(10_000);
    first.link.cut = false;
    await clock.advance(20_000);
    expect(first.partitions().toSorted((a, b) => a - b)).toEqual(before);
    expect(partitionsOf(first, second)).toHaveLength(PARTITIONS);
  });
});

describe("a node that stops", () => {
  test("hands everything off at once, without waiting for a lease to run out", async () => {
    const { clock, join } = world();
    const [first, second] = [await join(), await join()];
    await clock.advance(10_000);
    const stopped = first.stop();
    await clock.advance(1_000);
    await stopped;
    expect(partitionsOf(first)).toEqual([]);
    expect(partitionsOf(second)).toHaveLength(PARTITIONS);
  });

  test("lets work in flight end and answers; deferred asks are answered by the next owner", async () => {
    const { clock, join } = world();
    const done = Promise.withResolvers<{ count: number }>();
    const contexts: WorkContext[] = [];
    const work: Work = async (_, context) => (contexts.push(context), done.promise);
    const [first, second] = [await join({ work }), await join({ work })];
    const gateway = await join({ owns: false });
    await clock.advance(10_000);
    const here = keyOn(first);
    const working = gateway.ask(Counter, here, "work", null);
    const other = keyOn(first, here);
    const waiting = gateway.ask(Counter, other, "wait", null);
    await clock.advance(0);
    const stopped = first.stop();
    await clock.advance(1_000);
    expect(contexts[0]!.ownsKey()).toBe(false);
    expect(contexts[0]!.signal.aborted).toBe(false);
    done.resolve({ count: 3 });
    await clock.advance(1_000);
    expect(await working).toEqual({ count: 3 });
    await stopped;
    expect(second.partitions()).toHaveLength(PARTITIONS);
    void gateway.ask(Counter, other, "release", null);
    await clock.advance(0);
    expect(await waiting).toEqual({ count: 0 });
    expect(contexts).toHaveLength(1);
  });

  test("lets work in flight tell its neighbours how it ended", async () => {
    const { clock, join } = world();
    const gate = Promise.withResolvers<void>();
    const work: Work = async (ask) => {
      await gate.promise;
      await ask(Counter, "site neighbour", "note", { by: 5 });
      return { count: 1 };
    };
    const [first, second] = [await join({ work }), await join({ work })];
    const gateway = await join({ owns: false });
    await clock.advance(10_000);
    const owner = first.partitions().includes(partitionOf("counter", "site")) ? first : second;
    const working = gateway.ask(Counter, "site", "work", null);
    await clock.advance(0);
    const stopped = owner.stop();
    await clock.advance(100);
    gate.resolve();
    await clock.advance(1_000);
    expect(await working).toEqual({ count: 1 });
    await stopped;
    const note = gateway.ask(Counter, "site neighbour", "read", null);
    await clock.advance(0);
    expect(await note).toEqual({ count: 5 });
  });

  test("does not let callers wait for slow work: after ten seconds the next owner begins it again", async () => {
    const { clock, join } = world();
    const contexts: WorkContext[] = [];
    const work: Work = async (_, context) => {
      contexts.push(context);
      return contexts.length === 1 ? new Promise(() => {}) : { count: 2 };
    };
    const [first, second] = [await join({ work }), await join({ work })];
    const gateway = await join({ owns: false });
    await clock.advance(10_000);
    const here = keyOn(first);
    const slow = gateway.ask(Counter, here, "work", null);
    await clock.advance(0);
    const stopped = first.stop(160_000);
    await clock.advance(1_000);
    // Another key of the same partition, asked while it moves.
    const neighbour = gateway.ask(Counter, `${here} neighbour`, "add", { by: 1 });
    await clock.advance(11_000);
    expect(await neighbour).toEqual({ count: 1 });
    expect(await slow).toEqual({ count: 2 });
    expect(contexts[0]!.signal.aborted).toBe(true);
    await stopped;
    expect(second.partitions()).toHaveLength(PARTITIONS);
  });

  test("does not keep work waiting for a neighbour that is moving", async () => {
    const { clock, join } = world();
    let failure: unknown;
    const gate = Promise.withResolvers<void>();
    const work: Work = async (ask) => {
      await gate.promise;
      return ask(Counter, "site neighbour", "read", null).catch((problem: unknown) => {
        failure = problem;
        throw problem;
      });
    };
    const first = await join({ work });
    await clock.advance(1_000);
    first.ask(Counter, "site", "work", null, { timeout_ms: 100 }).catch(() => {});
    await clock.advance(200);
    const stopped = first.stop(60_000);
    await clock.advance(100);
    gate.resolve();
    await clock.advance(100);
    expect(failure).toMatchObject({ code: "lease_lost" });
    await stopped;
  });
});

describe("an answer that was lost", () => {
  test("is asked for again after ten seconds, and the ask is not worked on twice", async () => {
    const { clock, join } = world();
    const first = await join();
    const gateway = await join({ owns: false });
    await clock.advance(2_000);
    first.link.cut = true;
    const answer = gateway.ask(Counter, "a", "add", { by: 1 });
    await clock.advance(500);
    first.link.cut = false;
    await clock.advance(12_000);
    expect(await answer).toEqual({ count: 1 });
    const read = gateway.ask(Counter, "a", "read", null);
    await settled();
    expect(await read).toEqual({ count: 1 });
  });
});

describe("an envelope that was lost on its way from the bus", () => {
  async function lost() {
    const { clock, join } = world();
    const first = await join();
    const gateway = await join({ owns: false });
    await clock.advance(2_000);
    first.line.losing = true;
    await gateway.ask(Counter, "a", "note", { by: 1 });
    await settled();
    first.line.losing = false;
    const count = async (): Promise<number> => {
      const read = gateway.ask(Counter, "a", "read", null);
      await clock.advance(1);
      return (await read).count;
    };
    expect(await count()).toBe(0);
    return { clock, first, count };
  }

  test("is found within seconds of the connection's return", async () => {
    const { clock, first, count } = await lost();
    first.line.back();
    await clock.advance(10_000);
    expect(await count()).toBe(1);
  });

  test("is found within minutes anyway", async () => {
    const { clock, count } = await lost();
    await clock.advance(150_000);
    expect(await count()).toBe(1);
  });
});

test("an envelope with a message that only the actor sends itself is refused", async () => {
  const { clock, bus, telemetry, join } = world();
  const { trace } = await join();
  await clock.advance(2_000);
  await bus.send({
    stream: "work",
    partition: partitionOf("counter", "a"),
    name: "counter",
    key: "a",
    body: JSON.stringify({ key: "a", operation: "reminded", message: null }),
    dedup_id: null,
    reply_to: null,
    timeout_ms: null,
  });
  await clock.advance(1_000);
  expect(trace.reminders).toEqual([]);
  expect(telemetry.counts.get("trawl_actor_failures_total counter")).toBe(1);
});

test("an ask that timed out is handled when it is sent once more", async () => {
  const { clock, join } = world();
  const first = await join();
  const gateway = await join({ owns: false });
  await clock.advance(2_000);
  const same = { timeout_ms: 5_000, idempotency_id: "the same" };
  first.line.losing = true;
  const given_up = gateway.ask(Counter, "a", "add", { by: 1 }, same).catch(({ code }: Fault) => code);
  await clock.advance(6_000);
  expect(await given_up).toBe("no_answer");
  first.line.losing = false;
  const again = gateway.ask(Counter, "a", "add", { by: 1 }, same);
  await clock.advance(100);
  expect(await again).toEqual({ count: 1 });
});
