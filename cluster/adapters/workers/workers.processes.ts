/**
 * Tasks in child processes, one pool for each task, with limits on time and memory that the parent enforces. Worker
 * threads are not enough: at their heap limit, 5 of 12 runaway programs ended the whole process.
 *
 * A child is started in advance and runs one task after another. It is killed when a task exceeds its time or memory,
 * replaced when it has grown or has run many tasks, and restarted when it dies; its current task fails and nothing else
 * is affected. Between tasks no timer runs. The meaning of a task, and what follows its failure, belong to the caller.
 *
 * Byte arrays of 64 KiB and more go through a pipe of their own: over the IPC channel 200 MB took 0.9 s and blocked the
 * event loop for 0.66 s, through the pipe 0.18 s and 8 ms (15 MB: 50 ms of event loop against 2). No file and no shared
 * memory, so a kill leaves nothing behind.
 */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { TaskResult, TaskFailure, Workers } from "../../ports/workers.ts";
import type { Order, Report } from "./workers.child.ts";
import type { Log } from "../../ports/log.ts";

export interface PoolSettings {
  /** Number of children, each with one task at a time. */
  readonly size: number;
  /** JavaScript heap of a child; a task that exceeds it fails as out_of_memory. */
  readonly heap_mb: number;
  /**
   * Resident memory of a child during a task, buffers included (Linux only); a task that exceeds it fails as
   * out_of_memory.
   */
  readonly max_rss_mb: number;
  /** Resident memory above which a child is replaced after its task. */
  readonly replace_above_rss_mb: number;
  /** Time-out of a task; then the child is killed. */
  readonly timeout_ms: number;
  /** Tasks after which a child is replaced, which bounds memory leaks of libraries. */
  readonly max_tasks: number;
}

interface Options {
  /** The module of the project that exports `tasks` (see Tasks in cluster/ports/workers.ts). */
  readonly tasks: URL;
  /** By the name of the task. */
  readonly pools: Readonly<Record<string, PoolSettings>>;
  /**
   * Maximum number of waiting tasks per pool; one more fails as `full`. Waiting tasks hold their messages in memory.
   */
  readonly queue_limit: number;
  readonly log: Log;
}

const PIPED_BYTES = 65_536;
const START_TIMEOUT_MS = 15_000;
/**
 * How long an aborted task may continue before its child is killed: a new child costs 75 ms of CPU (180 with pdf.js).
 */
const ABORT_GRACE_MS = 250;
const RSS_EVERY_MS = 100;
/** Children that cannot start are retried after 1, 2, 4 … 32 s. */
const MIN_RESTART_DELAY_MS = 1_000;
const DETAIL_CHARS = 500;

interface PendingTask {
  readonly message: unknown;
  readonly answer: (work: TaskResult<never>) => void;
}

interface Child {
  readonly process: ChildProcess;
  state: "starting" | "idle" | "busy";
  /** Null while idle, and while the task was aborted by its caller. */
  job: PendingTask | null;
  tasks: number;
  errors: string;
  timers: NodeJS.Timeout[];
}

const failed = (reason: TaskFailure, detail: string): TaskResult<never> => ({
  kind: "failed",
  reason,
  detail,
});

export function processWorkers({ tasks, pools, queue_limit, log }: Options): Workers {
  const start = starter(tasks);
  const open = new Map(
    Object.entries(pools).map(([name, limits]) => [
      name,
      pool(limits, queue_limit, () => start(name, limits), log),
    ]),
  );
  return {
    async run<T>(task: string, message: unknown, signal?: AbortSignal): Promise<TaskResult<T>> {
      const its = open.get(task);
      return its ? its.run(message, signal) : failed("threw", `Cannot run "${task}": there is no such task`);
    },
    close: async () => void (await Promise.all([...open.values()].map((its) => its.close()))),
  };
}

/** One algorithm: the children of one task and the tasks that wait for them. */
function pool(limits: PoolSettings, queue_limit: number, start: () => ChildProcess, log: Log) {
  const children = new Set<Child>();
  const alive = new Set<Promise<void>>();
  const waiting: PendingTask[] = [];
  let deaths_in_a_row = 0;
  let restart_timer: NodeJS.Timeout | undefined;
  let closed = false;

  function startMissing(): void {
    if (closed || restart_timer) return;
    while (children.size < limits.size) startChild();
  }

  function startChild(): void {
    const child: Child = { process: start(), state: "starting", job: null, tasks: 0, errors: "", timers: [] };
    children.add(child);
    const child_process = child.process;
    const ended = Promise.withResolvers<void>();
    alive.add(ended.promise);
    void ended.promise.then(() => alive.delete(ended.promise));
    child_process.on("message", (report: Report) => onReport(child, report));
    child_process.on("error", (cause) => onDeath(child, String(cause)));
    child_process.on("close", (code, signal) => {
      ended.resolve();
      onDeath(child, signal ? `ended by ${signal}` : `ended with code ${code}`, signal);
    });
    child_process.stderr!.setEncoding("utf8").on("data", (text: string) => {
      child.errors = (child.errors + text).slice(-4_096);
    });
    for (const stream of [child_process.stderr!, child_process.stdio[3] as Socket])
      stream.on("error", () => {});
    // An idle pool does not keep the process alive; a running task's time-out does.
    for (const handle of [
      child_process,
      child_process.channel,
      child_process.stderr as Socket,
      child_process.stdio[3] as Socket,
    ])
      handle?.unref();
    child.timers.push(
      setTimeout(() => onDeath(child, `not ready in ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS),
    );
  }

  function onReport(child: Child, report: Report): void {
    if (!children.has(child)) return;
    markIdle(child);
    if (report.kind === "ready") {
      deaths_in_a_row = 0;
      return assignWaiting();
    }
    child.tasks++;
    const { job } = child;
    child.job = null;
    if (report.rss_mb > limits.replace_above_rss_mb || child.tasks >= limits.max_tasks) removeChild(child);
    if (report.kind === "done") job?.answer({ kind: "done", value: report.value as never });
    else job?.answer(failed("threw", report.detail));
    assignWaiting();
  }

  /** The child ended by itself or never became ready. Killed children have left the set before. */
  function onDeath(child: Child, cause: string, signal: NodeJS.Signals | null = null): void {
    if (!children.has(child)) return;
    const { state, job, errors } = child;
    const error_line = errors.split("\n").find((line) => /\bFATAL ERROR\b|^\w*Error\b/.test(line)) ?? "";
    const detail = `${cause}: ${error_line.trim()}`.slice(0, DETAIL_CHARS);
    const is_out_of_memory = /out of memory|allocation failed/i.test(errors);
    // SIGKILL from elsewhere comes from the kernel, when the machine or the container is out of memory.
    const reason = is_out_of_memory ? "out_of_memory" : signal === "SIGKILL" ? "killed" : "crashed";
    job?.answer(failed(reason, detail));
    removeChild(child, state === "starting");
    if (state === "busy") return assignWaiting();
    log.warn("A worker process died", { state, detail });
    if (children.size > 0 || state !== "starting") return;
    for (const task of waiting.splice(0))
      task.answer(failed("unavailable", `Cannot start a child: ${detail}`));
  }

  function markIdle(child: Child): void {
    for (const timer of child.timers.splice(0)) clearTimeout(timer);
    child.state = "idle";
  }

  function removeChild(child: Child, delayed = false): void {
    markIdle(child);
    children.delete(child);
    child.process.kill("SIGKILL");
    if (delayed && !closed && !restart_timer) {
      restart_timer = setTimeout(
        () => {
          restart_timer = undefined;
          startMissing();
        },
        MIN_RESTART_DELAY_MS * 2 ** Math.min(deaths_in_a_row++, 5),
      );
      restart_timer.unref();
    }
    startMissing();
  }

  function idle(): Child | undefined {
    return [...children].find(({ state }) => state === "idle");
  }

  function assignWaiting(): void {
    for (let child = idle(); child && waiting.length > 0; child = idle()) assign(child, waiting.shift()!);
  }

  function assign(child: Child, job: PendingTask): void {
    const { order, bytes } = orderOf(job.message);
    try {
      // The callback takes the error of a child that has just died; its `close` event follows.
      child.process.send(order, () => {});
    } catch (cause) {
      job.answer(failed("threw", String(cause).slice(0, DETAIL_CHARS)));
      return;
    }
    for (const piece of bytes) (child.process.stdio[3] as Socket).write(piece);
    child.state = "busy";
    child.job = job;
    child.timers.push(
      setTimeout(() => killChild(child, "timeout", `not done in ${limits.timeout_ms} ms`), limits.timeout_ms),
      setInterval(() => {
        const rss_mb = rssMb(child.process.pid!);
        if (rss_mb > limits.max_rss_mb) killChild(child, "out_of_memory", `uses ${Math.round(rss_mb)} MB`);
      }, RSS_EVERY_MS),
    );
  }

  function killChild(child: Child, reason: TaskFailure, detail: string): void {
    child.job?.answer(failed(reason, detail));
    removeChild(child);
    assignWaiting();
  }

  function onAbort(job: PendingTask): void {
    const index = waiting.indexOf(job);
    if (index >= 0) waiting.splice(index, 1);
    const child = [...children].find((candidate) => candidate.job === job);
    if (child) {
      child.job = null;
      child.timers.push(setTimeout(() => killChild(child, "aborted", ""), ABORT_GRACE_MS));
    }
    job.answer(failed("aborted", "The caller cancelled"));
  }

  startMissing();
  return {
    run<T>(message: unknown, signal?: AbortSignal): Promise<TaskResult<T>> {
      if (closed) return Promise.resolve(failed("aborted", "The workers are closed"));
      if (signal?.aborted) return Promise.resolve(failed("aborted", "The caller cancelled"));
      const free = idle();
      if (!free && waiting.length >= queue_limit) {
        return Promise.resolve(failed("full", `${waiting.length} tasks are waiting`));
      }
      const answered = Promise.withResolvers<TaskResult<T>>();
      const onSignal = () => onAbort(job);
      const job: PendingTask = {
        message,
        answer: (work) => {
          signal?.removeEventListener("abort", onSignal);
          answered.resolve(work);
        },
      };
      signal?.addEventListener("abort", onSignal, { once: true });
      if (free) assign(free, job);
      else waiting.push(job);
      return answered.promise;
    },
    async close(): Promise<void> {
      closed = true;
      clearTimeout(restart_timer);
      for (const job of waiting.splice(0)) job.answer(failed("aborted", "The workers are closed"));
      for (const child of children) {
        child.process.ref();
        child.job?.answer(failed("aborted", "The workers are closed"));
        removeChild(child);
      }
      await Promise.all(alive);
    },
  };
}

/** Splits a message into the IPC message and the byte arrays for the pipe. */
function orderOf(message: unknown): { order: Order; bytes: readonly Buffer[] } {
  const fields = message !== null && typeof message === "object" ? Object.entries(message) : [];
  const long_fields = fields.filter(
    (field): field is [string, Uint8Array] =>
      field[1] instanceof Uint8Array && field[1].byteLength >= PIPED_BYTES,
  );
  if (long_fields.length === 0) return { order: { message, piped: [] }, bytes: [] };
  const short_fields = fields.filter(([field]) => !long_fields.some(([name]) => name === field));
  return {
    order: {
      message: Object.fromEntries(short_fields),
      piped: long_fields.map(([field, { byteLength }]) => ({ field, bytes: byteLength })),
    },
    bytes: long_fields.map(([, { buffer, byteOffset, byteLength }]) =>
      Buffer.from(buffer, byteOffset, byteLength),
    ),
  };
}

/** 0 where it is unknown. */
function rssMb(pid: number): number {
  if (process.platform !== "linux") return 0;
  try {
    const kb = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
    return Number(kb ?? 0) / 1_024;
  } catch {
    return 0; // It has just ended; `close` tells how.
  }
}

/**
 * Starts children with an empty environment and permission to read the project and nothing else (no writing, no
 * processes, no native code). Where setpriv exists, the kernel kills a child together with its parent, so that even a
 * hanging task does not outlive a parent killed by SIGKILL; elsewhere a child ends after its task.
 */
function starter(tasks: URL): (name: string, limits: PoolSettings) => ChildProcess {
  const program = fileURLToPath(new URL("./workers.child.ts", import.meta.url));
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const readable = new Set([root, realpathSync(root), realpathSync(`${root}node_modules`)]);
  const tie = ["/usr/bin/setpriv", "--pdeathsig", "KILL"] as const;
  const tied = spawnSync(tie[0], [...tie.slice(1), "/bin/true"]).status === 0;
  const permissions = ["--permission", ...[...readable].map((path) => `--allow-fs-read=${path}`)];
  return (name, { heap_mb }) => {
    const flags = [
      `--max-old-space-size=${heap_mb}`,
      "--disable-warning=ExperimentalWarning",
      ...permissions,
    ];
    return fork(program, [tasks.href, name], {
      execPath: tied ? tie[0] : process.execPath,
      execArgv: tied ? [...tie.slice(1), process.execPath, ...flags] : flags,
      env: {},
      serialization: "advanced",
      stdio: ["ignore", "ignore", "pipe", "pipe", "ipc"],
    });
  };
}
