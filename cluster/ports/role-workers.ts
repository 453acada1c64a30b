/**
 * What only some nodes can do (the role browser), done by one of them for another, with questions on the way. Plain
 * messages, at most once: nothing is kept, and who sent an errand is told when nobody takes it or its runner is gone.
 */

/** An errand as its runner has it. */
export interface RemoteTask {
  readonly body: string;
  /** Asks who sent it. Throws Fault no_answer when that one is gone or takes longer. */
  readonly ask: (question: string, timeout_ms: number) => Promise<string>;
  /** Aborted when the sender does not want it any more. */
  readonly signal: AbortSignal;
}

export interface RemoteTaskCaller {
  /** Answers the runner's questions; a throw is an answer nobody gets. */
  readonly answer: (question: string) => Promise<string>;
  /** Ends the errand. */
  readonly signal: AbortSignal;
}

/** `nobody` serves this kind; all who do are `busy`; `lost`: its runner is gone, or the sender's signal was quicker. */
export type RemoteTaskResult =
  | { readonly kind: "done"; readonly body: string }
  | { readonly kind: "no_worker" | "busy" | "lost" };

/** Bodies, questions and answers are at most 256 KB, as letters are: Fault message_too_large. */
export interface RemoteTasks {
  /** Runs errands of this kind until closed, so many at once. What `run` throws is a lost errand. */
  serve(kind: string, max_concurrency: number, run: (task: RemoteTask) => Promise<string>): Promise<void>;
  /** Has one of those who serve this kind run it. Throws Fault bus_unreachable. */
  send(kind: string, body: string, sender: RemoteTaskCaller): Promise<RemoteTaskResult>;
  /** Takes no more errands and lets those it runs end, so long (default 30 s); the rest is lost at once. */
  close(within_ms?: number): Promise<void>;
}
