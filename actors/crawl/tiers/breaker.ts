/**
 * The circuit breaker of a tier: after a streak of infrastructure failures it opens, and calls are answered `unavailable` at
 * once. After a pause one call at a time tries whether that is still so: its success closes the breaker, its failure
 * doubles the pause. Pure functions.
 */
import type { BreakerState } from "../../../cluster/role-actor.ts";
import type { CallOutcome } from "./infrastructure.ts";

export interface Breaker {
  /** Infrastructure failures without a success between them. */
  readonly streak: number;
  /** Null: closed. */
  readonly open: {
    readonly reason: string;
    readonly since_ms: number;
    readonly probe_at_ms: number;
    readonly probes: number;
  } | null;
  readonly is_probing: boolean;
}

export const CLOSED: Breaker = { streak: 0, open: null, is_probing: false };

/** A single failure may be chance; every further one costs a caller its time. */
const OPEN_AFTER = 5;
const FIRST_PAUSE_MS = 10_000;
const MAX_PAUSE_MS = 300_000;

/** `probe`: this call tries; mark it with `beginProbe`. */
export function gateOf({ open, is_probing }: Breaker, now_ms: number): "closed" | "probe" | "open" {
  if (open === null) return "closed";
  return !is_probing && now_ms >= open.probe_at_ms ? "probe" : "open";
}

export const beginProbe = (breaker: Breaker): Breaker => ({ ...breaker, is_probing: true });

/** A probe that ended without an answer of the provider leaves the next try to the next call. */
export const endProbe = (breaker: Breaker): Breaker => ({ ...breaker, is_probing: false });

export interface CallEnd {
  readonly outcome: CallOutcome;
  readonly reason: string;
  readonly is_probe: boolean;
  /** The provider let the call wait until it was suspect: no further failures are needed. */
  readonly was_slow: boolean;
}

export function recordEnd(breaker: Breaker, end: CallEnd, now_ms: number): Breaker {
  const { open, streak } = breaker;
  const rest = end.is_probe ? endProbe(breaker) : breaker;
  switch (end.outcome) {
    case "neutral":
      return rest;
    case "success":
      // A call from before it opened proves as much as a probe.
      return { ...rest, streak: 0, open: null };
    case "infrastructure": {
      const failed = { ...rest, streak: streak + 1 };
      if (open !== null) return end.is_probe ? { ...failed, open: opened(end.reason, now_ms, open) } : failed;
      if (failed.streak < OPEN_AFTER && !end.was_slow) return failed;
      return { ...failed, open: opened(end.reason, now_ms, null) };
    }
  }
}

function opened(reason: string, now_ms: number, previous: Breaker["open"]): NonNullable<Breaker["open"]> {
  const probes = previous === null ? 0 : previous.probes + 1;
  const pause_ms = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** probes);
  return { reason, since_ms: previous?.since_ms ?? now_ms, probe_at_ms: now_ms + pause_ms, probes };
}

export const stateOf = ({ open, is_probing }: Breaker): BreakerState =>
  open === null ? "closed" : is_probing ? "half_open" : "open";
