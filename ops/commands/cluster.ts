/**
 * trawl cluster rebuild: removes everything a cluster keeps on its bus, for when it was lost or is not to be trusted any
 * more. What must run stands in the documents, and is found again when nodes start.
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

/** Longer than any lease lives: whoever still holds one would answer, or may not begin anything any more. */
const SEARCH_MS = 4_000;

export function clusterCommand(context: Context): Command {
  const cluster = new Command("cluster").description("the cluster as a whole");
  withJson(cluster.command("rebuild"))
    .description("remove all streams and leases from the bus; with all nodes stopped")
    .action(async ({ json }: Json) => {
      const result = await withNodeDirectory(context, async (nodeDirectory) => {
        const nodes = await nodeDirectory.nodes(SEARCH_MS);
        if (nodes.length > 0)
          throw new CommandError(
            `Cannot rebuild while nodes run: stop ${nodes.map(({ node }) => node).join(", ")} first`,
          );
        // First, so that whoever starts now finds a bus that is behind, and waits for it.
        const generation = await withDocuments(context, raiseGeneration);
        return { generation, removed: await nodeDirectory.wipe() };
      });
      if (json) return context.out(JSON.stringify(result));
      return context.err(
        `Generation ${result.generation}; removed ${result.removed.join(", ") || "nothing, there was nothing"}. Start the nodes.`,
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
