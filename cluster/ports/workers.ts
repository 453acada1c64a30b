/**
 * Why a task in a child process failed. `timeout`, `out_of_memory`, `crashed` and `threw` are about its message, as far as
 * can be known. `full` (too many tasks wait), `killed` (the system killed the child, as it does when the machine is out of
 * memory) and `unavailable` (no child could be started) are about this machine: the same task may succeed later.
 */
export type TaskFailure =
  | "timeout"
  | "out_of_memory"
  | "crashed"
  | "threw"
  | "full"
  | "killed"
  | "unavailable"
  | "aborted";

/** Failures for want of room on this machine. */
export const NO_ROOM: ReadonlySet<TaskFailure> = new Set(["full", "killed", "unavailable"]);

export type TaskResult<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly reason: TaskFailure; readonly detail: string };

/**
 * Pure functions run in child processes with limits on time and memory, because their input is hostile. A task that
 * hangs or exhausts its memory is killed; other tasks and this process are not affected.
 */
export interface Workers {
  /** `message` is copied (structured clone; Buffers are cheap). Never throws. */
  run<T>(task: string, message: unknown, signal?: AbortSignal): Promise<TaskResult<T>>;
  close(): Promise<void>;
}

/**
 * A task. `elapsed_ms` answers how long it has been running, so that it can stop by itself and answer a partial result.
 */
export type Task = (message: never, elapsed_ms: () => number) => unknown;

/**
 * What a module of tasks exports under the name `tasks`: loaders, so that a child process loads only the libraries of
 * its own task.
 */
export type Tasks = Readonly<Record<string, () => Promise<Task>>>;
