/** What @trawl/client sends again, against a server that answers as a test says. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { Trawl, type TrawlError } from "../../clients/typescript/src/client.ts";

type Answer = (request: IncomingMessage, response: ServerResponse, count: number) => void;

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Asked {
  readonly trawl: Trawl;
  readonly bodies: readonly any[];
}

async function served(answer: Answer): Promise<Asked> {
  const bodies: any[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const text = Buffer.concat(pieces).toString();
      bodies.push(text === "" ? null : JSON.parse(text));
      response.setHeader("X-Request-Id", "req_1");
      answer(request, response, bodies.length);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { trawl: new Trawl({ url: `http://127.0.0.1:${port}/below/`, key: "sk_0" }), bodies };
}

const json = (response: ServerResponse, status: number, value: unknown, headers = {}): void => {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));
};
const hangUp: Answer = (_, response) => {
  response.writeHead(200, { "Content-Length": "100" });
  response.write("{", () => response.destroy());
};
const failure = (call: Promise<unknown>): Promise<TrawlError> =>
  call.then(
    () => Promise.reject(new Error("The call did not fail")),
    (problem: TrawlError) => problem,
  );

describe("a lost answer", () => {
  test("is asked for again where that costs nothing", async () => {
    const { trawl, bodies } = await served((request, response, count) => {
      expect(request.url).toBe("/below/v1/quota");
      if (count === 1) hangUp(request, response, count);
      else json(response, 200, { key: {} });
    });
    expect(await trawl.quota()).toEqual({ key: {} });
    expect(bodies).toHaveLength(2);
  });

  test("is not asked for again where it was billed", async () => {
    const { trawl, bodies } = await served(hangUp);
    expect(await failure(trawl.fetch("https://example.org/"))).toMatchObject({
      code: "connection",
      status: null,
    });
    expect(bodies).toHaveLength(1);
  });

  test("of a job is asked for under the same key, drawn where none was given", async () => {
    const { trawl, bodies } = await served((request, response, count) => {
      if (count === 1) hangUp(request, response, count);
      else json(response, 202, { job_id: "one", created: true });
    });
    expect(await trawl.batch.fetch(["https://example.org/"])).toMatchObject({ id: "one", created: true });
    const [first, second] = bodies;
    expect(first).toEqual({
      items: [{ url: "https://example.org/" }],
      idempotency_key: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(second).toEqual(first);
    await trawl.batch.fetch(["https://example.org/"], { idempotency_key: "mine" });
    expect(bodies[2].idempotency_key).toBe("mine");
  });
});

describe("a refusal with Retry-After", () => {
  test("is waited for, also of a billed call", async () => {
    const { trawl, bodies } = await served((_, response, count) => {
      if (count === 1) json(response, 503, { detail: "no room" }, { "Retry-After": "0" });
      else if (count === 2)
        json(response, 429, { detail: "slower" }, { "Retry-After": new Date(0).toUTCString() });
      else json(response, 200, { title: "Example" });
    });
    expect(await trawl.fetch("https://example.org/")).toEqual({ title: "Example" });
    expect(bodies).toHaveLength(3);
  });

  test("of hours is given to the caller at once", async () => {
    const { trawl, bodies } = await served((_, response) =>
      json(
        response,
        429,
        { detail: { error: "key_quota_exhausted", category: "fetch", limit: 10 } },
        { "Retry-After": "7200" },
      ),
    );
    expect(await failure(trawl.fetch("https://example.org/"))).toMatchObject({
      code: "key_quota_exhausted",
      status: 429,
      retryAfterMs: 7_200_000,
      requestId: "req_1",
      body: { detail: { category: "fetch", limit: 10 } },
    });
    expect(bodies).toHaveLength(1);
  });

  test("is not repeated without end by many calls together", async () => {
    const { trawl, bodies } = await served((_, response) =>
      json(response, 503, { detail: "no room" }, { "Retry-After": "0" }),
    );
    const failed = await Promise.all(Array.from({ length: 40 }, () => failure(trawl.quota())));
    expect(new Set(failed.map(({ code }) => code))).toEqual(new Set(["unavailable"]));
    expect(bodies.length).toBeGreaterThan(45);
    expect(bodies.length).toBeLessThanOrEqual(54);
  });
});

test("a code of a newer service is unknown, and told", async () => {
  const { trawl } = await served((_, response) => json(response, 403, { detail: { error: "key_asleep" } }));
  expect(await failure(trawl.quota())).toMatchObject({
    code: "unknown",
    serverCode: "key_asleep",
    status: 403,
  });
});

test("an answer of something else than the service is no answer", async () => {
  const { trawl } = await served((_, response) => response.end("<h1>Welcome</h1>"));
  expect(await failure(trawl.quota())).toMatchObject({ code: "protocol", status: 200 });
});

describe("results", () => {
  const item = (index: number): string => `${JSON.stringify({ index, kind: "fetch" })}\n`;
  const ended = { finished_at: "2026-11-25T15:00:00.000Z", counts: { total: 4 } };

  test("go on where half a line arrived, and where a stream ended before the job", async () => {
    const asked: string[] = [];
    const { trawl } = await served((request, response, count) => {
      asked.push(request.url!.replace("/below/v1/jobs/one", ""));
      if (count === 1) {
        const half = item(0) + item(1) + item(2).slice(0, 10);
        response.writeHead(200).write(half, () => response.destroy());
      } else if (count === 2) response.end(item(2) + item(3).slice(0, 5));
      else if (count === 3) json(response, 200, { ...ended, finished_at: null });
      else if (count === 4) response.end(`\n${item(3)}`);
      else json(response, 200, ended);
    });
    const indexes = await Array.fromAsync(trawl.job("one"), ({ index }) => index);
    expect(indexes).toEqual([0, 1, 2, 3]);
    const results = (from: number): string => `/results?from=${from}&follow=true`;
    expect(asked).toEqual([results(0), results(2), "", results(3), ""]);
  });

  test("of 50,000 items take the memory of a few", { timeout: 60_000 }, async () => {
    const padding = "x".repeat(4_000);
    const { trawl } = await served((request, response) => {
      if (!request.url!.includes("results"))
        return json(response, 200, { ...ended, counts: { total: 50_000 } });
      let index = 0;
      const fill = (): void => {
        while (index < 50_000)
          if (
            !response.write(
              `${JSON.stringify({ index: index++, kind: "fetch", result: { text: padding } })}\n`,
            )
          )
            return void response.once("drain", fill);
        response.end();
      };
      return fill();
    });
    let count = 0;
    const before_bytes = process.memoryUsage().heapUsed;
    let most_bytes = 0;
    for await (const { index } of trawl.job("one")) {
      expect(index).toBe(count++);
      if (index % 1_000 === 0) most_bytes = Math.max(most_bytes, process.memoryUsage().heapUsed);
    }
    expect(count).toBe(50_000);
    // 200 MB went through. A heap is not collected at once, so a part of it is not yet free.
    expect(most_bytes - before_bytes).toBeLessThan(120_000_000);
  });
});
