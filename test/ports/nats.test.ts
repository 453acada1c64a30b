/** Cases that NATS itself adds to the ports bus and leases: a server that dies, hangs, is too old, or is shared. */
import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { natsBus, readConsumerName, tokenOf } from "../../cluster/adapters/bus/bus.nats.ts";
import { linkNats } from "../../cluster/adapters/bus/connection.nats.ts";
import { guardStreams } from "../../cluster/adapters/bus/stream-guard.nats.ts";
import { natsLeases } from "../../cluster/adapters/leases/leases.nats.ts";
import { natsNodeDirectory } from "../../cluster/adapters/nodes/node-directory.nats.ts";
import type { NodeReport } from "../../cluster/ports/node-directory.ts";
import type { Leases } from "../../cluster/ports/leases.ts";
import type { Bus, Delivery, Envelope } from "../../cluster/ports/bus.ts";
import { engines, ownEngine } from "../harness/engines.ts";
import { hasSmallDisks, onDisk, smallDisk } from "../harness/small-disk.ts";

const { bus: shared } = await engines("bus");

const envelope = (body: string, more: Partial<Envelope> = {}): Envelope => ({
  stream: "work",
  partition: 1,
  name: "counter",
  key: "k",
  body: JSON.stringify(body),
  dedup_id: null,
  reply_to: null,
  timeout_ms: null,
  ...more,
});

const reader = async (bus: Bus, epoch: number) => {
  const got: Delivery[] = [];
  const lost = vi.fn<() => void>();
  const reading = await bus.subscribe(
    1,
    epoch,
    (delivery) => void got.push(delivery),
    lost,
    () => true,
  );
  return { ...reading, got, lost };
};

describe("subjects", () => {
  test.each([
    ["example.co.uk", "example_co_uk"],
    ["Example.ORG", "example_org"],
    ["2001:db8::1", "2001-db8--1-5afd19e856d1c18d"],
  ])("%s is %s", (key, token) => {
    expect(tokenOf(key)).toBe(token);
  });

  test("of long and odd keys stay short and differ", () => {
    const keys = ["x".repeat(200), `${"x".repeat(200)}y`, "a b", "a*b", "a>b", ""];
    const tokens = keys.map(tokenOf);
    expect(new Set(tokens).size).toBe(keys.length);
    for (const token of tokens) expect(token).toMatch(/^[a-z0-9_-]{1,60}$/);
  });

  test("name consumers by partition and epoch", () => {
    expect(readConsumerName("p17-e1099511632487")).toEqual({ partition: 17, epoch: 1_099_511_632_487 });
    expect(readConsumerName("somebody-else")).toBeNull();
  });
});

describe.skipIf(shared === null)("one NATS", () => {
  test("serves several clusters that do not see each other", async () => {
    const address = (name: string) => `${shared!["TRAWL_BUS"]}/${name}-${Date.now()}`;
    const [one, two] = [await natsBus(address("one")), await natsBus(address("two"))];
    const [first, second] = [await reader(one, 7), await reader(two, 3)];
    await one.send(envelope("for one"));
    await two.send(envelope("for two"));
    await vi.waitFor(() => expect([first.got.length, second.got.length]).toEqual([1, 1]));
    expect(second.got[0]!.envelope.body).toBe('"for two"');
    await Promise.all([one.close(), two.close()]);
  });

  test("a lost stream that comes back with the state of the lost one is created once more", async () => {
    const link = await linkNats(`${shared!["TRAWL_BUS"]}/again-${Date.now()}`, { purpose: "test" });
    const [name, subjects] = [`${link.name}-LOST`, [`${link.name}.lost.>`]];
    let creations = 0;
    // So it looks when the server removes the files of the lost stream after the new one was created.
    const create = async () =>
      void (await link.jsm.streams.add({ name, subjects, ...(++creations === 1 && { first_seq: 469 }) }));
    const guard = guardStreams(link, [name], create, undefined);
    const { seq } = await guard.run(() => link.js.publish(`${link.name}.lost.one`, "first"));
    expect([creations, seq]).toEqual([2, 1]);
    // A stream that has been there for a while keeps what it holds.
    expect(await guard.restore()).toBe(false);
    expect((await link.jsm.streams.info(name)).state.messages).toBe(1);
    await link.jsm.streams.delete(name);
    await link.close();
  });

  const answersOf = (works: readonly Promise<unknown>[]): Promise<unknown[]> =>
    Promise.all(
      works.map((work) =>
        work.then(
          () => "done",
          ({ code }: { readonly code: unknown }) => code,
        ),
      ),
    );

  test.each([
    ["after a message that was not acknowledged", [envelope("lost", { stream: "sync" })]],
    ["when nothing was sent before", []],
  ])("a stream that acknowledges nothing fails the ping, %s", async (what, messages) => {
    const address = `${shared!["TRAWL_BUS"]}/unacknowledged-${what.length}-${Date.now()}`;
    const [bus, link] = [await natsBus(address), await linkNats(address, { purpose: "test" })];
    const setAcknowledged = (isAcknowledged: boolean) =>
      link.jsm.streams.update(`${link.name}-SYNC`, { no_ack: !isAcknowledged });
    // Acknowledgements that came before count no more after one that did not.
    for (const _ of messages) await bus.ping();
    await setAcknowledged(false);
    expect(await answersOf(messages.map((message) => bus.send(message)))).toEqual(
      messages.map(() => "bus_unreachable"),
    );
    expect(await answersOf([bus.ping()])).toEqual(["bus_unreachable"]);
    await setAcknowledged(true);
    expect(await answersOf([bus.ping()])).toEqual(["done"]);
    await Promise.all([bus.close(), link.close()]);
  });

  test("pings leave no message, and send none where messages are acknowledged", async () => {
    const address = `${shared!["TRAWL_BUS"]}/pings-${Date.now()}`;
    const [bus, link] = [await natsBus(address), await linkNats(address, { purpose: "test" })];
    const states = () =>
      Promise.all(
        ["SYNC", "WORK"].map(async (stream) => {
          const { messages, last_seq } = (await link.jsm.streams.info(`${link.name}-${stream}`)).state;
          return { messages, last_seq };
        }),
      );
    await bus.send(envelope("first", { stream: "sync" }));
    await Promise.all([bus.ping(), bus.ping()]);
    await bus.ping();
    // Pings take a message of WORK, which nothing was sent to, and none of SYNC.
    expect(await states()).toEqual([
      { messages: 1, last_seq: 1 },
      { messages: 0, last_seq: 1 },
    ]);
    await bus.close();
    await link.close();
  });

  test("lists the nodes, drains one by name, and is wiped when no node runs", async () => {
    const address = `${shared!["TRAWL_BUS"]}/nodes-${Date.now()}`;
    const [bus, leases] = [await natsBus(address), await natsLeases(address)];
    const [node, admin] = [await natsNodeDirectory(address), await natsNodeDirectory(address)];
    expect(await admin.nodes(300)).toEqual([]);
    let drained = 0;
    const report = { node: "a", version: "0", roles: ["worker"], partitions: [] } as unknown as NodeReport;
    const levels: string[] = [];
    await node.serve("a", {
      report: () => report,
      drain: () => void drained++,
      setLogLevel: (level) => void levels.push(level),
    });
    expect([await admin.setLogLevel("debug"), levels]).toEqual([["a"], ["debug"]]);
    expect(await admin.nodes(300)).toEqual([report]);
    expect([await admin.drain("b"), await admin.drain("a"), drained]).toEqual([false, true, 1]);

    await bus.send(envelope("waits"));
    await bus.send(envelope("is worked on"));
    const one = await reader(bus, 7);
    await vi.waitFor(() => expect(one.got).toHaveLength(2));
    await one.got[0]!.acknowledge();
    expect(await admin.queues()).toContainEqual({
      stream: "work",
      partition: 1,
      epoch: 7,
      waiting: 0,
      unacknowledged: 1,
    });
    expect(await admin.partitions()).toBe(0);
    await leases.agreeOn("partitions", "256");
    expect(await admin.partitions()).toBe(256);
    await Promise.all([node.close(), bus.close(), leases.close()]);
    expect(await admin.nodes(300)).toEqual([]);
    expect(await admin.wipe()).toHaveLength(7);
    expect(await admin.wipe()).toEqual([]);
    expect(await admin.partitions()).toBe(0);
    await admin.close();
  });

  test("that is emptied while nodes run keeps what they have agreed on", async () => {
    const address = `${shared!["TRAWL_BUS"]}/agreed-${Date.now()}`;
    const [leases, admin] = [await natsLeases(address), await natsNodeDirectory(address)];
    await leases.agreeOn("partitions", "256");
    await leases.overrule("settings", "new");
    await admin.wipe();
    await leases.survey();
    expect(await admin.partitions()).toBe(256);
    const joining = await natsLeases(address);
    expect([await joining.agreeOn("partitions", "64"), await joining.agreeOn("settings", "old")]).toEqual([
      "256",
      "new",
    ]);
    await Promise.all([leases.close(), joining.close(), admin.close()]);
  });

  test("gives a stream of an earlier version no other limit of consumers", async () => {
    const link = await linkNats(`${shared!["TRAWL_BUS"]}/earlier-${Date.now()}`, { purpose: "test" });
    const name = `${link.name}-WORK`;
    await link.jsm.streams.add({ name, subjects: [`${link.name}.w.>`], retention: "workqueue" });
    const bus = await natsBus(`${shared!["TRAWL_BUS"]}/${link.name}`);
    const limitOf = async (stream: string) => (await link.jsm.streams.info(stream)).config.max_consumers;
    expect([await limitOf(name), await limitOf(`${link.name}-SYNC`)]).toEqual([-1, 8_192]);
    await Promise.all([bus.close(), link.close()]);
  });
});

/** A claim in the first generation of the store as it is now. */
const create = async (leases: Leases, partition: number, node: string) => {
  const { store_id } = await leases.survey();
  return leases.create(partition, node, { store_id, generation: 1, revision: 0 });
};

describe.skipIf(shared === null)("asks between connections of one NATS", () => {
  async function asking() {
    const address = `${shared!["TRAWL_BUS"]}/asks-${Date.now()}-${Math.round(performance.now())}`;
    const [caller, owner, link] = [
      await natsBus(address),
      await natsBus(address),
      await linkNats(address, { purpose: "test" }),
    ];
    const answers: string[] = [];
    const inbox = await caller.inbox((token) => answers.push(token));
    /** Resolves when the server has the ask; where the partition has no reader, when the server has said so. */
    const ask = async (token: string): Promise<void> => {
      void send(token);
      await caller.ping();
    };
    const send = (token: string): Promise<boolean> => {
      const reply_to = `counter.get#${inbox.address(token)}`;
      return caller.send(envelope(token, { stream: "sync", reply_to, timeout_ms: 60_000 }));
    };
    /** Asks in the stream, as none is acknowledged. */
    const stored = async (): Promise<number> => {
      const options = { subjects_filter: `${link.name}.s.1.>` };
      const { state } = await link.jsm.streams.info(`${link.name}-SYNC`, options);
      return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
    };
    const connect = () => natsBus(address);
    /** The server knows of everything that the connection reads. */
    const isKnown = () => owner.ping();
    const closed = () => Promise.all([caller, owner, link].map((connection) => connection.close()));
    return { owner, ask, send, stored, connect, isKnown, closed, answers };
  }
  const bodiesOf = (got: readonly Delivery[]) =>
    got.map(({ envelope: { body } }) => JSON.parse(body) as unknown);

  test("are stored only where no owner takes them", async () => {
    const { owner, ask, stored, isKnown, closed, answers } = await asking();
    await ask("before");
    await vi.waitFor(async () => expect(await stored()).toBe(1));
    const { got } = await reader(owner, 1);
    await isKnown();
    for (const token of ["one", "two"]) await ask(token);
    await vi.waitFor(() => expect(new Set(bodiesOf(got))).toEqual(new Set(["before", "one", "two"])));
    expect(await stored()).toBe(1);
    for (const delivery of got) {
      await owner.answer(delivery.envelope.reply_to!.split("#")[1]!, "{}");
      await delivery.acknowledge();
    }
    await vi.waitFor(() => expect(answers).toHaveLength(3));
    await closed();
  });

  test("of an owner that dies go to the next one, which comes over another connection", async () => {
    const { owner, ask, stored, connect, isKnown, closed } = await asking();
    const first = await reader(owner, 1);
    await isKnown();
    await ask("open");
    await vi.waitFor(() => expect(first.got).toHaveLength(1));
    await owner.close();
    const next = await connect();
    const second = await reader(next, 2);
    await vi.waitFor(() => expect(bodiesOf(second.got)).toEqual(["open"]));
    expect(await stored()).toBe(0);
    await next.close();
    await closed();
  });

  test("without an answer are forgotten when their caller has left", async () => {
    const { owner, send, ask, isKnown, closed } = await asking();
    const { got } = await reader(owner, 1);
    await isKnown();
    const sent = send("open");
    await vi.waitFor(() => expect(got).toHaveLength(1));
    const now_ms = performance.now();
    const clock = vi.spyOn(performance, "now");
    onTestFinished(() => clock.mockRestore());
    clock.mockReturnValue(now_ms + 59_000);
    void ask("before");
    clock.mockReturnValue(now_ms + 66_000);
    void ask("after");
    await expect(sent).resolves.toBe(true);
    clock.mockRestore();
    const next = await reader(owner, 2);
    await vi.waitFor(() => expect(new Set(bodiesOf(next.got))).toEqual(new Set(["before", "after"])));
    await closed();
  });

  test("are not taken by an owner without a valid lease, and wait for the next one", async () => {
    const { owner, ask, stored, connect, isKnown, closed } = await asking();
    let isValid = true;
    const got: Delivery[] = [];
    const deliver = (delivery: Delivery): void => void got.push(delivery);
    const reading = await owner.subscribe(
      1,
      1,
      deliver,
      () => {},
      () => isValid,
    );
    await isKnown();
    await ask("early");
    await vi.waitFor(() => expect(got).toHaveLength(1));
    isValid = false;
    await ask("late");
    await vi.waitFor(async () => expect(await stored()).toBe(1));
    reading.stop();
    const next = await connect();
    const second = await reader(next, 2);
    await vi.waitFor(() => expect(new Set(bodiesOf(second.got))).toEqual(new Set(["early", "late"])));
    await next.close();
    await closed();
  });
});

describe.skipIf(shared === null)("a NATS server of its own", async () => {
  const engine = shared && (await ownEngine("bus"));
  afterAll(() => engine?.stop());
  const address = engine?.settings["TRAWL_BUS"] ?? "";

  test("that dies and comes back loses nothing and needs no new owner", async () => {
    const bus = await natsBus(address);
    onTestFinished(() => bus.close());
    const back = vi.fn<() => void>();
    bus.onReconnect(back);
    const one = await reader(bus, 5);
    await bus.send(envelope("before", { stream: "sync" }));
    await vi.waitFor(() => expect(one.got).toHaveLength(1));
    await engine!.kill();
    const acknowledged = (async () => {
      for (;;) if (await one.got[0]!.acknowledge().catch(() => false)) return true;
    })();
    await engine!.restart();
    await bus.send(envelope("after", { stream: "sync" }));
    // A server that died may have forgotten what it delivered, and delivers it again.
    const arrived = (): string[] => [...new Set(one.got.map(({ envelope: { body } }) => body))];
    await vi.waitFor(() => expect(arrived()).toEqual(['"before"', '"after"']), { timeout: 10_000 });
    expect(await acknowledged).toBe(true);
    await vi.waitFor(
      async () => {
        await Promise.all(one.got.map((delivery) => delivery.acknowledge()));
        expect(await one.oldestUnacknowledged()).toEqual([]);
      },
      { timeout: 10_000 },
    );
    expect(one.lost).not.toHaveBeenCalled();
    expect(back).toHaveBeenCalledOnce();
  });

  test("that is away is reported by a fault in time, and works again by itself afterwards", async () => {
    const fault = { name: "Fault", code: "bus_unreachable" };
    const [bus, leases] = [await natsBus(address), await natsLeases(address)];
    const lease = (await create(leases, 9, "a"))!;
    await engine!.kill();
    const began = performance.now();
    const calls = [
      bus.send(envelope("away")),
      bus.ping(),
      bus.subscribe(
        2,
        1,
        () => {},
        () => {},
        () => true,
      ),
      leases.renew(9, "a", lease),
      leases.create(10, "a", { store_id: "any", generation: 1, revision: 0 }),
      leases.survey(),
      leases.members(),
    ];
    for (const end of await Promise.allSettled(calls)) expect(end).toMatchObject({ reason: fault });
    expect(performance.now() - began).toBeLessThan(4_000);
    await engine!.restart();
    await vi.waitFor(() => bus.ping(), { timeout: 10_000 });
    expect(await bus.send(envelope("back"))).toBe(true);
    await leases.announcePresence("a");
    expect(await leases.members()).toEqual(["a"]);
    await Promise.all([bus.close(), leases.close()]);
  });

  test("that hangs is reported by a fault in time", async () => {
    const bus = await natsBus(address);
    await engine!.pause();
    const began = performance.now();
    await expect(bus.send(envelope("hanging"))).rejects.toMatchObject({ code: "bus_unreachable" });
    expect(performance.now() - began).toBeLessThan(4_000);
    engine!.resume();
    await vi.waitFor(() => bus.ping(), { timeout: 10_000 });
    await bus.close();
  });
});

test.skipIf(shared === null || !hasSmallDisks())(
  "a NATS whose disk is full fails the ping, names a stream that acknowledges nothing, and works after its restart",
  async () => {
    const disk = smallDisk("192m")!;
    onTestFinished(() => disk.unmount());
    const engine = (await onDisk(disk, () => ownEngine("bus")))!;
    onTestFinished(() => engine.stop());
    const bus = await natsBus(engine.settings["TRAWL_BUS"]!);
    onTestFinished(() => bus.close());
    disk.fill();
    await expect(bus.ping()).rejects.toMatchObject({ code: "bus_unreachable" });
    expect(bus.silentStreams()[0]).toMatch(/^trawl-(SYNC|WORK)$/);
    disk.free();
    await engine.kill();
    await engine.restart();
    await vi.waitFor(() => bus.ping(), { timeout: 10_000 });
    expect(bus.silentStreams()).toEqual([]);
  },
);

describe("an address", () => {
  /** Says what a server of that version says first, and to questions for its JetStream what the test says. */
  async function server(version: string, asked: (reply: (body: string) => void) => void = () => {}) {
    const listening = createServer((socket) => {
      socket.write(
        `INFO ${JSON.stringify({ server_id: "x", version, headers: true, max_payload: 1_048_576, proto: 1 })}\r\n`,
      );
      socket.on("data", (bytes) => {
        if (bytes.includes("PING")) socket.write("PONG\r\n");
        const [, reply_to] = /PUB \$JS\.API\.INFO (\S+)/.exec(bytes.toString()) ?? [];
        if (reply_to) asked((body) => socket.write(`MSG ${reply_to} 1 ${body.length}\r\n${body}\r\n`));
      });
      socket.on("error", () => {});
    }).listen(0, "127.0.0.1");
    await once(listening, "listening");
    return { at: `nats://127.0.0.1:${(listening.address() as AddressInfo).port}`, listening };
  }

  test("of a server that is too old is refused with a sentence", async () => {
    const { at, listening } = await server("2.9.10");
    await expect(natsBus(at)).rejects.toThrow(/^Cannot use NATS 2\.9\.10 at .*must be 2\.12 or newer/);
    listening.close();
  });

  test("of a server that is busy is asked again; one without JetStream is refused with a sentence", async () => {
    let questions = 0;
    const { at, listening } = await server("2.12.0", (reply) => {
      questions++;
      const error = { code: 503, err_code: 10_039, description: "JetStream not enabled for account" };
      if (questions > 1) reply(JSON.stringify({ error }));
    });
    await expect(natsBus(at)).rejects.toThrow(/whose JetStream must be on .*not enabled/);
    expect(questions).toBe(2);
    listening.close();
  });

  test("without a server ends in a fault, without the password", async () => {
    const problem = await natsBus("nats://me:secret@127.0.0.1:1").catch((fault: unknown) => fault as Error);
    expect(problem).toMatchObject({ name: "Fault", code: "bus_unreachable" });
    expect((problem as Error).message).toContain("127.0.0.1:1");
    expect((problem as Error).message).not.toContain("secret");
  });

  test("with two clusters' names is a mistake", async () => {
    await expect(natsBus("nats://a:1/one,nats://b:1/two")).rejects.toThrow("A cluster's name in TRAWL_BUS");
  });
});
