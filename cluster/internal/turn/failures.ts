/** Failures as the caller, the metrics and the log see them. */
import { Fault, type FaultCode, isInfrastructureFault } from "../../ports/fault.ts";
import type { ActorKind, NodeDeps } from "./node-state.ts";

/** A store that is away fails every turn: one line a minute says so. */
const OUTAGE_LINE_MS = 60_000;

interface OutageLine {
  readonly logged_ms: number;
  /** Failures that were not logged since. */
  unlogged: number;
}

const outages = new WeakMap<NodeDeps, Map<FaultCode, OutageLine>>();

function reportOutage(
  node: NodeDeps,
  fields: Readonly<Record<string, string>>,
  { code, message }: Fault,
): void {
  const lines = outages.get(node) ?? new Map<FaultCode, OutageLine>();
  outages.set(node, lines);
  const line = lines.get(code);
  const now_ms = node.clock.mono();
  if (line && now_ms - line.logged_ms < OUTAGE_LINE_MS) {
    line.unlogged++;
    return;
  }
  lines.set(code, { logged_ms: now_ms, unlogged: 0 });
  node.log.warn("Turns fail: a store or the bus does not answer, or file descriptors are used up", {
    ...fields,
    code,
    problem: message,
    others_since_last_line: line?.unlogged ?? 0,
  });
}

/** Neither the message nor the state is logged: they may hold what no log should. */
export function reportFailure(
  node: NodeDeps,
  actor: string,
  key: string,
  operation: string,
  problem: unknown,
): void {
  node.metrics.count("trawl_actor_failures_total", { kind: actor });
  if (isInfrastructureFault(problem)) return reportOutage(node, { actor, key, operation }, problem);
  node.log.error("A turn failed", { actor, key, operation, problem });
}

/**
 * A store or a bus that did not answer keeps its code, so that the caller learns which, and so does what is in TOLD; anything
 * else is no_answer.
 */
export const asFault = (problem: unknown, text: string): Fault =>
  new Fault(isInfrastructureFault(problem) || isTold(problem) ? problem.code : "no_answer", text, {
    cause: problem,
  });

/** A node or an actor without room, a body or a document that is lost, and a key that moves: that one is asked for again at its next owner. */
const TOLD: ReadonlySet<FaultCode> = new Set([
  "overloaded",
  "mailbox_full",
  "body_damaged",
  "document_damaged",
  "lease_lost",
]);

const isTold = (problem: unknown): problem is Fault => problem instanceof Fault && TOLD.has(problem.code);

export const isLeaseLost = (problem: unknown): boolean =>
  problem instanceof Fault && problem.code === "lease_lost";

export function leaseLost({ name }: ActorKind, key: string): Fault {
  return new Fault("lease_lost", `Cannot reach "${name}/${key}" here: it is moving to another node`);
}

export function mailboxFull({ name }: ActorKind, key: string, limit: number): Fault {
  return new Fault("mailbox_full", `Cannot reach "${name}/${key}": ${limit} messages wait there already`);
}
