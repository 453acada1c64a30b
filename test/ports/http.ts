/** Promises of the HTTP port, tried byte by byte on the given adapter. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type {
  Admission,
  Admit,
  Body,
  ClientAbort,
  Listen,
  Listening,
  ListenOptions,
  Reply,
} from "../../gateway/http.ts";
import { application, type Application, json } from "../gateway/adapters/application.ts";
import {
  ask,
  type Child,
  eventually,
  everything,
  open as connectTo,
  sip,
  spawn,
} from "../gateway/adapters/clients.ts";
import { converse, type Outcome, type Step } from "../gateway/adapters/wire.ts";

interface Expected {
  /** Any of these; null: no answer. */
  readonly status: readonly (number | null)[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly absent?: readonly string[];
  readonly body?: string;
  readonly body_hex?: string;
  readonly body_sha256?: string;
  readonly body_json?: Readonly<Record<string, unknown>>;
  readonly body_json_header?: Readonly<Record<string, string>>;
  readonly connection?: "open" | "closed";
  readonly responses?: number;
  readonly at_most?: number;
  readonly last_status?: number;
  readonly interim?: number;
  /** The call's signal fires. */
  readonly gone?: boolean;
  /** The answer is cut. */
  readonly partial?: boolean;
  /** How many streams were begun; all of them must have been stopped. */
  readonly streams?: number;
  /** Reported failures, in part; [] for nothing. */
  readonly failed?: readonly string[];
  /** How often the application was asked with a body. */
  readonly answers?: number;
}

export interface WireCase {
  readonly id: string;
  readonly send: readonly Step[];
  readonly expect: Expected;
}

interface TextCase {
  readonly id: string;
  readonly text: string;
  readonly utf8_hex: string;
}
interface ValueCase {
  readonly id: string;
  readonly value: string;
  /** null: refused with 500, and nothing of the value sent. */
  readonly wire_hex: string | null;
}

interface Texts {
  readonly texts: readonly TextCase[];
  readonly headers: readonly ValueCase[];
}

const OWN = new URL("../fixtures/http/", import.meta.url);
const SHARED = new URL("../../../shared/fixtures/gateway/", import.meta.url);
const read = (url: URL) => JSON.parse(readFileSync(url, "utf8"));
const own: { cases: WireCase[] } = read(new URL("wire.json", OWN));
const ownText: Texts = read(new URL("text.json", OWN));

export interface HttpSuiteOptions {
  /** The name test/gateway/adapters/server.ts knows the adapter by. */
  readonly adapter: string;
  /** The answer to a body in chunks ends its connection, because the adapter cannot see whether their framing was strict. */
  readonly closesAfterChunks: boolean;
}

export function httpSuite(
  name: string,
  listen: Listen,
  { adapter, closesAfterChunks }: HttpSuiteOptions,
): void {
  /** Cases whose connection is expected to be closed where chunks end it. */
  const adapted = (cases: readonly WireCase[]): readonly WireCase[] =>
    cases.map((each) => {
      const sent = each.send.map((step) => (typeof step === "string" ? step : "")).join("");
      const isChunked = /transfer-encoding: *chunked/i.test(sent);
      if (!closesAfterChunks || !isChunked || each.expect.connection !== "open") return each;
      // There is no second request on a connection that ends with its first answer.
      const next = each.send.findIndex(
        (step, at) => at > 0 && typeof step === "string" && step.startsWith("GET "),
      );
      const { responses: _responses, last_status: _last_status, ...first_answer } = each.expect;
      return {
        ...each,
        send: next < 0 ? each.send : each.send.slice(0, next),
        expect: { ...first_answer, connection: "closed" },
      };
    });

  describe(`HTTP on ${name}`, () => {
    const open: Listening[] = [];
    // The wire's runs close what they open; this is for the others.
    afterEach(async () => void (await Promise.all(open.splice(0).map((listening) => listening.close(0)))));

    async function serve(): Promise<Application & Listening> {
      const app = application();
      const options = { host: "127.0.0.1", port: 0, shared: false, failed: app.failed };
      const listening = await listen(app.admit, options);
      open.push(listening);
      return { ...app, ...listening };
    }

    /** For what is tried with an application of its own. */
    async function carry(admit: Admit, failed: ListenOptions["failed"] = () => json(500, "failed")) {
      const listening = await listen(admit, { host: "127.0.0.1", port: 0, shared: false, failed });
      open.push(listening);
      return listening;
    }

    test("opens a WebSocket and closes it at once where it is told to, and serves what is no handshake", async () => {
      const app = application();
      const options = { host: "127.0.0.1", port: 0, shared: false, failed: app.failed };
      const listening = await listen(app.admit, { ...options, socket_paths: ["/jobs/:id"] });
      open.push(listening);
      const { port } = listening;
      const socket = new WebSocket(`ws://127.0.0.1:${port}/jobs/7`, ["a-key", "other"]);
      const opened = once(socket as never, "open").then(() => socket.protocol);
      const [closed] = await once(socket as never, "close");
      expect([await opened, closed.code, closed.wasClean]).toEqual(["a-key", 1_000, true]);
      expect(app.seen.asked).toBe(0);
      const elsewhere = new WebSocket(`ws://127.0.0.1:${port}/jobs/7/more`);
      await once(elsewhere as never, "error");
      // A client that would rather speak another protocol is served all the same, its body as well.
      const plain = await fetch(`http://127.0.0.1:${port}/batch`, { method: "POST", body: "a net" });
      expect(await plain.json()).toMatchObject({ bytes: 5 });
    });

    describe("large bodies", { timeout: 60_000 }, () => {
      const full = Buffer.alloc(64 * 1024 * 1024, "a net of 64 MB, ");
      const chunks = async function* () {
        for (let at = 0; at < full.length; at += 700_000) yield full.subarray(at, at + 700_000);
      };
      const piecemeal = () => new Blob([full]).stream();

      test("takes 64 MB, whether its length is known or not", async () => {
        const { port } = await serve();
        const url = `http://127.0.0.1:${port}/batch`;
        const known = await fetch(url, { method: "POST", body: full });
        const unknown = await fetch(url, {
          method: "POST",
          body: piecemeal(),
          duplex: "half",
        } as RequestInit);
        const expected = { bytes: full.length, sha256: sha256(full) };
        expect(await known.json()).toEqual(expected);
        expect(await unknown.json()).toEqual(expected);
      });

      test("lets clients that send everything first read why one byte more was refused", async () => {
        const { port } = await serve();
        const url = `http://127.0.0.1:${port}/batch`;
        const larger = Buffer.concat([full, Buffer.from("!")]);
        const known = await fetch(url, { method: "POST", body: larger });
        const stream = new Blob([larger]).stream();
        const unknown = await fetch(url, { method: "POST", body: stream, duplex: "half" } as RequestInit);
        const expected = { detail: `request body over ${full.length} bytes` };
        expect([known.status, await known.json()]).toEqual([413, expected]);
        expect([unknown.status, await unknown.json()]).toEqual([413, expected]);
      });

      test("drops a body for which there is no room when it grows, and answers", async () => {
        const asked: number[] = [];
        const hasRoom = (bytes: number): boolean => {
          asked.push(bytes);
          return bytes <= 2 ** 20;
        };
        const answer = async ({ kind }: Body): Promise<Reply> =>
          json(kind === "no_room" ? 503 : 200, { kind });
        const { port } = await carry(() => ({ limit_bytes: full.length, hasRoom, answer }));
        const url = `http://127.0.0.1:${port}/`;
        const small = await fetch(url, { method: "POST", body: "a net" });
        const stream = new Blob([full.subarray(0, 8 * 2 ** 20)]).stream();
        const large = await fetch(url, { method: "POST", body: stream, duplex: "half" } as RequestInit);
        expect([await small.json(), await large.json()]).toEqual([{ kind: "whole" }, { kind: "no_room" }]);
        expect(asked[0]).toBe(5);
        // Nothing is held after the first refusal.
        expect(asked.filter((bytes) => bytes > 2 ** 20)).toHaveLength(1);
      });

      test("takes a body whose admission comes later, and drops one that is refused then", async () => {
        const { port } = await serve();
        const expected = { bytes: full.length, sha256: sha256(full) };
        const post = (path: string, body: Blob | Buffer | ReadableStream) =>
          fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body, duplex: "half" } as RequestInit);
        const small = Buffer.from("a net");
        for (const body of [full, piecemeal()]) {
          expect(await (await post("/echo-later", body)).json()).toEqual(expected);
          expect(await (await post("/echo-later", small)).json()).toEqual({
            bytes: 5,
            sha256: sha256(small),
          });
        }
        for (const body of [full, piecemeal(), small])
          expect((await post("/refused-later", body)).status).toBe(401);
        expect((await post("/echo-later", small)).status).toBe(200);
      });

      test("reads nothing more of a body while its admission is awaited, and drops what has no room", async () => {
        let early_bytes = 0;
        const given: string[] = [];
        const admitted = Promise.withResolvers<Admission>();
        const { port } = await carry(() => ({
          admission: admitted.promise,
          hasRoom: (bytes: number) => {
            early_bytes = bytes;
            return bytes <= 5;
          },
        }));
        const answered = fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: full });
        // node:http keeps what came with the head to itself.
        const reads = adapter === "uws";
        await eventually(() => early_bytes > 0, reads ? 10_000 : 200);
        await new Promise((resolve) => setTimeout(resolve, 200));
        expect([early_bytes > 0, early_bytes < 2 * 2 ** 20]).toEqual([reads, true]);
        admitted.resolve({
          limit_bytes: full.length,
          answer: ({ kind }) => {
            given.push(kind);
            return json(503, { kind });
          },
        });
        const kind = reads ? "no_room" : "whole";
        expect([await (await answered).json(), given]).toEqual([{ kind }, [kind]]);
      });

      test("drops a body whose room is taken away while it arrives, and answers at once", async () => {
        let take = (): void => {};
        const { port } = await carry(() => ({
          limit_bytes: full.length,
          hasRoom(_bytes, onTaken) {
            take = onTaken;
            return true;
          },
          answer: ({ kind }: Body) => json(503, { kind }),
        }));
        const socket = await connectTo(port, ask("/", "POST", `Content-Length: ${full.length}\r\n`));
        socket.write("a few bytes");
        const answer = once(socket, "data") as Promise<[Buffer]>;
        await eventually(() => {
          take();
          return socket.bytesRead > 0;
        });
        expect((await answer)[0].toString()).toContain('{"kind":"no_room"}');
        socket.destroy();
      });

      test("sends 64 MB whole, as bytes and as streams of known and unknown length", async () => {
        const replies: Record<string, () => Reply> = {
          "/bytes": () => ({ status: 200, body: full }),
          "/known": () => ({ status: 200, body: { length: full.length, chunks: chunks() } }),
          "/unknown": () => ({ status: 200, body: { length: null, chunks: chunks() } }),
        };
        const { port } = await carry(({ path }) => replies[path]!());
        for (const path of Object.keys(replies)) {
          const response = await fetch(`http://127.0.0.1:${port}${path}`);
          expect(sha256(Buffer.from(await response.arrayBuffer()))).toBe(sha256(full));
        }
      });
    });

    describe("what breaks above it", () => {
      const replies: Record<string, () => Reply> = {
        "/throws": () => {
          throw new Error("above");
        },
        "/injects": () => ({ status: 200, headers: { "x-a": "\n" } }),
      };
      const answers = (path: string): Admission => ({ limit_bytes: 0, answer: async () => replies[path]!() });
      const broken: Record<string, ListenOptions["failed"]> = {
        "throws as well": () => {
          throw new Error("the reporter broke");
        },
        "answers with what cannot be sent": () => ({ status: 200, headers: { "x-a": "\r" } }),
        "answers with a stream": () => ({ status: 200, body: { length: null, chunks: never() } }),
      };

      test.each(Object.keys(broken))("answers 500 when the failure handler %s", async (how) => {
        const { port } = await carry(({ path }) => answers(path), broken[how]);
        for (const path of Object.keys(replies)) {
          const response = await fetch(`http://127.0.0.1:${port}${path}`);
          expect([response.status, await response.json()]).toEqual([500, { detail: "internal error" }]);
        }
      });
    });

    describe("streams", () => {
      test("are stopped at once when the client leaves, even while their source is silent", async () => {
        let returned = 0;
        const chunks: AsyncIterable<Buffer> = {
          [Symbol.asyncIterator]: () => {
            let begun = false;
            return {
              next: () => {
                if (begun) return new Promise(() => {});
                begun = true;
                return Promise.resolve({ done: false, value: Buffer.from("and then nothing") });
              },
              return: async () => {
                returned++;
                return { done: true, value: undefined };
              },
            };
          },
        };
        const { port } = await carry(() => ({ status: 200, body: { length: null, chunks } }));
        const socket = await connectTo(port, ask("/"));
        await once(socket, "data");
        expect(returned).toBe(0);
        socket.destroy();
        await eventually(() => returned > 0);
        expect(returned).toBe(1);
      });

      test("whose client disconnected before they were made are not begun", async () => {
        let begun = 0;
        let left: ClientAbort | null = null;
        const { promise: reply, resolve } = Promise.withResolvers<Reply>();
        const { port } = await carry((_, gone) => {
          left = gone;
          return { limit_bytes: 0, answer: () => reply };
        });
        const socket = await connectTo(port, ask("/"));
        await eventually(() => left !== null);
        socket.destroy();
        await eventually(() => left!.aborted);
        const stopped = Promise.withResolvers<string>();
        const chunks: AsyncIterable<Buffer> = {
          [Symbol.asyncIterator]: () => ({
            next: async () => {
              begun++;
              return { done: true, value: undefined };
            },
            return: async () => {
              stopped.resolve("stopped");
              return { done: true, value: undefined };
            },
          }),
        };
        resolve({ status: 200, body: { length: null, chunks } });
        expect(await stopped.promise).toBe("stopped");
        expect(begun).toBe(0);
      });

      test.each([64 * 2 ** 20, null])(
        "of length %s are read no further ahead than the client takes",
        async (length) => {
          let pulled = 0;
          const piece = Buffer.alloc(2 ** 20, "m");
          const chunks = (async function* () {
            for (; pulled < 64;) {
              pulled++;
              yield piece;
            }
          })();
          const { port } = await carry(() => ({ status: 200, body: { length, chunks } }));
          const socket = await connectTo(port, ask("/"));
          socket.pause();
          // Pieces that are pulled by then: those that two sockets of this machine hold between them, and two in hand.
          let before = -1;
          await eventually(async () => {
            const still = before === pulled;
            before = pulled;
            await new Promise((resolve) => setTimeout(resolve, 200));
            return still;
          });
          expect(pulled).toBeGreaterThan(0);
          expect(pulled).toBeLessThan(24);
          socket.resume();
          await eventually(() => pulled === 64);
          expect(pulled).toBe(64);
          socket.destroy();
        },
      );
    });

    test("fields arrive one by one as they were given", async () => {
      const headers = { "X-A": "first", "x-b": "", "X-C": "thon à l’huile", "x-d": "a\ttab", "X-E": "last" };
      const { port } = await carry(() => ({ status: 200, headers, body: Buffer.from("fish") }));
      const socket = await connectTo(port, ask("/"));
      const [piece] = (await once(socket, "data")) as [Buffer];
      socket.destroy();
      const [head] = piece.toString().split("\r\n\r\n");
      const ownHeaders = head!.split("\r\n").filter((line) => /^x-/i.test(line));
      expect(ownHeaders).toEqual(Object.entries(headers).map((field) => field.join(": ")));
    });

    describe("bytes that are lent", () => {
      /** uWebSockets.js ends a connection that asks again while its answer is on the way: of the long ones, one each. */
      test.each([
        { length: 1_000, clients: 1, each: 100 },
        { length: 60_000, clients: 1, each: 100 },
        { length: 8_000_000, clients: 6, each: 1 },
      ])(
        "$length of them arrive as they were taken, also when their buffers are used again",
        async (given) => {
          const { length, clients, each } = given;
          const shared = Buffer.alloc(length);
          let read_bytes = 0;
          const take = (): Buffer => shared.fill(65 + (read_bytes++ % 26));
          const { port } = await carry(() => ({ status: 200, body: { length, take } }));
          const sockets = await Promise.all(
            Array.from({ length: clients }, () => connectTo(port, ask("/").repeat(each))),
          );
          for (const socket of sockets) socket.pause();
          await eventually(() => read_bytes > 0);
          const bodies = await Promise.all(
            sockets.map(async (socket) => {
              const pieces: Buffer[] = [];
              let received = 0;
              socket.on("data", (piece: Buffer) => {
                shared.fill("!");
                pieces.push(piece);
                received += piece.length;
              });
              socket.resume();
              await eventually(() => received > each * (length + 40));
              socket.destroy();
              return Buffer.concat(pieces)
                .toString("latin1")
                .split(/HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)+\r\n/)
                .slice(1);
            }),
          );
          const bad = bodies
            .flat()
            .filter((body) => !/^[A-Z]/.test(body) || body !== body[0]!.repeat(length));
          expect([bodies.flat().length, bad.length, read_bytes]).toEqual([clients * each, 0, clients * each]);
        },
      );

      test("are not read for HEAD, and are 500 when they cannot be read", async () => {
        let read_bytes = 0;
        const take = (): Buffer => {
          read_bytes++;
          throw new Error("lost");
        };
        const { port } = await carry(() => ({ status: 200, body: { length: 17, take } }));
        const url = `http://127.0.0.1:${port}/`;
        const head = await fetch(url, { method: "HEAD" });
        expect([head.status, head.headers.get("content-length"), read_bytes]).toEqual([200, "17", 0]);
        expect((await fetch(url)).status).toBe(500);
        expect(read_bytes).toBe(1);
      });
    });

    test("what a stream gave arrives, however slowly, though its source falls silent", async () => {
      const given = 8 * 2 ** 20;
      const { port } = await carry((_, { signal }) => {
        const chunks = (async function* () {
          yield Buffer.alloc(given, "k");
          await once(signal, "abort");
        })();
        return { status: 200, body: { length: null, chunks } };
      });
      const socket = await connectTo(port, ask("/"));
      socket.pause();
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(await sip(socket, given, 16_000_000)).toBeGreaterThan(given);
      socket.destroy();
    });

    test("what a stream gave in small pieces arrives, wherever the socket was full when its source fell silent", async () => {
      const piece = Buffer.alloc(10_000, "k");
      const given = new Map<number, number>();
      const { port } = await carry(({ query }, { signal }) => {
        const count = Number(query);
        const chunks = (async function* () {
          for (let n = 1; n <= count && !signal.aborted; n++) {
            given.set(count, n);
            yield piece;
          }
          await once(signal, "abort");
        })();
        return { status: 200, body: { length: null, chunks } };
      });
      /** A client that reads nothing, after all that it can be sent was given. */
      const unread = async (count: number): Promise<Socket> => {
        const socket = await connectTo(port, ask(`/?${count}`));
        socket.pause();
        for (let before = -1; before !== given.get(count);) {
          before = given.get(count) ?? -1;
          await new Promise((resolve) => setTimeout(resolve, 30));
        }
        return socket;
      };
      (await unread(100_000)).destroy();
      const full = given.get(100_000)!;
      for (let count = full - 6; count <= full + 1; count++) {
        const socket = await unread(count);
        let received = 0;
        socket.on("data", ({ length }) => (received += length));
        socket.resume();
        await eventually(() => received > count * piece.length);
        expect(received, `of ${count} pieces`).toBeGreaterThan(count * piece.length);
        socket.destroy();
      }
    });

    describe("where it listens", () => {
      test("reports that an address is taken", async () => {
        const { port } = await serve();
        const again = listen(() => json(200, 2), {
          host: "127.0.0.1",
          port,
          shared: false,
          failed: () => json(500, 0),
        });
        await expect(again).rejects.toThrow(`Cannot listen on 127.0.0.1:${port}`);
      });

      test.runIf(process.platform === "linux")("shares an address when it is asked to", async () => {
        const options = { host: "127.0.0.1", shared: true, failed: () => json(500, 0) };
        const free = await serve();
        await free.close(0);
        // Not port 0: no other process has a port that the system chose.
        const first = await listen(() => json(200, 1), { ...options, port: free.port });
        const second = await listen(() => json(200, 2), { ...options, port: free.port });
        open.push(first, second);
        expect(second.port).toBe(first.port);
      });

      test("gives an IPv4 peer its IPv4 address on a socket for both", async () => {
        const options = { host: "::", port: 0, shared: false, failed: () => json(500, 0) };
        const listening = await listen(({ address }) => json(200, address()), options);
        open.push(listening);
        const at = (host: string) =>
          fetch(`http://${host}:${listening.port}/`).then((response) => response.json());
        expect(await at("127.0.0.1")).toBe("127.0.0.1");
        expect(await at("[::1]")).toBe("::1");
      });
    });

    describe("draining", () => {
      test("refuses new clients, answers those it has, and ends with the last", async () => {
        const { port, close, seen } = await serve();
        const idle = await connectTo(port, "");
        const idleSocket = await connectTo(port, ask("/json"));
        await once(idleSocket, "data");
        const waiting = await connectTo(port, ask("/later"));
        const uploading = await connectTo(port, ask("/echo", "POST", "Content-Length: 6\r\n") + "abc");
        await eventually(() => seen.asked === 3);

        const closed = close(10_000);
        expect(close(10_000)).toBe(closed);
        await expect(connectTo(port, ask("/json"))).rejects.toThrow("ECONNREFUSED");
        uploading.write("def");
        const [later, echoed] = await Promise.all([everything(waiting), everything(uploading)]);
        expect(later).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\nconnection: close\r\n.*\{"a":1\}$/is);
        expect(echoed).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\nconnection: close\r\n.*"bytes":6/is);
        await closed;
        await Promise.all([idle, idleSocket].map((socket) => everything(socket)));
        expect(seen.client_aborts).toBe(0);
      });

      test("aborts a request that is not done in its time, and the handler's signal", async () => {
        const { port, close, seen } = await serve();
        const waiting = await connectTo(port, ask("/never"));
        const reading = await connectTo(port, ask("/endless"));
        reading.pause();
        await eventually(() => seen.asked === 2 && seen.begun === 1);
        await close(200);
        expect(await everything(waiting)).toBe("");
        await eventually(() => seen.stopped === 1);
        expect([seen.client_aborts, seen.stopped]).toEqual([2, 1]);
        reading.destroy();
      });
    });

    describe("from outside", { timeout: 60_000 }, () => {
      const spare_mb = 48;
      const children: Child[] = [];
      afterEach(async () => void (await Promise.all(children.splice(0).map((child) => child.close()))));
      const apart = async (): Promise<Child> => {
        const child = await spawn(adapter);
        children.push(child);
        return child;
      };

      test("holds no more for clients that do not read than what it is sending them", async () => {
        const child = await apart();
        const before = await child.numbers("settled");
        const size = 50 * 2 ** 20;
        const stalled = await Promise.all(
          Array.from({ length: 12 }, (_, n) =>
            connectTo(child.port, ask(`/${n % 2 ? "stream" : "chunked"}?${size}`)),
          ),
        );
        for (const socket of stalled) socket.pause();
        await eventually(async () => (await child.numbers()).begun === 12);
        await new Promise((resolve) => setTimeout(resolve, 500));
        const streams = await child.numbers("settled");
        expect(streams.rss_mb - before.rss_mb).toBeLessThan(spare_mb);

        const whole = await Promise.all(
          Array.from({ length: 4 }, () => connectTo(child.port, ask(`/buffer?${size}`))),
        );
        for (const socket of whole) socket.pause();
        await eventually(async () => (await child.numbers()).asked === 16);
        await new Promise((resolve) => setTimeout(resolve, 500));
        // The four answers themselves, and not each of them twice.
        expect((await child.numbers("settled")).rss_mb - streams.rss_mb).toBeLessThan(4 * 50 + spare_mb);
        for (const socket of [...stalled, ...whole]) socket.destroy();
        await eventually(async () => (await child.numbers()).client_aborts === 16);
        expect(await child.numbers()).toMatchObject({ begun: 12, stopped: 12, client_aborts: 16, failed: 0 });
      });

      test("holds no more for clients that read slowly, at any time on the way", async () => {
        const child = await apart();
        const before = await child.numbers("settled");
        const size = 12 * 2 ** 20;
        const slow = await Promise.all(
          Array.from({ length: 8 }, (_, n) =>
            connectTo(child.port, ask(`/${n % 2 ? "stream" : "chunked"}?${size}`)),
          ),
        );
        let most_mb = 0;
        const watching = (async () => {
          while (slow.some((socket) => !socket.destroyed))
            most_mb = Math.max(most_mb, (await child.numbers("settled")).rss_mb - before.rss_mb);
        })();
        const received = await Promise.all(slow.map((socket) => sip(socket, size, 4_000_000)));
        for (const socket of slow) socket.destroy();
        await watching;
        expect(Math.min(...received)).toBeGreaterThan(size);
        expect(most_mb).toBeLessThan(spare_mb);
        expect(await child.numbers()).toMatchObject({ begun: 8, stopped: 8, client_aborts: 0, failed: 0 });
      });

      test("keeps nothing of a thousand clients that left", async () => {
        const child = await apart();
        const leave = async (clients: number) => {
          const kinds = [
            ask("/never"),
            ask(`/stream?${50 * 2 ** 20}`),
            ask(`/chunked?${50 * 2 ** 20}`),
            `${ask("/never", "POST", "Content-Length: 60000000\r\n")}and no more`,
            `${ask("/never", "POST", "Transfer-Encoding: chunked\r\n")}3\r\nend\r\n`,
          ];
          for (let left = 0; left < clients; left += 100) {
            const { asked } = await child.numbers();
            const sockets = await Promise.all(
              Array.from({ length: 100 }, (_, n) => connectTo(child.port, kinds[n % kinds.length]!)),
            );
            await eventually(async () => (await child.numbers()).asked === asked + 100);
            for (const socket of sockets) socket.destroy();
            await eventually(async () => (await child.numbers()).client_aborts === asked + 100);
          }
        };
        await leave(400);
        const before = await child.numbers("settled");
        await leave(1_000);
        const after = await child.numbers("settled");
        expect(after).toMatchObject({
          asked: 1_400,
          client_aborts: 1_400,
          failed: after.failed,
          stopped: after.begun,
        });
        expect(after.begun).toBeGreaterThan(0);
        expect(after.descriptors).toBe(before.descriptors);
        expect(after.heap_mb - before.heap_mb).toBeLessThan(0.5);
        expect(after.rss_mb - before.rss_mb).toBeLessThan(spare_mb);
        const ready = await fetch(`http://127.0.0.1:${child.port}/ready`);
        expect(await ready.text()).toBe("ready");
      });
    });

    describe("byte by byte", () => {
      onTheWire(serve, adapted(own.cases), ownText);
    });

    describe.skipIf(!existsSync(SHARED))(
      "byte by byte, shared (../shared/fixtures, when it is there)",
      () => {
        if (existsSync(SHARED))
          onTheWire(
            serve,
            adapted(read(new URL("http-wire.json", SHARED)).cases),
            read(new URL("utf8.json", SHARED)),
          );
      },
    );
  });
}

/** All at once, for most of a case is waiting to see what does not happen; then each is judged by itself. */
function onTheWire(serve: Serve, cases: readonly WireCase[], { texts, headers }: Texts): void {
  const runs = new Map<WireCase, Promise<Run>>();
  beforeAll(async () => {
    for (const wireCase of cases) runs.set(wireCase, run(serve, wireCase));
    await Promise.allSettled(runs.values());
  });
  test.each(cases)("$id", async (wireCase) => {
    const whole = (await runs.get(wireCase))!;
    expect(readOff(whole, wireCase.expect)).toEqual(wireCase.expect);
    expect(whole.seen.stopped).toBe(whole.seen.begun);
  });
  test.each(texts)("writes $id as UTF-8", async ({ text, utf8_hex }) => {
    const { port } = await serve();
    const { answers } = await get(port, `/utf8?text=${encodeURIComponent(text)}`);
    const expected = Buffer.from(JSON.stringify({ text }));
    expect(Buffer.from(text).toString("hex")).toBe(utf8_hex);
    expect(answers[0]!.body.toString("hex")).toBe(expected.toString("hex"));
    expect(Object.fromEntries(answers[0]!.headers)["content-length"]).toBe(String(expected.length));
  });
  test.each(headers)("header value: $id", async ({ value, wire_hex }) => {
    const { port, seen } = await serve();
    const { answers } = await get(port, `/value?value=${encodeURIComponent(value)}`);
    const sent = Object.fromEntries(answers[0]!.headers)["x-a"];
    const hex = sent === undefined ? null : Buffer.from(sent, "latin1").toString("hex");
    expect({ status: answers[0]!.status, hex, failed: seen.failed.length }).toEqual(
      wire_hex === null ? { status: 500, hex: null, failed: 1 } : { status: 200, hex: wire_hex, failed: 0 },
    );
  });
}

type Serve = () => Promise<Application & Listening>;

const get = (port: number, target: string) =>
  converse(port, [`GET ${target} HTTP/1.1\r\nHost: trawl.test\r\n\r\n`], { answers: 1, quiet_ms: 0 });

interface Run {
  readonly outcome: Outcome;
  readonly seen: Application["seen"];
}

async function run(serve: Serve, { send, expect: expected }: WireCase): Promise<Run> {
  const { seen, port, close } = await serve();
  const silent = expected.status.includes(null);
  const quiet_ms = silent || expected.connection ? 700 : 50;
  const outcome = await converse(port, send, { answers: silent ? 0 : (expected.responses ?? 1), quiet_ms });
  await close(0);
  return { outcome, seen };
}

const some = (all: Readonly<Record<string, unknown>>, wanted: object) =>
  Object.fromEntries(Object.keys(wanted).map((key) => [key, all[key]]));
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** How each expectation is read off what happened: it comes out equal to what was expected, or the test fails. */
const READ: { [Key in keyof Expected]-?: (run: Run, wanted: NonNullable<Expected[Key]>) => unknown } = {
  status: ({ outcome }, wanted) => oneOf(wanted, outcome.answers[0]?.status ?? null),
  headers: (whole, wanted) => some(fieldsOf(whole), wanted),
  absent: (whole, wanted) => wanted.filter((field) => !(field in fieldsOf(whole))),
  body: (whole) => first(whole).body.toString("latin1"),
  body_hex: (whole) => first(whole).body.toString("hex"),
  body_sha256: (whole) => sha256(first(whole).body),
  body_json: (whole, wanted) => some(JSON.parse(first(whole).body.toString()), wanted),
  body_json_header: (whole, wanted) => some(JSON.parse(first(whole).body.toString()).headers, wanted),
  connection: ({ outcome }) => outcome.connection,
  responses: ({ outcome }) => outcome.answers.length,
  at_most: ({ outcome }, wanted) => Math.max(wanted, outcome.answers.length),
  last_status: ({ outcome }) => outcome.answers.at(-1)?.status,
  interim: ({ outcome }) => outcome.interim[0],
  gone: ({ seen }) => seen.client_aborts === 1,
  partial: (whole) => first(whole).partial,
  streams: ({ seen }) => seen.begun,
  failed: ({ seen }, wanted) =>
    seen.failed.length === wanted.length && wanted.every((part, index) => seen.failed[index]!.includes(part))
      ? wanted
      : seen.failed,
  answers: ({ seen }) => seen.answers,
};

const oneOf = <T>(wanted: readonly T[], value: T) => (wanted.includes(value) ? wanted : value);
const first = ({ outcome }: Run) => outcome.answers[0]!;
/** Fields by name; one that was sent twice shows both its values. */
const fieldsOf = (whole: Run): Record<string, string> =>
  Object.fromEntries(
    Map.groupBy(first(whole).headers, ([name]) => name)
      .entries()
      .map(([name, fields]) => [name, fields.map(([, value]) => value).join(" and ")]),
  );

function readOff(whole: Run, expected: Expected): unknown {
  const found = Object.entries(expected).map(([key, wanted]) => [
    key,
    READ[key as keyof Expected](whole, wanted as never),
  ]);
  return Object.fromEntries(found);
}

async function* never(): AsyncGenerator<Buffer> {
  yield await new Promise<Buffer>(() => {});
}
