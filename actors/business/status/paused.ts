/** Whether an upstream asked for a pause lately, as the limiter on this node heard it. */
import type { Clock } from "../../../cluster/ports/clock.ts";

/** A limiter that moved to another node reports its end there: an older pause is forgotten. */
const MAX_AGE_MS = 660_000;

export interface PauseFigure {
  /** Consecutive pauses; 0: none. */
  readonly set: (level: number) => void;
  readonly isActive: () => boolean;
}

export function pauseFigure(clock: Clock): PauseFigure {
  let level = 0;
  let set_ms = 0;
  return {
    set(next) {
      level = next;
      set_ms = clock.mono();
    },
    isActive: () => level > 0 && clock.mono() - set_ms < MAX_AGE_MS,
  };
}
