/**
 * Tells of turns on their way to their actors. Those to one actor form a line: the next leaves when the one before was
 * taken, so they arrive in the order in which they were sent, also after refusals.
 *
 * A tell that the bus or a moving partition refuses is tried again, with growing pauses, for as long as the node runs; one
 * that a full mailbox refuses, for ten minutes. What is given up is counted and logged.
 */
import type { Node } from "../../node-record.ts";
import { Fault } from "../../ports/fault.ts";

const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 4_000;
/** 250 ms, 500 ms, 1 s, 2 s, and then every 4 s: about ten minutes. */
const MAX_REFUSALS = 150;
/** Tells of one node that wait; one more is given up. They are in memory, at most 256 KB each and usually below 1 KB. */
export const MAX_WAITING_TELLS = 10_000;

export interface OutgoingTell {
  readonly name: string;
  readonly key: string;
  readonly operation: string;
  readonly message: unknown;
  /** The span of the turn that sent it. */
  readonly traceparent?: string | null | undefined;
}

export interface TellLines<T extends OutgoingTell> {
  /** Never throws. */
  readonly send: (tell: T) => void;
  /** Tells that were not taken yet. */
  readonly size: () => number;
  /** Resolves when all were taken or given up. */
  readonly drained: () => Promise<void>;
}

/** `deliver` returns, or resolves, once the tell was taken; it throws, or rejects with, a Fault when it was refused. */
export function tellLines<T extends OutgoingTell>(
  { clock, metrics, log }: Pick<Node, "clock" | "metrics" | "log">,
  deliver: (tell: T) => void | Promise<void>,
): TellLines<T> {
  const lines = new Map<string, T[]>();
  const drainWaiters: (() => void)[] = [];
  let size = 0;

  function lose({ name, key, operation }: T, problem: unknown): void {
    if (problem instanceof Fault) metrics.count("trawl_faults_total", { code: problem.code });
    log.error("A message was lost", { actor: name, key, operation, problem });
  }

  function shift(line: T[]): void {
    line.shift();
    size--;
    if (size === 0) for (const resolve of drainWaiters.splice(0)) resolve();
  }

  /** Sends what stands in the line, one after the other, until a delivery takes its time or is refused. */
  function advance(to: string, line: T[], refusals: number): void {
    for (let failures = refusals; line.length > 0; failures = 0) {
      const tell = line[0]!;
      let delivery: void | Promise<void>;
      try {
        delivery = deliver(tell);
      } catch (problem) {
        return onRefused(to, line, problem, failures);
      }
      if (delivery) {
        delivery.then(
          () => {
            shift(line);
            advance(to, line, 0);
          },
          (problem: unknown) => onRefused(to, line, problem, failures),
        );
        return;
      }
      shift(line);
    }
    lines.delete(to);
  }

  function onRefused(to: string, line: T[], problem: unknown, failures: number): void {
    if (!isTemporary(problem, failures)) {
      lose(line[0]!, problem);
      shift(line);
      return advance(to, line, 0);
    }
    const pause_ms = Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS);
    clock.at(clock.now() + pause_ms, () => advance(to, line, failures + 1));
  }

  return {
    send(tell) {
      const to = `${tell.name}/${tell.key}`;
      const line = lines.get(to);
      if (size >= MAX_WAITING_TELLS)
        return lose(
          tell,
          new Fault("mailbox_full", `Cannot send to "${to}": ${size} messages wait to leave`),
        );
      size++;
      if (line) return void line.push(tell);
      const begun = [tell];
      lines.set(to, begun);
      advance(to, begun, 0);
    },
    size: () => size,
    drained: () =>
      new Promise((resolve) => {
        if (size === 0) resolve();
        else drainWaiters.push(resolve);
      }),
  };
}

/** A message that is too large stays too large, and one that is no message of its contract stays a mistake. */
function isTemporary(problem: unknown, refusals: number): boolean {
  if (!(problem instanceof Fault) || problem.code === "message_too_large") return false;
  return problem.code !== "mailbox_full" || refusals < MAX_REFUSALS;
}
