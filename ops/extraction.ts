/**
 * Documents are extracted in worker processes: a crash or a timeout there does not affect the node. A document that was
 * not read because this machine had no room is tried again, so that only the document itself makes it unreadable.
 */
import { availableParallelism } from "node:os";
import { findTesseract, openTesseract, TESSERACT_MB } from "../actors/reading/adapters/ocr.tesseract.ts";
import { taskOf } from "../actors/reading/document-task.ts";
import {
  type ExtractCaller,
  type Extracted,
  type ExtractTask,
  NOTHING,
} from "../actors/reading/extraction-result.ts";
import { DRAWN_DPI, recognisePages } from "../actors/reading/recognise-pages.ts";
import { launcherOf } from "../cluster/adapters/workers/launcher.ts";
import { processWorkers } from "../cluster/adapters/workers/workers.processes.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import {
  NO_ROOM,
  type PoolSettings,
  type TaskCaller,
  type TaskResult,
  type Workers,
} from "../cluster/ports/workers.ts";
import type { ReaderOptions, ReaderPool } from "../node/feature.ts";

export interface Extraction {
  readonly extract: (task: ExtractTask, caller: ExtractCaller) => Promise<TaskResult<Extracted>>;
  /** Starts the first reader of pages, which warms up before a page comes. Does not wait. */
  readonly warmReaders: () => void;
  readonly close: () => Promise<void>;
}

/** How long a document waits for room beyond the line of waiting tasks, and how often it is tried. */
export const MAX_ROOM_WAIT_MS = 20_000;
export const ROOM_RETRY_MS = 500;

/**
 * Runs a task until it is read or the document is at fault: at most MAX_ROOM_WAIT_MS for want of room, not at all where
 * processes failed to start several times in a row, and once more after its process died, which an earlier task or another program may have caused. A second death is the document's.
 */
export async function runUntilRead<T>(
  clock: Clock,
  signal: AbortSignal | undefined,
  run: () => Promise<TaskResult<T>>,
): Promise<TaskResult<T>> {
  const give_up_ms = clock.mono() + MAX_ROOM_WAIT_MS;
  let deaths = 0;
  for (;;) {
    const result = await run();
    if (result.kind === "done" || signal?.aborted) return result;
    const { reason } = result;
    if (reason === "crashed" || reason === "killed") {
      if (++deaths === 1) continue;
      return reason === "killed" ? { ...result, reason: "out_of_memory" } : result;
    }
    if (!NO_ROOM.has(reason) || reason === "cannot_start" || clock.mono() >= give_up_ms) return result;
    await pause(clock, signal);
    if (signal?.aborted) return { kind: "failed", reason: "aborted", detail: "The caller cancelled" };
  }
}

/** Until the next try, or until the signal aborts. */
async function pause(clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.at(clock.now() + ROOM_RETRY_MS, resolve);
  const onAbort = (): void => resolve();
  signal?.addEventListener("abort", onAbort, { once: true });
  await promise;
  timer[Symbol.dispose]();
  signal?.removeEventListener("abort", onAbort);
}

/** How much longer a document may take than its CPU time, on a machine that other work keeps busy. */
const BUSY_FACTOR = 12;
const QUEUE_LIMIT = 256;
/** A core is left to the service itself. */
const READER_CORES = Math.max(1, availableParallelism() - 1);

interface Readers extends Workers {
  /** Starts the first reader of a pool before its first task. */
  readonly warmUp: (task: string) => void;
}

export function openReaders(
  { tasks, pools }: ReaderOptions,
  { clock, log, metrics, is_warmed = true }: ReaderDeps,
): Readers {
  const whole = Object.entries(pools).map(([name, pool]): [string, PoolSettings] => [
    name,
    {
      size: READER_CORES,
      warm: 0,
      idle_ms: 30_000,
      stuck_ms: 15_000,
      wall_ms: BUSY_FACTOR * pool.cpu_ms,
      replace_above_rss_mb: pool.max_rss_mb / 2,
      max_tasks: 2_000,
      ...pool,
    },
  ]);
  const workers = processWorkers({
    tasks,
    pools: Object.fromEntries(whole),
    queue_limit: QUEUE_LIMIT,
    log,
    is_warmed,
  });
  const tell = (task: string): void => {
    const { running, waiting } = workers.counts(task);
    metrics.gauge("trawl_reader_tasks", { task, state: "running" }, running);
    metrics.gauge("trawl_reader_tasks", { task, state: "waiting" }, waiting);
  };
  for (const task of Object.keys(pools)) tell(task);
  return {
    run<T>(task: string, message: unknown, caller: TaskCaller = {}): Promise<TaskResult<T>> {
      return runUntilRead(clock, caller.signal, async () => {
        const result = workers.run<T>(task, message, caller);
        tell(task);
        await result;
        tell(task);
        return result;
      });
    },
    warmUp: workers.warmUp,
    close: () => workers.close(),
  };
}

export interface ReaderDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Whether a new reader reads pages of the program before it takes tasks. Default true. */
  readonly is_warmed?: boolean;
  /** The languages whose text is recognised in pictures, in Tesseract's form. Default null: none is. */
  readonly ocr?: string | null;
}

/** Throws NoTesseract. */
export function openExtraction(deps: ReaderDeps): Extraction {
  const { clock, metrics, ocr = null } = deps;
  const recognise =
    ocr === null
      ? null
      : openTesseract(findTesseract(ocr), {
          launcher: launcherOf(TESSERACT_MB),
          dpi: DRAWN_DPI,
          most: READER_CORES,
        });
  const readers = openReaders(EXTRACTION, deps);
  return {
    async extract(task, { signal, project }) {
      // Binary content has no text to extract, so its bytes need not be sent to a worker.
      if (task.kind === "binary") return { kind: "done", value: NOTHING };
      const caller = { signal, tenant: project };
      const read = await readers.run<Extracted>(taskOf(task), task, caller);
      if (recognise === null || task.kind !== "pdf" || read.kind === "failed") return read;
      const recognised = await recognisePages(
        {
          clock,
          async recognise(picture, until) {
            const text = await recognise(picture, until);
            metrics.count("trawl_ocr_pages_total", { outcome: text === null ? "failed" : "ok" });
            return text;
          },
          draw: (page) => readers.run("pdf_page", page, caller),
          read: (again) => readers.run("pdf", again, caller),
        },
        task,
        read.value,
        signal,
      );
      return { kind: "done", value: recognised };
    },
    warmReaders: () => readers.warmUp("page"),
    close: () => readers.close(),
  };
}

/**
 * More than half of the CPU time of a new reader's first hundred pages is V8 optimising its code in other threads, most of it on functions
 * copied into their callers. With a sixth of V8's limit (920) these pages take a fifth less, and later ones no more (decision 0219).
 */
const LESS_INLINING = ["--max-inlined-bytecode-size-cumulative=150"];

const PAGE: ReaderPool = {
  // An idle node has no reader: a resting one takes 190 MB. The first page after five minutes waits 0.2 s for its start.
  idle_ms: 5 * 60_000,
  rest_ms: 20_000,
  v8_flags: LESS_INLINING,
  heap_mb: 256,
  max_rss_mb: 1_024,
  // Real pages take a reader to 260 to 310 MB: with a limit of 300 MB it is replaced after about 500 of them.
  replace_above_rss_mb: 400,
  cpu_ms: 5_000,
  // A new one has 1.2 s of CPU time to warm up: it is replaced when it has grown, not after a number of pages.
  max_tasks: Infinity,
};

const EXTRACTION: ReaderOptions = {
  tasks: new URL("../actors/reading/extract.ts", import.meta.url),
  pools: {
    page: PAGE,
    // 50 MB of nested tags take 1.5 s of CPU time, the worst 50 MB that were found 7 s.
    large_page: { ...PAGE, idle_ms: 30_000, cpu_ms: 10_000, max_tasks: 100 },
    // officeparser holds a document of 500,000 elements in 400 MB.
    office: { ...PAGE, idle_ms: 30_000, heap_mb: 768, max_rss_mb: 1_536, cpu_ms: 30_000, max_tasks: 50 },
    pdf: {
      heap_mb: 512,
      max_rss_mb: 1_536,
      replace_above_rss_mb: 600,
      cpu_ms: 60_000,
      max_tasks: 50,
    },
    pdf_page: { heap_mb: 256, max_rss_mb: 1_024, cpu_ms: 15_000, max_tasks: 50 },
  },
};
