/** A store that does not answer is no broken turn: actors wait for it, and nothing that was accepted is lost. */
import { describe, expect, test } from "vitest";
import { memoryBus } from "../../cluster/adapters/bus/bus.memory.ts";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { settled, virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { distributed } from "../../cluster/distributed.ts";
import { embedded } from "../../cluster/embedded.ts";
import { MIN_PARTITIONS, partitionOf } from "../../cluster/placement.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { MAX_WAITING_TELLS, tellLines } from "../../cluster/internal/transport/tell-retries.ts";
import { Counter, counterActor } from "../harness/counter.actor.ts";
import { flakyDocuments } from "../harness/flaky-documents.ts";

const START_MS = Date.UTC(2026, 0, 1);

function startNode(documents = flakyDocuments()) {
  const clock = virtualClock(START_MS);
  const telemetry = silentTelemetry();
  const work = Promise.withResolvers<{ count: number }>();
  const cluster = embedded([counterActor(() => work.promise)], {
    clock,
    random: seededRandom(1),
    documents,
    ...telemetry,
  });
  const { ask } = cluster;
  return {
    ...cluster,
    clock,
    documents,
    telemetry,
    work,
    add: (by: number, key = "a", timeout_ms?: number) =>
      ask(Counter, key, "add", { by }, timeout_ms === undefined ? {} : { timeout_ms }),
    read: (key = "a") => ask(Counter, key, "read", null),
    note: (by: number, key = "a") => ask(Counter, key, "note", { by }),
  };
}

/** Any number of refusals: more than the five failures after which a tell is poison. */
const AWAY_MS = 30_000;

describe("while the store is away", () => {
  test("a tell whose write is refused is written when the store is back", async () => {
    const { ask, read, clock, documents, telemetry } = startNode();
    await read();
    documents.mode = "away";
    void ask(Counter, "b", "pass", { to: "a", by: 5 });
    await clock.advance(AWAY_MS);
    documents.mode = "here";
    await clock.advance(3_000);
    expect(await read()).toEqual({ count: 5 });
    expect(telemetry.counts.get("trawl_actor_failures_total counter")).toBe(0);
    expect(telemetry.lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("an actor that is not in memory is loaded when the store is back, with all its messages", async () => {
    const { note, read, clock, documents } = startNode();
    documents.mode = "away";
    const notes = [1, 10, 100].map((by) => note(by));
    await clock.advance(AWAY_MS);
    documents.mode = "here";
    await clock.advance(3_000);
    await Promise.all(notes);
    expect(await read()).toEqual({ count: 111 });
  });

  test("callers wait, and one whose deadline comes learns which store is missing", async () => {
    const { add, clock, documents } = startNode();
    await add(1);
    documents.mode = "away";
    const ends: string[] = [];
    const note = (name: string) => (result: { count: number }) => void ends.push(`${name} ${result.count}`);
    const noteFault = (name: string) => (problem: unknown) =>
      void ends.push(`${name} ${(problem as Fault).code}`);
    void add(1, "a", 60_000).then(note("first"), noteFault("first"));
    void add(1, "a", 5_000).then(note("second"), noteFault("second"));
    void add(1, "a", 60_000).then(note("third"), noteFault("third"));
    await clock.advance(4_700);
    expect(ends).toEqual([]);
    await clock.advance(300);
    expect(ends).toEqual(["second documents_unreachable"]);
    await clock.advance(AWAY_MS);
    documents.mode = "here";
    await clock.advance(3_000);
    expect(ends).toEqual(["second documents_unreachable", "first 2", "third 3"]);
  });

  test("deferred asks stay open, and are answered when the store is back", async () => {
    const { ask, note, clock, documents } = startNode();
    const waiting = Array.from({ length: 400 }, () => ask(Counter, "a", "wait", null));
    await settled();
    documents.mode = "away";
    const noted = note(7);
    await clock.advance(AWAY_MS);
    documents.mode = "here";
    await clock.advance(3_000);
    await noted;
    void ask(Counter, "a", "release", null);
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ count: 7 })));
  });

  test("a failure of background work ends the activation only when its turn is stored", async () => {
    const { ask, note, read, clock, documents, work } = startNode();
    const working = ask(Counter, "a", "work", null);
    await settled();
    documents.mode = "away";
    const noted = note(7);
    await settled();
    work.reject(new Error("Broken on purpose"));
    const failure = working.catch((problem: unknown) => problem);
    await clock.advance(AWAY_MS);
    documents.mode = "here";
    await clock.advance(3_000);
    expect(await failure).toMatchObject({ code: "no_answer" });
    await noted;
    expect(await read()).toEqual({ count: 7 });
  });

  test("a put is repeated with growing pauses, up to two and a half seconds", async () => {
    const { note, clock, documents } = startNode();
    await note(1);
    documents.mode = "away";
    void note(1);
    documents.puts = 0;
    await clock.advance(1_000);
    expect(documents.puts).toBeGreaterThanOrEqual(3);
    expect(documents.puts).toBeLessThanOrEqual(5);
    documents.puts = 0;
    await clock.advance(60_000);
    expect(documents.puts).toBeGreaterThanOrEqual(24);
    expect(documents.puts).toBeLessThanOrEqual(31);
  });

  test("the operator sees that actors wait, and that they do no longer", async () => {
    const { note, clock, documents, telemetry } = startNode();
    documents.mode = "away";
    for (const key of ["a", "b", "c"]) void note(1, key);
    await clock.advance(5_000);
    expect(telemetry.counts.get("trawl_actor_store_waits")).toBe(3);
    documents.mode = "here";
    await clock.advance(3_000);
    expect(telemetry.counts.get("trawl_actor_store_waits")).toBe(0);
    expect(telemetry.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      "warn: Actors wait for the document store",
      "info: No actor waits for the document store any more",
    ]);
  });
});

test("what another writer stored is not told before it is durable", async () => {
  const durable = Promise.withResolvers<void>();
  const documents = { ...flakyDocuments(), synced: () => durable.promise };
  await documents.put("counter", "a", { count: 50, reminder_ms: null }, 0);
  const { read } = startNode(documents);
  const told: number[] = [];
  const reading = read().then(({ count }) => told.push(count));
  await settled();
  expect(told).toEqual([]);
  durable.resolve();
  await reading;
  expect(told).toEqual([50]);
});

test("a put whose answer is lost counts once", async () => {
  const { note, read, clock, documents } = startNode();
  await note(1);
  documents.mode = "deaf";
  const noted = note(10);
  await clock.advance(5_000);
  documents.mode = "here";
  await clock.advance(3_000);
  await noted;
  expect(await read()).toEqual({ count: 11 });
});

test("a put that failed is not taken for the put of another writer who came before its repetition", async () => {
  const { note, read, clock, documents } = startNode();
  await note(1);
  documents.mode = "away";
  const noted = note(10);
  await settled();
  documents.mode = "here";
  await documents.put("counter", "a", { count: 50, reminder_ms: null }, 1);
  await clock.advance(5_000);
  await noted;
  expect(await read()).toEqual({ count: 60 });
});

test("an actor whose key another writer stored begins what was open again, and loses no message", async () => {
  const { ask, note, read, clock, documents } = startNode();
  await note(1);
  const deferred = ask(Counter, "a", "wait", null);
  await settled();
  await documents.put("counter", "a", { count: 50, reminder_ms: null }, 1);
  const noted = note(10);
  await clock.advance(1_000);
  await noted;
  expect(await read()).toEqual({ count: 60 });
  void ask(Counter, "a", "release", null);
  expect(await deferred).toEqual({ count: 60 });
});

describe("a partition that moves while the store is away", () => {
  test("takes the tells that wait there to its next owner", async () => {
    const clock = virtualClock(START_MS);
    const [bus, leases, documents] = [memoryBus(clock), memoryLeases(clock), flakyDocuments()];
    const join = (name: string) =>
      distributed(
        [counterActor()],
        { clock, random: seededRandom(1), bus, leases, documents },
        { name, owns: true },
      );
    const first = await join("one");
    await clock.advance(2_000);
    const neighbours = Array.from({ length: 200 }, (_, n) => `k${n}`).filter(
      (key) => partitionOf("counter", key, MIN_PARTITIONS) % 8 === 0,
    );
    await Promise.all(neighbours.map((key) => first.ask(Counter, key, "add", { by: 1 })));
    documents.mode = "away";
    for (const key of neighbours)
      void first.ask(Counter, "teller", "pass", { to: key, by: 5 }).catch(() => {});
    await clock.advance(1_000);
    const second = await join("two").catch(() => null);
    expect(second).toBeNull();
    documents.mode = "here";
    const late = await join("two");
    documents.mode = "away";
    const stopped = first.stop(5_000);
    await clock.advance(20_000);
    await stopped;
    documents.mode = "here";
    await clock.advance(20_000);
    const counts = await Promise.all(neighbours.map((key) => late.ask(Counter, key, "read", null)));
    expect(counts).toEqual(neighbours.map(() => ({ count: 6 })));
  });
});

describe("tells to one actor", () => {
  interface Tell {
    readonly name: string;
    readonly key: string;
    readonly operation: string;
    readonly message: number;
  }
  function lines() {
    const clock = virtualClock(START_MS);
    const telemetry = silentTelemetry();
    const taken: string[] = [];
    const refusing = { with: null as Fault | null };
    const { send, size } = tellLines<Tell>({ clock, ...telemetry }, async ({ key, message }) => {
      await Promise.resolve();
      if (refusing.with && key === "a") throw refusing.with;
      taken.push(`${key}${message}`);
    });
    const tell = (key: string, message: number) => send({ name: "counter", key, operation: "note", message });
    return { clock, telemetry, taken, refusing, tell, size };
  }

  test("arrive in their order, however long the bus refuses them, and delay no other actor's", async () => {
    const { clock, taken, refusing, tell, telemetry } = lines();
    refusing.with = new Fault("bus_unreachable", "The bus is away");
    for (const n of [1, 2, 3]) tell("a", n);
    tell("b", 1);
    await clock.advance(30 * 60_000);
    expect(taken).toEqual(["b1"]);
    tell("a", 4);
    refusing.with = null;
    await clock.advance(5_000);
    expect(taken).toEqual(["b1", "a1", "a2", "a3", "a4"]);
    expect(telemetry.lines).toEqual([]);
  });

  test("are given up after ten minutes when its mailbox stays full, at once when they are too large", async () => {
    const { clock, taken, refusing, tell, telemetry } = lines();
    refusing.with = new Fault("mailbox_full", "Full");
    tell("a", 1);
    await clock.advance(9 * 60_000);
    expect(telemetry.lines).toEqual([]);
    await clock.advance(2 * 60_000);
    expect(telemetry.lines).toMatchObject([{ level: "error", message: "A message was lost" }]);
    refusing.with = new Fault("message_too_large", "Large");
    tell("a", 2);
    await clock.advance(1);
    expect(telemetry.lines).toHaveLength(2);
    refusing.with = null;
    tell("a", 3);
    await clock.advance(1);
    expect(taken).toEqual(["a3"]);
  });

  test("are given up beyond the node's limit", async () => {
    const { clock, refusing, tell, telemetry, size } = lines();
    refusing.with = new Fault("bus_unreachable", "The bus is away");
    for (let n = 0; n <= MAX_WAITING_TELLS; n++) tell("a", n);
    await clock.advance(1);
    expect(size()).toBe(MAX_WAITING_TELLS);
    expect(telemetry.counts.get("trawl_faults_total mailbox_full")).toBe(1);
  });
});
