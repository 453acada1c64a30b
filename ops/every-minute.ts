/** Repeats work a minute after its last run ended, until it is disposed of. */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Meters } from "../cluster/ports/meters.ts";

const EVERY_MS = 60_000;

/** `what` is the log message when the work throws; the work runs again a minute later. */
export function everyMinute(
  { clock, meters, what }: { readonly clock: Clock; readonly meters: Meters; readonly what: string },
  work: (isStopped: () => boolean) => Promise<void>,
): Disposable {
  let alarm: Disposable;
  let stopped = false;

  function arm(): void {
    alarm = clock.at(clock.now() + EVERY_MS, () => {
      work(() => stopped)
        .catch((problem: unknown) => {
          if (!stopped) meters.say("warn", what, { problem: String(problem) });
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
