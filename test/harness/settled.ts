/** Waits until a cluster has settled: every partition is owned by the node that should own it. */
import assert from "node:assert/strict";
import { ownerOf } from "../../cluster/placement.ts";
import type { NodeReport, NodeDirectory } from "../../cluster/ports/node-directory.ts";

const MAX_SETTLED_MS = 30_000;
const MAX_ANSWERED_MS = 300;

/** The reports of the nodes then; throws when `workers` nodes do not settle in time. */
export async function settled(
  nodeDirectory: NodeDirectory,
  workers: number,
  within_ms = MAX_SETTLED_MS,
): Promise<readonly NodeReport[]> {
  const ends_ms = performance.now() + within_ms;
  for (;;) {
    const reports = await nodeDirectory.nodes(MAX_ANSWERED_MS).catch(() => []);
    const owners = reports.filter(({ roles, draining }) => roles.includes("worker") && !draining);
    const names = owners.map(({ node }) => node);
    const owned = owners.flatMap(({ node, partitions }) =>
      partitions.map(({ partition }) => ({ node, partition })),
    );
    const partitions = await nodeDirectory.partitions().catch(() => NaN);
    const isSettled =
      owners.length === workers &&
      owned.length === partitions &&
      owned.every(({ node, partition }) => ownerOf(partition, names) === node);
    if (isSettled) return reports;
    assert(performance.now() < ends_ms, `Partitions do not settle: ${JSON.stringify(reports)}`);
  }
}
