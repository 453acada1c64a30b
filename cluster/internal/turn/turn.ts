/**
 * A turn: the handler computes, the snapshot is stored, the outbox leaves. In this order, so that an effect is never
 * seen outside before the state it came from is safe; only a snapshot that may be lost is stored later (store-later.ts).
 */
import { type Turn, DEFERRED } from "../../actor.ts";
import { deadLetter, failActivation, MAX_ATTEMPTS, RETRY_DELAY_MS } from "./activation.ts";
import { type BackgroundWork, startWork } from "./background-work.ts";
import { asFault, isLeaseLost, leaseLost, reportFailure } from "./failures.ts";
import { acknowledge, enqueue, finishOne, schedule } from "./mailbox.ts";
import { type Activation, localEntry, type MailboxEntry } from "./node-state.ts";
import type { Versioned } from "../../ports/documents.ts";
import { Fault, isInfrastructureFault } from "../../ports/fault.ts";
import { reminderTag, scheduleReminder } from "../../reminders.ts";
import { STORE, storeLater } from "./store-later.ts";
import { endStoreWait, waitForStore, whileOwned } from "./store-wait.ts";
import { measuredSealed, sealed, validatorsOf } from "../transport/wire.ts";

/** The effects that the handler asked for, which leave once its turn is stored. */
interface Outbox {
  readonly effects: (() => void)[];
  /** The turn is over; a handler that kept its Turn can add nothing more. */
  isClosed: boolean;
}

export function takeTurn(activation: Activation, entry: MailboxEntry): void {
  const { kind } = activation;
  const { tracing } = kind.shard.node;
  if (!tracing) return runTurn(activation, entry);
  const { traceparent = null, operation } = entry;
  // The turn was scheduled by another message's work, whose span is none of its business.
  tracing.within(traceparent, () =>
    tracing.span({ name: `${kind.name}.${operation}`, kind: "server" }, () => runTurn(activation, entry)),
  );
}

function runTurn(activation: Activation, entry: MailboxEntry): void {
  const { kind } = activation;
  const now_ms = kind.shard.node.clock.now();
  if (now_ms >= entry.deadline_ms) {
    acknowledge(activation, entry, "expired");
    return finishOne(kind.shard);
  }
  activation.last_ms = now_ms;

  const outbox: Outbox = { effects: [], isClosed: false };
  const turn = newTurn(activation, entry, now_ms, outbox);
  let snapshot: unknown;
  try {
    if (entry.operation !== STORE) handle(activation, entry, turn, outbox);
    snapshot = kind.actor.persist?.(turn.state);
  } catch (problem) {
    return failTurn(activation, entry, problem);
  }
  outbox.isClosed = true;
  if (snapshot === activation.snapshot) activation.unstored = null;
  else if (isStoredLater(activation, entry, snapshot)) storeLater(activation, snapshot);
  else return storeTurn(activation, entry, now_ms, snapshot, () => conclude(activation, turn.state, outbox));
  conclude(activation, turn.state, outbox);
}

function conclude(activation: Activation, state: unknown, outbox: Outbox): void {
  activation.state = state;
  flush(activation, outbox);
  if (activation.failure && !activation.unstored) failActivation(activation, activation.failure);
  else schedule(activation);
  finishOne(activation.kind.shard);
}

function handle(activation: Activation, entry: MailboxEntry, turn: Turn<any, any>, outbox: Outbox): void {
  const { kind } = activation;
  const { operation } = entry;
  const validators = kind.validators.get(operation);
  if (!validators) throw new TypeError(`Actor "${kind.name}" has no operation "${operation}"`);
  const reply = kind.actor.on[operation]!(turn, entry.message);
  if (reply === DEFERRED) return;
  if (validators.kind === "ask") turn.answer(entry.reply_to, reply as never);
  else outbox.effects.push(() => completeTell(activation, entry));
}

/** A shard that ends stores every turn. */
const isStoredLater = ({ kind, snapshot: stored }: Activation, entry: MailboxEntry, next: unknown): boolean =>
  entry.operation !== STORE &&
  kind.shard.mode === "open" &&
  (kind.actor.mayStoreLater?.(stored, next) ?? false);

function newTurn(
  activation: Activation,
  entry: MailboxEntry,
  now_ms: number,
  outbox: Outbox,
): Turn<any, any> {
  const { kind, key } = activation;
  const { node } = kind.shard;
  return {
    key,
    now_ms,
    last_flush_ms: activation.flushed_ms,
    queued: activation.queue.length,
    random: node.nextRandom,
    state: activation.state,
    deferReply: () => entry.reply_to,
    answer(to: string, reply: unknown) {
      const operation = to.slice(0, to.indexOf("#"));
      const validator = node.replyValidators.get(operation);
      const { message, chars } = validator
        ? measuredSealed(`the answer to "${operation}"`, validator, reply)
        : { message: reply, chars: 0 };
      add(activation, outbox, () => answer(activation, to, message, chars));
    },
    tell(of, to, operation, message) {
      const checked = sealed(`"${of.name}.${operation}"`, validatorsOf(of, operation).message, message);
      add(activation, outbox, () => node.outbound.tell(of as never, to, operation, checked));
    },
    setTimer(at_ms, operation, message) {
      const { message: validator } = kind.validators.get(operation)!;
      const checked = sealed(`"${kind.name}.${operation}"`, validator, message);
      add(activation, outbox, () => setTimer(activation, at_ms, operation, checked));
    },
    pipeToSelf(operation, work) {
      add(activation, outbox, () => startWork(activation, operation, work as BackgroundWork));
    },
  };
}

function add({ kind, key }: Activation, outbox: Outbox, effect: () => void): void {
  if (outbox.isClosed) throw new Error(`Cannot send for "${kind.name}/${key}": its turn is over`);
  outbox.effects.push(effect);
}

/** Stores what changed, then calls `afterwards`; the mailbox waits meanwhile, for as long as the store does not answer. */
function storeTurn(
  activation: Activation,
  entry: MailboxEntry,
  now_ms: number,
  snapshot: unknown,
  afterwards: () => void,
): void {
  activation.phase = "storing";
  activation.current = entry;

  function onStored(): void {
    const { shard } = activation.kind;
    // The next owner gets the message again, or it was sent on when the shard ended.
    if (activation.phase === "ended") return finishOne(shard);
    endStoreWait(activation);
    activation.current = null;
    activation.phase = "idle";
    afterwards();
  }

  function onFailed(problem: unknown, failures: number): void {
    if (activation.phase === "ended") return finishOne(activation.kind.shard);
    if (isInfrastructureFault(problem))
      return waitForStore(activation, problem, failures, () => attempt(failures + 1));
    endStoreWait(activation);
    activation.current = null;
    activation.unstored = null;
    if (isLeaseLost(problem) && entry.failedAttempts + 1 < MAX_ATTEMPTS) reload(activation, entry);
    else failTurn(activation, entry, problem);
  }

  function attempt(failures: number): void {
    whileOwned(activation, () => {
      store(activation, snapshot, now_ms, failures > 0).then(onStored, (problem: unknown) =>
        onFailed(problem, failures),
      );
    });
  }
  attempt(0);
}

/** Throws Fault lease_lost when the stored version is another one: another node owns the key. */
async function store(
  activation: Activation,
  snapshot: unknown,
  now_ms: number,
  isRepeated: boolean,
): Promise<void> {
  const { kind, key, version } = activation;
  const { documents } = kind.shard.node;
  const reminder = kind.actor.reminder?.(snapshot) ?? null;
  const options = reminder ? { tag: reminderTag(kind.actor.contract, key) } : undefined;
  const isStored =
    (await documents.put(kind.name, key, snapshot, version, options)) ||
    // A put without an answer may have been carried out: then the stored version is the next one, and says the same.
    (isRepeated && isSame(await documents.get(kind.name, key), snapshot, version + 1));
  if (!isStored) throw new Fault("lease_lost", `Cannot store "${kind.name}/${key}": another node wrote it`);
  activation.snapshot = snapshot;
  activation.version = version + 1;
  activation.unstored = null;
  if (kind.actor.reminder && activation.phase !== "ended")
    scheduleReminder(kind, key, reminder, now_ms, activation.fired_reminder_ms);
}

const isSame = (stored: Versioned | null, snapshot: unknown, version: number): boolean =>
  stored?.version === version && JSON.stringify(stored.value) === JSON.stringify(snapshot);

/**
 * Another writer has stored the key: a late put of the former owner, or already the next one. What was begun here is
 * forgotten and begins again from the stored snapshot, the deferred asks too, once this node is known to own the key.
 */
function reload(activation: Activation, entry: MailboxEntry): void {
  const { kind, key, queue } = activation;
  const { shard } = kind;
  // Under a valid lease it is this key's mistake when it happens again and again.
  if (shard.context.ownsKeys()) entry.failedAttempts++;
  shard.node.metrics.count("trawl_faults_total", { code: "lease_lost" });
  shard.node.log.warn("An actor begins again: its stored state has changed", { actor: kind.name, key });
  const waiting = new Set([entry, ...queue]);
  const deferred = [...(activation.openAsks?.values() ?? [])].filter((each) => !waiting.has(each));
  shard.inFlight += deferred.length;
  activation.queue = [...deferred, ...waiting];
  if (shard.mode === "closed") {
    // The bus delivers its messages to the next owner.
    activation.queue = activation.queue.filter(({ isLocal }) => isLocal);
    const left = deferred.length + waiting.size - activation.queue.length;
    for (let n = 0; n < left; n++) finishOne(shard);
  }
  failActivation(activation, leaseLost(kind, key), RETRY_DELAY_MS);
}

function flush(activation: Activation, { effects }: Outbox): void {
  activation.flushed_ms = activation.kind.shard.node.clock.now();
  for (const effect of effects) {
    try {
      effect();
    } catch (problem) {
      // Not the actor's mistake: its messages were checked when the handler sent them.
      const { kind, key } = activation;
      kind.shard.node.log.error("An effect of a turn was lost", { actor: kind.name, key, problem });
    }
  }
}

function answer(activation: Activation, to: string, reply: unknown, chars: number): void {
  const { node } = activation.kind.shard;
  node.outbound.reply(to, { reply });
  const entry = activation.openAsks?.get(to);
  if (!entry) return;
  if (entry.isRepeatable) node.rememberedAnswers.set(to, { reply, chars: chars + 1 });
  acknowledge(activation, entry, "processed");
}

/** The turn of a tell is stored. */
function completeTell(activation: Activation, entry: MailboxEntry): void {
  if (entry.reply_to !== "") activation.kind.shard.node.outbound.reply(entry.reply_to, { reply: undefined });
  acknowledge(activation, entry, "processed");
}

function setTimer(activation: Activation, at_ms: number, operation: string, message: unknown): void {
  const timers = (activation.timers ??= new Map());
  timers.get(operation)?.[Symbol.dispose]();
  const timer = activation.kind.shard.node.clock.at(at_ms, () => {
    timers.delete(operation);
    enqueue(activation, localEntry(operation, message));
  });
  timers.set(operation, timer);
}

/** A turn that broke ends its activation: callers get a fault, and the next message begins from the stored snapshot. */
function failTurn(activation: Activation, entry: MailboxEntry, problem: unknown): void {
  const { kind, key, unstored, last_ms } = activation;
  // The turns before were acted on.
  if (unstored)
    return storeTurn(activation, entry, last_ms, unstored.snapshot, () =>
      failTurn(activation, entry, problem),
    );
  const { node } = kind.shard;
  reportFailure(node, kind.name, key, entry.operation, problem);
  entry.failedAttempts++;
  const willRetry = entry.reply_to === "" && entry.failedAttempts < MAX_ATTEMPTS;
  if (willRetry) activation.queue.unshift(entry);
  const fault = asFault(problem, `Cannot answer for "${kind.name}/${key}"`);
  failActivation(activation, fault, willRetry ? RETRY_DELAY_MS : 0);
  if (willRetry) return;
  if (entry.reply_to === "") deadLetter(activation, entry, problem);
  else finishOne(kind.shard);
}
