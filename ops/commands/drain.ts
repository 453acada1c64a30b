/** trawl drain: has a node answer what it has, hand its partitions over and end, as SIGTERM does; from anywhere. */
import { Command } from "commander";
import { CommandError, type Context, EXIT, type Json, withJson, withRoster } from "./context.ts";

interface Wishes extends Json {
  readonly wait: boolean;
}

/** A little longer than a node takes at most. */
const WAIT_MS = 170_000;

export const drainCommand = (context: Context): Command =>
  withJson(new Command("drain").description("hand a node's partitions over and end it"))
    .argument("<node>", "its name, as trawl nodes has it")
    .option("--no-wait", "do not wait until it is gone")
    .action(async (node: string, { json, wait }: Wishes) => {
      const gone = await withRoster(context, async (roster) => {
        if (!(await roster.drain(node))) {
          const names = (await roster.nodes()).map((report) => report.node);
          throw new CommandError(`There is no node "${node}"; there are: ${names.join(", ") || "none"}`);
        }
        const ends_ms = context.now() + WAIT_MS;
        while (wait && context.now() < ends_ms) {
          // Asking takes a while by itself.
          if (!(await roster.nodes()).some((report) => report.node === node)) return true;
        }
        return false;
      });
      if (json) context.out(JSON.stringify({ node, gone }));
      else context.err(gone ? `Node ${node} is gone` : `Node ${node} is draining`);
      if (wait && !gone) context.exit(EXIT.time);
    });
