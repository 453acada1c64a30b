/** trawl drain: stops a node from any machine, as SIGTERM does: it finishes its work, hands off its partitions and ends. */
import { Command } from "commander";
import { CommandError, type Context, EXIT, type Json, withJson, withNodeDirectory } from "./context.ts";

/** A little longer than a node takes at most. */
const WAIT_MS = 170_000;

export const drainCommand = (context: Context): Command =>
  withJson(
    new Command("drain").description(
      "stop a node after it has finished its work and released its partitions",
    ),
  )
    .argument("<node>", "the node's name, as trawl nodes prints it")
    .option("--no-wait", "do not wait until the node has ended")
    .action(async (node: string, { json, wait }: Json & { readonly wait: boolean }) => {
      const stopped = await withNodeDirectory(context, async (nodeDirectory) => {
        if (!(await nodeDirectory.drain(node))) {
          const names = (await nodeDirectory.nodes()).map((report) => report.node);
          throw new CommandError(`There is no node "${node}"; there are: ${names.join(", ") || "none"}`);
        }
        const ends_ms = context.now() + WAIT_MS;
        while (wait && context.now() < ends_ms) {
          // Each query takes a while, so there is no sleep.
          if (!(await nodeDirectory.nodes()).some((report) => report.node === node)) return true;
        }
        return false;
      });
      if (json) context.out(JSON.stringify({ node, stopped }));
      else context.err(stopped ? `Node ${node} has ended` : `Node ${node} is draining`);
      if (wait && !stopped) context.exit(EXIT.time);
    });
