/**
 * Tasks in child processes, one pool for each task, with limits on CPU time and memory that the parent enforces. Worker
 * threads are not enough: at their heap limit, 5 of 12 runaway programs ended the whole process.
 *
 * A child gets what waits in batches of about BATCH_MS of CPU time, by what the last tasks of the tenant took: one task in
 * flight would make everything behind it trickle, with a message and a transaction for each page. It runs one task after
 * another. It is killed when a task exceeds its limits, replaced when it has grown or has run
 * many tasks (a pool whose tasks have a warm-up keeps the old child until another is warm), and restarted when it dies; its current task fails and nothing else is affected: the tasks of a batch that broke
 * without a result run again, each alone. Tenants share the children
 * of a pool (fair-queue.ts). The meaning of a task, and what follows its failure, belong to the caller.
 *
 * The limit of a task is CPU time, so that a busy machine does not make a document fail that it would read when idle. A
 * task that uses none is stuck and fails the same way; one that is slow because the machine gives it too little fails as
 * `starved` after `wall_ms`.
 *
 * Byte arrays of 64 KiB and more go through a pipe of their own: over the IPC channel 200 MB took 0.9 s and blocked the
 * event loop for 0.66 s, through the pipe 0.18 s and 8 ms (15 MB: 50 ms of event loop against 2). No file and no shared
 * memory, so a kill leaves nothing behind.
 */
import { type ChildProcess, fork } from "node:child_process";
import { existsSync, readdirSync, realpathSync } from "node:fs";
import type { Socket } from "node:net";
import { join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Log } from "../../ports/log.ts";
import type { PoolSettings, TaskCaller, TaskFailure, TaskResult, Workers } from "../../ports/workers.ts";
import {
  displace,
  emptyFairQueue,
  enqueue,
  expectedMs,
  finish,
  putBack,
  remove,
  takeNext,
} from "./fair-queue.ts";
import { launcherOf } from "./launcher.ts";
import { cpuMs, rssMb } from "./process-usage.ts";
import type { ChildSettings, Order, Report, Result } from "./workers.child.ts";

interface Options {
  /** The module of the project that exports `tasks` (see Tasks in cluster/ports/workers.ts). */
  readonly tasks: URL;
  /** By the name of the task. */
  readonly pools: Readonly<Record<string, PoolSettings>>;
  /**
   * Maximum number of waiting tasks per pool; one more fails as `full`, or the newest of the tenant with the most waiting.
   * Waiting tasks hold their messages in memory.
   */
  readonly queue_limit: number;
  readonly log: Log;
  /** Whether children do the warm-ups of the module. Default true. */
  readonly is_warmed?: boolean;
}

const PIPED_BYTES = 65_536;
const START_TIMEOUT_MS = 15_000;
/**
 * How long an aborted task may continue before its child is killed: a new child costs 75 ms of CPU (180 with pdf.js).
 */
const ABORT_GRACE_MS = 250;
const USAGE_EVERY_MS = 100;
/** A task that uses less CPU time than this in `stuck_ms` is stuck. One that is starved on a busy machine gets more. */
const STUCK_BELOW_MS = 50;
/** Children that cannot start are retried after 1, 2, 4 … 32 s. */
const MIN_RESTART_DELAY_MS = 1_000;
/** After so many starts in a row without a child, which takes three seconds, tasks fail at once until one is ready. */
const MAX_FAILED_STARTS = 3;
const DETAIL_CHARS = 500;
/** Last lines that a child wrote before it ended, for the log. */
const ERROR_LINES = 12;
/** A task that comes meanwhile waits about as long: less than a large page takes. */
const BATCH_MS = 20;
const MAX_BATCH = 32;
/** Environment of a child: nothing that this process has. glibc's arenas for each thread take 12 MB more than two (decision 0134). */
const ENVIRONMENT = { MALLOC_ARENA_MAX: "2" };
/** Space for young objects in a child's heap: V8 has two or three such spaces. */
const YOUNG_MB = 32;

interface PendingTask {
  readonly message: unknown;
  readonly tenant: string;
  /** Its batch broke: it may be the task that did it. */
  isSuspect: boolean;
  /** Its caller cancelled and has its answer. */
  isGone: boolean;
  readonly answer: (work: TaskResult<never>) => void;
}

interface Child {
  readonly process: ChildProcess;
  state: "starting" | "idle" | "busy";
  /** It has done its warm-up. One that has not gets tasks only while no other has. */
  is_warm: boolean;
  has_warm_up: boolean;
  /** It has grown, or has run many tasks: it goes when another child is warm. */
  is_spent: boolean;
  /** The tasks without a result, in the order in which it runs them. */
  jobs: PendingTask[];
  /** CPU time since its last result, as it was last measured. */
  used_ms: number;
  /** Its usage when the current task began; a new one with each result. */
  usage: UsageSince;
  tasks: number;
  errors: string;
  timers: NodeJS.Timeout[];
}

interface UsageSince {
  readonly began_ms: number;
  /** CPU time of the process at the first measurement. */
  first_ms: number | null;
  window: { measurements: number; used_ms: number };
}

const usageFromNow = (): UsageSince => ({
  began_ms: performance.now(),
  first_ms: null,
  window: { measurements: 0, used_ms: 0 },
});

const failed = (reason: TaskFailure, detail: string): TaskResult<never> => ({
  kind: "failed",
  reason,
  detail,
});

export interface TaskCounts {
  readonly running: number;
  readonly waiting: number;
}

export interface ProcessWorkers extends Workers {
  /** The tasks of a pool that run and wait at this moment. */
  readonly counts: (task: string) => TaskCounts;
  /** Starts the first child of a pool before its first task. Does not wait; what fails is tried again as for a task. */
  readonly warmUp: (task: string) => void;
}

export function processWorkers({
  tasks,
  pools,
  queue_limit,
  log,
  is_warmed = true,
}: Options): ProcessWorkers {
  const start = starter(tasks, is_warmed);
  const open = new Map(
    Object.entries(pools).map(([name, limits]) => [
      name,
      pool(name, limits, queue_limit, () => start(name, limits), log),
    ]),
  );
  return {
    async run<T>(task: string, message: unknown, caller: TaskCaller = {}): Promise<TaskResult<T>> {
      const its = open.get(task);
      return its ? its.run(message, caller) : failed("threw", `Cannot run "${task}": there is no such task`);
    },
    counts: (task) => open.get(task)?.counts() ?? { running: 0, waiting: 0 },
    warmUp: (task) => (is_warmed ? open.get(task)?.warmUp() : undefined),
    close: async () => void (await Promise.all([...open.values()].map((its) => its.close()))),
  };
}

/** One algorithm: the children of one task and the tasks that wait for them. */
function pool(task: string, limits: PoolSettings, queue_limit: number, start: () => ChildProcess, log: Log) {
  const children = new Set<Child>();
  const alive = new Set<Promise<void>>();
  const queue = emptyFairQueue<PendingTask>();
  /** In a row. */
  let failed_starts = 0;
  let start_problem = "";
  let restart_timer: NodeJS.Timeout | undefined;
  let assigning: NodeJS.Immediate | undefined;
  let has_had_task = false;
  let closed = false;

  function startMissing(): void {
    if (closed || restart_timer || !has_had_task) return;
    const starting = [...children].filter(({ state }) => state === "starting").length;
    const wanted = Math.max(limits.warm, Math.min(limits.size, children.size - starting + queue.waiting));
    while (children.size < wanted) startChild();
  }

  function startChild(): void {
    const child: Child = {
      process: start(),
      state: "starting",
      is_warm: false,
      has_warm_up: false,
      is_spent: false,
      jobs: [],
      used_ms: 0,
      usage: usageFromNow(),
      tasks: 0,
      errors: "",
      timers: [],
    };
    children.add(child);
    const child_process = child.process;
    const ended = Promise.withResolvers<void>();
    alive.add(ended.promise);
    void ended.promise.then(() => alive.delete(ended.promise));
    child_process.on("message", (report: Report) => onReport(child, report));
    child_process.on("error", (cause) => {
      // There is no "close" of a process that was never made.
      if (child_process.pid === undefined) ended.resolve();
      onDeath(child, String(cause));
    });
    child_process.on("close", (code, signal) => {
      ended.resolve();
      onDeath(child, signal ? `ended by ${signal}` : `ended with code ${code}`, signal);
    });
    child_process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      child.errors = (child.errors + text).slice(-4_096);
    });
    // Without file descriptors for them there are none, and "error" follows.
    const stdio = child_process.stdio as readonly unknown[] | undefined;
    const streams = [child_process.stderr, stdio?.[3]] as readonly (Socket | null | undefined)[];
    for (const stream of streams) stream?.on("error", () => {});
    // An idle pool does not keep the process alive; a running task's time-out does.
    for (const handle of [child_process, child_process.channel, ...streams]) handle?.unref();
    child.timers.push(
      setTimeout(() => onDeath(child, `not ready in ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS),
    );
  }

  function onReport(child: Child, report: Report): void {
    if (!children.has(child)) return;
    if (report.kind === "ready") {
      if (failed_starts > 0) log.info("Worker processes start again", { task });
      failed_starts = 0;
      child.is_warm = report.is_warm;
      child.has_warm_up = !report.is_warm;
      markIdle(child);
      return assignWaiting();
    }
    if (report.kind === "warm") {
      child.is_warm = true;
      for (const spent of idleChildren()) if (spent.is_spent) removeChild(spent);
      return assignWaiting();
    }
    for (const result of report.results) onResult(child, result);
    child.used_ms = 0;
    child.usage = usageFromNow();
    if (child.jobs.length > 0) return undefined;
    markIdle(child);
    child.is_spent ||= report.rss_mb > limits.replace_above_rss_mb || child.tasks >= limits.max_tasks;
    if (child.is_spent) replaceChild(child);
    const isBusy = report.results.length > 1 || queue.waiting > 0;
    return isBusy ? assignLater() : undefined;
  }

  function replaceChild(spent: Child): void {
    const others = [...children].filter((child) => child !== spent && !child.is_spent);
    if (!spent.has_warm_up || others.some(({ is_warm }) => is_warm)) return removeChild(spent);
    if (others.length === 0 && !restart_timer) startChild();
  }

  function onResult(child: Child, result: Result): void {
    const job = child.jobs.shift()!;
    child.tasks++;
    finish(queue, job.tenant, result.cpu_ms);
    if (result.kind === "done") job.answer({ kind: "done", value: result.value as never });
    else job.answer(failed(result.kind, result.detail));
  }

  /** The child is gone. Its only task has this result; of several it is not known which one did it, so each runs again. */
  function endTasks(child: Child, result: TaskResult<never>): void {
    const { jobs, used_ms } = child;
    child.jobs = [];
    const [job, ...others] = jobs;
    if (job && others.length === 0) {
      finish(queue, job.tenant, used_ms);
      job.answer(result);
      return;
    }
    for (const each of jobs) {
      if (each.isGone || closed) {
        finish(queue, each.tenant, 0);
        each.answer(result);
        continue;
      }
      each.isSuspect = true;
      putBack(queue, each.tenant, each);
    }
  }

  /** The child ended by itself or never became ready. Killed children have left the set before. */
  function onDeath(child: Child, cause: string, signal: NodeJS.Signals | null = null): void {
    if (!children.has(child)) return;
    const { state, errors } = child;
    const error_line = errors.split("\n").find((line) => /\bFATAL ERROR\b|^\w*Error\b/.test(line)) ?? "";
    const detail = `${cause}: ${error_line.trim()}`.slice(0, DETAIL_CHARS);
    const is_out_of_memory = /out of memory|allocation failed/i.test(errors);
    // SIGKILL from elsewhere comes from the kernel, when the machine or the container is out of memory.
    const reason = is_out_of_memory ? "out_of_memory" : signal === "SIGKILL" ? "killed" : "crashed";
    endTasks(child, failed(reason, detail));
    removeChild(child);
    if (state === "busy") return assignWaiting();
    if (state === "starting") return onFailedStart(cause, detail, errors);
    log.warn("A worker process died", { state, detail });
  }

  /** Children that start together fail together: they count as one start. */
  function onFailedStart(cause: string, detail: string, errors: string): void {
    if (failed_starts === 0) {
      const stderr = errors.trim().split("\n").slice(-ERROR_LINES).join("\n");
      log.error("A worker process cannot start", { task, cause, stderr });
    }
    start_problem = `Cannot start a child: ${detail}`;
    startLater();
    if (children.size > 0) return;
    failWaiting(hasGivenUp() ? "cannot_start" : "unavailable", start_problem);
  }

  const hasGivenUp = (): boolean => failed_starts >= MAX_FAILED_STARTS;

  function startLater(): void {
    if (closed || restart_timer) return;
    const delay_ms = MIN_RESTART_DELAY_MS * 2 ** Math.min(failed_starts++, 5);
    restart_timer = setTimeout(() => {
      restart_timer = undefined;
      startMissing();
    }, delay_ms).unref();
  }

  function failWaiting(reason: TaskFailure, detail: string): void {
    for (let job = takeNext(queue); job; job = takeNext(queue)) {
      finish(queue, job.tenant, 0);
      job.answer(failed(reason, detail));
    }
  }

  function markIdle(child: Child): void {
    stopTimers(child);
    child.state = "idle";
    if (limits.warm >= limits.size) return;
    const timer = setTimeout(() => {
      if (children.size > limits.warm) removeChild(child);
    }, limits.idle_ms);
    child.timers.push(timer.unref());
  }

  function stopTimers(child: Child): void {
    for (const timer of child.timers.splice(0)) clearTimeout(timer);
  }

  function removeChild(child: Child): void {
    stopTimers(child);
    children.delete(child);
    child.process.kill("SIGKILL");
    if (child.state !== "starting") startMissing();
  }

  function idleChildren(): readonly Child[] {
    return [...children].filter(({ state }) => state === "idle");
  }

  /** Children that may have a task now: the warm ones, any while none is warm. */
  function readyChildren(): readonly Child[] {
    const isAnyWarm = [...children].some(({ is_warm }) => is_warm);
    return idleChildren().filter(({ is_warm }) => is_warm || !isAnyWarm);
  }

  function assignWaiting(): void {
    for (let [child] = readyChildren(); child && queue.waiting > 0; [child] = readyChildren())
      assign(child, takeBatch());
  }

  /** Tasks that come in the same round of the event loop, such as the next pages of the callers just answered, join the batch. */
  function assignLater(): void {
    assigning ??= setImmediate(() => {
      assigning = undefined;
      assignWaiting();
      startMissing();
    });
  }

  /** The task whose turn it is, and those that fit into a batch with it; some are left for other children that are idle. */
  function takeBatch(): PendingTask[] {
    const most = Math.min(MAX_BATCH, Math.ceil(queue.waiting / readyChildren().length));
    const batch = [takeNext(queue)!];
    const expected = ({ tenant, isSuspect }: PendingTask): number =>
      isSuspect ? Infinity : (expectedMs(queue, tenant) ?? Infinity);
    let batch_ms = expected(batch[0]!);
    while (batch.length < most && batch_ms < BATCH_MS) {
      const next = takeNext(queue, (waiting) => batch_ms + expected(waiting) <= BATCH_MS);
      if (!next) break;
      batch.push(next);
      batch_ms += expected(next);
    }
    return batch;
  }

  function assign(child: Child, jobs: PendingTask[]): void {
    const split = jobs.map(({ message }) => orderOf(message));
    try {
      // The callback takes the error of a child that has just died; its `close` event follows.
      child.process.send(
        split.map(({ order }) => order),
        () => {},
      );
    } catch (cause) {
      child.jobs = jobs;
      endTasks(child, failed("threw", String(cause).slice(0, DETAIL_CHARS)));
      return;
    }
    for (const { bytes } of split) for (const piece of bytes) (child.process.stdio[3] as Socket).write(piece);
    stopTimers(child);
    child.state = "busy";
    child.jobs = jobs;
    child.used_ms = 0;
    child.usage = usageFromNow();
    child.timers.push(setInterval(() => measure(child), USAGE_EVERY_MS));
  }

  /** Measures what the child's task uses, and ends it at a limit. CPU time counts from the first measurement. */
  function measure(child: Child): void {
    const pid = child.process.pid!;
    const { usage } = child;
    const rss_mb = rssMb(pid) ?? 0;
    if (rss_mb > limits.max_rss_mb) return killChild(child, "out_of_memory", `uses ${Math.round(rss_mb)} MB`);
    const elapsed_ms = performance.now() - usage.began_ms;
    const now_ms = cpuMs(pid);
    const isKnown = now_ms !== null;
    child.used_ms = isKnown ? now_ms - (usage.first_ms ??= now_ms) : elapsed_ms;
    if (child.used_ms > limits.cpu_ms)
      return killChild(child, "timeout", `not done in ${limits.cpu_ms} ms of CPU time`);
    if (elapsed_ms > limits.wall_ms)
      return killChild(child, "starved", `not done in ${limits.wall_ms} ms, ${child.used_ms} ms of CPU time`);
    // By measurements, so that no time passes while this process does not run.
    if (++usage.window.measurements * USAGE_EVERY_MS < limits.stuck_ms) return undefined;
    if (isKnown && child.used_ms - usage.window.used_ms < STUCK_BELOW_MS)
      return killChild(child, "timeout", "stuck: it uses no CPU time");
    usage.window = { measurements: 0, used_ms: child.used_ms };
    return undefined;
  }

  function killChild(child: Child, reason: TaskFailure, detail: string): void {
    endTasks(child, failed(reason, detail));
    removeChild(child);
    assignWaiting();
  }

  function onAbort(job: PendingTask): void {
    if (!remove(queue, job.tenant, job)) {
      const child = [...children].find(({ jobs }) => jobs.includes(job));
      const endTask = (): void => {
        if (child?.jobs.includes(job)) killChild(child, "aborted", "");
      };
      child?.timers.push(setTimeout(endTask, ABORT_GRACE_MS));
      job.isGone = true;
    }
    job.answer(failed("aborted", "The caller cancelled"));
  }

  return {
    run<T>(message: unknown, { signal, tenant = "" }: TaskCaller): Promise<TaskResult<T>> {
      if (closed) return Promise.resolve(failed("aborted", "The workers are closed"));
      if (signal?.aborted) return Promise.resolve(failed("aborted", "The caller cancelled"));
      if (hasGivenUp() && restart_timer && children.size === 0)
        return Promise.resolve(failed("cannot_start", start_problem));
      if (queue.waiting >= queue_limit + readyChildren().length) {
        const displaced = displace(queue, tenant);
        const detail = `${queue_limit} tasks are waiting`;
        if (!displaced) return Promise.resolve(failed("full", detail));
        displaced.answer(failed("full", detail));
      }
      const answered = Promise.withResolvers<TaskResult<T>>();
      const onSignal = () => onAbort(job);
      const job: PendingTask = {
        message,
        tenant,
        isSuspect: false,
        isGone: false,
        answer: (work) => {
          signal?.removeEventListener("abort", onSignal);
          answered.resolve(work);
        },
      };
      signal?.addEventListener("abort", onSignal, { once: true });
      has_had_task = true;
      enqueue(queue, tenant, job);
      if (!assigning) assignWaiting();
      startMissing();
      return answered.promise;
    },
    warmUp(): void {
      has_had_task = true;
      if (!closed && !restart_timer && children.size === 0) startChild();
    },
    counts: (): TaskCounts => ({
      running: [...children].reduce((sum, { jobs }) => sum + jobs.length, 0),
      waiting: queue.waiting,
    }),
    async close(): Promise<void> {
      closed = true;
      clearTimeout(restart_timer);
      clearImmediate(assigning);
      failWaiting("aborted", "The workers are closed");
      for (const child of children) {
        child.process.ref();
        endTasks(child, failed("aborted", "The workers are closed"));
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

/**
 * The folders where packages are: node_modules itself, and those that links in it lead to, with the packages beside them, which
 * they may import.
 */
function linkedPackages(node_modules: string): readonly string[] {
  const folders = new Set([realpathSync(node_modules)]);
  const addLinks = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && entry.name.startsWith("@")) addLinks(path);
      // A link may lead to nothing.
      if (!entry.isSymbolicLink() || !existsSync(path)) continue;
      const target = realpathSync(path);
      const [beside, ...inside] = target.split(`${sep}node_modules${sep}`);
      folders.add(inside.length > 0 ? join(beside!, "node_modules") : target);
    }
  };
  addLinks(node_modules);
  return [...folders];
}

/** Whether a flag of Node loads a module first which children may read, too. A package's name is read in node_modules. */
function isReadableImport(flag: string, readable: ReadonlySet<string>): boolean {
  if (!flag.startsWith("--import=")) return false;
  const specifier = flag.slice("--import=".length);
  if (!/^(?:file:|[./])/.test(specifier)) return true;
  const path = specifier.startsWith("file:") ? fileURLToPath(specifier) : resolve(specifier);
  return [...readable].some((folder) => !relative(folder, path).startsWith(".."));
}

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
let readable: ReadonlySet<string> | undefined;
/** The folders that children may read, looked at when this process starts its first child. */
const readableFolders = (): ReadonlySet<string> =>
  (readable ??= new Set([ROOT, realpathSync(ROOT), ...packageFolders(ROOT).flatMap(linkedPackages)]));

/** Where the packages of a program are: beside it, and in the node_modules that it is installed in. */
function packageFolders(root: string): readonly string[] {
  const own = join(root, "node_modules");
  const real = realpathSync(root);
  const at = real.lastIndexOf(`${sep}node_modules${sep}`);
  const above = at < 0 ? [] : [real.slice(0, at) + sep + "node_modules"];
  return existsSync(own) ? [own, ...above] : above;
}

/**
 * Starts children with nothing of the environment and permission to read the project and nothing else (no writing, no
 * processes, no native code). Where setpriv exists, the kernel kills a child together with its parent, so that even a
 * hanging task does not outlive a parent killed by SIGKILL; elsewhere a child ends after its task. Where prlimit exists, the
 * kernel limits its memory.
 */
function starter(tasks: URL, is_warmed: boolean): (name: string, limits: PoolSettings) => ChildProcess {
  const program = fileURLToPath(new URL("./workers.child.ts", import.meta.url));
  return (name, { heap_mb, max_rss_mb, rest_ms = null, v8_flags = [] }) => {
    const folders = readableFolders();
    const launchers = launcherOf(max_rss_mb);
    const flags = [
      `--max-old-space-size=${heap_mb}`,
      // A document is garbage as soon as it is read: with V8's own 16 MB of young objects, 11 % more CPU time goes to
      // collecting them (real pages, 45 MB more memory); 64 MB would save 3 % more and take 60 MB more.
      `--max-semi-space-size=${Math.min(YOUNG_MB, heap_mb / 8)}`,
      `--min-semi-space-size=${Math.min(YOUNG_MB, heap_mb / 8) / 2}`,
      "--disable-warning=ExperimentalWarning",
      // Flags of this process whose files a child may read, such as the cache of the program's code.
      ...process.execArgv.filter((flag) => isReadableImport(flag, folders)),
      "--permission",
      ...[...folders].map((path) => `--allow-fs-read=${path}`),
    ];
    const settings: ChildSettings = { is_warmed, rest_ms, v8_flags };
    return fork(program, [tasks.href, name, JSON.stringify(settings)], {
      execPath: launchers[0] ?? process.execPath,
      execArgv: launchers.length > 0 ? [...launchers.slice(1), process.execPath, ...flags] : flags,
      env: ENVIRONMENT,
      serialization: "advanced",
      stdio: ["ignore", "ignore", "pipe", "pipe", "ipc"],
    });
  };
}
