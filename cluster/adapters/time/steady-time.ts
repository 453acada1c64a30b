/**
 * Unix time that runs with a monotonic clock and follows a wall clock without steps, as adjtime(3) does: a difference is
 * made good little by little.
 */
export interface ClockSources {
  /** Unix milliseconds; may step. */
  readonly wall: () => number;
  readonly mono: () => number;
}

export interface SteadyTime {
  /** Whole Unix milliseconds; never goes back. */
  readonly now: () => number;
  /** Milliseconds without the steps of `resync`, and with fractions: timers wait for them. */
  readonly elapsed: () => number;
  /** A time of `now()` as a time of `elapsed()`. */
  readonly toElapsed: (at_ms: number) => number;
  readonly resync: () => void;
}

/**
 * How much faster it may run to catch up: 0.5 ms a second, so that a delay of 2 s is at most 1 ms too short. How much
 * slower, because then delays are only too long: 50 ms a second, which makes a minute good in 20 minutes.
 */
export const MAX_SLEW = { faster: 0.000_5, slower: 0.05 } as const;

export function steadyTime({ wall, mono }: ClockSources): SteadyTime {
  let offset_ms = wall() - mono();
  let adjusted_ms = mono();
  let stepped_ms = 0;

  function elapsed(): number {
    const mono_ms = mono();
    const passed_ms = mono_ms - adjusted_ms;
    adjusted_ms = mono_ms;
    const behind_ms = wall() - mono_ms - offset_ms - stepped_ms;
    offset_ms += Math.max(-passed_ms * MAX_SLEW.slower, Math.min(passed_ms * MAX_SLEW.faster, behind_ms));
    return mono_ms + offset_ms;
  }

  return {
    elapsed,
    now: () => Math.floor(elapsed() + stepped_ms),
    toElapsed: (at_ms) => at_ms - stepped_ms,
    resync: () => void (stepped_ms = wall() - elapsed()),
  };
}
