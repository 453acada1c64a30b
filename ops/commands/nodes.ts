/** trawl nodes: lists the nodes, the partitions each owns and how many messages wait for it. */
import { Command } from "commander";
import type { NodeReport, QueueReport, TierReport } from "../../cluster/ports/node-directory.ts";
import { operatedService } from "./client.ts";
import { shortDuration } from "./duration.ts";
import { type Context, type Json, table, withJson, withNodeDirectory } from "./context.ts";
import { readReports } from "./reports.ts";

/** A node, and the waiting messages of all its partitions. */
interface Row extends NodeReport {
  readonly waiting: number;
  readonly unacknowledged: number;
}

export const nodesCommand = (context: Context): Command =>
  withJson(
    new Command("nodes").description(
      "list the nodes, their tiers and partitions, and the messages that wait there",
    ),
  ).action(async ({ json }: Json) => {
    const isAlone = (await context.config()).cluster.bus === "memory";
    const { nodes, queues, count } = isAlone
      ? // A single process has no partitions: it owns every key.
        { nodes: await readReports(operatedService(context, {})), queues: [], count: 0 }
      : await withNodeDirectory(context, async (nodeDirectory) => ({
          nodes: await nodeDirectory.nodes(),
          queues: await nodeDirectory.queues(),
          count: await nodeDirectory.partitions(),
        }));
    const rows = nodes.map((node) => joined(node, queues));
    const owned = new Set(nodes.flatMap(({ partitions }) => partitions.map(({ partition }) => partition)));
    const unowned = Array.from({ length: count }, (_, partition) => partition).filter(
      (partition) => !owned.has(partition),
    );
    if (json) return context.out(JSON.stringify({ nodes: rows, queues, unowned }, null, 2));
    const head = [
      "NODE",
      "VERSION",
      "ROLES",
      "TIERS",
      "UP",
      "CLOCK",
      "PARTITIONS",
      "WAITING",
      "AT WORK",
      "AWAKE",
      "SERVES",
      "STATUS",
    ];
    context.out(
      table(
        head,
        rows.map((row) => cells(row, context.now())),
      ),
    );
    if (unowned.length === 0) return undefined;
    const waiting = queues
      .filter(({ partition }) => !owned.has(partition))
      .reduce((sum, queue) => sum + queue.waiting + queue.unacknowledged, 0);
    return context.err(`Owned by no node: ${unowned.join(", ")}; ${waiting} messages wait for an owner`);
  });

function joined(node: NodeReport, queues: readonly QueueReport[]): Row {
  const epochs = new Map(node.partitions.map(({ partition, epoch }) => [partition, epoch]));
  let waiting = 0;
  let unacknowledged = 0;
  for (const queue of queues) {
    if (epochs.get(queue.partition) !== queue.epoch) continue;
    waiting += queue.waiting;
    unacknowledged += queue.unacknowledged;
  }
  return { ...node, waiting, unacknowledged };
}

const cells = (row: Row, now_ms: number): string[] => [
  row.node,
  row.version + (row.commit ? ` ${row.commit}` : ""),
  row.roles.join(",") + (row.draining ? " (draining)" : ""),
  row.tiers.map(tierCell).join(" ") || "-",
  shortDuration(now_ms - row.started_ms),
  row.clock_skew_ms === null ? "-" : `${row.clock_skew_ms > 0 ? "+" : ""}${row.clock_skew_ms} ms`,
  String(row.partitions.length),
  String(row.waiting),
  String(row.unacknowledged),
  String(row.active_actors),
  row.address ?? "",
  row.status_address,
];

/** "browser 3/4+2": three of four places are taken, and two calls wait. */
export function tierCell({ tier, capacity, in_use, waiting, breaker }: TierReport): string {
  const queue = waiting > 0 ? `+${waiting}` : "";
  return `${tier} ${in_use}/${capacity}${queue}${breaker === "closed" ? "" : ` (${breaker})`}`;
}
