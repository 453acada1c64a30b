/**
 * How long either adapter of the HTTP port waits for a slow client, and that it does wait for its own answers. On real
 * time, for the timers are the servers' own: half a minute, spent waiting, everything at once.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { listenNode } from "../../gateway/adapters/http.node.ts";
import { loadUws } from "../../gateway/adapters/http.uws.ts";
import type { Admit, Listen } from "../../gateway/http.ts";
import { json } from "../gateway/adapters/application.ts";
import { ask, eventually, everything, open } from "../gateway/adapters/clients.ts";

interface Ends {
  readonly answer: string;
  readonly after_s: number;
  readonly gone: boolean;
  readonly stopped: boolean;
}

/** Longer than any timer of either server. */
const LONG_MS = 14_000;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function visit(
  listen: Listen,
  request: string,
  dribble: string,
  every_ms: number,
  read = true,
): Promise<Ends> {
  let gone = false;
  let stopped = false;
  const piece = Buffer.alloc(256 * 1024);
  const endless = async function* () {
    try {
      for (;;) yield piece;
    } finally {
      stopped = true;
    }
  };
  const events = async function* () {
    yield Buffer.from("first ");
    await wait(LONG_MS);
    yield Buffer.from("second");
  };
  const admit: Admit = ({ path }, { signal }) => {
    signal.addEventListener("abort", () => (gone = true));
    if (path === "/endless") return { status: 200, body: { length: null, chunks: endless() } };
    if (path === "/events") return { status: 200, body: { length: null, chunks: events() } };
    const later = path === "/later" ? LONG_MS : 0;
    return {
      limit_bytes: 2_000_000,
      answer: ({ kind }) => wait(later).then(() => json(kind === "too_slow" ? 408 : 200, "answered")),
    };
  };
  const listening = await listen(admit, {
    host: "127.0.0.1",
    port: 0,
    shared: false,
    failed: () => json(500, 0),
  });
  const began = performance.now();
  const socket = await open(listening.port, request);
  const timer = dribble ? setInterval(() => socket.write(dribble), every_ms) : undefined;
  if (!read) await eventually(() => gone, 30_000);
  const ended = read ? await Promise.race([everything(socket), wait(30_000).then(() => "never")]) : "";
  const after_s = (performance.now() - began) / 1000;
  clearInterval(timer);
  await wait(100);
  // State of the call as the server saw it before it was closed.
  const observed = { gone, stopped };
  socket.destroy();
  await listening.close(0);
  return { answer: ended, after_s, ...observed };
}

const close = "Connection: close\r\n";
const upload = (bytes: number) => ask("/", "POST", `Content-Length: ${bytes}\r\n${close}`);

async function visits(listen: Listen) {
  const [head, body, chunked, reader, answer, events, steady] = await Promise.all([
    visit(listen, "GET / HTTP/1.1\r\nHost: trawl.test\r\nX-Slow: ", "s", 500),
    visit(listen, upload(1_000_000), "1 KB a second ".repeat(37), 500),
    visit(listen, ask("/", "POST", "Transfer-Encoding: chunked\r\n"), "3\r\nabc\r\n", 500),
    visit(listen, ask("/endless"), "", 0, false),
    visit(listen, ask("/later", "GET", close), "", 0),
    visit(listen, ask("/events", "GET", close), "", 0),
    visit(listen, upload(28 * 20_480), "t".repeat(20_480), 500),
  ]);
  return { head, body, chunked, reader, answer, events, steady };
}

const adapters = [
  ["uWebSockets.js", visits(await loadUws())],
  ["node:http", visits(listenNode)],
] as const;

describe.each(adapters)("time on %s", (_, visited) => {
  let ends: Awaited<typeof visited>;
  beforeAll(async () => {
    ends = await visited;
  });

  test("a head that dribbles is cut off", () => {
    expect(ends.head.answer).not.toContain("200 OK");
    expect(ends.head.after_s).toBeLessThan(25);
  });
  test.each(["body", "chunked"] as const)("a %s that dribbles is answered 408, and cut off", (kind) => {
    expect(ends[kind].answer).toMatch(/^HTTP\/1.1 408 /);
    expect(ends[kind].after_s).toBeLessThan(25);
  });
  test("a reader that stops reading is cut off, and its source stopped", () => {
    expect(ends.reader).toMatchObject({ gone: true, stopped: true });
  });
  test("an answer may take its time", () => {
    expect(ends.answer.answer).toContain("answered");
    expect(ends.answer.gone).toBe(false);
  });
  test("a stream may be silent between two pieces", () => {
    expect(ends.events.answer).toMatch(/first [^]*second/);
    expect(ends.events.gone).toBe(false);
  });
  test("a body of 40 KB a second is taken", () => {
    expect(ends.steady.answer).toContain("answered");
    expect(ends.steady.after_s).toBeGreaterThan(13);
  });
});
