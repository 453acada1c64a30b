/**
 * trawl cluster rebuild: removes everything a cluster keeps on its bus, for a bus that lost data. The document store is the
 * source of truth: nodes find their work there when they start.
 */
import { Command } from "commander";
import type { Documents } from "../../cluster/ports/documents.ts";
import {
  CommandError,
  type Context,
  type Json,
  withDocuments,
  withJson,
  withNodeDirectory,
} from "./context.ts";

/** Longer than any lease lasts: a node that still owns partitions answers within it; any other has lost its lease. */
const SEARCH_MS = 4_000;

export function clusterCommand(context: Context): Command {
  const cluster = new Command("cluster").description("manage the cluster as a whole");
  withJson(cluster.command("rebuild"))
    .description("remove all streams and leases from the bus; only while all nodes are stopped")
    .action(async ({ json }: Json) => {
      const result = await withNodeDirectory(context, async (nodeDirectory) => {
        const nodes = await nodeDirectory.nodes(SEARCH_MS);
        if (nodes.length > 0)
          throw new CommandError(
            `Cannot rebuild while nodes run: stop ${nodes.map(({ node }) => node).join(", ")} first`,
          );
        // Raised first, so that a node that starts now sees an older bus and waits.
        const generation = await withDocuments(context, raiseGeneration);
        return { generation, removed: await nodeDirectory.wipe() };
      });
      if (json) return context.out(JSON.stringify(result));
      return context.err(
        `Generation ${result.generation}; removed ${result.removed.join(", ") || "nothing"}. Start the nodes.`,
      );
    });
  return cluster;
}

/** Epochs of the new bus begin at 1 again; the generation keeps them larger than every old one. */
async function raiseGeneration(documents: Documents): Promise<number> {
  for (;;) {
    const stored = await documents.get("cluster", "main");
    const previous = (stored?.value as { generation: number } | undefined)?.generation ?? 0;
    if (await documents.put("cluster", "main", { generation: previous + 1 }, stored?.version ?? 0))
      return previous + 1;
  }
}
