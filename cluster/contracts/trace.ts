/** The trace of a debugged request: the messages that its run sent to actors, in order. */
import { type Static, Type } from "typebox";

export const TraceStep = Type.Object({
  /** The kind of actor, and its key. */
  actor: Type.String(),
  key: Type.String(),
  operation: Type.String(),
  at_ms: Type.Number(),
  /** Until its answer, waits included. */
  ms: Type.Number(),
  /** The code of the fault; null: it answered. */
  fault: Type.Union([Type.String(), Type.Null()]),
});
export type TraceStep = Static<typeof TraceStep>;

/** At most; later messages are not recorded. */
export const MAX_TRACE_STEPS = 200;
export const Trace = Type.Array(TraceStep, { maxItems: MAX_TRACE_STEPS });
