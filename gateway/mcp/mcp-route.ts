/** POST /mcp: the Model Context Protocol over HTTP, without sessions. The tools ask this API in the name of the request's key. */
import { Type } from "typebox";
import type { Clock } from "../../cluster/ports/clock.ts";
import { json } from "../http-errors.ts";
import type { Reply } from "../http.ts";
import { type Call, route, type Route } from "../route.ts";
import { askingWithin } from "../asking-within.ts";
import type { AskApi } from "./api.ts";

export interface McpRouteDeps {
  readonly version: string;
  readonly clock: Pick<Clock, "now" | "at">;
  /** The address that clients see: scripts of its pages may ask. */
  readonly publicUrl: () => string;
}

/** A message is small: the largest is a list of addresses. */
const MAX_BYTES = 1_048_576;
const SSE = "text/event-stream";

const Message = Type.Object(
  {
    jsonrpc: Type.Literal("2.0"),
    id: Type.Optional(Type.Union([Type.String(), Type.Number()])),
    method: Type.Optional(Type.String()),
    params: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { title: "McpMessage", additionalProperties: true },
);
const Answer = Type.Record(Type.String(), Type.Unknown());
const refusal = (description: string) => ({ description, schema: Answer });

export function mcpRoute({ version, clock, publicUrl }: McpRouteDeps): Route {
  let handler: Promise<(request: Request, ask: AskApi) => Promise<Response>> | null = null;
  /** The SDK is loaded with the first request. */
  const load = () =>
    (handler ??= import("./mcp-server.ts").then(({ mcpOverHttp }) => mcpOverHttp({ version, clock })));

  return route({
    method: "POST",
    path: "/mcp",
    operationId: "mcp",
    summary: "The Model Context Protocol",
    description:
      "One message of JSON-RPC, of the revisions 2025-06-18, 2025-11-25 and 2026-07-28, without sessions. `docs/api/agents.md` has " +
      "the tools. What a tool asks is limited, billed and listed like a request of its own.",
    tags: ["agents"],
    audience: "protocols",
    body: Message,
    body_example: { jsonrpc: "2.0", id: 1, method: "ping" },
    request_headers: {
      Accept: "`application/json, text/event-stream`",
      "MCP-Protocol-Version": "The revision that the client speaks",
    },
    raw: true,
    limit_bytes: MAX_BYTES,
    too_large: "a message has at most 1 MiB",
    replies: {
      200: { description: "The answer, or a stream of events with it", schema: Answer, also: [SSE] },
      202: { description: "A notice was taken" },
      400: refusal("No message of the protocol"),
      403: refusal("A script of another site asks"),
      404: refusal("No such method, for clients of the newest revision"),
      406: refusal("Accept must name both media types"),
      415: refusal("The message is JSON"),
    },
    handle: async (call: Call<null, null>) => {
      if (!isOwnOrigin(call.head.headers.get("origin"), publicUrl())) return FOREIGN_ORIGIN;
      const answer = await load();
      const request = new Request(`${publicUrl()}/mcp`, {
        method: "POST",
        headers: [...call.head.headers].filter(([name]) => PASSED.has(name)),
        body: new Uint8Array(call.bytes),
        signal: call.signal,
      });
      return replyOf(await answer(request, askingWithin(call.askWithin)));
    },
  });
}

/** Header fields that the protocol reads. */
const PASSED: ReadonlySet<string> = new Set([
  "accept",
  "content-type",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  "mcp-session-id",
]);

const FOREIGN_ORIGIN = json(403, {
  jsonrpc: "2.0",
  id: null,
  error: { code: -32000, message: "Scripts of this origin may not ask this service" },
});

/** Programs send no Origin. A page elsewhere must not ask with a key that a browser or a network near it supplies. */
function isOwnOrigin(origin: string | undefined, public_url: string): boolean {
  if (origin === undefined) return true;
  const asked = URL.parse(origin);
  if (asked === null) return false;
  return asked.origin === new URL(public_url).origin || LOOPBACK.test(asked.hostname);
}
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

function replyOf({ status, headers, body }: Response): Reply {
  const kept = Object.fromEntries(
    ["content-type", "cache-control"].flatMap((name) =>
      headers.has(name) ? [[name, headers.get(name)!]] : [],
    ),
  );
  return { status, headers: kept, ...(body && { body: { length: null, chunks: pieces(body) } }) };
}

async function* pieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const piece of body) yield Buffer.from(piece);
}
