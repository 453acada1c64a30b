/**
 * trawl cluster rebuild: removes everything a cluster keeps on its bus, for a bus whose data is damaged. The document store
 * is the source of truth: nodes create the bus again and find their work in the documents.
 */
import { Command } from "commander";
import { forgetSettings } from "../agreed-settings.ts";
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
    .description("remove all streams and leases from the bus; nodes create them again")
    .option(
      "--force",
      "also while nodes run: for a few seconds they own nothing, and waiting messages are lost",
    )
    .action(async ({ json, force = false }: Json & { readonly force?: boolean }) => {
      const result = await withNodeDirectory(context, async (nodeDirectory) => {
        const nodes = (await nodeDirectory.nodes(SEARCH_MS)).map(({ node }) => node);
        if (nodes.length > 0 && !force)
          throw new CommandError(
            `Cannot rebuild the bus while nodes run: ${nodes.join(", ")}. Stop them with trawl drain, which loses nothing; ` +
              "or add --force: then messages that wait on the bus are lost, and the nodes go on by themselves after a few seconds",
          );
        // Nodes that run keep to what they agreed on.
        const former = nodes.length > 0 ? null : await withDocuments(context, forgetSettings);
        const moved_from = former === nodeDirectory.cluster ? null : former;
        return { removed: await nodeDirectory.wipe(), nodes, moved_from };
      });
      if (json) return context.out(JSON.stringify(result));
      const next =
        result.nodes.length > 0
          ? "The nodes create it again; trawl nodes shows when they own all partitions."
          : "Start the nodes.";
      if (result.moved_from !== null)
        context.err(
          `The documents belonged to the cluster "${result.moved_from}": its nodes must stay stopped.`,
        );
      return context.err(`Removed ${result.removed.join(", ") || "nothing"}. ${next}`);
    });
  return cluster;
}
