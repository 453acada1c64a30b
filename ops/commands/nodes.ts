/** trawl nodes: which nodes there are, what each of them holds, and what waits in front of it. */
import { Command } from "commander";
import { PARTITIONS } from "../../cluster/placement.ts";
import type { NodeReport, Queue } from "../../cluster/ports/node-directory.ts";
import { type Context, type Json, table, withJson, withRoster } from "./context.ts";

/** A node, and what all its partitions have waiting. */
interface Row extends NodeReport {
  readonly waiting: number;
  readonly unacknowledged: number;
}

export const nodesCommand = (context: Context): Command =>
  withJson(new Command("nodes").description("list nodes, their partitions and what waits there")).action(
    async ({ json }: Json) => {
      const { nodes, queues } = await withRoster(context, async (roster) => ({
        nodes: await roster.nodes(),
        queues: await roster.queues(),
      }));
      const rows = nodes.map((node) => joined(node, queues));
      const held = new Set(nodes.flatMap(({ partitions }) => partitions.map(({ partition }) => partition)));
      const unheld = Array.from({ length: PARTITIONS }, (_, partition) => partition).filter(
        (partition) => !held.has(partition),
      );
      if (json) return context.out(JSON.stringify({ nodes: rows, queues, unheld }, null, 2));
      const head = ["NODE", "ROLES", "UP", "PARTITIONS", "WAITING", "AT WORK", "AWAKE", "SERVES", "STATUS"];
      context.out(
        table(
          head,
          rows.map((row) => cells(row, context.now())),
        ),
      );
      if (unheld.length > 0) context.err(`Held by nobody: ${unheld.join(", ")}`);
    },
  );

function joined(node: NodeReport, queues: readonly Queue[]): Row {
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
  row.roles.join(",") + (row.draining ? " (draining)" : ""),
  span(now_ms - row.began_ms),
  String(row.partitions.length),
  String(row.waiting),
  String(row.unacknowledged),
  String(row.awake),
  row.address ?? "",
  row.status_address,
];

function span(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1_000));
  if (s < 120) return `${s} s`;
  return s < 7_200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3_600)} h`;
}
