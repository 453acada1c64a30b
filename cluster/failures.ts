/** What a failure looks like to the caller, to the metrics and to the log. */
import { Fault, type FaultCode, isInfrastructureFault } from "./ports/fault.ts";
import type { ActorKind, NodeDeps } from "./node-state.ts";

/** Neither the message nor the state is logged: they may hold what no log should. */
export function reportFailure(
  { metrics, log }: NodeDeps,
  actor: string,
  key: string,
  operation: string,
  problem: unknown,
): void {
  metrics.count("trawl_actor_failures_total", { kind: actor });
  log.error("A turn failed", { actor, key, operation, problem });
}

/**
 * A store or a bus that did not answer keeps its code, so that the caller learns which, and so does what is in TOLD; anything
 * else is no_answer.
 */
export const asFault = (problem: unknown, text: string): Fault =>
  new Fault(isInfrastructureFault(problem) || isTold(problem) ? problem.code : "no_answer", text, {
    cause: problem,
  });

/** A node or an actor without room, a body that is lost, and a key that moves: that one is asked for again at its next owner. */
const TOLD: ReadonlySet<FaultCode> = new Set(["overloaded", "mailbox_full", "body_damaged", "lease_lost"]);

const isTold = (problem: unknown): problem is Fault => problem instanceof Fault && TOLD.has(problem.code);

export const isLeaseLost = (problem: unknown): boolean =>
  problem instanceof Fault && problem.code === "lease_lost";

export function leaseLost({ name }: ActorKind, key: string): Fault {
  return new Fault("lease_lost", `Cannot reach "${name}/${key}" here: it is moving to another node`);
}

export function mailboxFull({ name }: ActorKind, key: string, limit: number): Fault {
  return new Fault("mailbox_full", `Cannot reach "${name}/${key}": ${limit} messages wait there already`);
}
