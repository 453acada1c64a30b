/**
 * One process of the cluster: wakes actors, has them take one turn at a time, puts idle ones away.
 *
 * A turn thinks, then what the actor keeps is stored, then words leave. A *holding* is a set of keys this process
 * has, for as long as it has them: everything in an embedded node, one partition's in a cluster. Where a message
 * comes from and how it gets elsewhere is the assembly's business (embedded.ts, distributed.ts), which hands in
 * `reply`, `tell` and `ask`; this file never addresses anybody itself.
 */
import { LRUCache } from "lru-cache";
import { type Actor, type WorkContext, DEFERRED, type ActorClient, type Turn } from "./actor.ts";
import { type OperationValidators, validatorsOf, copyOverWire } from "./wire.ts";
import { partitionOf } from "./placement.ts";
import { MAX_MAILBOX_LENGTH } from "./ports/bus.ts";
import type { Clock } from "./ports/clock.ts";
import type { Documents } from "./ports/documents.ts";
import { Fault } from "./ports/fault.ts";
import type { Meters } from "./ports/meters.ts";
import type { Random } from "./ports/random.ts";

export interface NodeDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly documents: Documents;
  readonly meters: Meters;
}

/** What an asker is told: a reply that has been copied and checked, or what went wrong. */
export type Outcome = { readonly reply: unknown } | { readonly fault: Fault };

/** Why a message need not come again: what it came to is stored, nobody waits any more, or it broke too many turns. */
export type AckReason = "processed" | "expired" | "dead_lettered";

/** One message to one actor, copied and checked. */
export interface MailboxEntry {
  readonly operation: string;
  readonly message: unknown;
  /** Where the outcome goes; "" when nobody waits for one. */
  readonly reply_to: string;
  /** Whether the asker may ask once more under the same address: its answer is remembered for a while. */
  readonly isRepeatable: boolean;
  /** Nobody waits after this; Infinity for a tell. */
  readonly deadline_ms: number;
  /** Called once, when the message need not come again. null: it is one of the actor's own. */
  readonly ack: ((reason: AckReason) => void) | null;
  /** Whether its only copy is in this process; a letter of the bus is sent again to whoever holds the key next. */
  readonly isLocal: boolean;
  /** Turns it broke so far. */
  failed_attempts: number;
}

export interface Outbound {
  /** Tells the asker behind an address, wherever it is. Never throws; a lost outcome is asked for again. */
  readonly reply: (reply_to: string, outcome: Outcome) => void;
  /** Sends what a turn told another actor. Never throws; tries again while a mailbox is full. */
  readonly tell: (contract: Actor["contract"], key: string, operation: string, message: unknown) => void;
}

/** What an assembly says about the keys it hands to a holding. */
export interface ShardContext {
  /** Asked before each request to an origin; the holding adds its own no when it ends. */
  readonly ownsKeys: () => boolean;
  readonly epoch: number;
  /** For work started here. */
  readonly ask: ActorClient;
}

/** Why a holding ends: `quietly` its messages are somebody else's now; otherwise whoever waits is told. */
export type StopReason = "handed_off" | Fault;

export interface Shard {
  /** Puts a message into its actor's mailbox. Throws Fault mailbox_full. */
  readonly deliver: (name: string, key: string, entry: MailboxEntry) => void;
  /** Finds who has duties in these partitions and sees that they are woken. */
  readonly recover: (partitions: Iterable<number>) => Promise<void>;
  /** Starts no work any more and performs no duties; turns and running work go on. */
  readonly quiesce: () => void;
  /**
   * The same, and takes nothing more but what its own work still tells: what the bus brought and was not begun is
   * forgotten, local askers hear lease_lost.
   */
  readonly close: () => void;
  /** Resolves when no message waits, no turn is being stored and no work is running. */
  readonly drained: () => Promise<void>;
  /** Forgets everything and aborts what is in flight. */
  readonly drop: (reason: StopReason) => void;
  /** Messages that have been taken and not settled. */
  readonly unacknowledged: () => number;
}

interface Activation {
  readonly kind: Kind;
  readonly key: string;
  phase: "loading" | "idle" | "storing" | "over";
  is_scheduled: boolean;
  state: unknown;
  snapshot: unknown;
  version: number;
  last_ms: number;
  /** Work that was started and is not done. */
  running_work: number;
  queue: MailboxEntry[];
  /** Questions not answered yet, in the queue or parked; null until there is one. */
  open_asks: Map<string, MailboxEntry> | null;
  timers: Map<string, Disposable> | null;
  /** Aborted when the activation ends; null until work was started. */
  work_abort: AbortController | null;
  /** The time of the duty it performed last. */
  fired_reminder_ms: number;
}

interface ShardState {
  readonly context: ShardContext;
  readonly kinds: Map<string, Kind>;
  mode: "open" | "quiescing" | "closed" | "over";
  /** Messages waiting, turns being stored and works running. */
  in_flight: number;
  readonly drain_waiters: (() => void)[];
}

/** All actors of one contract within a holding. */
interface Kind {
  readonly shard: ShardState;
  readonly actor: Actor;
  readonly name: string;
  readonly validators: ReadonlyMap<string, OperationValidators>;
  readonly activations: Map<string, Activation>;
  readonly reminders: Map<string, { readonly at_ms: number; readonly timer: Disposable }>;
}

/** Questions one actor may have unanswered, and tells it may have unread; as on the bus (cluster.md, section 4). */
export const MAX_ASKS = MAX_MAILBOX_LENGTH.sync;
export const MAX_TELLS = MAX_MAILBOX_LENGTH.work;
/** A turn that throws is tried again for a tell, for an ask the asker decides. */
const MAX_ATTEMPTS = 5;
const RETRY_DELAY_MS = 250;
/** A duty whose turn broke so often, or that did not move its own time, is done again this much later. */
const REMINDER_RETRY_MS = 60_000;
const REMINDER_REPEAT_MS = 1_000;
/** Idle actors are looked for this often; an actor is put away at most this much late. */
const SWEEP_MS = 10_000;
/** So many are looked at in one go, 5 ms or so; then the loop has a breath. */
const MAX_SWEEP = 20_000;
const SWEEP_PAUSE_MS = 10;
/** Answers to repeatable questions that are remembered, and their letters of JSON. */
const MAX_REMEMBERED_ANSWERS = 10_000;
const MAX_REMEMBERED_CHARS = 32 * 2 ** 20;
const NO_QUEUE: MailboxEntry[] = [];

export interface Node {
  readonly openShard: (context: ShardContext) => Shard;
  readonly hasActor: (name: string) => boolean;
  /** Awake actors, waiting messages and running work. */
  readonly stats: () => NodeStats;
  readonly close: () => void;
}

export interface NodeStats {
  readonly activations: Readonly<Record<string, number>>;
  readonly waiting: Readonly<Record<string, number>>;
  readonly running_work: number;
}

/** The tag of documents whose actor has duties. */
const reminderTag = (partition: number): string => `reminder-${partition}`;

const asFault = (problem: unknown, text: string): Fault => new Fault("no_answer", text, { cause: problem });

function operationOf(kind: Kind, { operation }: MailboxEntry): string {
  if (!kind.validators.has(operation))
    throw new TypeError(`Actor "${kind.name}" has no operation "${operation}"`);
  return operation;
}

/** A message whose only copy is here and that nobody waits for: an alarm, what work came to, what a neighbour told. */
export const localEntry = (operation: string, message: unknown): MailboxEntry => ({
  operation,
  message,
  reply_to: "",
  isRepeatable: false,
  deadline_ms: Infinity,
  ack: null,
  isLocal: true,
  failed_attempts: 0,
});

export function node(
  actors: readonly Actor[],
  { clock, random, documents, meters }: NodeDeps,
  outbound: Outbound,
): Node {
  const catalogue = actors.map((actor) => {
    const { name, operations } = actor.contract;
    const validators = new Map(
      Object.keys(operations).map((operation) => [operation, validatorsOf(actor.contract, operation)]),
    );
    return { actor, name, shapes: validators };
  });
  /** By "contract.operation", as an address begins. */
  const replies = new Map(
    catalogue.flatMap(({ name, shapes: validators }) =>
      [...validators].map(([operation, { reply }]) => [`${name}.${operation}`, reply]),
    ),
  );
  const shards = new Set<ShardState>();
  const rememberedAnswers = new LRUCache<string, { readonly reply: unknown; readonly chars: number }>({
    max: MAX_REMEMBERED_ANSWERS,
    maxSize: MAX_REMEMBERED_CHARS,
    sizeCalculation: ({ chars }) => chars,
  });
  const nextRandom = () => random.next();

  // --- who runs next -------------------------------------------------------------------------------------------

  let runnable: Activation[] = [];
  let isRunning = false;

  function schedule(activation: Activation): void {
    if (activation.is_scheduled || activation.phase !== "idle" || activation.queue.length === 0) return;
    activation.is_scheduled = true;
    runnable.push(activation);
    if (isRunning) return;
    isRunning = true;
    queueMicrotask(run);
  }

  function run(): void {
    // One turn each, in the order in which they had something to do.
    for (let at = 0; at < runnable.length; at++) {
      const activation = runnable[at]!;
      activation.is_scheduled = false;
      if (activation.phase !== "idle" || activation.queue.length === 0) continue;
      turn(activation, activation.queue.shift()!);
      schedule(activation);
    }
    runnable = [];
    isRunning = false;
  }

  // --- one turn ------------------------------------------------------------------------------------------------

  function turn(activation: Activation, entry: MailboxEntry): void {
    const { kind, key } = activation;
    const now_ms = clock.now();
    if (now_ms >= entry.deadline_ms) {
      acknowledge(activation, entry, "expired");
      return finishOne(kind.shard);
    }
    activation.last_ms = now_ms;

    const outbox: (() => void)[] = [];
    let isOver = false;
    const addEffect = (effect: () => void): void => {
      if (isOver) throw new Error(`Cannot speak for "${kind.name}/${key}": its turn is over`);
      outbox.push(effect);
    };
    const copyOwnMessage = (operation: string, message: unknown): unknown =>
      copyOverWire(`"${kind.name}.${operation}"`, kind.validators.get(operation)!.message, message);

    const current: Turn<any, any> = {
      key,
      now_ms,
      random: nextRandom,
      state: activation.state,
      deferReply: () => entry.reply_to,
      answer(to: string, reply: unknown) {
        const operation = to.slice(0, to.indexOf("#"));
        const validator = replies.get(operation);
        const copy = validator ? copyOverWire(`the answer to "${operation}"`, validator, reply) : reply;
        addEffect(() => answer(activation, to, copy));
      },
      tell(of, to, operation, message) {
        const { message: validator } = validatorsOf(of, operation);
        const copy = copyOverWire(`"${of.name}.${operation}"`, validator, message);
        addEffect(() => outbound.tell(of as Actor["contract"], to, operation, copy));
      },
      setTimer(at_ms, operation, message) {
        const copy = copyOwnMessage(operation, message);
        addEffect(() => setTimer(activation, at_ms, operation, copy));
      },
      pipeToSelf(operation, work) {
        addEffect(() => startWork(activation, operation, work as BackgroundWork));
      },
    };

    let snapshot: unknown;
    try {
      const reply = kind.actor.on[operationOf(kind, entry)]!(current, entry.message);
      if (reply !== DEFERRED) {
        if (kind.validators.get(entry.operation)!.kind === "ask")
          current.answer(entry.reply_to, reply as never);
        else addEffect(() => completeTell(activation, entry));
      }
      snapshot = kind.actor.persist?.(current.state);
    } catch (problem) {
      return failTurn(activation, entry, problem);
    }
    isOver = true;
    if (snapshot === activation.snapshot) {
      activation.state = current.state;
      flushOutbox(activation, outbox);
      return finishOne(kind.shard);
    }

    activation.phase = "storing";
    store(activation, snapshot, now_ms).then(
      () => {
        if (activation.phase === "over") return discardOrphan(activation, entry);
        activation.state = current.state;
        activation.phase = "idle";
        flushOutbox(activation, outbox);
        schedule(activation);
        finishOne(kind.shard);
      },
      (problem: unknown) => {
        if (activation.phase === "over") discardOrphan(activation, entry);
        else failTurn(activation, entry, problem);
      },
    );
  }

  /** Its activation ended while the turn was being stored: an asker was told then, and a tell is not sent again. */
  function discardOrphan({ kind }: Activation, entry: MailboxEntry): void {
    if (kind.shard.mode !== "over" && entry.reply_to === "") entry.ack?.("dead_lettered");
    finishOne(kind.shard);
  }

  async function store(activation: Activation, snapshot: unknown, now_ms: number): Promise<void> {
    const { kind, key, version } = activation;
    const reminder = kind.actor.reminder?.(snapshot) ?? null;
    const extra = reminder ? { tag: reminderTag(partitionOf(kind.actor.contract.shard_by, key)) } : undefined;
    if (!(await documents.put(kind.name, key, snapshot, version, extra)))
      throw new Fault("lease_lost", `Cannot keep "${kind.name}/${key}": another node wrote it`);
    activation.snapshot = snapshot;
    activation.version = version + 1;
    if (kind.actor.reminder && activation.phase !== "over")
      scheduleReminder(kind, key, reminder, now_ms, activation.fired_reminder_ms);
  }

  function flushOutbox(activation: Activation, outbox: readonly (() => void)[]): void {
    for (const effect of outbox) {
      try {
        effect();
      } catch (problem) {
        // Not the actor's doing: what it said was checked when it said it.
        meters.say("error", "An effect of a turn was lost", {
          actor: activation.kind.name,
          key: activation.key,
          problem,
        });
      }
    }
  }

  function answer(activation: Activation, to: string, reply: unknown): void {
    outbound.reply(to, { reply });
    const entry = activation.open_asks?.get(to);
    if (!entry) return;
    if (entry.isRepeatable) {
      const chars = JSON.stringify(reply)?.length ?? 0;
      rememberedAnswers.set(to, { reply, chars: chars + 1 });
    }
    acknowledge(activation, entry, "processed");
  }

  /** The turn of a tell is stored. */
  function completeTell(activation: Activation, entry: MailboxEntry): void {
    if (entry.reply_to !== "") outbound.reply(entry.reply_to, { reply: undefined });
    acknowledge(activation, entry, "processed");
  }

  function acknowledge(activation: Activation, entry: MailboxEntry, reason: AckReason): void {
    if (entry.reply_to !== "") activation.open_asks?.delete(entry.reply_to);
    entry.ack?.(reason);
  }

  // --- alarms, duties and work -----------------------------------------------------------------------------------

  function enqueue(activation: Activation, entry: MailboxEntry): void {
    if (activation.phase === "over") return;
    activation.kind.shard.in_flight++;
    if (activation.queue === NO_QUEUE) activation.queue = [entry];
    else activation.queue.push(entry);
    schedule(activation);
  }

  function setTimer(activation: Activation, at_ms: number, operation: string, message: unknown): void {
    activation.timers ??= new Map();
    activation.timers.get(operation)?.[Symbol.dispose]();
    const timer = clock.at(at_ms, () => {
      activation.timers!.delete(operation);
      enqueue(activation, localEntry(operation, message));
    });
    activation.timers.set(operation, timer);
  }

  function scheduleReminder(
    kind: Kind,
    key: string,
    reminder: { at_ms: number; operation: string; message: unknown } | null,
    now_ms: number,
    rang_ms = -1,
  ): void {
    const existing = kind.reminders.get(key);
    if (existing && reminder && existing.at_ms === reminder.at_ms) return;
    existing?.timer[Symbol.dispose]();
    kind.reminders.delete(key);
    if (!reminder) return;
    // A duty that is due again for the very time it rang would ring for ever.
    const at_ms = reminder.at_ms === rang_ms ? now_ms + REMINDER_REPEAT_MS : reminder.at_ms;
    const timer = clock.at(at_ms, () => fireReminder(kind, key, reminder));
    kind.reminders.set(key, { at_ms: reminder.at_ms, timer });
  }

  function fireReminder(
    kind: Kind,
    key: string,
    reminder: { at_ms: number; operation: string; message: unknown },
  ): void {
    kind.reminders.delete(key);
    if (kind.shard.mode !== "open") return;
    let message: unknown;
    try {
      message = copyOverWire(
        `"${kind.name}.${reminder.operation}"`,
        kind.validators.get(reminder.operation)!.message,
        reminder.message,
      );
    } catch (problem) {
      return reportFailure(kind.name, key, reminder.operation, problem);
    }
    const activation = activationFor(kind, key);
    activation.fired_reminder_ms = reminder.at_ms;
    const ack = (reason: AckReason): void => {
      const now_ms = clock.now();
      if (reason === "dead_lettered")
        scheduleReminder(kind, key, { ...reminder, at_ms: now_ms + REMINDER_RETRY_MS }, now_ms);
      // Whether it was done is seen in what is kept: the same duty again is rung again, a little later.
      else if (kind.shard.mode === "open" && !kind.reminders.has(key))
        scheduleReminder(
          kind,
          key,
          kind.actor.reminder!(activation.snapshot as never),
          now_ms,
          reminder.at_ms,
        );
    };
    enqueue(activation, { ...localEntry(reminder.operation, message), ack });
  }

  type BackgroundWork = (ask: ActorClient, context: WorkContext) => Promise<unknown>;

  function startWork(activation: Activation, operation: string, work: BackgroundWork): void {
    const { kind, key } = activation;
    const { shard } = kind;
    // A holding that slows down starts nothing: who has duties begins again elsewhere or later.
    if (activation.phase === "over" || shard.mode !== "open") return;
    activation.running_work++;
    shard.in_flight++;
    activation.work_abort ??= new AbortController();
    const { signal } = activation.work_abort;
    const ownsKey = (): boolean =>
      activation.phase !== "over" && shard.mode === "open" && shard.context.ownsKeys();
    const onWorkEnded = (): void => {
      activation.running_work--;
      activation.last_ms = clock.now();
      finishOne(shard);
    };
    // Inside a promise, so that a throw before the first await is no different from one after it.
    void Promise.resolve()
      .then(() => work(shard.context.ask, { signal, ownsKey, epoch: shard.context.epoch }))
      .then((words) =>
        copyOverWire(`"${kind.name}.${operation}"`, kind.validators.get(operation)!.message, words),
      )
      .then(
        (message) => {
          enqueue(activation, localEntry(operation, message));
          onWorkEnded();
        },
        (problem: unknown) => {
          onWorkEnded();
          if (activation.phase === "over") return;
          // While it moves, its work is refused what it asks for and begun again by the next owner: nothing broke.
          if (shard.mode === "open" || !isLeaseLost(problem))
            reportFailure(kind.name, key, operation, problem);
          failActivation(
            activation,
            asFault(problem, `Cannot answer for "${kind.name}/${key}": its work broke`),
          );
        },
      );
  }

  function finishOne(shard: ShardState): void {
    shard.in_flight--;
    if (shard.in_flight === 0) for (const resolve of shard.drain_waiters.splice(0)) resolve();
  }

  // --- when something broke ----------------------------------------------------------------------------------------

  function reportFailure(name: string, key: string, operation: string, problem: unknown): void {
    meters.count("trawl_actor_failures_total", { kind: name });
    // Neither the message nor the memory: they may hold what no log should.
    meters.say("error", "A turn broke", { actor: name, key, operation, problem });
  }

  /** A turn that failed ends its activation: whoever waits is told, and the next message begins from what was stored. */
  function failTurn(activation: Activation, entry: MailboxEntry, problem: unknown): void {
    const { kind, key } = activation;
    reportFailure(kind.name, key, entry.operation, problem);
    entry.failed_attempts++;
    // The bus would bring it to the next owner, too; a mistake of ours would only be made again.
    const isRedelivered = problem instanceof Fault && !entry.isLocal;
    const willRetry = (entry.reply_to === "" || isRedelivered) && entry.failed_attempts < MAX_ATTEMPTS;
    if (willRetry) activation.queue.unshift(entry);
    else if (entry.reply_to === "") {
      meters.say("error", "A message was dead-lettered", {
        actor: kind.name,
        key,
        operation: entry.operation,
      });
      entry.ack?.("dead_lettered");
    }
    failActivation(
      activation,
      asFault(problem, `Cannot answer for "${kind.name}/${key}"`),
      willRetry ? RETRY_DELAY_MS : 0,
    );
    if (!willRetry) finishOne(kind.shard);
  }

  function deactivate(activation: Activation): void {
    activation.phase = "over";
    for (const timer of activation.timers?.values() ?? []) timer[Symbol.dispose]();
    activation.work_abort?.abort();
  }

  function failActivation(activation: Activation, fault: Fault, pause_ms = 0): void {
    const { kind, key, queue } = activation;
    deactivate(activation);
    kind.activations.delete(key);
    // Those whose question was begun are told; what nobody has looked at yet goes to the next activation.
    const queued = new Set(queue.map(({ reply_to }) => reply_to));
    for (const [to, entry] of activation.open_asks ?? []) {
      if (queued.has(to)) continue;
      // A closed holding says nothing: the next owner is asked the same.
      if (kind.shard.mode === "closed" && !entry.isLocal) continue;
      outbound.reply(to, { fault });
      entry.ack?.("dead_lettered");
    }
    if (queue.length === 0) return;
    const successor = newActivation(kind, key);
    successor.queue = queue;
    for (const entry of queue) trackAsk(successor, entry);
    kind.activations.set(key, successor);
    if (pause_ms === 0) load(successor);
    else clock.at(clock.now() + pause_ms, () => load(successor));
  }

  // --- waking and putting away ---------------------------------------------------------------------------------------

  const newActivation = (kind: Kind, key: string): Activation => ({
    kind,
    key,
    phase: "loading",
    is_scheduled: false,
    state: undefined,
    snapshot: undefined,
    version: 0,
    last_ms: clock.now(),
    running_work: 0,
    queue: NO_QUEUE,
    open_asks: null,
    timers: null,
    work_abort: null,
    fired_reminder_ms: -1,
  });

  function activationFor(kind: Kind, key: string): Activation {
    const existing = kind.activations.get(key);
    if (existing) return existing;
    const activation = newActivation(kind, key);
    kind.activations.set(key, activation);
    load(activation);
    scheduleSweep();
    return activation;
  }

  function load(activation: Activation): void {
    const { kind, key } = activation;
    if (activation.phase === "over") return;
    if (!kind.actor.persist) return activate(activation, null, 0);
    documents.get(kind.name, key).then(
      (stored) => activate(activation, stored?.value ?? null, stored?.version ?? 0),
      (problem: unknown) => failLoad(activation, problem),
    );
  }

  function activate(activation: Activation, value: unknown, version: number): void {
    if (activation.phase === "over") return;
    const { kind, key } = activation;
    try {
      const now_ms = clock.now();
      activation.version = version;
      activation.state = kind.actor.activate(value as never, { key, now_ms });
      activation.snapshot = kind.actor.persist?.(activation.state);
      if (kind.actor.reminder && value !== null && !kind.reminders.has(key))
        scheduleReminder(kind, key, kind.actor.reminder(value as never), now_ms);
    } catch (problem) {
      return failLoad(activation, problem);
    }
    activation.phase = "idle";
    schedule(activation);
  }

  /** Nothing can be done for this key at the moment: askers are told, tells wait and are tried again. */
  function failLoad(activation: Activation, problem: unknown): void {
    if (activation.phase === "over") return;
    const { kind, key, queue } = activation;
    reportFailure(kind.name, key, "activate", problem);
    activation.queue = queue.filter((entry) => {
      entry.failed_attempts++;
      if (entry.reply_to === "" && entry.failed_attempts < MAX_ATTEMPTS) return true;
      if (entry.reply_to === "") entry.ack?.("dead_lettered");
      finishOne(kind.shard);
      return false;
    });
    failActivation(
      activation,
      asFault(problem, `Cannot answer for "${kind.name}/${key}": its memory cannot be read`),
      RETRY_DELAY_MS,
    );
  }

  function trackAsk(activation: Activation, entry: MailboxEntry): void {
    if (entry.reply_to !== "") (activation.open_asks ??= new Map()).set(entry.reply_to, entry);
  }

  let isSweeping = false;
  let isClosed = false;
  let sweep_alarm: Disposable | null = null;

  function scheduleSweep(): void {
    if (isSweeping || isClosed) return;
    isSweeping = true;
    sweep_alarm = clock.at(clock.now() + SWEEP_MS, () => sweep(allActivations()));
  }

  function* allActivations(): Generator<Activation> {
    for (const { kinds } of shards) for (const { activations } of kinds.values()) yield* activations.values();
  }

  function sweep(remaining: Generator<Activation>): void {
    const now_ms = clock.now();
    for (let checked = 0; checked < MAX_SWEEP; checked++) {
      const { value: activation, done } = remaining.next();
      if (done) {
        isSweeping = false;
        reportGauges();
        if (!allActivations().next().done) scheduleSweep();
        return;
      }
      for (const entry of activation.open_asks?.values() ?? [])
        // Parked and never answered: nobody waits any more.
        if (now_ms >= entry.deadline_ms && !activation.queue.includes(entry))
          acknowledge(activation, entry, "expired");
      if (canPassivate(activation, now_ms)) {
        activation.phase = "over";
        activation.kind.activations.delete(activation.key);
      }
    }
    sweep_alarm = clock.at(now_ms + SWEEP_PAUSE_MS, () => sweep(remaining));
  }

  /** Nothing heard for a while, nothing waiting, nobody owed an answer: all it knows is stored. */
  const canPassivate = (activation: Activation, now_ms: number): boolean =>
    activation.phase === "idle" &&
    now_ms - activation.last_ms >= activation.kind.actor.passivate_after_ms &&
    activation.queue.length === 0 &&
    activation.running_work === 0 &&
    (activation.open_asks?.size ?? 0) === 0 &&
    (activation.timers?.size ?? 0) === 0;

  function stats(): NodeStats {
    const activations: Record<string, number> = {};
    const waiting: Record<string, number> = {};
    let works = 0;
    for (const { name } of catalogue) activations[name] = waiting[name] = 0;
    for (const activation of allActivations()) {
      activations[activation.kind.name]!++;
      waiting[activation.kind.name]! += activation.queue.length;
      works += activation.running_work;
    }
    return { activations, waiting, running_work: works };
  }

  function reportGauges(): void {
    const { activations, waiting } = stats();
    for (const { name } of catalogue) {
      meters.gauge("trawl_actor_activations", { kind: name }, activations[name]!);
      meters.gauge("trawl_actor_mailbox_depth", { kind: name }, waiting[name]!);
    }
  }

  // --- holdings ------------------------------------------------------------------------------------------------------

  let recovering = 0;
  const recoveryWaiters: (() => void)[] = [];

  /** A node that takes over many partitions at once leaves some of the store's connections to others. */
  async function limitRecoveries<T>(query: () => Promise<T>): Promise<T> {
    if (recovering >= MAX_CONCURRENT_RECOVERIES)
      await new Promise<void>((resolve) => recoveryWaiters.push(resolve));
    recovering++;
    try {
      return await query();
    } finally {
      recovering--;
      recoveryWaiters.shift()?.();
    }
  }

  function openShard(context: ShardContext): Shard {
    const kinds = new Map<string, Kind>();
    const shard: ShardState = { kinds, context, mode: "open", in_flight: 0, drain_waiters: [] };
    for (const { actor, name, shapes: validators } of catalogue)
      kinds.set(name, { shard, actor, name, validators, activations: new Map(), reminders: new Map() });
    shards.add(shard);

    function deliver(name: string, key: string, entry: MailboxEntry): void {
      const kind = kinds.get(name);
      if (!kind)
        throw new TypeError(`Cannot take a message for actor "${name}": it is not part of this node`);
      const { reply_to } = entry;
      // What is in flight may still say how it ended: a slot that is not handed back would be missing elsewhere.
      const isLast = shard.mode === "closed" && entry.isLocal && isTell(kind, entry);
      if (!isLast && (shard.mode === "closed" || shard.mode === "over")) {
        if (entry.isLocal) throw leaseLost(kind, key);
        return;
      }
      const remembered = entry.isRepeatable ? rememberedAnswers.get(reply_to) : undefined;
      if (remembered) {
        outbound.reply(reply_to, { reply: remembered.reply });
        return entry.ack?.("processed");
      }
      const activation = activationFor(kind, key);
      if (reply_to !== "") {
        // Asked again while it is open: answered once, with the first.
        if (activation.open_asks?.has(reply_to)) return entry.ack?.("processed");
        const isAsk = entry.isLocal && kind.validators.get(entry.operation)?.kind === "ask";
        if (isAsk && (activation.open_asks?.size ?? 0) >= MAX_ASKS) throw mailboxFull(kind, key, MAX_ASKS);
      }
      // What the bus brought was counted there.
      if (entry.isLocal && activation.queue.length >= MAX_TELLS) throw mailboxFull(kind, key, MAX_TELLS);
      trackAsk(activation, entry);
      enqueue(activation, entry);
    }

    async function recover(partitions: Iterable<number>): Promise<void> {
      for (const kind of kinds.values()) {
        if (!kind.actor.reminder) continue;
        for (const partition of partitions)
          for (let from = ""; ;) {
            const range = { tag: reminderTag(partition), from, limit: MAX_RECOVER };
            const page = await limitRecoveries(() => documents.list(kind.name, range));
            if (shard.mode === "over") return;
            for (const { key, value } of page)
              if (!kind.reminders.has(key))
                scheduleReminder(kind, key, kind.actor.reminder(value as never), clock.now());
            if (page.length < MAX_RECOVER) break;
            from = `${page.at(-1)!.key}\0`;
          }
      }
    }

    function drop(reason: StopReason): void {
      shard.mode = "over";
      shards.delete(shard);
      for (const kind of kinds.values()) {
        for (const { timer } of kind.reminders.values()) timer[Symbol.dispose]();
        kind.reminders.clear();
        for (const activation of kind.activations.values()) {
          deactivate(activation);
          if (reason === "handed_off") continue;
          for (const to of activation.open_asks?.keys() ?? []) outbound.reply(to, { fault: reason });
        }
        kind.activations.clear();
      }
      for (const resolve of shard.drain_waiters.splice(0)) resolve();
    }

    return {
      deliver,
      recover,
      drop,
      quiesce: () => void (shard.mode = "quiescing"),
      close() {
        shard.mode = "closed";
        for (const kind of kinds.values())
          for (const activation of kind.activations.values()) {
            const tells = activation.queue.filter((entry) => entry.isLocal && isTell(kind, entry));
            const dropped = activation.queue.length - tells.length;
            activation.queue = tells;
            for (const [to, entry] of activation.open_asks ?? []) {
              if (!entry.isLocal || isTell(kind, entry)) continue;
              activation.open_asks!.delete(to);
              outbound.reply(to, { fault: leaseLost(kind, activation.key) });
            }
            for (let n = 0; n < dropped; n++) finishOne(shard);
          }
      },
      drained: () =>
        new Promise((resolve) => {
          if (shard.in_flight === 0) resolve();
          else shard.drain_waiters.push(resolve);
        }),
      unacknowledged() {
        let count = 0;
        for (const { activations } of kinds.values())
          for (const { queue, open_asks: open } of activations.values())
            count += queue.filter(({ reply_to }) => reply_to === "").length + (open?.size ?? 0);
        return count;
      },
    };
  }

  return {
    openShard,
    hasActor: (name) => catalogue.some((entry) => entry.name === name),
    stats,
    close() {
      isClosed = true;
      sweep_alarm?.[Symbol.dispose]();
    },
  };
}

const MAX_RECOVER = 500;
const MAX_CONCURRENT_RECOVERIES = 4;

const isTell = ({ validators }: Kind, { operation }: MailboxEntry): boolean =>
  validators.get(operation)?.kind === "tell";

const isLeaseLost = (problem: unknown): boolean => problem instanceof Fault && problem.code === "lease_lost";

function leaseLost({ name }: Kind, key: string): Fault {
  return new Fault("lease_lost", `Cannot reach "${name}/${key}" here: it is moving to another node`);
}

function mailboxFull(kind: Kind, key: string, limit: number): Fault {
  return new Fault(
    "mailbox_full",
    `Cannot reach "${kind.name}/${key}": ${limit} messages wait there already`,
  );
}
