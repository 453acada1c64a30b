/** A client that records what it asks, for a debugged request. */
import { MAX_TRACE_STEPS, type TraceStep } from "./contracts/trace.ts";
import type { ActorClient } from "./actor.ts";
import { Fault } from "./ports/fault.ts";

/** Adds a step to `trace` for each message, in the order in which they were sent. */
export const traced =
  (ask: ActorClient, now: () => number, trace: TraceStep[]): ActorClient =>
  async (of, key, operation, message, options) => {
    const at_ms = now();
    const step: TraceStep = { actor: of.name, key, operation, at_ms, ms: 0, fault: null };
    if (trace.length < MAX_TRACE_STEPS) trace.push(step);
    try {
      return await ask(of, key, operation, message, options);
    } catch (problem) {
      step.fault = problem instanceof Fault ? problem.code : "failed";
      throw problem;
    } finally {
      step.ms = now() - at_ms;
    }
  };
