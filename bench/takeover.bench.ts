/**
 * node bench/takeover.bench.ts [--clusters 3x64,3x256,10x64,10x256] [--kills 5]: how long the partitions of a node that is killed are without an
 * owner, by the number of nodes and partitions. Nodes do everything; after each kill another one joins. Milliseconds of wall time from
 * the kill until the reports of the others have all partitions.
 */
import { parseArgs } from "node:util";
import type { ClusterOf } from "../test/harness/cluster-of.ts";
import { clusterWithout } from "./cluster-nodes.ts";
import { machine, median, unlinked } from "./harness.ts";

const { values } = parseArgs({
  options: {
    clusters: { type: "string", default: "3x64,3x256,10x64,10x256" },
    kills: { type: "string", default: "5" },
  },
});
const ROLES = "gateway,worker";
const SETTLED_MS = 180_000;
/** A node that has answered nothing for so long is left out of a look. */
const LOOK_MS = 40;

const joined = (cluster: ClusterOf) => cluster.add(ROLES, unlinked(cluster));

async function takeoverMs(cluster: ClusterOf): Promise<number> {
  const partitions = await cluster.nodeDirectory.partitions();
  const victim = cluster.nodes.find((node) => node.isRunning())!;
  const began = performance.now();
  await victim.kill();
  for (;;) {
    const reports = await cluster.nodeDirectory.nodes(LOOK_MS);
    const others = reports.filter(({ node }) => node !== victim.name);
    const owned = new Set(others.flatMap((report) => report.partitions.map(({ partition }) => partition)));
    if (owned.size === partitions) return Math.round(performance.now() - began);
  }
}

async function measured(nodes: number, partitions: number) {
  const cluster = await clusterWithout({ TRAWL_PARTITIONS: String(partitions) });
  try {
    for (let n = 0; n < nodes; n++) await joined(cluster);
    const took: number[] = [];
    for (let n = 0; n < Number(values.kills); n++) {
      await cluster.settled(SETTLED_MS);
      took.push(await takeoverMs(cluster));
      await joined(cluster);
    }
    return { nodes, partitions, median_ms: median(took), takeover_ms: took };
  } finally {
    await cluster.close();
  }
}

const results = [];
for (const wanted of values.clusters.split(",")) {
  const [nodes, partitions] = wanted.split("x").map(Number);
  if (!nodes || !partitions) throw new Error(`Cannot measure "${wanted}": NODESxPARTITIONS`);
  results.push(await measured(nodes, partitions));
  console.error(JSON.stringify(results.at(-1)));
}
console.log(JSON.stringify({ machine: machine(), results }, null, 1));
