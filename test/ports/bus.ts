/** Promises of every bus (cluster/ports/bus.ts). */
import { describe, expect, test, vi } from "vitest";
import {
  type Bus,
  type Delivery,
  type Envelope,
  MAX_ENVELOPE_BYTES,
  MAX_MAILBOX_LENGTH,
} from "../../cluster/ports/bus.ts";

const always = () => true;
const ignore = () => {};

/** `open` gives one connection for all tests; each test keeps to partitions and epochs of its own. */
export function busSuite(connect: () => Promise<Bus>): void {
  const bus = connect();
  let partitions = 0;
  let epochs = 0;
  let names = 0;

  async function one() {
    const partition = partitions++;
    const post = await bus;
    const envelope = (body: unknown, more: Partial<Envelope> = {}): Envelope => ({
      stream: "work",
      partition,
      name: "counter",
      key: `key ${partition}`,
      body: JSON.stringify(body),
      dedup_id: null,
      reply_to: null,
      timeout_ms: null,
      ...more,
    });
    const read = async ({
      epoch = ++epochs,
      onLost = ignore,
      isLeaseValid = always,
      onTaken = ignore as () => void | Promise<void>,
    } = {}) => {
      const got: Delivery[] = [];
      const reading = await post.subscribe(
        partition,
        epoch,
        (delivery) => {
          got.push(delivery);
          return onTaken();
        },
        onLost,
        isLeaseValid,
      );
      const bodies = () => got.map(({ envelope: { body } }) => JSON.parse(body) as unknown);
      const have = (count: number) => vi.waitFor(() => expect(got).toHaveLength(count), { timeout: 5_000 });
      return { ...reading, epoch, got, bodies, have };
    };
    const once = `once-${Date.now()}-${names++}`;
    return { post, partition, envelope, read, once, send: post.send.bind(post) };
  }

  test.each(["sync", "work"] as const)("delivers on %s what was sent, whole", async (stream) => {
    const { envelope, send, read, once } = await one();
    const whole = envelope(
      { text: "Zürich 😀\n", n: [1, null] },
      {
        stream,
        key: "münchen.example https://x",
        dedup_id: once,
        reply_to: "somewhere.1",
        timeout_ms: 160_000,
      },
    );
    expect(await send(whole)).toBe(true);
    const reader = await read();
    await reader.have(1);
    expect(reader.got[0]!.envelope).toEqual(whole);
    expect(await reader.got[0]!.acknowledge()).toBe(true);
    await reader.remove();
  });

  test("keeps the order of a mailbox, also across a new owner", async () => {
    const { envelope, send, read } = await one();
    for (let n = 0; n < 50; n++) await send(envelope(n));
    const first = await read();
    await first.have(50);
    expect(first.bodies()).toEqual(Array.from({ length: 50 }, (_, n) => n));
    for (const delivery of first.got.slice(0, 20)) await delivery.acknowledge();
    for (let n = 50; n < 60; n++) await send(envelope(n));
    const second = await read();
    await second.have(40);
    expect(second.bodies()).toEqual(Array.from({ length: 40 }, (_, n) => n + 20));
  });

  test("brings what was not acknowledged to the next epoch, and nothing else", async () => {
    const { envelope, send, read } = await one();
    await send(envelope("kept"));
    await send(envelope("left", { stream: "sync" }));
    const first = await read();
    await first.have(2);
    const undelivered = first.got.find(({ envelope: { body } }) => body === '"kept"')!;
    const left = first.got.find((delivery) => delivery !== undelivered)!;
    expect(new Set(await first.oldestUnacknowledged())).toEqual(new Set([undelivered.id, left.id]));
    expect(await undelivered.acknowledge()).toBe(true);
    expect(await first.oldestUnacknowledged()).toEqual([left.id]);
    first.stop();
    const second = await read();
    await second.have(1);
    expect(second.bodies()).toEqual(["left"]);
    expect(await second.got[0]!.acknowledge()).toBe(true);
    expect(await second.oldestUnacknowledged()).toEqual([]);
  });

  test("counts for a new reader the tells that waited, those of the last reader included, and no asks", async () => {
    const { envelope, send, read } = await one();
    const empty = await read();
    expect(empty.backlog).toBe(0);
    for (let n = 0; n < 3; n++) await send(envelope(n));
    await send(envelope("asked", { stream: "sync" }));
    await empty.have(4);
    const told = empty.got.find(({ envelope: { stream } }) => stream === "work")!;
    await told.acknowledge();
    const next = await read();
    expect(next.backlog).toBe(2);
    await next.have(3);
    await next.remove();
  });

  test("reports the oldest delivery that is not acknowledged", async () => {
    const { envelope, send, read } = await one();
    for (let n = 0; n < 5; n++) await send(envelope(n));
    const reader = await read();
    await reader.have(5);
    for (const [acknowledged, oldest] of [
      [3, 0],
      [0, 1],
      [1, 2],
      [2, 4],
    ] as const) {
      await reader.got[acknowledged]!.acknowledge();
      expect(await reader.oldestUnacknowledged()).toEqual([reader.got[oldest]!.id]);
    }
    await reader.got[4]!.acknowledge();
    expect(await reader.oldestUnacknowledged()).toEqual([]);
  });

  test("lets an acknowledgement be repeated", async () => {
    const { envelope, send, read } = await one();
    await send(envelope(1));
    const reader = await read();
    await reader.have(1);
    expect(await reader.got[0]!.acknowledge()).toBe(true);
    expect(await reader.got[0]!.acknowledge()).toBe(true);
  });

  test("refuses an acknowledgement of an older epoch, and calls its onLost", async () => {
    const { envelope, send, read } = await one();
    await send(envelope(1));
    let lost = 0;
    const old = await read({ onLost: () => lost++ });
    await old.have(1);
    const fresh = await read();
    await fresh.have(1);
    expect(await old.got[0]!.acknowledge()).toBe(false);
    await vi.waitFor(() => expect(lost).toBe(1), { timeout: 10_000 });
    await send(envelope(2));
    await fresh.have(2);
    expect(old.got).toHaveLength(1);
    expect(await fresh.got[0]!.acknowledge()).toBe(true);
  });

  test("refuses to read for an epoch older than the one at work", async () => {
    const { read } = await one();
    const epoch = (epochs += 2);
    const reader = await read({ epoch });
    await expect(read({ epoch: epoch - 1 })).rejects.toMatchObject({ name: "Fault", code: "lease_lost" });
    await reader.remove();
  });

  test("does not begin to read when it took too long", async () => {
    const { read, envelope, send } = await one();
    const old = await read();
    await expect(read({ isLeaseValid: () => false })).rejects.toMatchObject({ code: "lease_lost" });
    await send(envelope(1));
    const next = await read();
    await next.have(1);
    expect(old.got).toHaveLength(0);
  });

  test("delivers nothing after a reader stopped, and does not call its onLost", async () => {
    const { envelope, send, read } = await one();
    await send(envelope(1));
    let lost = 0;
    const reader = await read({ onLost: () => lost++ });
    await reader.have(1);
    reader.stop();
    await send(envelope(2));
    expect(await reader.got[0]!.acknowledge()).toBe(true);
    await reader.remove();
    const next = await read();
    await next.have(1);
    expect(next.bodies()).toEqual([2]);
    expect(reader.got).toHaveLength(1);
    expect(lost).toBe(0);
  });

  test("delivers no more of a stream to a reader without room until it has some, and goes on with the other stream", async () => {
    const { envelope, send, read } = await one();
    const room = Promise.withResolvers<void>();
    for (let n = 0; n < 300; n++) await send(envelope(n));
    let taken = 0;
    const reader = await read({ onTaken: () => (taken++ === 0 ? room.promise : undefined) });
    await reader.have(1);
    for (let n = 0; n < 5; n++) await send(envelope(`ask ${n}`, { stream: "sync" }));
    await vi.waitFor(() => expect(reader.got.length).toBeGreaterThanOrEqual(6), { timeout: 5_000 });
    const works = () => reader.got.filter(({ envelope: { stream } }) => stream === "work").length;
    expect([works(), await reader.got[0]!.acknowledge()]).toEqual([1, true]);
    room.resolve();
    await reader.have(305);
    expect(reader.bodies().filter((body) => typeof body === "number")).toEqual(
      Array.from({ length: 300 }, (_, n) => n),
    );
  });

  test("a reader without room can be removed, and the next one gets everything", async () => {
    const { envelope, send, read } = await one();
    const room = Promise.withResolvers<void>();
    for (let n = 0; n < 3; n++) await send(envelope(n));
    const first = await read({ onTaken: () => room.promise });
    await first.have(1);
    first.stop();
    await first.remove();
    const second = await read();
    await second.have(3);
    expect(second.bodies()).toEqual([0, 1, 2]);
    room.resolve();
    expect(first.got).toHaveLength(1);
  });

  test("stores the same envelope once", async () => {
    const { envelope, send, read, once } = await one();
    expect(await send(envelope(1, { dedup_id: once }))).toBe(true);
    expect(await send(envelope(1, { dedup_id: once }))).toBe(false);
    expect(await send(envelope(2, { dedup_id: `${once}b` }))).toBe(true);
    const reader = await read();
    await reader.have(2);
    expect(reader.bodies()).toEqual([1, 2]);
    for (const delivery of reader.got) await delivery.acknowledge();
    expect(await send(envelope(1, { dedup_id: once }))).toBe(false);
  });

  test("refuses what is over an actor's limit, not what is for others, and takes more when some is read", async () => {
    const { envelope, send, read, once } = await one();
    const many = Array.from({ length: MAX_MAILBOX_LENGTH.sync }, (_, n) => n);
    await Promise.all(many.map((n) => send(envelope(n, { stream: "sync" }))));
    const over = envelope("over", { stream: "sync", dedup_id: once });
    await expect(send(over)).rejects.toMatchObject({ name: "Fault", code: "mailbox_full" });
    expect(await send(envelope("other", { stream: "sync", key: "other" }))).toBe(true);
    expect(await send(envelope("work"))).toBe(true);
    const reader = await read();
    await reader.have(MAX_MAILBOX_LENGTH.sync + 2);
    await reader.got.find(({ envelope: { body } }) => body === "7")!.acknowledge();
    // A refusal does not use up its name. Servers of a cluster have room once all of them have removed what was read.
    await vi.waitFor(async () => expect(await send(over)).toBe(true), { timeout: 5_000 });
    await reader.have(MAX_MAILBOX_LENGTH.sync + 3);
  });

  test("refuses more than 256 KB, and takes as much", async () => {
    const { envelope, send, read } = await one();
    const text = "x".repeat(MAX_ENVELOPE_BYTES);
    expect(await send(envelope(text))).toBe(true);
    const reader = await read();
    await reader.have(1);
    expect(reader.bodies()).toEqual([text]);
    const fault = { name: "Fault", code: "message_too_large" };
    await expect(send(envelope(`${text}${"é".repeat(20_000)}`))).rejects.toMatchObject(fault);
    await reader.got[0]!.acknowledge();
  });

  describe("asks with an inbox, of a partition that is read", () => {
    async function asking() {
      const { post, envelope, ...more } = await one();
      const answers: string[] = [];
      const inbox = await post.inbox((token) => answers.push(token));
      const ask = (token: string, extra: Partial<Envelope> = {}): Envelope =>
        envelope(token, {
          stream: "sync",
          reply_to: `counter.get#${inbox.address(token)}`,
          timeout_ms: 60_000,
          ...extra,
        });
      const answer = async (delivery: Delivery): Promise<void> => {
        const reply_to = delivery.envelope.reply_to!;
        await post.answer(reply_to.slice(reply_to.indexOf("#") + 1), "{}");
        await delivery.acknowledge();
      };
      /** Not awaited: it resolves with the answer at the latest. */
      const sendAsk = (token: string, extra: Partial<Envelope> = {}): void => {
        post.send(ask(token, extra)).catch((problem: { readonly code: string }) => {
          answers.push(`${token} ${problem.code}`);
        });
      };
      return { post, envelope, answers, inbox, ask, sendAsk, answer, ...more };
    }

    test("arrive whole and in order, and are answered", async () => {
      const { read, ask, sendAsk, answer, answers, inbox } = await asking();
      const reader = await read();
      const tokens = Array.from({ length: 50 }, (_, n) => `t${n}`);
      const key = "münchen.example https://x";
      for (const token of tokens) sendAsk(token, { key });
      await reader.have(50);
      expect(reader.got[0]!.envelope).toEqual(ask("t0", { key }));
      expect(reader.bodies()).toEqual(tokens);
      for (const delivery of reader.got) await answer(delivery);
      await vi.waitFor(() => expect(answers).toEqual(tokens), { timeout: 5_000 });
      await inbox.close();
      await reader.remove();
    });

    test("go to the next owner where the last one did not answer, and not where it did", async () => {
      const { send, read, sendAsk, answer, answers, envelope } = await asking();
      const first = await read();
      for (const token of ["answered", "open"]) sendAsk(token);
      await first.have(2);
      await answer(first.got[0]!);
      await vi.waitFor(() => expect(answers).toEqual(["answered"]), { timeout: 5_000 });
      const second = await read();
      await second.have(1);
      expect(second.bodies()).toEqual(["open"]);
      const { timeout_ms } = second.got[0]!.envelope;
      expect(timeout_ms).toBeGreaterThan(0);
      expect(timeout_ms).toBeLessThanOrEqual(60_000);
      await answer(second.got[0]!);
      await vi.waitFor(() => expect(answers).toEqual(["answered", "open"]), { timeout: 5_000 });
      const third = await read();
      await send(envelope("last", { stream: "sync" }));
      await third.have(1);
      expect(third.bodies()).toEqual(["last"]);
    });

    test("wait for an owner where there is none", async () => {
      const { read, sendAsk } = await asking();
      sendAsk("early");
      const first = await read();
      await first.have(1);
      await first.got[0]!.acknowledge();
      first.stop();
      sendAsk("late");
      const second = await read();
      await second.have(1);
      expect(second.bodies()).toEqual(["late"]);
    });

    test("are refused over an actor's limit, not those for others, and taken when some are read", async () => {
      const { send, read, ask, sendAsk, answer, answers } = await asking();
      const reader = await read();
      const many = Array.from({ length: MAX_MAILBOX_LENGTH.sync }, (_, n) => `m${n}`);
      for (const token of many) sendAsk(token);
      await reader.have(many.length);
      await expect(send(ask("over"))).rejects.toMatchObject({ name: "Fault", code: "mailbox_full" });
      sendAsk("other", { key: "other" });
      await reader.have(many.length + 1);
      await answer(reader.got[7]!);
      await reader.got[7]!.acknowledge();
      await vi.waitFor(() => expect(answers).toEqual(["m7"]), { timeout: 5_000 });
      sendAsk("more");
      await reader.have(many.length + 2);
      await expect(send(ask("over"))).rejects.toMatchObject({ name: "Fault", code: "mailbox_full" });
    });

    test("wait, in order, while their reader has no room, and tells do not", async () => {
      const { send, read, sendAsk, envelope } = await asking();
      const room = Promise.withResolvers<void>();
      let asks = 0;
      const reader = await read({ onTaken: () => (asks++ === 0 ? room.promise : undefined) });
      for (const token of ["a", "b", "c"]) sendAsk(token);
      await send(envelope("told"));
      await reader.have(2);
      expect(reader.bodies()).toEqual(["a", "told"]);
      room.resolve();
      await reader.have(4);
      expect(reader.bodies()).toEqual(["a", "told", "b", "c"]);
    });
  });

  test("carries replies to their inbox, and drops those without one", async () => {
    const { post } = await one();
    const got: [string, string][] = [];
    const inbox = await post.inbox((token, body) => got.push([token, body]));
    const other = await post.inbox(() => got.push(["other", ""]));
    await post.answer(inbox.address("7"), '{"reply":1}');
    await post.answer(inbox.address("a-B_9"), '{"reply":"Zürich"}');
    await post.answer(`${other.address("x")}y`.replace("x", "gone.x"), "{}");
    await vi.waitFor(() =>
      expect(got).toEqual([
        ["7", '{"reply":1}'],
        ["a-B_9", '{"reply":"Zürich"}'],
      ]),
    );
    await inbox.close();
    await post.answer(inbox.address("8"), "{}");
    await post.ping();
    expect(got).toHaveLength(2);
    await other.close();
  });

  test("answers a ping", async () => {
    await expect((await bus).ping()).resolves.toBeUndefined();
  });
}
