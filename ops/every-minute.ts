/** Repeats work a minute after its last run ended, until it is disposed of. */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Log } from "../cluster/ports/log.ts";

const EVERY_MS = 60_000;

/** `what` is the log message when the work throws; the work runs again a minute later. */
export function everyMinute(
  { clock, log, what }: { readonly clock: Clock; readonly log: Log; readonly what: string },
  work: (isStopped: () => boolean) => Promise<void>,
): Disposable {
  let alarm: Disposable;
  let stopped = false;

  function arm(): void {
    alarm = clock.at(clock.now() + EVERY_MS, () => {
      work(() => stopped)
        .catch((problem: unknown) => {
          if (!stopped) log.warn(what, { problem: String(problem) });
        })
        .finally(() => {
          if (!stopped) arm();
        });
    });
  }

  arm();
  return {
    [Symbol.dispose]: () => {
      stopped = true;
      alarm[Symbol.dispose]();
    },
  };
}
