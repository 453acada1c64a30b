/** trawl drain: has a node answer what it has, hand its partitions over and end, as SIGTERM does; from anywhere. */
import { Command } from "commander";
import { CommandError, type Context, EXIT, type Json, withJson, withNodeDirectory } from "./context.ts";

interface DrainOptions extends Json {
  readonly wait: boolean;
}

/** A little longer than a node takes at most. */
const WAIT_MS = 170_000;

export const drainCommand = (context: Context): Command =>
  withJson(new Command("drain").description("hand a node's partitions over and end it"))
    .argument("<node>", "its name, as trawl nodes has it")
    .option("--no-wait", "do not wait until it is gone")
    .action(async (node: string, { json, wait }: DrainOptions) => {
      const stopped = await withNodeDirectory(context, async (nodeDirectory) => {
        if (!(await nodeDirectory.drain(node))) {
          const names = (await nodeDirectory.nodes()).map((report) => report.node);
          throw new CommandError(`There is no node "${node}"; there are: ${names.join(", ") || "none"}`);
        }
        const ends_ms = context.now() + WAIT_MS;
        while (wait && context.now() < ends_ms) {
          // Asking takes a while by itself.
          if (!(await nodeDirectory.nodes()).some((report) => report.node === node)) return true;
        }
        return false;
      });
      if (json) context.out(JSON.stringify({ node, stopped }));
      else context.err(stopped ? `Node ${node} is gone` : `Node ${node} is draining`);
      if (wait && !stopped) context.exit(EXIT.time);
    });
