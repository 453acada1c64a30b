/**
 * Documents are extracted in worker processes: a crash or a timeout there does not affect the node. A document that was
 * not read because this machine had no room is tried again, so that only the document itself makes it unreadable.
 */
import { availableParallelism } from "node:os";
import { cutOff, taskOf } from "../actors/lib/content/extract.ts";
import type { ExtractCaller, Extracted, ExtractTask } from "../actors/lib/content/extraction-result.ts";
import { type PoolSettings, processWorkers } from "../cluster/adapters/workers/workers.processes.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import { NO_ROOM, type TaskResult } from "../cluster/ports/workers.ts";

export interface Extraction {
  readonly extract: (task: ExtractTask, caller: ExtractCaller) => Promise<TaskResult<Extracted>>;
  readonly close: () => Promise<void>;
}

/** How long a document waits for room beyond the line of waiting tasks, and how often it is tried. */
export const MAX_ROOM_WAIT_MS = 20_000;
export const ROOM_RETRY_MS = 500;

/**
 * Runs a task until it is read or the document is at fault: at most MAX_ROOM_WAIT_MS for want of room, and once more after
 * its process died, which an earlier task or another program may have caused. A second death is the document's.
 */
export async function runUntilRead<T>(
  clock: Clock,
  signal: AbortSignal,
  run: () => Promise<TaskResult<T>>,
): Promise<TaskResult<T>> {
  const give_up_ms = clock.mono() + MAX_ROOM_WAIT_MS;
  let deaths = 0;
  for (;;) {
    const result = await run();
    if (result.kind === "done" || signal.aborted) return result;
    const { reason } = result;
    if (reason === "crashed" || reason === "killed") {
      if (++deaths === 1) continue;
      return reason === "killed" ? { ...result, reason: "out_of_memory" } : result;
    }
    if (!NO_ROOM.has(reason) || clock.mono() >= give_up_ms) return result;
    await pause(clock, signal);
    if (signal.aborted) return { kind: "failed", reason: "aborted", detail: "The caller cancelled" };
  }
}

/** Until the next try, or until the signal aborts. */
async function pause(clock: Clock, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.at(clock.now() + ROOM_RETRY_MS, resolve);
  const onAbort = (): void => resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  await promise;
  timer[Symbol.dispose]();
  signal.removeEventListener("abort", onAbort);
}

/** A node without the role `worker` reads no documents and starts no processes. */
export function openExtraction(isWorker: boolean, clock: Clock, log: Log): Extraction {
  const workers = isWorker ? openWorkers(log) : null;
  return {
    async extract(task, { signal, project }) {
      // Binary content has no text to extract, so its bytes need not be sent to a worker.
      if (task.kind === "binary") return { kind: "done", value: { ...cutOff(task, ""), note: null } };
      const caller = { signal, tenant: project };
      return runUntilRead(clock, signal, () => workers!.run<Extracted>(taskOf(task), task, caller));
    },
    close: async () => workers?.close(),
  };
}

/** How much longer a document may take than its CPU time, on a machine that other work keeps busy. */
const BUSY_FACTOR = 12;

function openWorkers(log: Log) {
  const cores = Math.max(1, availableParallelism() - 1);
  const common = { warm: 1, idle_ms: 30_000, stuck_ms: 15_000 };
  const page: PoolSettings = {
    ...common,
    size: cores,
    heap_mb: 256,
    max_rss_mb: 1_024,
    replace_above_rss_mb: 300,
    cpu_ms: 5_000,
    wall_ms: BUSY_FACTOR * 5_000,
    max_tasks: 2_000,
  };
  // 50 MB of nested tags take 1.5 s of CPU time, the worst 50 MB that were found 7 s.
  const large_page: PoolSettings = {
    ...page,
    size: Math.max(1, Math.floor(cores / 2)),
    warm: 0,
    cpu_ms: 10_000,
    wall_ms: BUSY_FACTOR * 10_000,
    max_tasks: 100,
  };
  const pdf: PoolSettings = {
    ...common,
    size: cores,
    heap_mb: 512,
    max_rss_mb: 1_536,
    replace_above_rss_mb: 600,
    cpu_ms: 60_000,
    wall_ms: BUSY_FACTOR * 60_000,
    max_tasks: 50,
  };
  return processWorkers({
    tasks: new URL("../actors/lib/content/extract.ts", import.meta.url),
    pools: { page, large_page, pdf },
    queue_limit: 256,
    log,
  });
}
