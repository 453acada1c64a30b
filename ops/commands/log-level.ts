/** trawl log-level: sets the level of all running nodes, until they end; TRAWL_LOG_LEVEL is what they start with. */
import { Argument, type Command } from "commander";
import { LOG_LEVELS } from "../../cluster/ports/log.ts";
import { type ClientOptions, operatorCommand, errorOf, post, operatedService } from "./client.ts";
import type { Context } from "./context.ts";

export const logLevelCommand = (context: Context): Command =>
  operatorCommand("log-level")
    .description("set the log level of all nodes while they run")
    .addArgument(new Argument("<level>", "lines below it are left out").choices(LOG_LEVELS))
    .action(async (level: string, options: ClientOptions) => {
      const { base, key } = operatedService(context, options);
      const { reply, content } = await post(`${base}/v1/ops/log-level`, key, { level });
      if (!reply.ok) throw errorOf(reply, content);
      if (options.json) return context.out(JSON.stringify(content));
      const { nodes } = content as { readonly nodes: readonly string[] };
      return context.err(`Level ${level} on ${nodes.join(", ")}`);
    });
