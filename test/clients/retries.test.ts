/** Repetitions of @trawl/client that the table of scenarios (`test/clients/scenarios.test.ts`) cannot say: what its calls together may do, and what a refusal tells. */
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
const failure = (call: Promise<unknown>): Promise<TrawlError> =>
  call.then(
    () => Promise.reject(new Error("The call did not fail")),
    (problem: TrawlError) => problem,
  );

describe("a refusal with Retry-After", () => {
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
