/**
 * One process of the cluster: wakes actors, has them take one turn at a time, puts idle ones away.
 *
 * A turn thinks, then what the actor keeps is stored, then words leave. A *holding* is a set of keys this process
 * has, for as long as it has them: everything in an embedded node, one partition's in a cluster. Where a message
 * comes from and how it gets elsewhere is the assembly's business (embedded.ts, distributed.ts), which hands in
 * `reply`, `tell` and `ask`; this file never addresses anybody itself.
 */
import { LRUCache } from "lru-cache";
import { type Actor, type Held, PARKED, type Say, type Turn } from "./actor.ts";
import { type Shapes, shapesOf, travelled } from "./wire.ts";
import { partitionOf } from "./placement.ts";
import { MAX_UNREAD } from "./ports/bus.ts";
import type { Clock } from "./ports/clock.ts";
import type { Documents } from "./ports/documents.ts";
import { Fault } from "./ports/fault.ts";
import type { Meters } from "./ports/meters.ts";
import type { Random } from "./ports/random.ts";

export interface Outside {
  readonly clock: Clock;
  readonly random: Random;
  readonly documents: Documents;
  readonly meters: Meters;
}

/** What an asker is told: a reply that has been copied and checked, or what went wrong. */
export type Outcome = { readonly reply: unknown } | { readonly fault: Fault };

/** Why a message need not come again: what it came to is stored, nobody waits any more, or it broke too many turns. */
export type Settled = "heard" | "late" | "given_up";

/** One message to one actor, copied and checked. */
export interface Envelope {
  readonly operation: string;
  readonly message: unknown;
  /** Where the outcome goes; "" when nobody waits for one. */
  readonly reply_to: string;
  /** Whether the asker may ask once more under the same address: its answer is remembered for a while. */
  readonly repeatable: boolean;
  /** Nobody waits after this; Infinity for a tell. */
  readonly deadline_ms: number;
  /** Called once, when the message need not come again. null: it is one of the actor's own. */
  readonly settle: ((how: Settled) => void) | null;
  /** Whether its only copy is in this process; a letter of the bus is sent again to whoever holds the key next. */
  readonly local: boolean;
  /** Turns it broke so far. */
  throws: number;
}

export interface Post {
  /** Tells the asker behind an address, wherever it is. Never throws; a lost outcome is asked for again. */
  readonly reply: (reply_to: string, outcome: Outcome) => void;
  /** Sends what a turn told another actor. Never throws; tries again while a mailbox is full. */
  readonly tell: (contract: Actor["contract"], key: string, operation: string, message: unknown) => void;
}

/** What an assembly says about the keys it hands to a holding. */
export interface Grounds {
  /** Asked before each request to an origin; the holding adds its own no when it ends. */
  readonly mayStart: () => boolean;
  readonly epoch: number;
  /** For work started here. */
  readonly ask: Say;
}

/** Why a holding ends: `quietly` its messages are somebody else's now; otherwise whoever waits is told. */
export type Farewell = "quietly" | Fault;

export interface Holding {
  /** Puts a message into its actor's mailbox. Throws Fault mailbox_full. */
  readonly take: (name: string, key: string, envelope: Envelope) => void;
  /** Finds who has duties in these partitions and sees that they are woken. */
  readonly recover: (partitions: Iterable<number>) => Promise<void>;
  /** Starts no work any more and performs no duties; turns and running work go on. */
  readonly slow: () => void;
  /**
   * The same, and takes nothing more but what its own work still tells: what the bus brought and was not begun is
   * forgotten, local askers hear lease_lost.
   */
  readonly close: () => void;
  /** Resolves when no message waits, no turn is being stored and no work is running. */
  readonly quiet: () => Promise<void>;
  /** Forgets everything and aborts what is in flight. */
  readonly drop: (farewell: Farewell) => void;
  /** Messages that have been taken and not settled. */
  readonly unsettled: () => number;
}

interface Activation {
  readonly kind: Kind;
  readonly key: string;
  phase: "loading" | "idle" | "storing" | "over";
  scheduled: boolean;
  state: unknown;
  kept: unknown;
  version: number;
  last_ms: number;
  /** Work that was started and is not done. */
  works: number;
  queue: Envelope[];
  /** Questions not answered yet, in the queue or parked; null until there is one. */
  open: Map<string, Envelope> | null;
  alarms: Map<string, Disposable> | null;
  /** Aborted when the activation ends; null until work was started. */
  stop: AbortController | null;
  /** The time of the duty it performed last. */
  rang_ms: number;
}

interface HoldingState {
  readonly grounds: Grounds;
  readonly kinds: Map<string, Kind>;
  mode: "open" | "slow" | "closed" | "over";
  /** Messages waiting, turns being stored and works running. */
  busy: number;
  readonly quieted: (() => void)[];
}

/** All actors of one contract within a holding. */
interface Kind {
  readonly holding: HoldingState;
  readonly actor: Actor;
  readonly name: string;
  readonly shapes: ReadonlyMap<string, Shapes>;
  readonly activations: Map<string, Activation>;
  readonly duties: Map<string, { readonly at_ms: number; readonly alarm: Disposable }>;
}

/** Questions one actor may have unanswered, and tells it may have unread; as on the bus (cluster.md, section 4). */
export const MAX_ASKS = MAX_UNREAD.sync;
export const MAX_TELLS = MAX_UNREAD.work;
/** A turn that throws is tried again for a tell, for an ask the asker decides. */
const MAX_THROWS = 5;
const THROW_PAUSE_MS = 250;
/** A duty whose turn broke so often, or that did not move its own time, is done again this much later. */
const DUTY_PAUSE_MS = 60_000;
const DUTY_AGAIN_MS = 1_000;
/** Idle actors are looked for this often; an actor is put away at most this much late. */
const SWEEP_MS = 10_000;
/** So many are looked at in one go, 5 ms or so; then the loop has a breath. */
const MAX_SWEEP = 20_000;
const BREATH_MS = 10;
/** Answers to repeatable questions that are remembered, and their letters of JSON. */
const MAX_ANSWERS = 10_000;
const MAX_ANSWERS_CHARS = 32 * 2 ** 20;
const NO_QUEUE: Envelope[] = [];

export interface Node {
  readonly hold: (grounds: Grounds) => Holding;
  readonly knows: (name: string) => boolean;
  /** Awake actors, waiting messages and running work. */
  readonly stats: () => NodeStats;
  readonly close: () => void;
}

export interface NodeStats {
  readonly activations: Readonly<Record<string, number>>;
  readonly waiting: Readonly<Record<string, number>>;
  readonly works: number;
}

/** The tag of documents whose actor has duties. */
const dutyTag = (partition: number): string => `due-${partition}`;

const asFault = (problem: unknown, text: string): Fault => new Fault("no_answer", text, { cause: problem });

function operationOf(kind: Kind, { operation }: Envelope): string {
  if (!kind.shapes.has(operation))
    throw new TypeError(`Actor "${kind.name}" has no operation "${operation}"`);
  return operation;
}

/** A message whose only copy is here and that nobody waits for: an alarm, what work came to, what a neighbour told. */
export const ownEnvelope = (operation: string, message: unknown): Envelope => ({
  operation,
  message,
  reply_to: "",
  repeatable: false,
  deadline_ms: Infinity,
  settle: null,
  local: true,
  throws: 0,
});

export function node(
  actors: readonly Actor[],
  { clock, random, documents, meters }: Outside,
  post: Post,
): Node {
  const catalogue = actors.map((actor) => {
    const { name, operations } = actor.contract;
    const shapes = new Map(
      Object.keys(operations).map((operation) => [operation, shapesOf(actor.contract, operation)]),
    );
    return { actor, name, shapes };
  });
  /** By "contract.operation", as an address begins. */
  const replies = new Map(
    catalogue.flatMap(({ name, shapes }) =>
      [...shapes].map(([operation, { reply }]) => [`${name}.${operation}`, reply]),
    ),
  );
  const holdings = new Set<HoldingState>();
  const answered = new LRUCache<string, { readonly reply: unknown; readonly chars: number }>({
    max: MAX_ANSWERS,
    maxSize: MAX_ANSWERS_CHARS,
    sizeCalculation: ({ chars }) => chars,
  });
  const next = () => random.next();

  // --- who runs next -------------------------------------------------------------------------------------------

  let runnable: Activation[] = [];
  let running = false;

  function schedule(activation: Activation): void {
    if (activation.scheduled || activation.phase !== "idle" || activation.queue.length === 0) return;
    activation.scheduled = true;
    runnable.push(activation);
    if (running) return;
    running = true;
    queueMicrotask(run);
  }

  function run(): void {
    // One turn each, in the order in which they had something to do.
    for (let at = 0; at < runnable.length; at++) {
      const activation = runnable[at]!;
      activation.scheduled = false;
      if (activation.phase !== "idle" || activation.queue.length === 0) continue;
      turn(activation, activation.queue.shift()!);
      schedule(activation);
    }
    runnable = [];
    running = false;
  }

  // --- one turn ------------------------------------------------------------------------------------------------

  function turn(activation: Activation, envelope: Envelope): void {
    const { kind, key } = activation;
    const now_ms = clock.now();
    if (now_ms >= envelope.deadline_ms) {
      release(activation, envelope, "late");
      return rest(kind.holding);
    }
    activation.last_ms = now_ms;

    const said: (() => void)[] = [];
    let spoken = false;
    const say = (words: () => void): void => {
      if (spoken) throw new Error(`Cannot speak for "${kind.name}/${key}": its turn is over`);
      said.push(words);
    };
    const own = (operation: string, message: unknown): unknown =>
      travelled(`"${kind.name}.${operation}"`, kind.shapes.get(operation)!.message, message);

    const current: Turn<any, any> = {
      key,
      now_ms,
      random: next,
      state: activation.state,
      park: () => envelope.reply_to,
      answer(to: string, reply: unknown) {
        const operation = to.slice(0, to.indexOf("#"));
        const shape = replies.get(operation);
        const copy = shape ? travelled(`the answer to "${operation}"`, shape, reply) : reply;
        say(() => answer(activation, to, copy));
      },
      tell(of, to, operation, message) {
        const { message: shape } = shapesOf(of, operation);
        const copy = travelled(`"${of.name}.${operation}"`, shape, message);
        say(() => post.tell(of as Actor["contract"], to, operation, copy));
      },
      wake(at_ms, operation, message) {
        const copy = own(operation, message);
        say(() => wake(activation, at_ms, operation, copy));
      },
      start(operation, work) {
        say(() => start(activation, operation, work as Work));
      },
    };

    let kept: unknown;
    try {
      const reply = kind.actor.on[operationOf(kind, envelope)]!(current, envelope.message);
      if (reply !== PARKED) {
        if (kind.shapes.get(envelope.operation)!.kind === "ask")
          current.answer(envelope.reply_to, reply as never);
        else say(() => heard(activation, envelope));
      }
      kept = kind.actor.keep?.(current.state);
    } catch (problem) {
      return fail(activation, envelope, problem);
    }
    spoken = true;
    if (kept === activation.kept) {
      activation.state = current.state;
      speak(activation, said);
      return rest(kind.holding);
    }

    activation.phase = "storing";
    store(activation, kept, now_ms).then(
      () => {
        if (activation.phase === "over") return orphaned(activation, envelope);
        activation.state = current.state;
        activation.phase = "idle";
        speak(activation, said);
        schedule(activation);
        rest(kind.holding);
      },
      (problem: unknown) => {
        if (activation.phase === "over") orphaned(activation, envelope);
        else fail(activation, envelope, problem);
      },
    );
  }

  /** Its activation ended while the turn was being stored: an asker was told then, and a tell is not sent again. */
  function orphaned({ kind }: Activation, envelope: Envelope): void {
    if (kind.holding.mode !== "over" && envelope.reply_to === "") envelope.settle?.("given_up");
    rest(kind.holding);
  }

  async function store(activation: Activation, kept: unknown, now_ms: number): Promise<void> {
    const { kind, key, version } = activation;
    const duty = kind.actor.due?.(kept) ?? null;
    const extra = duty ? { tag: dutyTag(partitionOf(kind.actor.contract.place, key)) } : undefined;
    if (!(await documents.put(kind.name, key, kept, version, extra)))
      throw new Fault("lease_lost", `Cannot keep "${kind.name}/${key}": another node wrote it`);
    activation.kept = kept;
    activation.version = version + 1;
    if (kind.actor.due && activation.phase !== "over") oblige(kind, key, duty, now_ms, activation.rang_ms);
  }

  function speak(activation: Activation, said: readonly (() => void)[]): void {
    for (const words of said) {
      try {
        words();
      } catch (problem) {
        // Not the actor's doing: what it said was checked when it said it.
        meters.say("error", "Words of a turn got lost", {
          actor: activation.kind.name,
          key: activation.key,
          problem,
        });
      }
    }
  }

  function answer(activation: Activation, to: string, reply: unknown): void {
    post.reply(to, { reply });
    const envelope = activation.open?.get(to);
    if (!envelope) return;
    if (envelope.repeatable) {
      const chars = JSON.stringify(reply)?.length ?? 0;
      answered.set(to, { reply, chars: chars + 1 });
    }
    release(activation, envelope, "heard");
  }

  /** The turn of a tell is stored. */
  function heard(activation: Activation, envelope: Envelope): void {
    if (envelope.reply_to !== "") post.reply(envelope.reply_to, { reply: undefined });
    release(activation, envelope, "heard");
  }

  function release(activation: Activation, envelope: Envelope, how: Settled): void {
    if (envelope.reply_to !== "") activation.open?.delete(envelope.reply_to);
    envelope.settle?.(how);
  }

  // --- alarms, duties and work -----------------------------------------------------------------------------------

  function hear(activation: Activation, envelope: Envelope): void {
    if (activation.phase === "over") return;
    activation.kind.holding.busy++;
    if (activation.queue === NO_QUEUE) activation.queue = [envelope];
    else activation.queue.push(envelope);
    schedule(activation);
  }

  function wake(activation: Activation, at_ms: number, operation: string, message: unknown): void {
    activation.alarms ??= new Map();
    activation.alarms.get(operation)?.[Symbol.dispose]();
    const alarm = clock.at(at_ms, () => {
      activation.alarms!.delete(operation);
      hear(activation, ownEnvelope(operation, message));
    });
    activation.alarms.set(operation, alarm);
  }

  function oblige(
    kind: Kind,
    key: string,
    duty: { at_ms: number; operation: string; message: unknown } | null,
    now_ms: number,
    rang_ms = -1,
  ): void {
    const before = kind.duties.get(key);
    if (before && duty && before.at_ms === duty.at_ms) return;
    before?.alarm[Symbol.dispose]();
    kind.duties.delete(key);
    if (!duty) return;
    // A duty that is due again for the very time it rang would ring for ever.
    const at_ms = duty.at_ms === rang_ms ? now_ms + DUTY_AGAIN_MS : duty.at_ms;
    const alarm = clock.at(at_ms, () => perform(kind, key, duty));
    kind.duties.set(key, { at_ms: duty.at_ms, alarm });
  }

  function perform(
    kind: Kind,
    key: string,
    duty: { at_ms: number; operation: string; message: unknown },
  ): void {
    kind.duties.delete(key);
    if (kind.holding.mode !== "open") return;
    let message: unknown;
    try {
      message = travelled(
        `"${kind.name}.${duty.operation}"`,
        kind.shapes.get(duty.operation)!.message,
        duty.message,
      );
    } catch (problem) {
      return broke(kind.name, key, duty.operation, problem);
    }
    const activation = activate(kind, key);
    activation.rang_ms = duty.at_ms;
    const settle = (how: Settled): void => {
      const now_ms = clock.now();
      if (how === "given_up") oblige(kind, key, { ...duty, at_ms: now_ms + DUTY_PAUSE_MS }, now_ms);
      // Whether it was done is seen in what is kept: the same duty again is rung again, a little later.
      else if (kind.holding.mode === "open" && !kind.duties.has(key))
        oblige(kind, key, kind.actor.due!(activation.kept as never), now_ms, duty.at_ms);
    };
    hear(activation, { ...ownEnvelope(duty.operation, message), settle });
  }

  type Work = (ask: Say, held: Held) => Promise<unknown>;

  function start(activation: Activation, operation: string, work: Work): void {
    const { kind, key } = activation;
    const { holding } = kind;
    // A holding that slows down starts nothing: who has duties begins again elsewhere or later.
    if (activation.phase === "over" || holding.mode !== "open") return;
    activation.works++;
    holding.busy++;
    activation.stop ??= new AbortController();
    const { signal } = activation.stop;
    const mayStart = (): boolean =>
      activation.phase !== "over" && holding.mode === "open" && holding.grounds.mayStart();
    const ended = (): void => {
      activation.works--;
      activation.last_ms = clock.now();
      rest(holding);
    };
    // Inside a promise, so that a throw before the first await is no different from one after it.
    void Promise.resolve()
      .then(() => work(holding.grounds.ask, { signal, mayStart, epoch: holding.grounds.epoch }))
      .then((words) => travelled(`"${kind.name}.${operation}"`, kind.shapes.get(operation)!.message, words))
      .then(
        (message) => {
          hear(activation, ownEnvelope(operation, message));
          ended();
        },
        (problem: unknown) => {
          ended();
          if (activation.phase === "over") return;
          // While it moves, its work is refused what it asks for and begun again by the next owner: nothing broke.
          if (holding.mode === "open" || !isMoved(problem)) broke(kind.name, key, operation, problem);
          end(activation, asFault(problem, `Cannot answer for "${kind.name}/${key}": its work broke`));
        },
      );
  }

  function rest(holding: HoldingState): void {
    holding.busy--;
    if (holding.busy === 0) for (const quieted of holding.quieted.splice(0)) quieted();
  }

  // --- when something broke ----------------------------------------------------------------------------------------

  function broke(name: string, key: string, operation: string, problem: unknown): void {
    meters.count("trawl_actor_failures_total", { kind: name });
    // Neither the message nor the memory: they may hold what no log should.
    meters.say("error", "A turn broke", { actor: name, key, operation, problem });
  }

  /** A turn that failed ends its activation: whoever waits is told, and the next message begins from what was stored. */
  function fail(activation: Activation, envelope: Envelope, problem: unknown): void {
    const { kind, key } = activation;
    broke(kind.name, key, envelope.operation, problem);
    envelope.throws++;
    // The bus would bring it to the next owner, too; a mistake of ours would only be made again.
    const ours = problem instanceof Fault && !envelope.local;
    const again = (envelope.reply_to === "" || ours) && envelope.throws < MAX_THROWS;
    if (again) activation.queue.unshift(envelope);
    else if (envelope.reply_to === "") {
      meters.say("error", "A message was given up", { actor: kind.name, key, operation: envelope.operation });
      envelope.settle?.("given_up");
    }
    end(activation, asFault(problem, `Cannot answer for "${kind.name}/${key}"`), again ? THROW_PAUSE_MS : 0);
    if (!again) rest(kind.holding);
  }

  function silence(activation: Activation): void {
    activation.phase = "over";
    for (const alarm of activation.alarms?.values() ?? []) alarm[Symbol.dispose]();
    activation.stop?.abort();
  }

  function end(activation: Activation, fault: Fault, pause_ms = 0): void {
    const { kind, key, queue } = activation;
    silence(activation);
    kind.activations.delete(key);
    // Those whose question was begun are told; what nobody has looked at yet goes to the next activation.
    const waiting = new Set(queue.map(({ reply_to }) => reply_to));
    for (const [to, envelope] of activation.open ?? []) {
      if (waiting.has(to)) continue;
      // A closed holding says nothing: the next owner is asked the same.
      if (kind.holding.mode === "closed" && !envelope.local) continue;
      post.reply(to, { fault });
      envelope.settle?.("given_up");
    }
    if (queue.length === 0) return;
    const fresh = blank(kind, key);
    fresh.queue = queue;
    for (const envelope of queue) remember(fresh, envelope);
    kind.activations.set(key, fresh);
    if (pause_ms === 0) load(fresh);
    else clock.at(clock.now() + pause_ms, () => load(fresh));
  }

  // --- waking and putting away ---------------------------------------------------------------------------------------

  const blank = (kind: Kind, key: string): Activation => ({
    kind,
    key,
    phase: "loading",
    scheduled: false,
    state: undefined,
    kept: undefined,
    version: 0,
    last_ms: clock.now(),
    works: 0,
    queue: NO_QUEUE,
    open: null,
    alarms: null,
    stop: null,
    rang_ms: -1,
  });

  function activate(kind: Kind, key: string): Activation {
    const known = kind.activations.get(key);
    if (known) return known;
    const fresh = blank(kind, key);
    kind.activations.set(key, fresh);
    load(fresh);
    sweepSoon();
    return fresh;
  }

  function load(activation: Activation): void {
    const { kind, key } = activation;
    if (activation.phase === "over") return;
    if (!kind.actor.keep) return begin(activation, null, 0);
    documents.get(kind.name, key).then(
      (stored) => begin(activation, stored?.value ?? null, stored?.version ?? 0),
      (problem: unknown) => unloadable(activation, problem),
    );
  }

  function begin(activation: Activation, value: unknown, version: number): void {
    if (activation.phase === "over") return;
    const { kind, key } = activation;
    try {
      const now_ms = clock.now();
      activation.version = version;
      activation.state = kind.actor.begin(value as never, { key, now_ms });
      activation.kept = kind.actor.keep?.(activation.state);
      if (kind.actor.due && value !== null && !kind.duties.has(key))
        oblige(kind, key, kind.actor.due(value as never), now_ms);
    } catch (problem) {
      return unloadable(activation, problem);
    }
    activation.phase = "idle";
    schedule(activation);
  }

  /** Nothing can be done for this key at the moment: askers are told, tells wait and are tried again. */
  function unloadable(activation: Activation, problem: unknown): void {
    if (activation.phase === "over") return;
    const { kind, key, queue } = activation;
    broke(kind.name, key, "begin", problem);
    activation.queue = queue.filter((envelope) => {
      envelope.throws++;
      if (envelope.reply_to === "" && envelope.throws < MAX_THROWS) return true;
      if (envelope.reply_to === "") envelope.settle?.("given_up");
      rest(kind.holding);
      return false;
    });
    end(
      activation,
      asFault(problem, `Cannot answer for "${kind.name}/${key}": its memory cannot be read`),
      THROW_PAUSE_MS,
    );
  }

  function remember(activation: Activation, envelope: Envelope): void {
    if (envelope.reply_to !== "") (activation.open ??= new Map()).set(envelope.reply_to, envelope);
  }

  let sweeping = false;
  let stopped = false;
  let sweep_alarm: Disposable | null = null;

  function sweepSoon(): void {
    if (sweeping || stopped) return;
    sweeping = true;
    sweep_alarm = clock.at(clock.now() + SWEEP_MS, () => sweep(everyone()));
  }

  function* everyone(): Generator<Activation> {
    for (const { kinds } of holdings)
      for (const { activations } of kinds.values()) yield* activations.values();
  }

  function sweep(rest_of: Generator<Activation>): void {
    const now_ms = clock.now();
    for (let looked = 0; looked < MAX_SWEEP; looked++) {
      const { value: activation, done } = rest_of.next();
      if (done) {
        sweeping = false;
        gauge();
        if (!everyone().next().done) sweepSoon();
        return;
      }
      for (const envelope of activation.open?.values() ?? [])
        // Parked and never answered: nobody waits any more.
        if (now_ms >= envelope.deadline_ms && !activation.queue.includes(envelope))
          release(activation, envelope, "late");
      if (mayRest(activation, now_ms)) {
        activation.phase = "over";
        activation.kind.activations.delete(activation.key);
      }
    }
    sweep_alarm = clock.at(now_ms + BREATH_MS, () => sweep(rest_of));
  }

  /** Nothing heard for a while, nothing waiting, nobody owed an answer: all it knows is stored. */
  const mayRest = (activation: Activation, now_ms: number): boolean =>
    activation.phase === "idle" &&
    now_ms - activation.last_ms >= activation.kind.actor.idle_ms &&
    activation.queue.length === 0 &&
    activation.works === 0 &&
    (activation.open?.size ?? 0) === 0 &&
    (activation.alarms?.size ?? 0) === 0;

  function stats(): NodeStats {
    const activations: Record<string, number> = {};
    const waiting: Record<string, number> = {};
    let works = 0;
    for (const { name } of catalogue) activations[name] = waiting[name] = 0;
    for (const activation of everyone()) {
      activations[activation.kind.name]!++;
      waiting[activation.kind.name]! += activation.queue.length;
      works += activation.works;
    }
    return { activations, waiting, works };
  }

  function gauge(): void {
    const { activations, waiting } = stats();
    for (const { name } of catalogue) {
      meters.gauge("trawl_actor_activations", { kind: name }, activations[name]!);
      meters.gauge("trawl_actor_mailbox_depth", { kind: name }, waiting[name]!);
    }
  }

  // --- holdings ------------------------------------------------------------------------------------------------------

  let looking = 0;
  const looks: (() => void)[] = [];

  /** A node that takes over many partitions at once leaves some of the store's connections to others. */
  async function inTurn<T>(look: () => Promise<T>): Promise<T> {
    if (looking >= LOOKS_AT_ONCE) await new Promise<void>((resolve) => looks.push(resolve));
    looking++;
    try {
      return await look();
    } finally {
      looking--;
      looks.shift()?.();
    }
  }

  function hold(grounds: Grounds): Holding {
    const kinds = new Map<string, Kind>();
    const holding: HoldingState = { kinds, grounds, mode: "open", busy: 0, quieted: [] };
    for (const { actor, name, shapes } of catalogue)
      kinds.set(name, { holding, actor, name, shapes, activations: new Map(), duties: new Map() });
    holdings.add(holding);

    function take(name: string, key: string, envelope: Envelope): void {
      const kind = kinds.get(name);
      if (!kind)
        throw new TypeError(`Cannot take a message for actor "${name}": it is not part of this node`);
      const { reply_to } = envelope;
      // What is in flight may still say how it ended: a slot that is not handed back would be missing elsewhere.
      const isLast = holding.mode === "closed" && envelope.local && isTell(kind, envelope);
      if (!isLast && (holding.mode === "closed" || holding.mode === "over")) {
        if (envelope.local) throw moved(kind, key);
        return;
      }
      const before = envelope.repeatable ? answered.get(reply_to) : undefined;
      if (before) {
        post.reply(reply_to, { reply: before.reply });
        return envelope.settle?.("heard");
      }
      const activation = activate(kind, key);
      if (reply_to !== "") {
        // Asked again while it is open: answered once, with the first.
        if (activation.open?.has(reply_to)) return envelope.settle?.("heard");
        const waits = envelope.local && kind.shapes.get(envelope.operation)?.kind === "ask";
        if (waits && (activation.open?.size ?? 0) >= MAX_ASKS) throw full(kind, key, MAX_ASKS);
      }
      // What the bus brought was counted there.
      if (envelope.local && activation.queue.length >= MAX_TELLS) throw full(kind, key, MAX_TELLS);
      remember(activation, envelope);
      hear(activation, envelope);
    }

    async function recover(partitions: Iterable<number>): Promise<void> {
      for (const kind of kinds.values()) {
        if (!kind.actor.due) continue;
        for (const partition of partitions)
          for (let from = ""; ;) {
            const range = { tag: dutyTag(partition), from, limit: MAX_RECOVER };
            const found = await inTurn(() => documents.list(kind.name, range));
            if (holding.mode === "over") return;
            for (const { key, value } of found)
              if (!kind.duties.has(key)) oblige(kind, key, kind.actor.due(value as never), clock.now());
            if (found.length < MAX_RECOVER) break;
            from = `${found.at(-1)!.key}\0`;
          }
      }
    }

    function drop(farewell: Farewell): void {
      holding.mode = "over";
      holdings.delete(holding);
      for (const kind of kinds.values()) {
        for (const { alarm } of kind.duties.values()) alarm[Symbol.dispose]();
        kind.duties.clear();
        for (const activation of kind.activations.values()) {
          silence(activation);
          if (farewell === "quietly") continue;
          for (const to of activation.open?.keys() ?? []) post.reply(to, { fault: farewell });
        }
        kind.activations.clear();
      }
      for (const quieted of holding.quieted.splice(0)) quieted();
    }

    return {
      take,
      recover,
      drop,
      slow: () => void (holding.mode = "slow"),
      close() {
        holding.mode = "closed";
        for (const kind of kinds.values())
          for (const activation of kind.activations.values()) {
            const own = activation.queue.filter((envelope) => envelope.local && isTell(kind, envelope));
            const left = activation.queue.length - own.length;
            activation.queue = own;
            for (const [to, envelope] of activation.open ?? []) {
              if (!envelope.local || isTell(kind, envelope)) continue;
              activation.open!.delete(to);
              post.reply(to, { fault: moved(kind, activation.key) });
            }
            for (let n = 0; n < left; n++) rest(holding);
          }
      },
      quiet: () =>
        new Promise((resolve) => {
          if (holding.busy === 0) resolve();
          else holding.quieted.push(resolve);
        }),
      unsettled() {
        let count = 0;
        for (const { activations } of kinds.values())
          for (const { queue, open } of activations.values())
            count += queue.filter(({ reply_to }) => reply_to === "").length + (open?.size ?? 0);
        return count;
      },
    };
  }

  return {
    hold,
    knows: (name) => catalogue.some((entry) => entry.name === name),
    stats,
    close() {
      stopped = true;
      sweep_alarm?.[Symbol.dispose]();
    },
  };
}

const MAX_RECOVER = 500;
const LOOKS_AT_ONCE = 4;

const isTell = ({ shapes }: Kind, { operation }: Envelope): boolean => shapes.get(operation)?.kind === "tell";

const isMoved = (problem: unknown): boolean => problem instanceof Fault && problem.code === "lease_lost";

function moved({ name }: Kind, key: string): Fault {
  return new Fault("lease_lost", `Cannot reach "${name}/${key}" here: it is moving to another node`);
}

function full(kind: Kind, key: string, most: number): Fault {
  return new Fault("mailbox_full", `Cannot reach "${kind.name}/${key}": ${most} messages wait there already`);
}
