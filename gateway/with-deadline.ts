/** How long a call waits for work that may go on without it: until its time is up or its client has left. */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Meters } from "../cluster/ports/meters.ts";

/** What a synchronous call waits at most, when it sets no time itself. */
export const WAIT_MS = 150_000;

interface DeadlineDeps {
  readonly clock: Clock;
  readonly meters: Meters;
}

/** What the work comes to, or null when nobody waits for it any more. `signal` aborts then. */
export async function withDeadline<T>(
  { clock, meters }: DeadlineDeps,
  {
    id,
    timeout_ms,
    signal,
  }: { readonly id: string; readonly timeout_ms: number; readonly signal: AbortSignal },
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
      meters.say("debug", "Work nobody waited for broke", { id, problem });
      return null;
    });
    return await Promise.race([done, expired.promise]);
  } finally {
    timer[Symbol.dispose]();
    signal.removeEventListener("abort", giveUp);
  }
}
