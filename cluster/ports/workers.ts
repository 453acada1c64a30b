/** Why a task outside this process came to nothing. */
export type WorkFailure = "timeout" | "out_of_memory" | "crashed" | "full" | "threw" | "aborted";

export type Work<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly reason: WorkFailure; readonly detail: string };

/**
 * Functions of their arguments, run outside this process within a time and a memory, because their input is
 * hostile. A task that hangs or eats memory is cut off and costs nobody else anything.
 */
export interface Workers {
  /** `message` is copied (structured clone; Buffers cheaply). Never throws. */
  run<T>(task: string, message: unknown, signal?: AbortSignal): Promise<Work<T>>;
  close(): Promise<void>;
}
