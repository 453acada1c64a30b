/** The whole cluster in one process: no bus, no placement, one mailbox per key. (First version; node.ts will carry it.) */
import { Compile } from "typebox/compile";
import type { Contract, MessageOf, ReplyOf } from "../schemas/contract.ts";
import { type Actor, type Patience, PARKED, type Say, type Turn } from "./actor.ts";
import type { Clock } from "./ports/clock.ts";
import type { Documents } from "./ports/documents.ts";
import { Fault } from "./ports/fault.ts";
import type { Meters } from "./ports/meters.ts";
import type { Random } from "./ports/random.ts";

interface Activation {
  state: unknown;
  kept: unknown;
  version: number;
  /** The last turn; the next one starts when what it kept is stored. */
  tail: Promise<void>;
  readonly alarms: Map<string, Disposable>;
  /** Questions this actor has not answered yet. */
  readonly open: Set<string>;
}

export interface Outside {
  readonly clock: Clock;
  readonly random: Random;
  readonly documents: Documents;
  readonly meters?: Meters;
}

const WAIT_MS = 160_000;

/** What a message goes through on a wire: text and back. Undefined stays undefined, for a tell has no reply. */
const copy = (value: unknown): unknown =>
  value === undefined ? value : (JSON.parse(JSON.stringify(value)) as unknown);

export function embedded(actors: readonly Actor[], { clock, random, documents, meters }: Outside) {
  const byName = new Map(actors.map((actor) => [actor.contract.name, actor]));
  const fits = new Map(
    actors.flatMap(({ contract: { name, operations } }) =>
      Object.entries(operations).map(([operation, { message }]) => [
        `${name}.${operation}`,
        Compile(message),
      ]),
    ),
  );
  const activations = new Map<string, Activation>();
  const questions = new Map<string, PromiseWithResolvers<any>>();
  const stopping = new AbortController();
  const held = { signal: stopping.signal, mayStart: () => !stopping.signal.aborted };
  let asked = 0;

  function activate(actor: Actor, key: string): Activation {
    const id = `${actor.contract.name}/${key}`;
    const known = activations.get(id);
    if (known) return known;
    const fresh: Activation = {
      state: undefined,
      kept: undefined,
      version: 0,
      tail: Promise.resolve(),
      alarms: new Map(),
      open: new Set(),
    };
    fresh.tail = (actor.keep ? documents.get(actor.contract.name, key) : Promise.resolve(null)).then(
      (stored) => {
        fresh.version = stored?.version ?? 0;
        fresh.state = actor.begin(stored?.value ?? null, { key, now_ms: clock.now() });
        fresh.kept = actor.keep?.(fresh.state);
      },
    );
    activations.set(id, fresh);
    return fresh;
  }

  function deliver(actor: Actor, key: string, operation: string, message: unknown, replyTo: string): void {
    const activation = activate(actor, key);
    activation.tail = activation.tail
      .then(() => take(actor, key, activation, operation, message, replyTo))
      .catch((problem: unknown) => end(actor, key, activation, problem));
    if (replyTo) activation.open.add(replyTo);
  }

  async function take(
    actor: Actor,
    key: string,
    activation: Activation,
    operation: string,
    message: unknown,
    replyTo: string,
  ): Promise<void> {
    const said: (() => void)[] = [];
    const turn: Turn<any, any> = {
      key,
      now_ms: clock.now(),
      random: () => random.next(),
      state: activation.state,
      park: () => replyTo,
      answer: (to, reply) => said.push(() => answer(activation, to, reply)),
      tell: (of, to, name, words) => said.push(() => void ask(of, to, name, words).catch(() => {})),
      wake(at_ms, name, words) {
        said.push(() => {
          activation.alarms.get(name)?.[Symbol.dispose]();
          activation.alarms.set(
            name,
            clock.at(at_ms, () => deliver(actor, key, name, words, "")),
          );
        });
      },
      start(name, work) {
        said.push(() => {
          work(ask, held).then(
            (words) => deliver(actor, key, name, words, ""),
            (problem: unknown) => end(actor, key, activation, problem),
          );
        });
      },
    };
    const reply = actor.on[operation]!(turn, message);
    if (reply !== PARKED) turn.answer(replyTo, reply);
    activation.state = turn.state;

    const kept = actor.keep?.(turn.state);
    if (kept !== activation.kept) {
      const stored = await documents.put(actor.contract.name, key, kept, activation.version);
      if (!stored)
        throw new Fault("lease_lost", `Cannot keep "${actor.contract.name}/${key}": another node wrote it`);
      activation.kept = kept;
      activation.version++;
    }
    for (const speak of said) speak();
  }

  function end(actor: Actor, key: string, activation: Activation, problem: unknown): void {
    for (const alarm of activation.alarms.values()) alarm[Symbol.dispose]();
    activations.delete(`${actor.contract.name}/${key}`);
    meters?.say("error", "A turn broke", { actor: actor.contract.name, key, problem });
    const fault = new Fault("no_answer", `Cannot answer for "${actor.contract.name}/${key}"`, {
      cause: problem,
    });
    for (const to of activation.open) questions.get(to)?.reject(fault);
    for (const to of activation.open) questions.delete(to);
  }

  function answer(activation: Activation, to: string, reply: unknown): void {
    activation.open.delete(to);
    questions.get(to)?.resolve(copy(reply));
    questions.delete(to);
  }

  const ask: Say = <O, N extends keyof O & string>(
    of: Contract<O>,
    key: string,
    operation: N,
    message: MessageOf<O[N]>,
    patience: Patience = {},
  ): Promise<ReplyOf<O[N]>> => {
    const actor = byName.get(of.name);
    if (!actor) throw new Error(`Cannot ask actor "${of.name}": it is not part of this node`);
    if (!fits.get(`${of.name}.${operation}`)!.Check(message)) {
      throw new TypeError(`Cannot ask "${of.name}.${operation}": the message does not fit its contract`);
    }
    const question = Promise.withResolvers<ReplyOf<O[N]>>();
    const replyTo = `${of.name}.${operation}#${asked++}`;
    questions.set(replyTo, question);
    const wait_ms = patience.wait_ms ?? WAIT_MS;
    const ends = clock.at(clock.now() + wait_ms, () => {
      questions.delete(replyTo);
      question.reject(new Fault("no_answer", `Nobody answered "${of.name}.${operation}" in ${wait_ms} ms`));
    });
    deliver(actor, key, operation, copy(message), replyTo);
    return question.promise.finally(() => ends[Symbol.dispose]());
  };

  return {
    ask,
    stop: async () => stopping.abort(),
    stats: () => ({ activations: activations.size }),
  };
}
