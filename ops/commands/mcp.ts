/**
 * trawl mcp: the Model Context Protocol on standard input and output, for agents on the user's machine. A client of the HTTP API:
 * its tools are those of /mcp. Standard output belongs to the protocol.
 */
import type { Command } from "commander";
import { systemClock } from "../../cluster/adapters/time/clock.system.ts";
import { answered, type AskApi } from "../../gateway/mcp/api.ts";
import { type ClientOptions, clientCommand, exchange, service } from "./client.ts";
import { CommandError, type Context } from "./context.ts";

export const mcpCommand = (context: Context, version: string): Command =>
  clientCommand("mcp")
    .description("serve the tools of an agent on standard input and output (Model Context Protocol)")
    .action(async (options: ClientOptions) => {
      const { base, key } = service(context, options);
      const { mcpOverStdio } = await import("../../gateway/mcp/mcp-server.ts");
      await mcpOverStdio(asking(base, key), { version, clock: systemClock() });
    });

const asking =
  (base: string, key: string): AskApi =>
  async ({ method, path, body }) => {
    try {
      const { reply, content } = await exchange(method, base + path, key, body);
      return answered(reply.status, reply.headers.get("retry-after"), content);
    } catch (problem) {
      if (!(problem instanceof CommandError)) throw problem;
      // For the model: the service cannot be reached, or did not answer.
      return answered(503, null, { detail: problem.message });
    }
  };
