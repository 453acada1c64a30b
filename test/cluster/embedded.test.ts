/** Promises of the runtime to an actor, seen from outside an embedded node (cluster/README.md). */
import { describe, expect, test } from "vitest";
import type { WorkContext, ActorClient } from "../../cluster/actor.ts";
import { settled, virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { type CacheLimits, cacheLimits, RUNTIME_CACHES } from "../../cluster/cache-limits.ts";
import { embedded } from "../../cluster/embedded.ts";
import { nextEpoch } from "../../cluster/process-epoch.ts";
import { MAX_ASKS, MAX_TELLS } from "../../cluster/internal/turn/shard.ts";
import { Counter, counterActor, type Trace } from "../harness/counter.actor.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

const START_MS = Date.UTC(2026, 0, 1);

function startNode({
  clock = virtualClock(START_MS),
  documents = memoryDocuments(),
  telemetry = silentTelemetry(),
  work = undefined as ((ask: ActorClient, context: WorkContext) => Promise<{ count: number }>) | undefined,
  caches = cacheLimits(RUNTIME_CACHES) as Pick<CacheLimits, "answers">,
} = {}) {
  const trace: Trace = { activations: 0, reminders: [], stumbles: 0 };
  const cluster = embedded([counterActor(work, trace)], {
    clock,
    random: seededRandom(1),
    documents,
    caches,
    ...telemetry,
  });
  const add = (by: number, key = "a") => cluster.ask(Counter, key, "add", { by });
  const read = (key = "a") => cluster.ask(Counter, key, "read", null);
  return { ...cluster, add, read, clock, documents, telemetry, trace };
}

/** A store whose writes wait until they are let through. */
function slowly(documents = memoryDocuments()) {
  const gate = Promise.withResolvers<void>();
  const put = async (...write: Parameters<typeof documents.put>) => (
    await gate.promise,
    documents.put(...write)
  );
  return { documents: { ...documents, put }, letThrough: gate.resolve };
}

async function pending(promise: Promise<unknown>): Promise<boolean> {
  await settled();
  return Promise.race([
    promise.then(
      () => false,
      () => false,
    ),
    settled().then(() => true),
  ]);
}

describe("a turn", () => {
  test("answers nothing before its snapshot is stored", async () => {
    const { documents, letThrough } = slowly();
    const { add } = startNode({ documents });
    const answer = add(1);
    expect(await pending(answer)).toBe(true);
    letThrough();
    expect(await answer).toEqual({ count: 1 });
  });

  test("sends no tells either", async () => {
    const { documents, letThrough } = slowly();
    const { ask, read } = startNode({ documents });
    void ask(Counter, "a", "note", { by: 1 });
    void ask(Counter, "a", "pass", { to: "b", by: 5 });
    await settled();
    expect(await read("b")).toEqual({ count: 0 });
    letThrough();
    await settled();
    expect(await read("b")).toEqual({ count: 5 });
  });

  test("begins when the one before is stored, in the order of the asks", async () => {
    const { add } = startNode();
    expect(await Promise.all([add(1), add(10), add(100)])).toEqual([
      { count: 1 },
      { count: 11 },
      { count: 111 },
    ]);
  });

  test("stores nothing when the snapshot did not change", async () => {
    const { add, read, documents } = startNode();
    await add(1);
    await read();
    await read();
    expect(await documents.get("counter", "a")).toMatchObject({ version: 1 });
  });

  test("shares its message with the sender, and neither can change it", async () => {
    const { ask } = startNode();
    const message = { text: "before" };
    const answer = ask(Counter, "a", "echo", message);
    expect(() => (message.text = "after")).toThrow(TypeError);
    expect(await answer).toEqual({ text: "before" });
  });

  test("gets a copy of what is not JSON as it is, which its sender may change", async () => {
    const { ask } = startNode();
    const message = { text: "before", more: undefined };
    const answer = ask(Counter, "a", "echo", message);
    message.text = "after";
    expect(await answer).toStrictEqual({ text: "before" });
  });
});

describe("a snapshot that may be stored later", () => {
  const stored = async ({ documents }: ReturnType<typeof startNode>) => {
    const { version, value } = (await documents.get("counter", "a"))!;
    return { version, count: (value as { count: number }).count };
  };

  test("is answered at once, and stored a second after the first turn that left it", async () => {
    const node = startNode();
    await node.add(5);
    expect(await node.add(-1)).toEqual({ count: 4 });
    await node.clock.advance(600);
    expect(await node.add(-1)).toEqual({ count: 3 });
    await node.clock.advance(399);
    expect(await stored(node)).toEqual({ version: 1, count: 5 });
    await node.clock.advance(1);
    expect(await stored(node)).toEqual({ version: 2, count: 3 });
    await node.clock.advance(5_000);
    expect(await stored(node)).toEqual({ version: 2, count: 3 });
  });

  test("is stored with the next one that may not", async () => {
    const node = startNode();
    await node.add(5);
    for (let n = 0; n < 10; n++) {
      await node.add(-1);
      await node.clock.advance(500);
      await node.add(2);
    }
    expect(await stored(node)).toEqual({ version: 11, count: 15 });
    await node.clock.advance(5_000);
    expect(await stored(node)).toEqual({ version: 11, count: 15 });
  });

  test("is lost with a process that dies before, and only then", async () => {
    const node = startNode();
    await node.add(5);
    await node.add(-2);
    const next = startNode({ documents: node.documents, clock: node.clock });
    expect(await next.read()).toEqual({ count: 5 });
  });

  test("is stored when the node stops, also what work in flight leaves then", async () => {
    const done = Promise.withResolvers<{ count: number }>();
    const node = startNode({
      async work(ask) {
        await done.promise;
        return ask(Counter, "a", "add", { by: -1 });
      },
    });
    await node.add(5);
    await node.ask(Counter, "b", "read", null);
    node.ask(Counter, "b", "work", null, { timeout_ms: 1 }).catch(() => {});
    await node.add(-2);
    const stopped = node.stop();
    await node.clock.advance(1);
    expect(await stored(node)).toEqual({ version: 2, count: 3 });
    done.resolve({ count: 1 });
    await stopped;
    expect(await stored(node)).toEqual({ version: 3, count: 2 });
  });

  test("is stored before its activation ends by a turn that breaks", async () => {
    const node = startNode();
    await node.add(5);
    await node.add(-2);
    await expect(node.ask(Counter, "a", "break", { how: "" })).rejects.toMatchObject({ code: "no_answer" });
    expect(await node.read()).toEqual({ count: 3 });
    expect(node.trace.activations).toBe(2);
    expect(await stored(node)).toEqual({ version: 2, count: 3 });
  });

  test("is stored before its activation ends by background work that fails", async () => {
    const work = Promise.withResolvers<{ count: number }>();
    const node = startNode({ work: () => work.promise });
    await node.add(5);
    const working = node.ask(Counter, "a", "work", null);
    await node.add(-2);
    work.reject(new Error("Broken on purpose"));
    await expect(working).rejects.toMatchObject({ code: "no_answer" });
    expect(await node.read()).toEqual({ count: 3 });
    expect(node.trace.activations).toBe(2);
  });

  test("gives way to what another writer has stored meanwhile", async () => {
    const node = startNode();
    await node.add(5);
    await node.add(-2);
    const other = startNode({ documents: node.documents, clock: node.clock });
    await other.add(10);
    await node.clock.advance(2_000);
    expect(await node.read()).toEqual({ count: 15 });
    expect(await stored(node)).toEqual({ version: 2, count: 15 });
  });
});

describe("an actor whose key another writer stores", () => {
  test("answers no caller when that happens five times", async () => {
    const documents = { ...memoryDocuments(), put: async () => false };
    const { add, clock } = startNode({ documents });
    const failure = add(1).catch((problem: unknown) => problem);
    await clock.advance(1_000);
    expect(await failure).toMatchObject({ code: "lease_lost", cause: { code: "lease_lost" } });
  });

  test("continues from the stored state", async () => {
    const here = startNode();
    await here.add(5);
    const there = startNode({ documents: here.documents, clock: here.clock });
    expect(await there.add(1)).toEqual({ count: 6 });
    const late = here.add(1);
    await here.clock.advance(250);
    expect(await late).toEqual({ count: 7 });
  });
});

describe("an ask", () => {
  test("waits until it is answered, when its reply is deferred", async () => {
    const { ask } = startNode();
    const answers = [ask(Counter, "a", "wait", null), ask(Counter, "a", "wait", null)];
    expect(await pending(answers[0]!)).toBe(true);
    await ask(Counter, "a", "release", null);
    expect(await Promise.all(answers)).toEqual([{ count: 0 }, { count: 0 }]);
  });

  test("ends with no_answer after its timeout, by default 160 s", async () => {
    const { ask, clock, stats } = startNode();
    const longAsk = ask(Counter, "a", "wait", null);
    const shortAsk = ask(Counter, "a", "wait", null, { timeout_ms: 1_000 });
    shortAsk.catch(() => {});
    await clock.advance(1_000);
    await expect(shortAsk).rejects.toMatchObject({ name: "Fault", code: "no_answer" });
    expect(await pending(longAsk)).toBe(true);
    longAsk.catch(() => {});
    await clock.advance(159_000);
    await expect(longAsk).rejects.toMatchObject({ code: "no_answer" });
    expect(stats().pending_asks).toBe(0);
  });

  test("whose time is over before its turn begins changes nothing", async () => {
    const { documents, letThrough } = slowly();
    const { ask, read, clock } = startNode({ documents });
    const first = ask(Counter, "a", "add", { by: 1 });
    const second = ask(Counter, "a", "add", { by: 10 }, { timeout_ms: 5_000 });
    const failure = second.catch((problem: unknown) => problem);
    await clock.advance(5_000);
    expect(await failure).toMatchObject({ code: "no_answer" });
    letThrough();
    expect(await first).toEqual({ count: 1 });
    expect(await read()).toEqual({ count: 1 });
  });

  test("sent again under the same id while it is open is the same ask", async () => {
    const { ask } = startNode();
    const first = ask(Counter, "a", "add", { by: 1 }, { idempotency_id: "x" });
    const second = ask(Counter, "a", "add", { by: 1 }, { idempotency_id: "x" });
    expect(await Promise.all([first, second])).toEqual([{ count: 1 }, { count: 1 }]);
    const other = ask(Counter, "b", "add", { by: 1 }, { idempotency_id: "x" });
    expect(await other).toEqual({ count: 1 });
  });

  test("sent again under the same id after its answer gets the same answer", async () => {
    const { ask, add } = startNode();
    await ask(Counter, "a", "add", { by: 1 }, { idempotency_id: "x" });
    await add(10);
    expect(await ask(Counter, "a", "add", { by: 1 }, { idempotency_id: "x" })).toEqual({ count: 1 });
    expect(await add(0)).toEqual({ count: 11 });
  });

  test("sent again under the same id ten minutes after its answer is another ask", async () => {
    const { ask, clock } = startNode();
    await ask(Counter, "a", "add", { by: 1 }, { idempotency_id: "x" });
    await clock.advance(9 * 60_000);
    expect(await ask(Counter, "a", "add", { by: 1 }, { idempotency_id: "x" })).toEqual({ count: 1 });
    await clock.advance(60_001);
    expect(await ask(Counter, "a", "add", { by: 1 }, { idempotency_id: "x" })).toEqual({ count: 2 });
  });

  test("sent again under the same id gets the same answer only as long as there is room to remember it", async () => {
    // `{"count":1}` is reckoned with at most 36 characters: so many has it with the longest number.
    const { ask } = startNode({ caches: { answers: 90 } });
    const add = (key: string) => ask(Counter, key, "add", { by: 1 }, { idempotency_id: "x" });
    await add("a");
    await add("b");
    expect(await add("a")).toEqual({ count: 1 });
    await add("c");
    expect(await add("a")).toEqual({ count: 1 });
    expect(await add("b")).toEqual({ count: 2 });
  });

  test("for a message that the actor sends itself is refused", async () => {
    const { ask } = startNode();
    const forged = ask(Counter, "a", "timerFired" as never, null as never);
    await expect(forged).rejects.toThrow("only the actor itself sends it");
  });

  test.each([
    ["does not fit its contract", { by: "1" }, TypeError],
    ["lacks what it must have", {}, TypeError],
    ["would not be the same after a wire", { by: new Date(0) }, TypeError],
  ])("that %s is refused", async (_, message, kind) => {
    const { ask } = startNode();
    await expect(ask(Counter, "a", "add", message as never)).rejects.toThrow(kind);
  });

  test("for an unknown actor or operation is a mistake, not a fault", async () => {
    const { ask } = startNode();
    await expect(ask({ ...Counter, name: "nobody" }, "a", "read", null)).rejects.toThrow('"nobody"');
    await expect(ask(Counter, "a", "raed" as never, null as never)).rejects.toThrow("no such operation");
  });

  test("of more than 256 KB is refused with message_too_large", async () => {
    const { ask } = startNode();
    const fits = "x".repeat(256 * 1024 - 11);
    expect(await ask(Counter, "a", "echo", { text: fits })).toEqual({ text: fits });
    const fault = { code: "message_too_large" };
    await expect(ask(Counter, "a", "echo", { text: `${fits}x` })).rejects.toMatchObject(fault);
    await expect(ask(Counter, "a", "echo", { text: "é".repeat(140_000) })).rejects.toMatchObject(fault);
  });
});

describe("a mailbox", () => {
  test("refuses an ask beyond its limit, and takes the next after an answer", async () => {
    const { ask, read } = startNode();
    const waiting = Array.from({ length: MAX_ASKS }, () => ask(Counter, "a", "wait", null));
    await settled();
    await expect(read()).rejects.toMatchObject({ name: "Fault", code: "mailbox_full" });
    expect(await read("b")).toEqual({ count: 0 });
    await ask(Counter, "a", "release", null);
    await Promise.all(waiting);
    expect(await read()).toEqual({ count: 0 });
  });

  test("that is full of tells accepts the next one a little later", async () => {
    const { documents, letThrough } = slowly();
    const { ask, clock, add, telemetry } = startNode({ documents });
    void add(0, "b");
    void ask(Counter, "b", "note", { by: 1 });
    for (let n = 0; n < MAX_TELLS + 10; n++) void ask(Counter, `c${n % 10}`, "pass", { to: "b", by: 1 });
    await settled();
    letThrough();
    await clock.advance(1_000);
    expect(await add(0, "b")).toEqual({ count: MAX_TELLS + 11 });
    expect(telemetry.lines.filter(({ level }) => level === "error")).toEqual([]);
  });
});

describe("a turn that breaks", () => {
  test("fails its ask, is counted and logged without the message, and leaves the state as it was", async () => {
    const { ask, add, read, telemetry } = startNode();
    await add(3);
    await expect(ask(Counter, "a", "break", { how: "s3cret" })).rejects.toMatchObject({
      code: "no_answer",
      cause: { message: "Broken on purpose" },
    });
    expect(await read()).toEqual({ count: 3 });
    expect(telemetry.counts.get("trawl_actor_failures_total counter")).toBe(1);
    expect(telemetry.lines).toMatchObject([
      { level: "error", fields: { actor: "counter", key: "a", operation: "break" } },
    ]);
    expect(JSON.stringify(telemetry.lines)).not.toContain("s3cret");
  });

  test.each([
    ["does not fit its contract", "badly", { name: "TypeError" }],
    ["is longer than a message may be", "hugely", { code: "message_too_large" }],
  ])("because its answer %s stores nothing", async (_, how, cause) => {
    const { ask, read } = startNode();
    await expect(ask(Counter, "a", "break", { how })).rejects.toMatchObject({ code: "no_answer", cause });
    expect(await read()).toEqual({ count: 0 });
  });

  test("fails every deferred ask, and continues with the messages in the mailbox", async () => {
    const { ask, add } = startNode();
    const deferred = ask(Counter, "a", "wait", null);
    const broken = ask(Counter, "a", "break", { how: "" });
    const behind = add(1);
    const ends = await Promise.allSettled([deferred, broken, behind]);
    expect(ends).toMatchObject([
      { reason: { code: "no_answer" } },
      { reason: { code: "no_answer" } },
      { value: { count: 1 } },
    ]);
  });

  test.each([
    [4, "1 s later it has done it", { count: 1 }, 4],
    [5, "then it is dead-lettered", { count: 0 }, 5],
  ])("on a tell is tried again every 250 ms, and after %i breaks %s", async (times, _, count, failures) => {
    const { ask, read, clock, telemetry, trace } = startNode();
    await ask(Counter, "b", "trip", { to: "a", times });
    await settled();
    expect(trace.stumbles).toBe(1);
    await clock.advance(749);
    expect(trace.stumbles).toBe(3);
    await clock.advance(60_000);
    expect(await read()).toEqual(count);
    expect(trace.stumbles).toBe(5);
    expect(telemetry.counts.get("trawl_actor_failures_total counter")).toBe(failures);
  });
});

describe("background work", () => {
  test("has a larger epoch in each process on the same documents", async () => {
    const documents = memoryDocuments();
    const epochs: number[] = [];
    for (let starts = 0; starts < 3; starts++) {
      const work = async (_: ActorClient, { epoch }: WorkContext) => ({ count: epochs.push(epoch) });
      const deps = { clock: virtualClock(START_MS), random: seededRandom(1), documents };
      const trace: Trace = { activations: 0, reminders: [], stumbles: 0 };
      const { ask } = embedded([counterActor(work, trace)], deps, await nextEpoch(documents));
      await ask(Counter, "a", "work", null);
    }
    expect(epochs).toEqual([1, 2, 3]);
  });

  test("comes back as a message of the actor's own", async () => {
    const done = Promise.withResolvers<{ count: number }>();
    const { ask, read } = startNode({ work: () => done.promise });
    const answer = ask(Counter, "a", "work", null);
    expect(await pending(answer)).toBe(true);
    expect(await read()).toEqual({ count: 0 });
    done.resolve({ count: 9 });
    expect(await answer).toEqual({ count: 9 });
  });

  test("may ask other actors and wait for them", async () => {
    const { ask, add } = startNode({ work: (client) => client(Counter, "b", "read", null) });
    await add(4, "b");
    expect(await ask(Counter, "a", "work", null)).toEqual({ count: 4 });
  });

  test("that breaks ends the activation: every deferred ask fails, the next activation begins afresh", async () => {
    let broken = true;
    const { ask, add, trace } = startNode({
      work: async () => {
        if (broken) throw new RangeError("Invalid route");
        return { count: 2 };
      },
    });
    const answers = [ask(Counter, "a", "wait", null), ask(Counter, "a", "work", null)];
    const ends = await Promise.allSettled(answers);
    expect(ends).toMatchObject([{ reason: { code: "no_answer" } }, { reason: { code: "no_answer" } }]);
    broken = false;
    expect(trace.activations).toBe(1);
    expect(await ask(Counter, "a", "work", null)).toEqual({ count: 2 });
    expect(trace.activations).toBe(2);
    expect(await add(1)).toEqual({ count: 1 });
  });

  test("whose result does not fit its contract breaks, too", async () => {
    const { ask } = startNode({ work: async () => ({ count: "many" }) as never });
    await expect(ask(Counter, "a", "work", null)).rejects.toMatchObject({ cause: { name: "TypeError" } });
  });

  test("is aborted when its activation ended, and its result is forgotten", async () => {
    const contexts: WorkContext[] = [];
    const done = Promise.withResolvers<{ count: number }>();
    const { ask, add } = startNode({
      work(_, context) {
        contexts.push(context);
        return done.promise;
      },
    });
    const answer = ask(Counter, "a", "work", null);
    await settled();
    expect([contexts[0]!.signal.aborted, contexts[0]!.ownsKey()]).toEqual([false, true]);
    await expect(ask(Counter, "a", "break", { how: "" })).rejects.toThrow("Cannot answer");
    await expect(answer).rejects.toMatchObject({ code: "no_answer" });
    expect([contexts[0]!.signal.aborted, contexts[0]!.ownsKey()]).toEqual([true, false]);
    const later = ask(Counter, "a", "wait", null);
    done.resolve({ count: 9 });
    expect(await pending(later)).toBe(true);
    await add(0);
  });
});

describe("a timer", () => {
  test("fires as a message, and setting it again replaces it", async () => {
    const { ask, clock } = startNode();
    const first = ask(Counter, "a", "setTimer", { in_ms: 1_000 });
    const second = ask(Counter, "a", "setTimer", { in_ms: 3_000 });
    await clock.advance(2_999);
    expect(await pending(first)).toBe(true);
    await clock.advance(1);
    expect(await Promise.all([first, second])).toEqual([{ count: 0 }, { count: 0 }]);
  });

  test("ends with its activation", async () => {
    const { ask, clock, trace } = startNode();
    const deferred = ask(Counter, "a", "setTimer", { in_ms: 1_000 });
    void ask(Counter, "a", "break", { how: "" }).catch(() => {});
    await expect(deferred).rejects.toMatchObject({ code: "no_answer" });
    await clock.advance(1_000);
    expect(trace.activations).toBe(1);
  });
});

describe("an idle actor", () => {
  test("is put away, and its key makes a new activation from the snapshot", async () => {
    const { add, clock, stats, trace } = startNode();
    await add(5);
    await clock.advance(59_000);
    expect(stats().activations).toEqual({ counter: 1 });
    await clock.advance(11_000);
    expect(stats().activations).toEqual({ counter: 0 });
    expect(await add(1)).toEqual({ count: 6 });
    expect(trace.activations).toBe(2);
  });

  test.each([
    ["owes an answer", "wait", null],
    ["has a timer set", "setTimer", { in_ms: 100_000 }],
    ["has work running", "work", null],
  ] as const)("stays while it %s", async (_, operation, message) => {
    const { ask, clock, stats } = startNode({ work: () => new Promise(() => {}) });
    ask(Counter, "a", operation, message as never).catch(() => {});
    await clock.advance(90_000);
    expect(stats().activations).toEqual({ counter: 1 });
  });

  test("that never answered is put away once its caller has given up", async () => {
    const { ask, clock, stats } = startNode();
    ask(Counter, "a", "wait", null, { timeout_ms: 1_000 }).catch(() => {});
    await clock.advance(80_000);
    expect(stats().activations).toEqual({ counter: 0 });
  });
});

describe("a reminder", () => {
  test("fires at its time, also when the actor was put away meanwhile", async () => {
    const { ask, read, clock, stats, trace } = startNode();
    await ask(Counter, "a", "setReminder", { at_ms: START_MS + 3_600_000 });
    await clock.advance(3_599_999);
    expect(stats().activations).toEqual({ counter: 0 });
    await clock.advance(1);
    expect(trace.reminders).toEqual([START_MS + 3_600_000]);
    expect(await read()).toEqual({ count: 100 });
  });

  test("is found by the next node, also when its time is over", async () => {
    const first = startNode();
    for (const [key, in_ms] of [
      ["a", 1_000],
      ["b", 90_000],
      ["c", 5_000],
    ] as const)
      await first.ask(Counter, key, "setReminder", { at_ms: START_MS + in_ms });
    await first.clock.advance(1_000);
    expect(first.trace.reminders).toHaveLength(1);
    const second = startNode({ documents: first.documents, clock: virtualClock(START_MS + 60_000) });
    await second.recovered;
    await second.clock.advance(30_000);
    expect(second.trace.reminders).toEqual([START_MS + 60_000, START_MS + 90_000]);
    expect(await second.read("a")).toEqual({ count: 100 });
  });

  test("that was taken back does not fire", async () => {
    const { ask, add, clock, trace, documents } = startNode();
    await ask(Counter, "a", "setReminder", { at_ms: START_MS + 1_000 });
    await ask(Counter, "a", "setReminder", { at_ms: START_MS + 5_000 });
    await clock.advance(4_999);
    expect(trace.reminders).toEqual([]);
    await clock.advance(1);
    await add(1);
    await clock.advance(600_000);
    expect(trace.reminders).toHaveLength(1);
    expect(await documents.list("counter", { tag: "reminder-1", limit: 1 })).toEqual([]);
  });
});

describe("a node that stops", () => {
  test("takes nothing new and answers the asks it has already", async () => {
    const { ask, read, clock, stop } = startNode();
    const answer = ask(Counter, "a", "setTimer", { in_ms: 2_000 });
    await settled();
    const stopped = stop();
    await expect(read()).rejects.toMatchObject({ code: "no_answer" });
    await clock.advance(2_000);
    expect(await answer).toEqual({ count: 0 });
    await stopped;
  });

  test("lets work in flight end, and ownsKey answers no once it has stopped", async () => {
    const done = Promise.withResolvers<{ count: number }>();
    let workContext: WorkContext | undefined;
    const { ask, documents, stop } = startNode({
      async work(client, context) {
        workContext = context;
        await done.promise;
        return client(Counter, "b", "add", { by: 1 });
      },
    });
    ask(Counter, "a", "work", null, { timeout_ms: 1 }).catch(() => {});
    await settled();
    const stopped = stop();
    void stopped;
    expect(workContext!.ownsKey()).toBe(true);
    done.resolve({ count: 1 });
    await stopped;
    expect(workContext!.ownsKey()).toBe(false);
    expect(await documents.get("counter", "b")).toMatchObject({ value: { count: 1 } });
  });

  test("aborts what is left at its limit and fails its asks", async () => {
    let workContext: WorkContext | undefined;
    const { ask, clock, stop } = startNode({
      work(_, context) {
        workContext = context;
        return new Promise(() => {});
      },
    });
    const answer = ask(Counter, "a", "work", null);
    answer.catch(() => {});
    await settled();
    const stopped = stop(5_000);
    await clock.advance(4_999);
    expect(await pending(stopped)).toBe(true);
    expect(workContext!.signal.aborted).toBe(false);
    await clock.advance(1);
    await stopped;
    expect(workContext!.signal.aborted).toBe(true);
    await expect(answer).rejects.toMatchObject({ code: "no_answer" });
  });

  test("leaves no timer behind", async () => {
    const { add, clock, stop, trace } = startNode();
    await add(1);
    await stop();
    await clock.advance(600_000);
    expect(trace.activations).toBe(1);
  });
});
