/** How long a call waits for work that may go on without it: until its time is up or its client has left. */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Meters } from "../cluster/ports/meters.ts";

/** What a synchronous call waits at most, when it sets no time itself. */
export const WAIT_MS = 150_000;

interface Needs {
  readonly clock: Clock;
  readonly meters: Meters;
}

/** What the work comes to, or null when nobody waits for it any more. `signal` aborts then. */
export async function patiently<T>(
  { clock, meters }: Needs,
  { id, wait_ms, gone }: { readonly id: string; readonly wait_ms: number; readonly gone: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const stop = new AbortController();
  const left = Promise.withResolvers<null>();
  const leave = (): void => {
    stop.abort();
    left.resolve(null);
  };
  const late = clock.at(clock.now() + wait_ms, leave);
  if (gone.aborted) leave();
  gone.addEventListener("abort", leave);
  try {
    const done = work(stop.signal).catch((problem: unknown) => {
      if (!stop.signal.aborted) throw problem;
      meters.say("debug", "Work nobody waited for broke", { id, problem });
      return null;
    });
    return await Promise.race([done, left.promise]);
  } finally {
    late[Symbol.dispose]();
    gone.removeEventListener("abort", leave);
  }
}
