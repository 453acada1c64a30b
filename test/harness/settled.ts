/** Waiting until a cluster has come to rest: every partition with the node that should have it, and with nobody else. */
import assert from "node:assert/strict";
import { ownerOf, PARTITIONS } from "../../cluster/placement.ts";
import type { NodeReport, NodeDirectory } from "../../cluster/ports/node-directory.ts";

const MAX_SETTLED_MS = 30_000;
const MAX_ANSWERED_MS = 300;

/** What the nodes then say of themselves; throws when `workers` nodes do not come to rest in time. */
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
    const held = owners.flatMap(({ node, partitions }) =>
      partitions.map(({ partition }) => ({ node, partition })),
    );
    const isAtRest =
      owners.length === workers &&
      held.length === PARTITIONS &&
      held.every(({ node, partition }) => ownerOf(partition, names) === node);
    if (isAtRest) return reports;
    assert(performance.now() < ends_ms, `Partitions do not settle: ${JSON.stringify(reports)}`);
  }
}
