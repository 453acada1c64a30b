/**
 * Assembly: the whole cluster in one process. No bus and no leases, one holding that has every key.
 *
 * Messages are measured, copied and checked all the same, so what works here works across a wire. Nothing survives
 * the process but what actors keep: a message in a mailbox is gone with it, and who has duties is found in the store.
 */
import type { Contract, MessageOf, ReplyOf } from "../schemas/contract.ts";
import type { Actor, Patience, Say } from "./actor.ts";
import { shapesOf, travelled } from "./letter.ts";
import { type Envelope, node, type NodeStats, type Outcome } from "./node.ts";
import { PARTITIONS } from "./placement.ts";
import type { Clock } from "./ports/clock.ts";
import type { Documents } from "./ports/documents.ts";
import { Fault } from "./ports/fault.ts";
import type { Meters } from "./ports/meters.ts";
import type { Random } from "./ports/random.ts";

export interface Outside {
  readonly clock: Clock;
  readonly random: Random;
  readonly documents: Documents;
  /** Default: nothing is counted or logged. */
  readonly meters?: Meters;
}

export interface Cluster {
  /** For an ask the answer; for a tell nothing, once it cannot be lost any more. */
  readonly ask: Say;
  /** Resolves when everybody with duties has been found; rejects with a Fault when the store did not answer. */
  readonly recovered: Promise<void>;
  /**
   * Hears nothing new from outside, answers who asked already, starts no more work, lets what is in flight end; after
   * limit_ms whatever is left is aborted and told so. Default 10 s.
   */
  readonly stop: (limit_ms?: number) => Promise<void>;
  readonly stats: () => NodeStats & { readonly questions: number };
}

const WAIT_MS = 160_000;
const STOP_MS = 10_000;
/** A tell to a full mailbox is tried again this often, for ten seconds; then it is lost and counted. */
const TELL_AGAIN_MS = 250;
const TELLS_AGAIN = 40;

const NOTHING = (): void => {};
const SILENT: Meters = { count: NOTHING, gauge: NOTHING, observe: NOTHING, say: NOTHING };

interface Question {
  readonly resolve: (reply: any) => void;
  readonly reject: (problem: unknown) => void;
  readonly promise: Promise<any>;
  readonly ends: Disposable;
  readonly outside: boolean;
}

export function embedded(actors: readonly Actor[], outside: Outside): Cluster {
  const { clock, meters = SILENT } = outside;
  const questions = new Map<string, Question>();
  let asked = 0;
  let stopping = false;
  /** Questions from outside that are open, and who wants to hear that there are none. */
  let callers = 0;
  let alone = NOTHING;

  function conclude(reply_to: string, outcome: Outcome): void {
    const question = questions.get(reply_to);
    if (!question) return;
    questions.delete(reply_to);
    question.ends[Symbol.dispose]();
    if ("reply" in outcome) question.resolve(outcome.reply);
    else {
      meters.count("trawl_faults_total", { code: outcome.fault.code });
      question.reject(outcome.fault);
    }
    if (question.outside && --callers === 0) alone();
  }

  function tell(
    contract: Actor["contract"],
    key: string,
    operation: string,
    message: unknown,
    tries = 0,
  ): void {
    const envelope: Envelope = {
      operation,
      message,
      reply_to: "",
      repeatable: false,
      deadline_ms: Infinity,
      settle: NOTHING,
      throws: 0,
    };
    try {
      holding.take(contract.name, key, envelope);
    } catch (problem) {
      if (problem instanceof Fault && tries < TELLS_AGAIN) {
        clock.at(clock.now() + TELL_AGAIN_MS, () => tell(contract, key, operation, message, tries + 1));
        return;
      }
      if (problem instanceof Fault) meters.count("trawl_faults_total", { code: problem.code });
      meters.say("error", "A message was lost", { actor: contract.name, key, operation, problem });
    }
  }

  const asking =
    (from_outside: boolean): Say =>
    <O, N extends keyof O & string>(
      of: Contract<O>,
      key: string,
      operation: N,
      message: MessageOf<O[N]>,
      { wait_ms = WAIT_MS, id }: Patience = {},
    ): Promise<ReplyOf<O[N]>> => {
      const reply_to = `${of.name}.${operation}#${id === undefined ? asked++ : `${key} ${id}`}`;
      const before = questions.get(reply_to);
      if (before) return before.promise;
      const { promise, resolve, reject } = Promise.withResolvers<ReplyOf<O[N]>>();
      const deadline_ms = clock.now() + wait_ms;
      const ends = clock.at(deadline_ms, () => {
        const text = `Cannot answer for "${of.name}/${key}": "${operation}" took longer than ${wait_ms} ms`;
        conclude(reply_to, { fault: new Fault("no_answer", text) });
      });
      questions.set(reply_to, { promise, resolve, reject, ends, outside: from_outside });
      if (from_outside) callers++;
      try {
        if (stopping && from_outside)
          throw new Fault("no_answer", `Cannot ask "${of.name}/${key}": this node is stopping`);
        const copy = travelled(`"${of.name}.${operation}"`, shapesOf(of, operation).message, message);
        holding.take(of.name, key, {
          operation,
          message: copy,
          reply_to,
          repeatable: id !== undefined,
          deadline_ms,
          settle: NOTHING,
          throws: 0,
        });
      } catch (problem) {
        if (problem instanceof Fault) conclude(reply_to, { fault: problem });
        else {
          questions.delete(reply_to);
          ends[Symbol.dispose]();
          if (from_outside) callers--;
          reject(problem);
        }
      }
      return promise;
    };

  const within = node(actors, { ...outside, meters }, { reply: conclude, tell, ask: asking(false) });
  const holding = within.hold(() => true);
  const recovered = holding.recover(Array.from({ length: PARTITIONS }, (_, partition) => partition));
  // Whoever starts the node waits for it; a test that does not care must not break by it.
  recovered.catch(() => {});

  async function stop(limit_ms = STOP_MS): Promise<void> {
    stopping = true;
    const limit = Promise.withResolvers<void>();
    const alarm = clock.at(clock.now() + limit_ms, () => limit.resolve());
    const answered = new Promise<void>((resolve) => {
      alone = resolve;
      if (callers === 0) resolve();
    });
    await Promise.race([limit.promise, answered]);
    holding.slow();
    await Promise.race([limit.promise, holding.quiet()]);
    alarm[Symbol.dispose]();
    holding.drop(new Fault("no_answer", "Cannot answer: this node has stopped"));
    within.close();
  }

  return {
    ask: asking(true),
    recovered,
    stop,
    stats: () => ({ ...within.stats(), questions: questions.size }),
  };
}
