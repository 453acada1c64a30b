/** Work that is done a minute after it ended last, until it is told to stop. */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Meters } from "../cluster/ports/meters.ts";

const EVERY_MS = 60_000;

/** `what` is the sentence that the log gets when the work throws; it is done again a minute later. */
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
