/**
 * What this process has asked and not been answered: one promise a question, and its end when patience runs out.
 * Both assemblies keep their books with it; how a question travels is theirs.
 */
import type { Outcome } from "./node.ts";
import type { Clock } from "./ports/clock.ts";
import { Fault } from "./ports/fault.ts";
import type { Meters } from "./ports/meters.ts";

export const WAIT_MS = 160_000;

export interface Question {
  readonly promise: Promise<any>;
  readonly deadline_ms: number;
  /** Asked by the gateway or a command, not by work of this node. */
  readonly from_outside: boolean;
  readonly resolve: (reply: any) => void;
  readonly reject: (problem: unknown) => void;
  readonly ends: Disposable;
}

export interface Questions {
  readonly get: (token: string) => Question | undefined;
  readonly open: (token: string, what: string, wait_ms: number, from_outside: boolean) => Question;
  /** Answers it; nothing happens when it is answered already or too late. */
  readonly conclude: (token: string, outcome: Outcome) => void;
  /** It was never asked: a mistake of the asker's. */
  readonly withdraw: (token: string, problem: unknown) => void;
  /** Resolves when nothing that was asked from outside is open. */
  readonly answered: () => Promise<void>;
  readonly size: () => number;
}

export function questions(clock: Clock, meters: Meters): Questions {
  const open = new Map<string, Question>();
  let outside = 0;
  const waiting: (() => void)[] = [];

  function close(token: string): Question | undefined {
    const question = open.get(token);
    if (!question) return undefined;
    open.delete(token);
    question.ends[Symbol.dispose]();
    if (question.from_outside && --outside === 0) for (const resolve of waiting.splice(0)) resolve();
    return question;
  }

  function conclude(token: string, outcome: Outcome): void {
    const question = close(token);
    if (!question) return;
    if ("reply" in outcome) return question.resolve(outcome.reply);
    meters.count("trawl_faults_total", { code: outcome.fault.code });
    question.reject(outcome.fault);
  }

  return {
    get: (token) => open.get(token),
    open(token, what, wait_ms, from_outside) {
      const deadline_ms = clock.now() + wait_ms;
      const ends = clock.at(deadline_ms, () => {
        const text = `Cannot get an answer from ${what}: it took longer than ${wait_ms} ms`;
        conclude(token, { fault: new Fault("no_answer", text) });
      });
      const question = { ...Promise.withResolvers<any>(), deadline_ms, from_outside, ends };
      open.set(token, question);
      if (from_outside) outside++;
      return question;
    },
    conclude,
    withdraw: (token, problem) => close(token)?.reject(problem),
    answered: () =>
      new Promise((resolve) => {
        if (outside === 0) resolve();
        else waiting.push(resolve);
      }),
    size: () => open.size,
  };
}
