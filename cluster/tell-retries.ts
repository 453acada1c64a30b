/** What happens to a tell that a mailbox or the bus refuses: it is sent again for ten seconds, then lost and counted. */
import type { Clock } from "./ports/clock.ts";
import { Fault } from "./ports/fault.ts";
import type { Log } from "./ports/log.ts";
import type { Metrics } from "./ports/metrics.ts";

const TELL_RETRY_MS = 250;
const MAX_TELL_RETRIES = 40;

export interface RefusedTell {
  readonly actor: string;
  readonly key: string;
  readonly operation: string;
  /** Why it was refused. */
  readonly problem: unknown;
  /** Retries so far. */
  readonly retries: number;
}

/** Calls `send` a little later, or reports the loss. A message that is too large stays too large: no retry. */
export function retryTell(
  { clock, metrics, log }: { readonly clock: Clock; readonly metrics: Metrics; readonly log: Log },
  { actor, key, operation, problem, retries }: RefusedTell,
  send: () => void,
): void {
  const isTemporary = problem instanceof Fault && problem.code !== "message_too_large";
  if (isTemporary && retries < MAX_TELL_RETRIES) {
    clock.at(clock.now() + TELL_RETRY_MS, send);
    return;
  }
  if (problem instanceof Fault) metrics.count("trawl_faults_total", { code: problem.code });
  log.error("A message was lost", { actor, key, operation, problem });
}
