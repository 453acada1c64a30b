/** A client that records what it asks, for a debugged request. */
import { MAX_TRACE_STEPS, type TraceStep } from "./contracts/trace.ts";
import type { ActorClient } from "./actor.ts";
import { Fault } from "./ports/fault.ts";

export interface TracedClient {
  /** Records a step for each message, in the order in which they were sent. */
  readonly ask: ActorClient;
  /** A copy: messages that are not waited for, such as the release of a slot, end after an answer has left with its trace. */
  readonly steps: () => TraceStep[];
}

export function traced(ask: ActorClient, now: () => number): TracedClient {
  const trace: TraceStep[] = [];
  const recording: ActorClient = async (of, key, operation, message, options) => {
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
  return { ask: recording, steps: () => trace.map((step) => ({ ...step })) };
}
