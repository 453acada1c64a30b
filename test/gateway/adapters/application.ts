/** The application that the HTTP port's suite puts behind an adapter: one route for each behaviour, and a record of what came of it. */
import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Admission, Admit, Body, Head, Reply, Stream } from "../../../gateway/http.ts";

export interface Application {
  readonly admit: Admit;
  readonly failed: (problem: unknown, head: Head) => Reply;
  readonly seen: {
    asked: number;
    answers: number;
    client_aborts: number;
    begun: number;
    stopped: number;
    failed: string[];
  };
}

export const json = (status: number, value: unknown): Reply => ({
  status,
  headers: { "content-type": "application/json" },
  body: Buffer.from(JSON.stringify(value)),
});

const PIECE = Buffer.from("ab".repeat(131_072));

const text = (...pieces: string[]) =>
  async function* () {
    for (const piece of pieces) yield Buffer.from(piece);
  };

export function application(): Application {
  const seen: Application["seen"] = {
    asked: 0,
    answers: 0,
    client_aborts: 0,
    begun: 0,
    stopped: 0,
    failed: [],
  };

  /** Counts that it was begun, and that it was stopped, however that came about. */
  const streamOf = (length: number | null, chunks: () => AsyncGenerator<Buffer>): Stream => ({
    length,
    chunks: (async function* () {
      seen.begun++;
      try {
        yield* chunks();
      } finally {
        seen.stopped++;
      }
    })(),
  });
  const file = (bytes: number): Stream =>
    streamOf(bytes, async function* () {
      for (let left = bytes; left > 0; left -= PIECE.length)
        yield PIECE.subarray(0, Math.min(left, PIECE.length));
    });
  const answers: Record<string, (head: Head, signal: AbortSignal) => Reply | Promise<Reply>> = {
    "GET /json": () => json(200, { a: 1 }),
    "GET /later": () => wait(300).then(() => json(200, { a: 1 })),
    "GET /never": (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    "GET /file": () => ({ status: 200, body: file(3_000_000) }),
    "GET /large": () => ({ status: 200, body: Buffer.alloc(3_000_000, "cd") }),
    "GET /huge": () => ({ status: 200, body: Buffer.alloc(32 * 2 ** 20) }),
    "GET /events": () => ({
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: streamOf(null, async function* () {
        for (let n = 0; n < 3; n++) {
          if (n > 0) await wait(50);
          yield Buffer.from(`data: ${n}\n\n`);
        }
      }),
    }),
    "GET /endless": () => ({
      status: 200,
      body: streamOf(null, async function* () {
        for (;;) yield PIECE;
      }),
    }),
    "GET /utf8": ({ query }) => json(200, { text: new URLSearchParams(query).get("text") }),
    "GET /value": ({ query }) => ({
      status: 200,
      headers: { "x-a": new URLSearchParams(query).get("value")! },
    }),
    "GET /name": ({ query }) => ({
      status: 200,
      headers: { [new URLSearchParams(query).get("name")!]: "v" },
    }),
    "GET /status": ({ query }) => ({ status: Number(query), body: Buffer.from("body") }),
    "GET /head": ({ path, query, headers }) =>
      json(200, { path, query, headers: Object.fromEntries(headers) }),
    "GET /address": async ({ address }) => {
      await wait(20);
      return json(200, { address: address() });
    },
    "GET /empty": () => ({ status: 204 }),
    "GET /same": () => ({ status: 304, headers: { etag: '"x"' }, body: Buffer.from("never sent") }),
    "GET /nothing": () => ({ status: 200 }),
    "GET /no-pieces": () => ({ status: 200, body: streamOf(null, text()) }),
    "GET /throws": () => {
      throw new Error("at once");
    },
    "GET /rejects": () => wait(20).then(() => Promise.reject(new Error("later"))),
    "GET /injects": () => ({ status: 200, headers: { "x-a": "a\r\nx-injected: 1" } }),
    "GET /short": () => ({
      status: 200,
      body: streamOf(10, async function* () {
        yield Buffer.from("abc");
        await wait(100);
      }),
    }),
    "GET /long": () => ({ status: 200, body: streamOf(5, text("abc", "def", "ghi")) }),
    "GET /breaks": () => ({
      status: 200,
      body: streamOf(null, async function* () {
        yield Buffer.from("begun");
        await wait(100);
        throw new Error("the source broke");
      }),
    }),
    "GET /fails": () => ({
      status: 200,
      body: streamOf(10, async function* () {
        yield await Promise.reject<Buffer>(new Error("the source never began"));
      }),
    }),
  };

  const told_of = (body: Body, limit_bytes: number): Reply => {
    seen.answers++;
    if (body.kind === "too_large") return json(413, { detail: `request body over ${limit_bytes} bytes` });
    if (body.kind === "no_room") return json(503, { detail: "no room" });
    if (body.kind !== "whole") return json(408, { detail: body.kind });
    const sha256 = createHash("sha256").update(body.bytes).digest("hex");
    return json(200, { bytes: body.bytes.length, sha256 });
  };
  /** Answered at once, as small bodies may be, or a moment later, as most are. */
  const echo = (limit_bytes: number, at_once: boolean): Admission => ({
    limit_bytes,
    answer: at_once
      ? (body) => told_of(body, limit_bytes)
      : async (body) => {
          await wait(0);
          return told_of(body, limit_bytes);
        },
  });

  return {
    seen,
    failed: (problem) => {
      seen.failed.push(String(problem));
      return json(500, { detail: "internal error" });
    },
    admit(head, { signal }) {
      seen.asked++;
      signal.addEventListener("abort", () => seen.client_aborts++);
      if (head.method === "POST" && head.path === "/echo") return echo(1_000_000, true);
      if (head.method === "POST" && head.path === "/batch") return echo(64 * 1024 * 1024, false);
      if (head.method === "POST" && head.path === "/refused") return json(401, { detail: "no key" });
      // As where a key is looked up.
      const later = (admission: Admission) => ({
        admission: wait(20).then(() => admission),
        hasRoom: () => true,
      });
      if (head.path === "/echo-later") return later(echo(64 * 1024 * 1024, true));
      if (head.path === "/refused-later") return later(json(401, { detail: "no key" }));
      const method = head.method === "HEAD" ? "GET" : head.method;
      const answer = answers[`${method} ${head.path}`];
      if (!answer) return json(404, { detail: "Not Found" });
      if (head.path === "/throws") return answer(head, signal) as Reply;
      return { limit_bytes: 1_000_000, answer: () => answer(head, signal) };
    },
  };
}
