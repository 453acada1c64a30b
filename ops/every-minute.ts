/** Repeats work some time after its last run ended, by default a minute, until it is disposed of. */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Log } from "../cluster/ports/log.ts";

const EVERY_MS = 60_000;

interface RepeatOptions {
  readonly clock: Clock;
  readonly every_ms: number;
  /** Called when the work throws, but not after the disposal. */
  readonly onFailure: (problem: unknown) => void;
}

/** The first run is `every_ms` from now, also after a failure. */
export function repeatedly(
  { clock, every_ms, onFailure }: RepeatOptions,
  work: (isStopped: () => boolean) => Promise<void>,
): Disposable {
  let alarm: Disposable;
  let stopped = false;

  function arm(): void {
    alarm = clock.at(clock.now() + every_ms, () => {
      work(() => stopped)
        .catch((problem: unknown) => {
          if (!stopped) onFailure(problem);
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

/** `what` is the log message when the work throws; the work runs again a minute later. */
export const everyMinute = (
  { clock, log, what }: { readonly clock: Clock; readonly log: Log; readonly what: string },
  work: (isStopped: () => boolean) => Promise<void>,
): Disposable =>
  repeatedly(
    {
      clock,
      every_ms: EVERY_MS,
      onFailure: (problem) => log.warn(what, { problem: String(problem) }),
    },
    work,
  );
