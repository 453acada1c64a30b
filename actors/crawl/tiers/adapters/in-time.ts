/** Work of a browser that has a time: its pages run code of their own, which may never end. */

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export const LATE: unique symbol = Symbol("late");

/** The result of the work; LATE: it did not end in time. Throws what the work throws before that. */
export async function within<T>(work: Promise<T>, timeout_ms: number): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), timeout_ms);
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A time-out that can be paused. */
export function pausableTimeout(timeout_ms: number, onTimeout: () => void) {
  let remaining_ms = timeout_ms;
  let since_ms = performance.now();
  let is_stopped = false;
  let timer: NodeJS.Timeout | undefined = setTimeout(onTimeout, remaining_ms);
  return {
    pause() {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = undefined;
      remaining_ms -= performance.now() - since_ms;
    },
    resume() {
      if (is_stopped || timer !== undefined) return;
      since_ms = performance.now();
      timer = setTimeout(onTimeout, Math.max(0, remaining_ms));
    },
    remaining_ms: () => (timer === undefined ? remaining_ms : remaining_ms - (performance.now() - since_ms)),
    stop() {
      is_stopped = true;
      clearTimeout(timer);
    },
  };
}

/** The result of the work; null: it failed; LATE: it did not end in time. */
export const settled = <T>(work: Promise<T>, timeout_ms: number): Promise<T | null | typeof LATE> =>
  within(
    work.catch(() => null),
    timeout_ms,
  );

/** The result of the work; LATE: the signal was aborted first. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | typeof LATE> {
  const { promise, resolve } = Promise.withResolvers<typeof LATE>();
  const onAbort = () => resolve(LATE);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const done = await Promise.race([work, promise]);
  signal.removeEventListener("abort", onAbort);
  return done;
}
