/** Messages that the runtime gives up are kept for the operator, within limits, and sent again on request. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryBus } from "../../cluster/adapters/bus/bus.memory.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import {
  DEAD_LETTERS,
  deadLetterKeeper,
  KEEP_DEAD_LETTERS_MS,
  listDeadLetters,
  MAX_DEAD_LETTERS,
  MAX_MESSAGE_BYTES,
  readDeadLetter,
  removeDeadLetter,
  requestRetry,
  retryMarked,
} from "../../cluster/dead-letters.ts";
import { distributed } from "../../cluster/distributed.ts";
import { embedded } from "../../cluster/embedded.ts";
import { MIN_PARTITIONS, partitionOf } from "../../cluster/placement.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { Counter, counterActor } from "../harness/counter.actor.ts";

const START_MS = Date.UTC(2026, 0, 1);
/** Five turns 250 ms apart, and then some. */
const BROKEN_MS = 3_000;

/** A store that can be away. */
function store() {
  const documents = memoryDocuments();
  const link = { away: false };
  const through = new Proxy(documents, {
    get(target, name) {
      const member = (target as unknown as Record<string | symbol, (...all: unknown[]) => unknown>)[name]!;
      return (...args: unknown[]): unknown =>
        link.away
          ? Promise.reject(new Fault("documents_unreachable", "The store is away"))
          : member.apply(target, args);
    },
  });
  return { documents: through as Documents, link };
}

const SETUPS = {
  "one process": async () => {
    const clock = virtualClock(START_MS);
    const telemetry = silentTelemetry();
    const { documents, link } = store();
    const actors = [counterActor()];
    const cluster = embedded(actors, { clock, random: seededRandom(1), documents, ...telemetry });
    return { clock, telemetry, documents, link, actors, ask: cluster.ask };
  },
  "a cluster": async () => {
    const clock = virtualClock(START_MS);
    const telemetry = silentTelemetry();
    const { documents, link } = store();
    const actors = [counterActor()];
    const shared = { clock, documents, bus: memoryBus(clock), leases: memoryLeases(clock), ...telemetry };
    const join = (name: string, owns: boolean) =>
      distributed(owns ? actors : [], { ...shared, random: seededRandom(1) }, { name, owns });
    await join("worker-0", true);
    await join("worker-1", true);
    const gateway = await join("gateway", false);
    await clock.advance(15_000);
    return { clock, telemetry, documents, link, actors, ask: gateway.ask };
  },
};

describe.each(Object.entries(SETUPS))("a message that breaks its turn, in %s", (_, open) => {
  /** A tell from a turn to another actor, so that no caller waits for it. */
  async function poisoned() {
    const world = await open();
    const trip = world.ask(Counter, "b", "trip", { to: "a", times: 1_000 });
    await world.clock.advance(100);
    await trip;
    return world;
  }

  test("is kept with its content and its problem", async () => {
    const { clock, documents, telemetry } = await poisoned();
    expect(await listDeadLetters(documents)).toEqual([]);
    await clock.advance(BROKEN_MS);
    expect(await listDeadLetters(documents)).toEqual([
      {
        id: 0,
        at_ms: expect.any(Number) as number,
        actor: "counter",
        key: "a",
        operation: "stumble",
        message: '{"times":1000}',
        bytes: 14,
        problem: expect.stringContaining("Error") as string,
        retries: 0,
        state: "kept",
      },
    ]);
    expect(telemetry.counts.get("trawl_dead_letters_total counter")).toBe(1);
    expect(telemetry.lines.filter(({ message }) => message === "A message was dead-lettered")).toHaveLength(
      1,
    );
  });

  test("is not given up because the store is away, neither before nor while it is kept", async () => {
    const { clock, documents, link, telemetry } = await poisoned();
    link.away = true;
    await clock.advance(20_000);
    link.away = false;
    await clock.advance(BROKEN_MS + 10_000);
    expect(await listDeadLetters(documents)).toHaveLength(1);
    expect(telemetry.counts.get("trawl_dead_letters_total counter")).toBe(1);
  });

  test("is sent again by a running node when the operator wants it", async () => {
    const { clock, documents, actors, ask } = await poisoned();
    await clock.advance(BROKEN_MS);
    const [deadLetter] = await listDeadLetters(documents);
    const { version } = (await documents.get(DEAD_LETTERS.name, "000"))!;
    const harmless = { ...deadLetter!, operation: "note", message: '{"by":3}' };
    await documents.put(DEAD_LETTERS.name, "000", harmless, version);
    await retryMarked(documents, actors, ask);
    expect(await listDeadLetters(documents)).toHaveLength(1);
    expect(await requestRetry(documents, (await readDeadLetter(documents, 0))!)).toBe(true);
    // Two nodes look at the same moment.
    const looks = [retryMarked(documents, actors, ask), retryMarked(documents, actors, ask)];
    await clock.advance(1_000);
    await Promise.all(looks);
    expect(await listDeadLetters(documents)).toEqual([]);
    const count = ask(Counter, "a", "read", null);
    await clock.advance(1_000);
    expect(await count).toEqual({ count: 3 });
  });

  test("stays with the new problem when it cannot be sent", async () => {
    const { clock, documents, actors, ask } = await poisoned();
    await clock.advance(BROKEN_MS);
    const { deadLetter, version } = (await readDeadLetter(documents, 0))!;
    await documents.put(
      DEAD_LETTERS.name,
      "000",
      { ...deadLetter, operation: "worked", message: '{"count":1}' },
      version,
    );
    await requestRetry(documents, (await readDeadLetter(documents, 0))!);
    await retryMarked(documents, actors, ask);
    expect(await listDeadLetters(documents)).toMatchObject([
      {
        state: "kept",
        retries: 1,
        problem: expect.stringContaining("only the actor itself sends it") as string,
      },
    ]);
  });
});

test("an envelope that is no message is kept as it came", async () => {
  const clock = virtualClock(START_MS);
  const [bus, documents] = [memoryBus(clock), memoryDocuments()];
  const deps = { clock, bus, documents, leases: memoryLeases(clock), random: seededRandom(1) };
  await distributed([counterActor()], deps, { name: "worker", owns: true });
  await clock.advance(5_000);
  const envelope = { stream: "work", name: "counter", key: "a", dedup_id: null, reply_to: null } as const;
  const partition = partitionOf("counter", "a", MIN_PARTITIONS);
  await bus.send({ ...envelope, partition, body: "no JSON", timeout_ms: null });
  await clock.advance(1_000);
  expect(await listDeadLetters(documents)).toMatchObject([{ key: "a", operation: "", message: '"no JSON"' }]);
});

describe("dead letters are bounded", () => {
  function keeper() {
    const clock = virtualClock(START_MS);
    const documents = memoryDocuments();
    const telemetry = silentTelemetry();
    const keep = (n: number, message: unknown = null) =>
      deadLetterKeeper({ documents, clock, ...telemetry }).keep({
        actor: "counter",
        key: `k${n}`,
        operation: "note",
        message,
        problem: new Error("broken"),
      });
    return { clock, documents, telemetry, keep };
  }

  test("in number: the newest replace the oldest", async () => {
    const { documents, keep } = keeper();
    for (let n = 0; n < MAX_DEAD_LETTERS + 7; n++) await keep(n);
    const deadLetters = await listDeadLetters(documents);
    expect(deadLetters).toHaveLength(MAX_DEAD_LETTERS);
    expect(deadLetters[0]).toMatchObject({ id: MAX_DEAD_LETTERS + 6, key: `k${MAX_DEAD_LETTERS + 6}` });
    expect(deadLetters.at(-1)).toMatchObject({ id: 7 });
    expect(await readDeadLetter(documents, 6)).toBeNull();
  });

  test("in bytes: of a long message only its size is kept", async () => {
    const { documents, keep } = keeper();
    await keep(1, "x".repeat(MAX_MESSAGE_BYTES));
    expect(await listDeadLetters(documents)).toMatchObject([{ message: null, bytes: MAX_MESSAGE_BYTES + 2 }]);
  });

  test("in age: they expire after thirty days, also when they were to be sent again", async () => {
    const { documents, keep } = keeper();
    await keep(1);
    await keep(2);
    await requestRetry(documents, (await readDeadLetter(documents, 1))!);
    const end_ms = START_MS + KEEP_DEAD_LETTERS_MS;
    expect(await documents.removeExpired(DEAD_LETTERS.name, end_ms, 10)).toBe(0);
    expect(await documents.removeExpired(DEAD_LETTERS.name, end_ms + 1, 10)).toBe(2);
    // The number goes on, so that no operator deletes another dead letter than the one that was listed.
    await keep(3);
    expect(await listDeadLetters(documents)).toMatchObject([{ id: 2 }]);
  });

  test("while the store is away: what is more than waits is given up, counted and logged", async () => {
    const { clock, telemetry } = keeper();
    const { documents, link } = store();
    const deadLetters = deadLetterKeeper({ documents, clock, ...telemetry });
    link.away = true;
    const given_up = { actor: "counter", key: "a", operation: "note", message: null, problem: "broken" };
    const kept = Array.from({ length: MAX_DEAD_LETTERS + 1 }, () => deadLetters.keep(given_up));
    expect(await kept.at(-1)).toBe(true);
    expect(telemetry.counts.get("trawl_dead_letters_total counter")).toBe(MAX_DEAD_LETTERS + 1);
    expect(telemetry.lines.map(({ message }) => message)).toEqual(["A dead letter could not be kept"]);
    deadLetters.stop();
    await clock.advance(10_000);
    // The bus must not forget what was not stored when the node stopped.
    expect(await kept[0]).toBe(false);
  });

  test("one that changed meanwhile is neither deleted nor sent", async () => {
    const { documents, keep } = keeper();
    await keep(1);
    const stored = (await readDeadLetter(documents, 0))!;
    expect(await requestRetry(documents, stored)).toBe(true);
    expect(await requestRetry(documents, stored)).toBe(false);
    expect(await removeDeadLetter(documents, stored)).toBe(false);
  });
});
