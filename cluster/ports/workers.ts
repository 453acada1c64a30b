/**
 * Why a task in a child process failed. `timeout`, `out_of_memory`, `crashed` and `threw` are about its message, as far as
 * can be known. `full` (too many tasks wait), `killed` (the system killed the child, as it does when the machine is out of
 * memory), `starved` (the machine gave the task hardly any CPU time), `unavailable` (no child could be started) and `cannot_start` (nor
 * could one several times before) are about this machine: the same task may succeed later.
 */
export type TaskFailure =
  | "timeout"
  | "out_of_memory"
  | "crashed"
  | "threw"
  | "full"
  | "killed"
  | "starved"
  | "unavailable"
  | "cannot_start"
  | "aborted";

/** Failures for want of room on this machine. */
export const NO_ROOM: ReadonlySet<TaskFailure> = new Set([
  "full",
  "killed",
  "starved",
  "unavailable",
  "cannot_start",
]);

export type TaskResult<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly reason: TaskFailure; readonly detail: string };

export interface TaskCaller {
  /** Cancels the task. */
  readonly signal?: AbortSignal;
  /** Tenants share the children: the one that has used the least is served next. Default: all such callers are one. */
  readonly tenant?: string;
}

/**
 * Pure functions run in child processes with limits on CPU time and memory, because their input is hostile. A task that
 * hangs or exhausts its memory is killed; other tasks and this process are not affected.
 */
export interface Workers {
  /** `message` is copied (structured clone; Buffers are cheap). Never throws. */
  run<T>(task: string, message: unknown, caller?: TaskCaller): Promise<TaskResult<T>>;
  close(): Promise<void>;
}

/**
 * A task. `cpu_ms` answers how much CPU time it has used, so that it can stop by itself and answer a partial result.
 */
export type Task = (message: never, cpu_ms: () => number) => unknown;

/**
 * Loaders of tasks, which a module of tasks exports under the name `tasks`: a child process loads only the libraries of
 * its own task.
 */
export type Tasks = Readonly<Record<string, () => Promise<Task>>>;

/**
 * Messages that such a module may export under the name `warm_ups`: a new child carries them out before its first task, so
 * that V8 has compiled the code by then. Their results are dropped.
 */
export type WarmUps = Readonly<Record<string, () => Promise<readonly unknown[]>>>;

/** The children of one task, and their limits. */
export interface PoolSettings {
  /** Most children, each with one task at a time. Those above `warm` are started when tasks wait. */
  readonly size: number;
  /** Children that stay once a first task has come: later tasks wait for no start. None is started before it. */
  readonly warm: number;
  /** How long a child above `warm` stays without a task. */
  readonly idle_ms: number;
  /** JavaScript heap of a child; a task that exceeds it fails as out_of_memory. */
  readonly heap_mb: number;
  /**
   * Resident memory of a child during a task, buffers included (Linux only); a task that exceeds it fails as
   * out_of_memory.
   */
  readonly max_rss_mb: number;
  /** Resident memory above which a child is replaced after its task; one with a warm-up stays until another is warm. */
  readonly replace_above_rss_mb: number;
  /** CPU time of a task; then the child is killed. Where the system does not tell it, the time since the task began. */
  readonly cpu_ms: number;
  /**
   * Time since the task began, whatever it used; then the child is killed. Far above `cpu_ms`: too short, and documents
   * fail because the machine is busy.
   */
  readonly wall_ms: number;
  /** Time in which a task uses no CPU time; then the child is killed. */
  readonly stuck_ms: number;
  /** Tasks after which a child is replaced, which bounds memory leaks of libraries. */
  readonly max_tasks: number;
  /** Time without a task after which a child gives the memory back that garbage takes: a task that comes then waits 0.15 s. Default: never. */
  readonly rest_ms?: number;
  /** Options of V8 that a child sets before it loads its task, such as `--max-inlined-bytecode-size-cumulative=150`. One that this V8 does not know changes nothing. */
  readonly v8_flags?: readonly string[];
}
