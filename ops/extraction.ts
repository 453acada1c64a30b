/** Documents are extracted in worker processes: a crash or a timeout there does not affect the node. */
import { availableParallelism } from "node:os";
import { cutOff, taskOf } from "../actors/lib/content/extract.ts";
import type { Extracted, ExtractTask } from "../actors/lib/content/extraction-result.ts";
import { processWorkers } from "../cluster/adapters/workers/workers.processes.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { TaskResult } from "../cluster/ports/workers.ts";

export interface Extraction {
  readonly extract: (task: ExtractTask, signal: AbortSignal) => Promise<TaskResult<Extracted>>;
  readonly close: () => Promise<void>;
}

/** A node without the role `worker` reads no documents and starts no processes. */
export function openExtraction(isWorker: boolean, log: Log): Extraction {
  const workers = isWorker ? openWorkers(log) : null;
  return {
    async extract(task, signal) {
      // Binary content has no text to extract, so its bytes need not be sent to a worker.
      if (task.kind === "binary") return { kind: "done", value: { ...cutOff(task, ""), note: null } };
      return workers!.run<Extracted>(taskOf(task.kind), task, signal);
    },
    close: async () => workers?.close(),
  };
}

function openWorkers(log: Log) {
  const size = Math.max(1, availableParallelism() - 1);
  return processWorkers({
    tasks: new URL("../actors/lib/content/extract.ts", import.meta.url),
    pools: {
      page: {
        size: 1,
        heap_mb: 256,
        max_rss_mb: 1_024,
        replace_above_rss_mb: 300,
        timeout_ms: 5_000,
        max_tasks: 2_000,
      },
      pdf: {
        size,
        heap_mb: 512,
        max_rss_mb: 1_536,
        replace_above_rss_mb: 600,
        timeout_ms: 60_000,
        max_tasks: 50,
      },
    },
    queue_limit: 256,
    log,
  });
}
