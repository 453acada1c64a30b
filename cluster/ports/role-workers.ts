/**
 * Tasks that only nodes of a role can do (the role browser), run on one of them for another node. Plain messages, at
 * most once: nothing is stored. The caller learns when no worker takes the task or when the worker is gone. While it
 * runs, a task may ask its caller questions.
 */

/** A task on the worker that runs it. */
export interface RemoteTask {
  readonly body: string;
  /** Asks the caller. Throws Fault no_answer when the caller is gone or takes longer than the time-out. */
  readonly ask: (question: string, timeout_ms: number) => Promise<string>;
  /** Aborted when the caller cancels the task. */
  readonly signal: AbortSignal;
}

export interface RemoteTaskCaller {
  /** Answers the worker's questions. When it throws, the question stays unanswered. */
  readonly answer: (question: string) => Promise<string>;
  /** Cancels the task. */
  readonly signal: AbortSignal;
}

/**
 * `no_worker`: no node serves this kind. `busy`: all nodes that serve it are at their limit. `lost`: the worker is
 * gone, or the caller's signal was aborted.
 */
export type RemoteTaskResult =
  | { readonly kind: "done"; readonly body: string }
  | { readonly kind: "no_worker" | "busy" | "lost" };

/** Bodies, questions and answers are at most 256 KB, as envelopes are; a larger one throws Fault message_too_large. */
export interface RemoteTasks {
  /**
   * Runs tasks of this kind until closed, at most `max_concurrency` at once. A task whose `run` throws ends as `lost`.
   */
  serve(kind: string, max_concurrency: number, run: (task: RemoteTask) => Promise<string>): Promise<void>;
  /** Runs the task on one of the nodes that serve this kind. Throws Fault bus_unreachable. */
  send(kind: string, body: string, sender: RemoteTaskCaller): Promise<RemoteTaskResult>;
  /** Takes no more tasks and waits this long for the running ones (default 30 s); the others end as `lost`. */
  close(within_ms?: number): Promise<void>;
}
