/** Why a task outside this process came to nothing. */
export type TaskFailure = "timeout" | "out_of_memory" | "crashed" | "full" | "threw" | "aborted";

export type TaskResult<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly reason: TaskFailure; readonly detail: string };

/**
 * Functions of their arguments, run outside this process within a time and a memory, because their input is
 * hostile. A task that hangs or eats memory is cut off and costs nobody else anything.
 */
export interface Workers {
  /** `message` is copied (structured clone; Buffers cheaply). Never throws. */
  run<T>(task: string, message: unknown, signal?: AbortSignal): Promise<TaskResult<T>>;
  close(): Promise<void>;
}

/** One task; `elapsed_ms` tells how long it has been running, so that it can stop by itself and keep what it has. */
export type Task = (message: never, elapsed_ms: () => number) => unknown;

/** What a module of tasks exports under the name `tasks`: loaders, so that nobody carries another's libraries. */
export type Tasks = Readonly<Record<string, () => Promise<Task>>>;
