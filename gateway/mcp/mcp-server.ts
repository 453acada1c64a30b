/**
 * The official SDK's server with this service's tools, resources and prompts: one for each request over HTTP, one for each
 * connection over standard input and output. Only this folder's door imports it, when the first request comes: the SDK takes
 * 30 MB of memory and a tenth of a second.
 */
import {
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { type Clock, sleep } from "../../cluster/ports/clock.ts";
import type { AskApi } from "./api.ts";
import { PROMPTS } from "./prompts.ts";
import { RESOURCE_TEMPLATES, RESOURCES, readResource } from "./resources.ts";
import { ToolError, type ToolContext } from "./tool.ts";
import { callTool, hasTool, TOOLS } from "./tools.ts";

const INSTRUCTIONS =
  "Reads the web politely: search, then fetch what you rely on, and cite the addresses. Answers are cut to a budget; read_more goes on. " +
  "Registers and SEC filings answer questions about companies better than web pages.";

/** Clients may give up when they hear nothing for a minute. */
const PROGRESS_MS = 5_000;

export interface McpDeps {
  readonly version: string;
  readonly clock: Pick<Clock, "now" | "at">;
}

function mcpServer(ask: AskApi, { version, clock }: McpDeps): Server {
  const server = new Server(
    { name: "trawl", title: "Trawl", version },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS },
  );
  const contextOf = (from: ServerContext) => ({
    ask,
    sleep: (ms: number) => sleep(clock, ms),
    signal: from.mcpReq.signal,
    ...progress(from),
  });

  server.setRequestHandler("tools/list", () => ({ tools: TOOLS as any }));
  server.setRequestHandler("tools/call", async ({ params }, from) => {
    if (!hasTool(params.name))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${params.name}"`);
    const context = contextOf(from);
    const ticks = ticking(clock, () => context.onProgress("still working"));
    try {
      return { ...(await callTool(params.name, params.arguments ?? {}, context)) };
    } finally {
      ticks[Symbol.dispose]();
    }
  });
  server.setRequestHandler("resources/list", () => ({ resources: RESOURCES.map((each) => ({ ...each })) }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: RESOURCE_TEMPLATES.map((each) => ({ ...each })),
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }, from) => {
    try {
      const resource = await readResource(uri, contextOf(from));
      if (resource === null) throw new ResourceNotFoundError(uri);
      return { contents: [{ uri, ...resource }] };
    } catch (problem) {
      if (problem instanceof ToolError)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, problem.message);
      throw problem;
    }
  });
  server.setRequestHandler("prompts/list", () => ({
    prompts: PROMPTS.map(({ text: _text, arguments: list, ...prompt }) => ({
      ...prompt,
      arguments: [...list],
    })),
  }));
  server.setRequestHandler("prompts/get", ({ params }) => {
    const prompt = PROMPTS.find(({ name }) => name === params.name);
    if (!prompt)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no prompt "${params.name}"`);
    const given = params.arguments ?? {};
    const missing = prompt.arguments.find(({ name, required }) => required && !given[name]);
    if (missing)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The argument "${missing.name}" is missing`);
    return {
      description: prompt.description,
      messages: [{ role: "user" as const, content: { type: "text" as const, text: prompt.text(given) } }],
    };
  });
  return server;
}

/** Progress notices of one request, where its client asked for them. They count up, as the protocol wants. */
function progress({ mcpReq }: ServerContext): Pick<ToolContext, "onProgress"> {
  const token = mcpReq._meta?.progressToken;
  let count = 0;
  return {
    onProgress(message) {
      if (token === undefined) return;
      const params = { progressToken: token, progress: ++count, message };
      // A client that is gone misses nothing.
      mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
    },
  };
}

/** Calls at every interval until it is disposed. */
function ticking(clock: McpDeps["clock"], call: () => void): Disposable {
  const begin = (): Disposable =>
    clock.at(clock.now() + PROGRESS_MS, () => {
      call();
      next = begin();
    });
  let next = begin();
  return { [Symbol.dispose]: () => next[Symbol.dispose]() };
}

/** Over HTTP, without sessions: what asks the API in the caller's name comes with each request. */
export function mcpOverHttp(deps: McpDeps): (request: Request, ask: AskApi) => Promise<Response> {
  const { fetch: answer } = createMcpHandler(({ authInfo }) =>
    mcpServer(authInfo!.extra!["ask"] as AskApi, deps),
  );
  // The gateway has checked the key; nothing of it is passed on.
  return (request, ask) =>
    answer(request, { authInfo: { token: "", clientId: "", scopes: [], extra: { ask } } });
}

/** Over this process's standard input and output, until its input ends. */
export async function mcpOverStdio(ask: AskApi, deps: McpDeps): Promise<void> {
  const ended = new Promise<void>((resolve) => process.stdin.once("end", resolve).once("close", resolve));
  const handle = serveStdio(() => mcpServer(ask, deps));
  await ended;
  await handle.close();
}
