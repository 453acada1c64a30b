/** How much of this machine's memory the node may use for bodies: TRAWL_MEMORY_MB, or a part of what there is. */
import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";
import { type ByteBudget, byteBudget, MIN_LIMIT_BYTES } from "../cluster/byte-budget.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { NodeConfig } from "../node/node-settings.ts";

const MB = 2 ** 20;
/** Answers with long texts are put together in the heap, several times their reserved size for a moment. */
const PART_OF_HEAP = 4;
/** Bodies are outside the heap; browsers, readers and other programs need memory, too. */
const PART_OF_MACHINE = 8;

/** `machine_bytes`: of the machine, or of the container where it has a limit. */
export function defaultLimitBytes(heap_bytes: number, machine_bytes: number): number {
  const limit = Math.min(heap_bytes / PART_OF_HEAP, machine_bytes / PART_OF_MACHINE);
  return Math.max(MIN_LIMIT_BYTES, Math.floor(limit / MB) * MB);
}

export function openMemory(
  { memory }: Pick<NodeConfig, "memory">,
  { clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics },
): ByteBudget {
  if (memory.limit_mb > 0 && memory.limit_mb * MB < MIN_LIMIT_BYTES)
    throw new Error(`TRAWL_MEMORY_MB is ${memory.limit_mb}: expected 0, or at least ${MIN_LIMIT_BYTES / MB}`);
  // Zero, or more than the machine has: the container has no limit.
  const container = process.constrainedMemory();
  const machine = container > 0 ? Math.min(container, totalmem()) : totalmem();
  const limit_bytes =
    memory.limit_mb === 0
      ? defaultLimitBytes(getHeapStatistics().heap_size_limit, machine)
      : memory.limit_mb * MB;
  return byteBudget({ limit_bytes, clock, metrics });
}
