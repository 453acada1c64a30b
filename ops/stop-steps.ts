/**
 * The steps of a stop, one after the other, within one limit: a step that hangs is left behind with a line in the log,
 * and a step that fails does not keep the next ones from running.
 */
import type { Clock } from "../cluster/ports/clock.ts";
import type { Log } from "../cluster/ports/log.ts";

export interface StopSteps {
  /** Rest of the limit. */
  readonly left_ms: () => number;
  /** Waits for the step, but not for longer than `within_ms`. */
  readonly run: (name: string, within_ms: number, step: () => Promise<unknown>) => Promise<void>;
  /** Throws what the first failed step threw. */
  readonly throwFailure: () => void;
}

/** A step that was given the whole limit ends by itself at that time, so it is waited for a little longer. */
const TOLERANCE_MS = 250;

export function stopSteps(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  limit_ms: number,
): StopSteps {
  const ends_ms = clock.mono() + limit_ms;
  const failures: unknown[] = [];
  return {
    left_ms: () => Math.max(0, ends_ms - clock.mono()),
    async run(name, within_ms, step) {
      const late = Promise.withResolvers<"late">();
      const timer = clock.at(clock.now() + within_ms + TOLERANCE_MS, () => late.resolve("late"));
      try {
        const ended = await Promise.race([step(), late.promise]);
        if (ended === "late") log.warn("A step of the stop hangs and is left behind", { step: name });
      } catch (problem) {
        failures.push(problem);
        log.warn("A step of the stop failed", { step: name, problem });
      } finally {
        timer[Symbol.dispose]();
      }
    },
    throwFailure() {
      if (failures.length > 0) throw failures[0];
    },
  };
}
