/**
 * The asks of this process that have no answer yet: a promise each, which a reply, a fault or its timeout settles.
 * Both assemblies use it; how an ask travels is theirs.
 */
import type { Outcome } from "../turn/node-state.ts";
import type { Clock } from "../../ports/clock.ts";
import { Fault } from "../../ports/fault.ts";
import type { Metrics } from "../../ports/metrics.ts";

export const ASK_TIMEOUT_MS = 160_000;

export interface PendingAsk {
  readonly promise: Promise<any>;
  readonly deadline_ms: number;
  /** Asked by the gateway or a command, not by background work of this node. */
  readonly isExternal: boolean;
  readonly resolve: (reply: any) => void;
  readonly reject: (problem: unknown) => void;
  readonly timeout: Disposable;
}

export interface PendingAsks {
  readonly get: (token: string) => PendingAsk | undefined;
  readonly open: (token: string, what: string, timeout_ms: number, isExternal: boolean) => PendingAsk;
  /** Settles an ask with its outcome; nothing happens when it is settled already. */
  readonly resolve: (token: string, outcome: Outcome) => void;
  /** The ask was never sent: a mistake of the caller's. */
  readonly reject: (token: string, problem: unknown) => void;
  /** Resolves when no external ask is open. */
  readonly drained: () => Promise<void>;
  readonly size: () => number;
}

export function pendingAsks(clock: Clock, metrics: Metrics): PendingAsks {
  const pending = new Map<string, PendingAsk>();
  let externals = 0;
  const drainWaiters: (() => void)[] = [];

  function remove(token: string): PendingAsk | undefined {
    const ask = pending.get(token);
    if (!ask) return undefined;
    pending.delete(token);
    ask.timeout[Symbol.dispose]();
    if (ask.isExternal && --externals === 0) for (const resolve of drainWaiters.splice(0)) resolve();
    return ask;
  }

  function resolveAsk(token: string, outcome: Outcome): void {
    const ask = remove(token);
    if (!ask) return;
    if ("reply" in outcome) return ask.resolve(outcome.reply);
    metrics.count("trawl_faults_total", { code: outcome.fault.code });
    ask.reject(outcome.fault);
  }

  return {
    get: (token) => pending.get(token),
    open(token, what, timeout_ms, isExternal) {
      const deadline_ms = clock.now() + timeout_ms;
      const timeout = clock.at(deadline_ms, () => {
        const text = `Cannot get an answer from ${what}: it took longer than ${timeout_ms} ms`;
        resolveAsk(token, { fault: new Fault("no_answer", text) });
      });
      const ask = { ...Promise.withResolvers<any>(), deadline_ms, isExternal, timeout };
      pending.set(token, ask);
      if (isExternal) externals++;
      return ask;
    },
    resolve: resolveAsk,
    reject: (token, problem) => remove(token)?.reject(problem),
    drained: () =>
      new Promise((resolve) => {
        if (externals === 0) resolve();
        else drainWaiters.push(resolve);
      }),
    size: () => pending.size,
  };
}
