/** Several nodes over one bus, one set of leases and one store, on one clock. */
import { describe, expect, test } from "vitest";
import { Type } from "typebox";
import {
  type Actor,
  actor,
  DEFERRED,
  type ReplyTo,
  type WorkContext,
  type ActorClient,
} from "../../cluster/actor.ts";
import { memoryBus } from "../../cluster/adapters/bus/bus.memory.ts";
import { settled, virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { byteBudget } from "../../cluster/byte-budget.ts";
import { DEAD_LETTERS, listDeadLetters } from "../../cluster/dead-letters.ts";
import { changePartitions, isUsedElsewhere } from "../../cluster/generation.ts";
import { distributed, type DistributedCluster } from "../../cluster/distributed.ts";
import { MIN_PARTITIONS, partitionOf, usesTable } from "../../cluster/placement.ts";
import { type Clock, sleep } from "../../cluster/ports/clock.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { Bus, Delivery } from "../../cluster/ports/bus.ts";
import type { Leases } from "../../cluster/ports/leases.ts";
import { ask as askOperation, contract, Deadline, tell } from "../../cluster/contracts/contract.ts";
import { KEEP_UNREADABLE_MS, MAX_UNREADABLE } from "../../cluster/internal/transport/unreadable-envelopes.ts";
import { Counter, counterActor, type Trace } from "../harness/counter.actor.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

/** More than 64: nodes own partitions by a table, which distributed-table.test.ts proves. */
const COUNT = Number(process.env["PARTITIONS"] ?? MIN_PARTITIONS);
/** An adapter waits so long for an answer of the bus. */
const CALL_MS = 2_000;
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
  async function join({
    owns = true,
    work = undefined as Work | undefined,
    mine = leases as Leases,
    actors = undefined as readonly Actor[] | undefined,
    ahead_ms = 0,
    memory_bytes = null as number | null,
    newPartitions = COUNT,
  } = {}) {
    const trace: Trace = { activations: 0, reminders: [], stumbles: 0 };
    /**
     * Faults of this node's way to the ports; cut off, it reaches neither bus nor leases nor store. Deaf, what it sends to bus and leases
     * arrives, and nothing comes back. `keepsNothing`: it stores no dead letter.
     */
    const link = { cut: false, deaf: false, keepsNothing: false };
    const through = <T extends object>(port: T): T =>
      new Proxy(port, {
        get(target, name) {
          const member = (target as Record<string | symbol, unknown>)[name];
          if (typeof member !== "function") return member;
          return (...args: unknown[]): unknown => {
            if (link.cut) return Promise.reject(new Fault("bus_unreachable", "Cut off"));
            if (link.keepsNothing && (port as object) === documents && args[0] === DEAD_LETTERS.name)
              return Promise.reject(new Fault("documents_unreachable", "Cut off"));
            const result = (member as (...all: unknown[]) => unknown).apply(target, args);
            if (!link.deaf || (port as object) === documents) return result;
            return new Promise((_, reject) => {
              clock.at(clock.now() + CALL_MS, () => reject(new Fault("bus_unreachable", "No answer")));
            });
          };
        },
      });
    const nodeClock = clock.node(ahead_ms);
    const memory =
      memory_bytes === null ? null : byteBudget({ limit_bytes: memory_bytes, clock: nodeClock, metrics });
    const outside = {
      clock: nodeClock,
      random: seededRandom(1),
      metrics,
      log,
      documents: through(documents),
      ...(memory && { memory }),
      newPartitions,
    };
    /**
     * While `losing`, what the bus hands out does not arrive; `back`: the connection was away and is there again. While
     * `unsteady`, every other question for the oldest envelope fails. `refusals`: so many acknowledgements fail.
     * `opens_late_ms`: so long after it has begun to deliver, the bus says that it does.
     */
    const line = {
      losing: false,
      unsteady: false,
      questions: 0,
      refusals: 0,
      opens_late_ms: 0,
      back: (): void => {},
    };
    const lossy: Bus = {
      ...through(bus),
      async subscribe(partition, epoch, take, onLost, ...rest) {
        const onDelivery = (delivery: Delivery) => {
          const acknowledge = async () => {
            if (line.refusals-- > 0) throw new Fault("bus_unreachable", "Refused on purpose");
            return delivery.acknowledge();
          };
          return line.losing || link.deaf ? undefined : take({ ...delivery, acknowledge });
        };
        const onTaken = () => (link.cut || link.deaf ? undefined : onLost());
        const subscription = await through(bus).subscribe(partition, epoch, onDelivery, onTaken, ...rest);
        if (line.opens_late_ms > 0) await sleep(clock, line.opens_late_ms);
        return {
          ...subscription,
          async oldestUnacknowledged() {
            const oldest = await subscription.oldestUnacknowledged();
            if (line.unsteady && oldest.length > 0 && line.questions++ % 2 === 1)
              throw new Fault("bus_unreachable", "Lost on its way");
            return oldest;
          },
        };
      },
      inbox: (receive) =>
        bus.inbox((token, body) => (line.losing || link.deaf ? undefined : receive(token, body))),
      onReconnect: (call) => (line.back = call),
    };
    const node = await distributed(
      owns ? (actors ?? [counterActor(work, trace)]) : [],
      { ...outside, bus: lossy, leases: through<Leases>(mine) },
      { name: `node-${nodes++}`, owns },
    );
    return { ...node, trace, link, line, reserved: () => memory!.figures().reserved_bytes };
  }
  return { clock, bus, leases, documents, telemetry, join };
}

/** How the promise ends, as a value. */
const ending = (answer: Promise<unknown>): Promise<unknown> =>
  answer.catch((problem: unknown) => (problem instanceof Fault ? problem.code : problem));

const partitionsOf = (...all: DistributedCluster[]) => all.flatMap((node) => [...node.partitions()]);
const readFar: Work = (ask) => ask(Counter, "far", "read", null);
const key = (n: number) => `k${n}`;
/** A key whose partition that node owns. */
const keyOn = (node: DistributedCluster, not = "") => {
  const own = new Set(node.partitions());
  const found = Array.from({ length: 2_000 }, (_, n) => key(n)).find(
    (name) => name !== not && own.has(partitionOf("counter", name, COUNT)),
  );
  if (found === undefined) throw new Error("That node owns nothing");
  return found;
};

describe("nodes of one cluster", () => {
  test("share the partitions, each owned once, and share them again when one joins", async () => {
    const { clock, join } = world();
    const first = await join();
    await first.recovered;
    expect(partitionsOf(first)).toHaveLength(COUNT);
    const second = await join();
    const third = await join();
    await clock.advance(20_000);
    expect(partitionsOf(first, second, third).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: COUNT }, (_, n) => n),
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

  test("ask and tell each other across nodes", async () => {
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
    const { clock } = world();
    const odd = (differs: string, there: string) => ({
      ...memoryLeases(clock),
      agreeOn: async (name: string, value: string) => (name === differs ? there : value),
    });
    for (const [name, there] of [
      ["partitions", "32"],
      ["lease_ttl_ms", "5000"],
    ] as const)
      await expect(world().join({ mine: odd(name, there) })).rejects.toThrow(`its "${name}" is ${there}`);
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
    expect(partitionsOf(second)).toHaveLength(COUNT);
    // Redelivered: the ask is worked on where its key lives now.
    expect(contexts).toHaveLength(2);
    expect(contexts[1]!.ownsKey()).toBe(true);
  });

  test("has stopped for half a second when its lease lapses", async () => {
    const { clock, leases, join } = world();
    const first = await join();
    await clock.advance(2_000);
    const partition = partitionOf("counter", "k", COUNT);
    first.link.cut = true;
    while (first.ownsPartition(partition)) await clock.advance(50);
    const stopped_ms = clock.mono();
    const isLeased = async () =>
      usesTable(COUNT)
        ? (await leases.textOf("node-0/1.0")) !== null
        : (await leases.survey()).held.has(partition);
    while (await isLeased()) await clock.advance(50);
    expect(clock.mono() - stopped_ms).toBeGreaterThanOrEqual(500);
  });

  test("says so in one line of the log, with the first of its partitions", async () => {
    const { clock, first, telemetry } = await cutOff();
    const owned = first.partitions().length;
    expect(owned).toBeGreaterThan(8);
    first.link.cut = true;
    await clock.advance(10_000);
    const lines = telemetry.lines.filter(({ message }) => message === "Partitions were lost");
    expect(lines).toMatchObject([{ level: "warn", fields: { lost: owned, why: expect.any(String) } }]);
    expect((lines[0]!.fields as { partitions: readonly number[] }).partitions).toHaveLength(5);
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

  test("continues from the snapshot, and a late write of its former owner is refused", async () => {
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
    expect(partitionsOf(first, second)).toHaveLength(COUNT);
  });
});

describe("a node that gets no answers, while what it sends arrives", () => {
  test("is no member any more: the others own its keys as soon as those of a node that is cut off", async () => {
    for (let from_ms = 0; from_ms < 1_600; from_ms += 200) {
      const { clock, first, second, gateway, here } = await cutOff();
      await clock.advance(from_ms);
      first.link.deaf = true;
      const answer = ending(gateway.ask(Counter, here, "add", { by: 1 }));
      await clock.advance(7_000);
      expect(await answer).toEqual({ count: 1 });
      expect(partitionsOf(first)).toEqual([]);
      expect(partitionsOf(second)).toHaveLength(COUNT);
      // It does not come and go while that lasts.
      for (let n = 0; n < 200; n++) {
        await clock.advance(100);
        expect(partitionsOf(second)).toHaveLength(COUNT);
      }
      first.link.deaf = false;
      await clock.advance(10_000);
      expect(partitionsOf(first).length).toBeGreaterThan(8);
    }
  });
});

describe("background work that is told that another node may own its key", () => {
  const lost = new Fault("lease_lost", "Another node may hold it");

  test("is begun again for callers on other nodes and on its own, while they wait", async () => {
    let refusals = 0;
    const { clock, join, telemetry } = world();
    const work: Work = async () => {
      if (refusals++ < 4) throw lost;
      return { count: 5 };
    };
    const worker = await join({ work });
    const gateway = await join({ owns: false });
    await clock.advance(5_000);
    for (const from of [gateway, worker]) {
      refusals = 0;
      const answer = ending(from.ask(Counter, "a", "work", null));
      await clock.advance(6_000);
      expect(await answer).toEqual({ count: 5 });
      expect(refusals).toBe(5);
    }
    expect(telemetry.counts.get("trawl_actor_asks_repeated_total")).toBeUndefined();
  });

  test("ends with that fault when the caller's time does not suffice for another owner", async () => {
    let runs = 0;
    const { clock, join } = world();
    const worker = await join({ work: () => (runs++, Promise.reject(lost)) });
    const gateway = await join({ owns: false });
    await clock.advance(5_000);
    for (const from of [gateway, worker]) {
      runs = 0;
      const answer = ending(from.ask(Counter, "a", "work", null, { timeout_ms: 5_000 }));
      await clock.advance(5_000);
      expect(await answer).toBe("lease_lost");
      // At once, and after 250, 500, 1,000 and 2,000 ms.
      expect(runs).toBeLessThanOrEqual(6);
    }
  });

  test("is begun again for the work of another actor, too", async () => {
    let runs = 0;
    const { clock, join } = world();
    const node = await join({
      work(ask) {
        if (runs++ === 0) return ask(Counter, "far", "work", null);
        return runs < 5 ? Promise.reject(lost) : Promise.resolve({ count: 9 });
      },
    });
    await clock.advance(5_000);
    const answer = ending(node.ask(Counter, "near", "work", null));
    await clock.advance(10_000);
    expect(await answer).toEqual({ count: 9 });
  });

  test("that was refused by a full mailbox tells its caller that", async () => {
    const { clock, join } = world();
    const worker = await join({ work: () => Promise.reject(new Fault("mailbox_full", "500 wait there")) });
    const gateway = await join({ owns: false });
    await clock.advance(5_000);
    for (const from of [gateway, worker]) {
      const answer = ending(from.ask(Counter, "a", "work", null));
      await clock.advance(100);
      expect(await answer).toBe("mailbox_full");
    }
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
    expect(partitionsOf(second)).toHaveLength(COUNT);
  });

  test("is seen in the log, and so is what the other nodes take over", async () => {
    const { clock, join, telemetry } = world();
    const [first, second] = [await join(), await join()];
    await clock.advance(10_000);
    const [own, others] = [first.partitions(), second.partitions()];
    const before = telemetry.lines.length;
    const stopped = first.stop();
    await clock.advance(1_000);
    await stopped;
    const lines = telemetry.lines.slice(before);
    expect(lines.filter(({ message }) => message === "Partitions were released")).toMatchObject([
      { level: "info", fields: { released: [...own].length, left: 0 } },
    ]);
    const taken = lines.filter(({ message }) => message === "Partitions were taken over");
    expect(taken.flatMap(({ fields }) => fields!["partitions"])).toEqual(expect.arrayContaining([...own]));
    expect(taken.at(-1)!.fields).toMatchObject({ owned: [...own, ...others].length });
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
    expect(second.partitions()).toHaveLength(COUNT);
    void gateway.ask(Counter, other, "release", null);
    await clock.advance(0);
    expect(await waiting).toEqual({ count: 0 });
    expect(contexts).toHaveLength(1);
  });

  test("begins no work for a turn that is stored while it stops: the next owner does", async () => {
    const Starter = contract(
      "starter",
      { start: askOperation(Type.Null(), Type.Null()) },
      { ended: tell(Type.Null()) },
    );
    const begunOn: string[] = [];
    const starter = (node: string) =>
      actor(Starter)<{ turns: number; readonly to: Set<ReplyTo<null>> }, number>({
        persist: ({ turns }) => turns,
        activate: (turns) => ({ turns: turns ?? 0, to: new Set() }),
        passivate_after_ms: 60_000,
        on: {
          start(turn) {
            turn.state.turns++;
            turn.state.to.add(turn.deferReply());
            turn.pipeToSelf("ended", async () => (begunOn.push(node), null));
            return DEFERRED;
          },
          ended(turn) {
            for (const to of turn.state.to) turn.answer(to, null);
          },
        },
      });
    const { clock, documents, join } = world();
    const first = await join({ actors: [starter("first")] });
    await clock.advance(2_000);
    const gateway = await join({ owns: false });
    const [gate, put] = [Promise.withResolvers<void>(), documents.put.bind(documents)];
    documents.put = async (...write) => (write[0] === "starter" && (await gate.promise), put(...write));
    const started = gateway.ask(Starter, "k", "start", null);
    await clock.advance(0);
    await join({ actors: [starter("second")] });
    const stopped = first.stop();
    await clock.advance(100);
    gate.resolve();
    await clock.advance(5_000);
    await stopped;
    expect(await started).toBeNull();
    expect(begunOn).toEqual(["second"]);
  });

  test("stores what it was to store later, and what its callers leave while it stops", async () => {
    const { clock, join } = world();
    const [first] = [await join(), await join()];
    const gateway = await join({ owns: false });
    await clock.advance(10_000);
    const here = keyOn(first);
    await gateway.ask(Counter, here, "add", { by: 5 });
    await gateway.ask(Counter, here, "add", { by: -2 });
    const stopped = first.stop();
    const late = gateway.ask(Counter, here, "add", { by: -1 });
    await clock.advance(1_000);
    await stopped;
    expect(await late).toEqual({ count: 2 });
    expect(await gateway.ask(Counter, here, "read", null)).toEqual({ count: 2 });
  });

  test("lets work in flight send its result to its own partition", async () => {
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
    const owner = first.partitions().includes(partitionOf("counter", "site", COUNT)) ? first : second;
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
    expect(second.partitions()).toHaveLength(COUNT);
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

describe("an answer that was lost after its ask was acknowledged", () => {
  test("is given again, once the ask is repeated", async () => {
    const { clock, bus, join } = world();
    await join();
    const gateway = await join({ owns: false });
    await clock.advance(2_000);
    gateway.line.losing = true;
    const answers: unknown[] = [];
    void gateway.ask(Counter, "a", "add", { by: 1 }).then((answer) => answers.push(answer));
    await clock.advance(1_000);
    expect(bus.unacknowledged()).toEqual([]);
    gateway.line.losing = false;
    await clock.advance(11_000);
    expect(answers).toEqual([{ count: 1 }]);
  });
});

test("an envelope that comes before its reader is open waits for that", async () => {
  const { clock, join } = world();
  const owned: boolean[] = [];
  const first = await join();
  const gateway = await join({ owns: false });
  await clock.advance(2_000);
  const second = await join({
    async work() {
      owned.push(second.ownsPartition(partitionOf("counter", "k", COUNT)));
      return { count: 3 };
    },
  });
  second.line.opens_late_ms = 900;
  first.link.cut = true;
  const answer = ending(gateway.ask(Counter, "k", "work", null));
  await clock.advance(10_000);
  expect(await answer).toEqual({ count: 3 });
  expect(owned).toEqual([true]);
});

describe("an acknowledgement that failed", () => {
  test.each(["read", "add"] as const)("is repeated until the bus has it, after %s", async (operation) => {
    const { clock, bus, join } = world();
    const worker = await join();
    const gateway = await join({ owns: false });
    await clock.advance(2_000);
    worker.line.refusals = 3;
    const answer =
      operation === "read"
        ? gateway.ask(Counter, "a", "read", null)
        : gateway.ask(Counter, "a", "add", { by: 1 });
    await clock.advance(0);
    await answer;
    expect(bus.unacknowledged()).toHaveLength(1);
    await clock.advance(1_000);
    expect(bus.unacknowledged()).toEqual([]);
  });
});

describe("a lease whose last word from the store came late", () => {
  const LATE_MS = 1_500;
  function holding() {
    const contexts: WorkContext[] = [];
    const work: Work = async (_, context) => {
      contexts.push(context);
      return new Promise(() => {});
    };
    return { contexts, work };
  }
  /** Through a link on which answers may be late: what was asked takes effect at once. */
  function answeredLate(clock: Clock, leases: Leases, late: { ms: number }): Leases {
    const after = async <T>(answer: Promise<T>): Promise<T> => {
      const value = await answer;
      await sleep(clock, late.ms);
      return value;
    };
    return {
      ...leases,
      create: (...args) => after(leases.create(...args)),
      renew: (...args) => after(leases.renew(...args)),
    };
  }

  test("counts from when its renewal was sent, whatever moment the node is cut off", async () => {
    for (let after_ms = 0; after_ms < 1_600; after_ms += 100) {
      const { clock, leases, join } = world();
      const { contexts, work } = holding();
      const late = { ms: 0 };
      const first = await join({ mine: answeredLate(clock, leases, late), work });
      await join({ work });
      const gateway = await join({ owns: false });
      await clock.advance(10_000);
      gateway.ask(Counter, keyOn(first), "work", null).catch(() => {});
      late.ms = LATE_MS;
      await clock.advance(2_000 + after_ms);
      first.link.cut = true;
      for (let n = 0; n < 60; n++) {
        await clock.advance(100);
        expect(contexts.filter((context) => context.ownsKey()).length).toBeLessThanOrEqual(1);
      }
      expect(contexts).toHaveLength(2);
    }
  });

  test("counts from when it was claimed", async () => {
    const { clock, leases, join } = world();
    const { contexts, work } = holding();
    const first = await join({ mine: answeredLate(clock, leases, { ms: LATE_MS }), work });
    const gateway = await join({ owns: false });
    gateway.ask(Counter, "k", "work", null).catch(() => {});
    while (contexts.length === 0) await clock.advance(50);
    first.link.cut = true;
    await join({ work });
    for (let n = 0; n < 60; n++) {
      await clock.advance(100);
      expect(contexts.filter((context) => context.ownsKey()).length).toBeLessThanOrEqual(1);
    }
    expect(contexts).toHaveLength(2);
  });
});

test("a node claims a partition again when its claim was answered, though other claims beside it have failed", async () => {
  const { clock, leases, join } = world();
  const [failing, slow] = [0, 1];
  let [open, mostOpen, claims] = [0, 0, 0];
  const mine: Leases = {
    ...leases,
    async create(partition, ...rest) {
      if (partition === failing) throw new Fault("bus_unreachable", "Cut off");
      if (partition !== slow) return leases.create(partition, ...rest);
      claims++;
      mostOpen = Math.max(mostOpen, ++open);
      await sleep(clock, 1_500);
      open--;
      return claims > 1 ? leases.create(partition, ...rest) : null;
    },
  };
  const joining = join({ mine });
  await clock.advance(10_000);
  expect((await joining).ownsPartition(slow)).toBe(true);
  // With a table there are no claims of single partitions.
  expect([claims > 1, mostOpen]).toEqual(usesTable(COUNT) ? [false, 0] : [true, 1]);
});

describe("a node whose lease has run out, while it reaches the documents", () => {
  test.each(["add", "note"] as const)("stores nothing that it is told (%s)", async (operation) => {
    const { clock, leases, documents, join } = world();
    const link = { isAway: false };
    const away: Leases = {
      ...leases,
      async renew(...args) {
        if (link.isAway) throw new Fault("bus_unreachable", "Cut off");
        return leases.renew(...args);
      },
      async renewHeld(...args) {
        if (link.isAway) throw new Fault("bus_unreachable", "Cut off");
        return leases.renewHeld(...args);
      },
    };
    const first = await join({ mine: away });
    await join();
    await clock.advance(10_000);
    const here = keyOn(first);
    await documents.put("counter", here, { count: 5, reminder_ms: null }, 0);
    // Loaded while the lease counts.
    expect(await ending(first.ask(Counter, here, "read", null))).toEqual({ count: 5 });
    link.isAway = true;
    while (first.ownsPartition(partitionOf("counter", here, COUNT))) await clock.advance(50);
    const answer = ending(
      operation === "add"
        ? first.ask(Counter, here, "add", { by: 1 })
        : first.ask(Counter, here, "note", { by: 1 }),
    );
    await clock.advance(100);
    expect((await documents.get("counter", here))!.version).toBe(1);
    await clock.advance(8_000);
    await answer;
    expect(await documents.get("counter", here)).toMatchObject({ value: { count: 6 }, version: 2 });
  });
});

describe("a message that a node gives up while it cannot keep it", () => {
  test.each([
    ["a tell whose turns break", JSON.stringify({ operation: "stumble", message: { times: 99 } })],
    ["what is no message", "{"],
  ])("is left to the next owner, which keeps it: %s", async (_, text) => {
    const { clock, bus, documents, join } = world();
    const nodes = [await join(), await join()];
    await clock.advance(10_000);
    const here = keyOn(nodes[0]!);
    nodes[0]!.link.keepsNothing = true;
    const body = text === "{" ? text : JSON.stringify({ key: here, ...JSON.parse(text) });
    const envelope = {
      stream: "work",
      partition: partitionOf("counter", here, COUNT),
      name: "counter",
    } as const;
    await bus.send({ ...envelope, key: here, body, dedup_id: null, reply_to: null, timeout_ms: null });
    await clock.advance(5_000);
    expect(bus.unacknowledged()).toHaveLength(1);
    expect(await listDeadLetters(documents)).toEqual([]);
    nodes[0]!.link.cut = true;
    await clock.advance(12_000);
    expect(await listDeadLetters(documents)).toMatchObject([{ actor: "counter", key: here }]);
    expect(bus.unacknowledged()).toEqual([]);
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

  test("is found although every other look for it fails", async () => {
    const { clock, first, count } = await lost();
    first.line.unsteady = true;
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
    partition: partitionOf("counter", "a", COUNT),
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

describe("messages of the bus that are not acknowledged", () => {
  /** A sixteenth is for both lines of messages together: four of these asks, or a dozen small tells. */
  const memory_bytes = 32 * 4 * 10_500;
  const text = "x".repeat(4_600);

  test("take no more than their memory: one ask too many is refused, and one that is sent again is not", async () => {
    const { clock, join } = world();
    const worker = await join({ memory_bytes });
    const gateway = await join({ owns: false });
    await clock.advance(2_000);
    const open = Array.from({ length: 4 }, (_, n) => gateway.ask(Counter, `${text}${n}`, "wait", null));
    await clock.advance(0);
    expect(await ending(gateway.ask(Counter, "other", "echo", { text }))).toBe("mailbox_full");
    // The open asks are sent again twice meanwhile.
    await clock.advance(25_000);
    for (let n = 0; n < 4; n++) await gateway.ask(Counter, `${text}${n}`, "release", null);
    await clock.advance(0);
    expect(await Promise.all(open)).toHaveLength(4);
    expect(worker.reserved()).toBe(0);
    const echo = gateway.ask(Counter, "other", "echo", { text });
    await clock.advance(0);
    expect(await echo).toEqual({ text });
  });

  test("wait on the bus when they are tells: while the store is away at most their memory is used, and none is lost", async () => {
    const { clock, documents, join } = world();
    const worker = await join({ memory_bytes });
    const gateway = await join({ owns: false });
    await clock.advance(2_000);
    const put = documents.put.bind(documents);
    let isAway = true;
    documents.put = async (...args) => {
      if (isAway) throw new Fault("documents_unreachable", "Away");
      return put(...args);
    };
    for (let n = 0; n < 200; n++) await gateway.ask(Counter, key(n % 50), "note", { by: 1 });
    let most = 0;
    for (let n = 0; n < 20; n++) {
      await clock.advance(500);
      most = Math.max(most, worker.reserved());
    }
    expect(most).toBeGreaterThan(memory_bytes / 64);
    expect(most).toBeLessThanOrEqual(memory_bytes / 32);
    const next = await join();
    await clock.advance(3_000);
    isAway = false;
    await clock.advance(20_000);
    const reads = Array.from({ length: 50 }, (_, n) => next.ask(Counter, key(n), "read", null));
    await clock.advance(0);
    expect(await Promise.all(reads)).toEqual(Array.from({ length: 50 }, () => ({ count: 4 })));
    expect(worker.reserved()).toBe(0);
  });

  test("are read by a new owner before it answers, whoever asks and however little memory it has for them", async () => {
    const { clock, documents, join } = world();
    const gateway = await join({ owns: false });
    const [told = "", ...others] = Array.from({ length: 4_000 }, (_, n) => key(n))
      .filter((name) => partitionOf("counter", name, COUNT) === 7)
      .slice(0, 40);
    for (const other of others) await gateway.ask(Counter, other, "note", { by: 1 });
    for (let n = 0; n < 4; n++) await gateway.ask(Counter, told, "note", { by: 1 });
    const put = documents.put.bind(documents);
    let isAway = true;
    documents.put = async (...args) => {
      if (isAway && args[1] !== told) throw new Fault("documents_unreachable", "Away");
      return put(...args);
    };
    const worker = await join({ memory_bytes });
    await clock.advance(3_000);
    const reads = [gateway, worker].map((node) => node.ask(Counter, told, "read", null));
    await clock.advance(5_000);
    isAway = false;
    await clock.advance(5_000);
    expect(await Promise.all(reads)).toEqual([{ count: 4 }, { count: 4 }]);
    expect(worker.reserved()).toBe(0);
  });

  test("and that the bus counted and has lost do not keep a new owner from answering", async () => {
    const { clock, bus, join } = world();
    const gateway = await join({ owns: false });
    const subscribe = bus.subscribe.bind(bus);
    let isLost = true;
    bus.subscribe = async (...args) => {
      const subscription = await subscribe(...args);
      return isLost ? { ...subscription, backlog: 3 } : subscription;
    };
    await join();
    await clock.advance(3_000);
    isLost = false;
    const read = gateway.ask(Counter, "a", "read", null);
    await clock.advance(8_000);
    expect(await read).toEqual({ count: 0 });
  });
});

test("a partition that the bus began to read although it said no leaves nothing behind", async () => {
  const { clock, bus, join } = world();
  const gateway = await join({ owns: false });
  const subscribe = bus.subscribe.bind(bus);
  let isRefusing = true;
  bus.subscribe = async (...args) => {
    const subscription = await subscribe(...args);
    for (let n = 0; n < 10; n++) await Promise.resolve();
    if (isRefusing) throw new Fault("bus_unreachable", "The answer was lost");
    return subscription;
  };
  for (let n = 0; n < 20; n++) await gateway.ask(Counter, key(n), "note", { by: 1 });
  const worker = await join({ memory_bytes: 32 * 2 ** 20 });
  await clock.advance(2_000);
  expect(worker.partitions()).toEqual([]);
  expect([worker.reserved(), Object.values(worker.stats().activations)]).toEqual([0, [0]]);
  isRefusing = false;
  await clock.advance(3_000);
  expect(worker.reserved()).toBe(0);
  const read = gateway.ask(Counter, key(0), "read", null);
  await settled();
  expect(await read).toEqual({ count: 1 });
});

test("the time an ask waits on the bus counts towards its timeout, whatever the clocks of two nodes say", async () => {
  const Late = contract("late", {
    left: askOperation(Type.Object({ until_ms: Deadline() }), Type.Integer()),
  });
  for (const ahead_ms of [-1_500, 0, 1_500]) {
    const { clock, join } = world();
    const late = actor(Late)({
      activate: () => null,
      passivate_after_ms: 60_000,
      on: { left: (turn, { until_ms }) => Math.round(until_ms - turn.now_ms) },
    });
    const gateway = await join({ owns: false, ahead_ms: 200 });
    const first = await join({ ahead_ms, actors: [late] });
    await join({ ahead_ms, actors: [late] });
    await clock.advance(12_000);
    const own = Array.from({ length: 100 }, (_, n) => key(n)).find((name) =>
      first.partitions().includes(partitionOf("late", name, COUNT)),
    )!;
    first.link.cut = true;
    first.line.losing = true;
    const until_ms = clock.now() + 200 + 60_000;
    const answer = gateway.ask(Late, own, "left", { until_ms }, { timeout_ms: 60_000 });
    await clock.advance(5_000);
    const waited_ms = 60_000 - (await answer);
    // A lease lasts three seconds.
    expect(waited_ms).toBeGreaterThanOrEqual(2_000);
    expect(waited_ms).toBeLessThanOrEqual(4_500);
  }
});

describe("partitions that no node owns", () => {
  test("are told to callers within five seconds, asked before or after, and reported until an owner comes", async () => {
    const { clock, telemetry, join } = world();
    const workers = [await join(), await join()];
    const gateway = await join({ owns: false });
    await clock.advance(10_000);
    expect(gateway.desertedPartitions()).toBe(0);
    for (const { link } of workers) link.cut = true;
    const waiting = ending(gateway.ask(Counter, "a", "add", { by: 1 }));
    await clock.advance(5_000);
    expect(await waiting).toBe("no_workers");
    expect(await ending(gateway.ask(Counter, "b", "add", { by: 1 }))).toBe("no_workers");
    expect(gateway.desertedPartitions()).toBe(COUNT);
    expect(telemetry.counts.get("trawl_partitions unowned")).toBe(COUNT);
    expect(telemetry.counts.get("trawl_partitions owned")).toBe(0);
    await join();
    await clock.advance(4_000);
    expect(gateway.desertedPartitions()).toBe(0);
    expect(telemetry.counts.get("trawl_partitions owned")).toBe(COUNT);
  });

  test("are looked for once a second by each node, however many of its parts want to know", async () => {
    const { clock, leases, join } = world();
    let looks = 0;
    const mine: Leases = {
      ...leases,
      survey() {
        looks++;
        return leases.survey();
      },
    };
    await join({ mine });
    await join({ owns: false });
    await clock.advance(20_000);
    looks = 0;
    await clock.advance(10_000);
    expect(looks).toBeGreaterThanOrEqual(9);
    expect(looks).toBeLessThanOrEqual(10);
  });

  test("are refused although a node is present, when it does not claim them", async () => {
    const { clock, leases, join } = world();
    const gateway = await join({ owns: false });
    await clock.advance(2_000);
    const waiting = ending(gateway.ask(Counter, "a", "read", null));
    for (let n = 0; n < 10; n++) {
      await leases.announcePresence("idle");
      await clock.advance(500);
    }
    expect(await waiting).toBe("no_workers");
  });

  test("do not lose what is told to them: the next owner hears it", async () => {
    const { clock, join } = world();
    const gateway = await join({ owns: false });
    await clock.advance(10_000);
    await gateway.ask(Counter, "a", "note", { by: 5 });
    await join();
    await clock.advance(4_000);
    const read = gateway.ask(Counter, "a", "read", null);
    await settled();
    expect(await read).toEqual({ count: 5 });
  });
});

describe("a lease store that lost its data", () => {
  test("is claimed anew, by one owner at a time and under larger epochs", async () => {
    const { clock, leases, join } = world();
    const contexts: WorkContext[] = [];
    const work: Work = async (_, context) => {
      contexts.push(context);
      return new Promise(() => {});
    };
    const nodes = [await join({ work }), await join({ work }), await join({ work })];
    const gateway = await join({ owns: false });
    await clock.advance(10_000);
    for (let n = 0; n < 30; n++) gateway.ask(Counter, key(n), "work", null).catch(() => {});
    await clock.advance(0);
    const before = Math.max(...nodes.flatMap((node) => node.ownedPartitions().map(({ epoch }) => epoch)));
    const began = contexts.length;
    leases.wipe();
    for (let n = 0; n < 100; n++) {
      await clock.advance(100);
      const late = contexts.slice(0, began).some((context) => context.ownsKey());
      const next = contexts.slice(began).some((context) => context.ownsKey());
      expect(late && next).toBe(false);
    }
    const owned = nodes.flatMap((node) => [...node.ownedPartitions()]);
    expect(owned.map(({ partition }) => partition).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: COUNT }, (_, n) => n),
    );
    expect(Math.min(...owned.map(({ epoch }) => epoch))).toBeGreaterThan(before);
    expect(contexts.length).toBe(2 * began);
  });
});

describe("a lease store that was rolled back", () => {
  test("is claimed under larger epochs, by one owner at a time", async () => {
    const { clock, leases, join } = world();
    const nodes = [await join(), await join()];
    await clock.advance(10_000);
    const restore = leases.copy();
    // Partitions move after the copy was made.
    nodes.push(await join());
    await clock.advance(12_000);
    const epochOf = () =>
      new Map(
        nodes.flatMap((node) => node.ownedPartitions().map(({ partition, epoch }) => [partition, epoch])),
      );
    const before = epochOf();
    restore();
    for (let n = 0; n < 120; n++) {
      await clock.advance(100);
      for (let partition = 0; partition < COUNT; partition++)
        expect(nodes.filter((node) => node.ownsPartition(partition)).length).toBeLessThanOrEqual(1);
    }
    const after = epochOf();
    expect(after.size).toBe(COUNT);
    for (const [partition, epoch] of after) expect(epoch).toBeGreaterThanOrEqual(before.get(partition)!);
    const another = await join();
    await clock.advance(20_000);
    const moved = another.ownedPartitions();
    expect(moved.length).toBeGreaterThan(4);
    for (const { partition, epoch } of moved) expect(epoch).toBeGreaterThan(before.get(partition)!);
  });

  test("is noticed by nodes that start later, too", async () => {
    const { clock, leases, join } = world();
    const first = await join();
    await clock.advance(5_000);
    const restore = leases.copy();
    await clock.advance(30_000);
    const before = first.ownedPartitions()[0]!.epoch;
    const stopped = first.stop();
    await clock.advance(2_000);
    await stopped;
    restore();
    const next = await join();
    await clock.advance(10_000);
    expect(next.partitions()).toHaveLength(COUNT);
    expect(Math.min(...next.ownedPartitions().map(({ epoch }) => epoch))).toBeGreaterThan(before + 2 ** 39);
  });
});

describe("a cluster of more partitions", () => {
  const sorted = (...all: DistributedCluster[]) => partitionsOf(...all).toSorted((a, b) => a - b);
  const all256 = Array.from({ length: 256 }, (_, n) => n);

  test("keeps the number that it began with, whatever is set where a node joins", async () => {
    const { clock, documents, leases, join } = world();
    const first = await join({ newPartitions: 256 });
    const others = [await join(), await join({ newPartitions: 1_024 })];
    const gateway = await join({ owns: false });
    await clock.advance(20_000);
    expect(sorted(first, ...others)).toEqual(all256);
    expect([...others, gateway].map(({ partitionCount }) => partitionCount)).toEqual([256, 256, 256]);
    expect((await documents.get("cluster", "main"))?.value).toMatchObject({ partitions: 256 });
    // As nodes of versions that know only 64 ask.
    expect(await leases.agreeOn("partitions", "64")).toBe("256");
    // Messages go where their keys are, in the process and over the bus.
    const far = Array.from({ length: 300 }, (_, n) => gateway.ask(Counter, key(n), "add", { by: 1 }));
    const near = Array.from({ length: 300 }, (_, n) => first.ask(Counter, key(n), "add", { by: 1 }));
    await clock.advance(1_000);
    expect(
      (await Promise.all([...far, ...near])).map(({ count }) => count).toSorted((a, b) => a - b),
    ).toEqual([...Array.from({ length: 300 }, () => 1), ...Array.from({ length: 300 }, () => 2)]);
    // A lease a node, and that of the assigner.
    expect((await leases.heldNames()).size).toBe(4);
    expect((await leases.survey()).held.size).toBe(0);
  });

  test("takes over what a dead node owned", async () => {
    const { clock, join } = world();
    const nodes = [await join({ newPartitions: 256 }), await join(), await join()];
    await clock.advance(20_000);
    nodes[0]!.link.cut = true;
    await clock.advance(5_000);
    expect(sorted(nodes[1]!, nodes[2]!)).toEqual(all256);
  });

  test.each([false, true])(
    "whose table alone is lost begins a new generation (a node joins: %s)",
    async (joins) => {
      const { clock, leases, join } = world();
      const nodes = [await join({ newPartitions: 256 }), await join(), await join()];
      await clock.advance(20_000);
      const before = Math.max(...nodes.flatMap((node) => node.ownedPartitions()).map(({ epoch }) => epoch));
      leases.loseTable();
      if (joins) nodes.push(await join());
      for (let n = 0; n < 150; n++) {
        await clock.advance(100);
        for (const partition of all256)
          expect(nodes.filter((node) => node.ownsPartition(partition)).length).toBeLessThanOrEqual(1);
      }
      expect(sorted(...nodes)).toEqual(all256);
      const epochs = nodes.flatMap((node) => node.ownedPartitions()).map(({ epoch }) => epoch);
      expect(Math.min(...epochs)).toBeGreaterThan(before + 2 ** 39);
    },
  );

  test("that was one of 64 finds its reminders, each once", async () => {
    const { clock, documents, join } = world();
    const before = await join();
    await before.recovered;
    const due_ms = clock.now() + 60_000;
    for (let n = 0; n < 40; n++) void before.ask(Counter, key(n), "setReminder", { at_ms: due_ms });
    await clock.advance(1_000);
    const stopped = before.stop();
    await clock.advance(2_000);
    await stopped;
    expect(await changePartitions(documents, 256)).toBe(true);
    // What trawl cluster rebuild leaves.
    const mine = memoryLeases(clock, 3_000, "rebuilt");
    const nodes = [await join({ mine }), await join({ mine })];
    await clock.advance(20_000);
    expect(sorted(...nodes)).toEqual(all256);
    await clock.advance(60_000);
    const fired = nodes.map(({ trace }) => trace.reminders.length);
    expect(Math.min(...fired)).toBeGreaterThan(5);
    expect(fired[0]! + fired[1]!).toBe(40);
  });

  test("is refused to a node whose bus is divided otherwise, and claimed by none that knows another number", async () => {
    const { clock, documents, leases, join } = world();
    const node = await join();
    await clock.advance(5_000);
    await changePartitions(documents, 256);
    await expect(join()).rejects.toThrow(
      `its documents are divided into 256 partitions, its bus into ${COUNT}. Stop all nodes and run trawl cluster rebuild`,
    );
    // As if the bus were emptied while a node had just started.
    leases.wipe();
    await clock.advance(20_000);
    expect(node.partitions()).toEqual([]);
  });
});

describe("documents that nodes on two lease stores use", () => {
  test("belong to those that run: the others own nothing, until these have stopped", async () => {
    const { clock, join } = world();
    const first = [await join(), await join()];
    await clock.advance(10_000);
    const elsewhere = memoryLeases(clock, 3_000, "other");
    const second = await join({ mine: elsewhere });
    for (let n = 0; n < 100; n++) {
      await clock.advance(200);
      expect(second.partitions()).toEqual([]);
    }
    expect(second.isForeign()).toBe(true);
    expect(partitionsOf(...first)).toHaveLength(COUNT);
    const stopped = Promise.all(first.map((node) => node.stop()));
    await clock.advance(2_000);
    await stopped;
    await clock.advance(10_000);
    expect([second.isForeign(), second.partitions().length]).toEqual([false, COUNT]);
    const epochs = second.ownedPartitions().map(({ epoch }) => epoch);
    expect(Math.min(...epochs)).toBeGreaterThan(2 ** 41);
  });

  test("are left by those that were away while the others took over", async () => {
    const { clock, join } = world();
    const first = await join();
    await clock.advance(5_000);
    first.link.cut = true;
    const second = await join({ mine: memoryLeases(clock, 3_000, "other") });
    await clock.advance(15_000);
    expect(second.partitions()).toHaveLength(COUNT);
    first.link.cut = false;
    for (let n = 0; n < 100; n++) {
      await clock.advance(100);
      expect(first.partitions()).toEqual([]);
    }
    expect([first.isForeign(), second.partitions().length]).toEqual([true, COUNT]);
  });

  test("are refused to a node before it joins", async () => {
    const { clock, documents, leases, join } = world();
    await join();
    await clock.advance(5_000);
    const other = memoryLeases(clock, 3_000, "other");
    const there = isUsedElsewhere(documents, clock, () => other.survey());
    const here = isUsedElsewhere(documents, clock, () => leases.survey());
    await clock.advance(5_000);
    expect([await there, await here]).toEqual([true, false]);
  });
});

describe("a cluster that starts again as a whole", () => {
  const shares = (nodes: readonly DistributedCluster[]) => nodes.map((node) => node.partitions().length);

  test("is shared evenly from the start when its nodes come within two seconds", async () => {
    const { clock, join } = world();
    const first = await join();
    await clock.advance(12_000);
    const stopped = first.stop();
    await clock.advance(1_000);
    await stopped;
    const nodes = [await join()];
    let most = 0;
    for (let n = 0; n < 60; n++) {
      if (n === 5 || n === 10) nodes.push(await join());
      await clock.advance(100);
      most = Math.max(most, ...shares(nodes));
    }
    expect(partitionsOf(...nodes)).toHaveLength(COUNT);
    expect(most).toBeLessThan(COUNT / 2);
  });

  test("is shared evenly within ten seconds when one came first and works on everything", async () => {
    const { clock, join } = world();
    const work: Work = () => new Promise(() => {});
    const first = await join({ work });
    await clock.advance(2_000);
    for (let n = 0; n < 300; n++) first.ask(Counter, key(n), "work", null).catch(() => {});
    await clock.advance(100);
    const nodes = [first, await join({ work }), await join({ work })];
    await clock.advance(10_000);
    expect(partitionsOf(...nodes)).toHaveLength(COUNT);
    expect(Math.max(...shares(nodes))).toBeLessThan(COUNT / 2);
  });
});

describe("two versions of an actor", () => {
  const Old = contract("notes", { add: tell(Type.Object({ text: Type.Literal("a") })) });
  const New = contract("notes", {
    add: tell(Type.Object({ text: Type.Enum(["a", "b"]) })),
    list: askOperation(Type.Null(), Type.Array(Type.String())),
  });
  function versions() {
    const seen: string[] = [];
    const add = (_: unknown, { text }: { text: string }): void => void seen.push(text);
    return {
      seen,
      older: [actor(Old)({ activate: () => null, passivate_after_ms: 60_000, on: { add } })],
      newer: [
        actor(New)({ activate: () => null, passivate_after_ms: 60_000, on: { add, list: () => [...seen] } }),
      ],
    };
  }

  test("the older one leaves what it does not know to the newer one", async () => {
    const { clock, telemetry, join } = world();
    const { seen, older, newer } = versions();
    const first = await join({ actors: older });
    const gateway = await join({ owns: false });
    await clock.advance(2_000);
    await gateway.ask(New, "k", "add", { text: "b" });
    const list = gateway.ask(New, "k", "list", null);
    await clock.advance(15_000);
    expect(seen).toEqual([]);
    expect(telemetry.counts.get("trawl_unreadable_messages_total")).toBeGreaterThanOrEqual(2);
    await join({ actors: newer });
    const stopped = first.stop();
    await clock.advance(5_000);
    await stopped;
    expect(seen).toEqual(["b"]);
    expect(await list).toEqual(["b"]);
  });

  test("what no version knows is given up: an ask at its deadline, a tell after an hour, and the oldest of too many", async () => {
    const { clock, bus, telemetry, join } = world();
    const { older } = versions();
    const first = await join({ actors: older });
    const gateway = await join({ owns: false });
    await clock.advance(2_000);
    const given_up = (): number =>
      telemetry.lines.filter(({ message }) => message === "A message was dead-lettered").length;
    for (let n = 0; n < MAX_UNREADABLE + 3; n++) {
      const body = JSON.stringify({ key: `k ${n}`, operation: "vanish", message: null });
      const fixed = {
        dedup_id: null,
        reply_to: null,
        timeout_ms: null,
        partition: partitionOf("notes", "k", COUNT),
      };
      await bus.send({ ...fixed, stream: "work", name: "notes", key: `k ${n}`, body });
    }
    await settled();
    const answer = ending(gateway.ask(New, "k", "list", null, { timeout_ms: 5_000 }));
    await clock.advance(20_000);
    expect(await answer).toBe("no_answer");
    expect(given_up()).toBe(4);
    expect(first.ownedPartitions()).toHaveLength(COUNT);
    await clock.advance(KEEP_UNREADABLE_MS);
    expect(given_up()).toBe(MAX_UNREADABLE + 3);
  });
});
