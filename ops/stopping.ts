/**
 * The end of a node: it answers not_ready, lets requests in flight end, reports usage, hands its partitions off, and closes
 * what it opened in the opposite order. A failure that no code handled ends the node the same way, in less time.
 */
import type { Node } from "../cluster/node-record.ts";
import { stopSteps } from "./stop-steps.ts";

/** Functions that close each part, in the order in which the parts were opened. */
export type Closers = (() => Promise<unknown>)[];

export interface Stopping {
  readonly isDraining: () => boolean;
  /** Every call but the first waits for the stop that the first began. */
  readonly stop: (within_ms?: number) => Promise<void>;
  /** Resolves when the node has stopped; rejects with the first failure of the stop. */
  readonly ended: Promise<void>;
  readonly crash: (kind: "unhandled_rejection" | "uncaught_exception", problem: unknown) => void;
}

/** Parts that a stop ends, in this order. */
export interface Parts {
  readonly stopBackgroundWork: () => void;
  readonly closeApi: (within_ms: number) => Promise<void>;
  readonly reportUsage: () => Promise<void>;
  readonly leaveCluster: (within_ms: number) => Promise<void>;
  readonly closers: Readonly<Closers>;
}

/** The longest a request takes. */
const STOP_MS = 160_000;
/** After a crash: partitions are released, requests that take longer are aborted. */
const CRASH_STOP_MS = 5_000;
/** How long reports of usage may take at a stop, and all parts together to close. */
const REPORT_MS = 10_000;
const CLOSE_MS = 5_000;

/** `parts` is called at the stop. */
export function stopping(
  { clock, log, metrics, node }: Pick<Node, "clock" | "log" | "metrics"> & { readonly node: string },
  parts: () => Parts,
): Stopping {
  let isDraining = false;
  let stopped: Promise<void> | null = null;
  const ended = Promise.withResolvers<void>();

  async function end(within_ms: number): Promise<void> {
    isDraining = true;
    const began_ms = clock.mono();
    log.info("The node drains", { node, within_ms });
    const { stopBackgroundWork, closeApi, reportUsage, leaveCluster, closers } = parts();
    stopBackgroundWork();
    const steps = stopSteps({ clock, log }, within_ms);
    const { left_ms } = steps;
    await steps.run("the API", left_ms(), () => closeApi(left_ms()));
    await steps.run("reports of usage", Math.min(REPORT_MS, left_ms()), reportUsage);
    await steps.run("the cluster", left_ms(), () => leaveCluster(left_ms()));
    const closing = stopSteps({ clock, log }, CLOSE_MS);
    for (const close of closers.toReversed()) await closing.run("a connection", closing.left_ms(), close);
    log.info("The node has stopped", { node, ms: Math.round(clock.mono() - began_ms) });
    steps.throwFailure();
    closing.throwFailure();
  }

  const stop = (within_ms = STOP_MS): Promise<void> => {
    stopped ??= end(within_ms).then(ended.resolve, (failure: unknown) => {
      ended.reject(failure);
      throw failure;
    });
    return stopped;
  };
  return {
    isDraining: () => isDraining,
    stop,
    ended: ended.promise,
    crash(kind, problem) {
      metrics.count("trawl_crashes_total", { kind });
      log.error("A failure that no code handles ends this process", { kind, problem });
      // `ended` reports how the stop ends.
      void stop(CRASH_STOP_MS).catch(() => {});
    },
  };
}
