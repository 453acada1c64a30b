/**
 * Time for the runtime and the actors. Only adapters read Date or set timers, so tests can move time themselves.
 *
 * There are two clocks below it. The wall clock says what time it is, and may step: an operator or NTP sets it. The
 * monotonic clock only counts, and no two processes count alike. `now()` is Unix time that runs with the monotonic clock,
 * so that durations, pauses and deadlines worked out from it last as long as they should whatever the wall clock does.
 */
export interface Clock {
  /**
   * Unix milliseconds, for everything that is stored, shown, compared or waited for. Never goes back and never jumps: after a
   * step of the wall clock it follows by MAX_SLEW (cluster/adapters/time/steady-time.ts).
   */
  now(): number;
  /** The system's wall clock in Unix milliseconds, which may step: only to say how far `now()` is from it. */
  wall(): number;
  /** Monotonic milliseconds, for durations and leases; comparable within one process only. */
  mono(): number;
  /** Calls back once, when now() has reached at_ms. Disposing the handle cancels the call. */
  at(at_ms: number, call: () => void): Disposable;
  /**
   * Takes the wall clock over at once; calls that were set keep their durations. Only while the node owns nothing, because
   * times that actors have stored or remembered are off by the step afterwards.
   */
  resync(): void;
}

/** Resolves when `now()` has gone on by `ms`. */
export const sleep = (clock: Pick<Clock, "now" | "at">, ms: number): Promise<void> =>
  new Promise((resolve) => {
    clock.at(clock.now() + ms, resolve);
  });

/** Resolves when `now()` has gone on by `ms`, or when the signal aborts before that. */
export const pause = (clock: Pick<Clock, "now" | "at">, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      timer[Symbol.dispose]();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.at(clock.now() + ms, end);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });

/** Lets other actors of the node and requests of the gateway run between two parts of a long piece of work. */
export const yieldToEventLoop = (clock: Pick<Clock, "now" | "at">): Promise<void> => sleep(clock, 0);
