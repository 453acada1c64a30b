/** Waits for work that may go on without the call: until the work ends, the deadline passes or the client disconnects. */
import type { Node } from "../cluster/node-record.ts";

/** The longest wait of a synchronous call that sets no timeout itself. */
export const WAIT_MS = 150_000;
/** How long a call waits beyond its timeout_s. */
export const WAIT_BEYOND_TIMEOUT_MS = 15_000;

/** The result of the work, or null after the deadline or a disconnect. The signal that the work was given aborts then. */
export async function withDeadline<T>(
  { clock, log }: Pick<Node, "clock" | "log">,
  {
    id,
    timeout_ms,
    signal,
    onLate,
  }: {
    readonly id: string;
    readonly timeout_ms: number;
    readonly signal: AbortSignal;
    /** Called once when the work ends after the deadline or a disconnect; with null when it failed. */
    readonly onLate?: (result: T | null) => void;
  },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const stop = new AbortController();
  const expired = Promise.withResolvers<null>();
  const giveUp = (): void => {
    stop.abort();
    expired.resolve(null);
  };
  const timer = clock.at(clock.now() + timeout_ms, giveUp);
  if (signal.aborted) giveUp();
  signal.addEventListener("abort", giveUp);
  try {
    const done = work(stop.signal).catch((problem: unknown) => {
      if (!stop.signal.aborted) throw problem;
      log.debug("Work nobody waited for broke", { id, problem });
      return null;
    });
    void expired.promise.then(() => done.then(onLate, () => onLate?.(null)));
    return await Promise.race([done, expired.promise]);
  } finally {
    timer[Symbol.dispose]();
    signal.removeEventListener("abort", giveUp);
  }
}
