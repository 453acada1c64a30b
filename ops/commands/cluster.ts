/**
 * trawl cluster rebuild: removes everything a cluster keeps on its bus, for a bus whose data is damaged. The document store
 * is the source of truth: nodes create the bus again and find their work in the documents.
 */
import { Command } from "commander";
import { changePartitions } from "../../cluster/generation.ts";
import { isPartitionCount, MIN_PARTITIONS } from "../../cluster/placement.ts";
import { MAX_PARTITIONS } from "../../cluster/ports/bus.ts";
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

interface RebuildOptions extends Json {
  readonly force?: boolean;
  readonly partitions?: number;
}

function partitionCount(text: string): number {
  if (!isPartitionCount(Number(text)))
    throw new CommandError(
      `--partitions must be a power of two from ${MIN_PARTITIONS} to ${MAX_PARTITIONS}, not "${text}"`,
    );
  return Number(text);
}

/** Before the bus is emptied: should that fail, nodes find that documents and bus differ, and do not start. */
async function divide(context: Context, partitions: number, nodes: readonly string[]): Promise<void> {
  if (nodes.length > 0)
    throw new CommandError(
      `Cannot change the number of partitions while nodes run: ${nodes.join(", ")}. Stop them with trawl drain`,
    );
  if (!(await withDocuments(context, (documents) => changePartitions(documents, partitions))))
    throw new CommandError(
      "Cannot change the number of partitions: no node has run with these documents yet. Set TRAWL_PARTITIONS on the first one",
    );
}

export function clusterCommand(context: Context): Command {
  const cluster = new Command("cluster").description("manage the cluster as a whole");
  withJson(cluster.command("rebuild"))
    .description("remove all streams and leases from the bus; nodes create them again")
    .option(
      "--force",
      "also while nodes run: for a few seconds they own nothing, and waiting messages are lost",
    )
    .option(
      "--partitions <number>",
      `divide the keys into so many partitions: a power of two from ${MIN_PARTITIONS} to ${MAX_PARTITIONS}`,
      partitionCount,
    )
    .action(async ({ json, force = false, partitions }: RebuildOptions) => {
      const result = await withNodeDirectory(context, async (nodeDirectory) => {
        const nodes = (await nodeDirectory.nodes(SEARCH_MS)).map(({ node }) => node);
        if (nodes.length > 0 && !force)
          throw new CommandError(
            `Cannot rebuild the bus while nodes run: ${nodes.join(", ")}. Stop them with trawl drain, which loses nothing; ` +
              "or add --force: then messages that wait on the bus are lost, and the nodes go on by themselves after a few seconds",
          );
        if (partitions !== undefined) await divide(context, partitions, nodes);
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
