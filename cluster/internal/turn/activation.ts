/** An activation's life: it is made for a key, loads its snapshot, and ends by passivation, by a failure or with its shard. */
import { asFault, reportFailure } from "./failures.ts";
import { EMPTY_QUEUE, finishOne, schedule, trackAsk } from "./mailbox.ts";
import type { ActorKind, Activation, MailboxEntry } from "./node-state.ts";
import { scheduleSweep } from "./passivation.ts";
import type { Versioned } from "../../ports/documents.ts";
import { type Fault, isInfrastructureFault } from "../../ports/fault.ts";
import { scheduleReminder } from "../../reminders.ts";
import { endStoreWait, waitForStore, whileOwned } from "./store-wait.ts";

/** A tell whose turn broke so often is dead-lettered; an ask is repeated by its caller. */
export const MAX_ATTEMPTS = 5;
export const RETRY_DELAY_MS = 250;

function newActivation(kind: ActorKind, key: string): Activation {
  const now_ms = kind.shard.node.clock.now();
  return {
    kind,
    key,
    phase: "loading",
    isScheduled: false,
    state: undefined,
    snapshot: undefined,
    version: 0,
    unstored: null,
    storeTimer: null,
    last_ms: now_ms,
    runningWork: 0,
    queue: EMPTY_QUEUE,
    current: null,
    storeWait: null,
    failure: null,
    flushed_ms: now_ms,
    openAsks: null,
    timers: null,
    workAbort: null,
    fired_reminder_ms: -1,
  };
}

/** The activation of a key; made and loaded when there is none. */
export function activationFor(kind: ActorKind, key: string): Activation {
  const existing = kind.activations.get(key);
  if (existing) return existing;
  const activation = newActivation(kind, key);
  kind.activations.set(key, activation);
  load(activation);
  scheduleSweep(kind.shard.node);
  return activation;
}

function load(activation: Activation, failures = 0): void {
  const { kind, key } = activation;
  if (activation.phase === "ended") return;
  if (!kind.actor.persist) return activate(activation, null, 0);
  whileOwned(activation, () => {
    durableSnapshot(kind, key).then(
      (stored) => activate(activation, stored?.value ?? null, stored?.version ?? 0),
      (problem: unknown) => {
        if (activation.phase === "ended") return;
        if (isInfrastructureFault(problem))
          waitForStore(activation, problem, failures, () => load(activation, failures + 1));
        else failLoad(activation, problem);
      },
    );
  });
}

/**
 * A predecessor's write may be read before it is durable, and a turn that changes nothing stores nothing: its message would be
 * acknowledged on the strength of a write that a power cut still takes. Throws Fault.
 */
async function durableSnapshot({ name, shard }: ActorKind, key: string): Promise<Versioned | null> {
  const { documents } = shard.node;
  const snapshot = await documents.get(name, key);
  if (snapshot !== null) await documents.synced();
  return snapshot;
}

function activate(activation: Activation, value: unknown, version: number): void {
  if (activation.phase === "ended") return;
  endStoreWait(activation);
  const { kind, key } = activation;
  const { actor } = kind;
  try {
    const { node, context } = kind.shard;
    const now_ms = node.clock.now();
    activation.version = version;
    activation.state = actor.activate(value as never, { key, now_ms, epoch: context.epoch });
    activation.snapshot = actor.persist?.(activation.state);
    if (actor.reminder && value !== null && !kind.reminders.has(key))
      scheduleReminder(kind, key, actor.reminder(value as never), now_ms);
  } catch (problem) {
    return failLoad(activation, problem);
  }
  activation.phase = "idle";
  schedule(activation);
}

/** The snapshot breaks the actor's code: callers get a fault, tells are tried again and dead-lettered in the end. */
function failLoad(activation: Activation, problem: unknown): void {
  if (activation.phase === "ended") return;
  const { kind, key, queue } = activation;
  reportFailure(kind.shard.node, kind.name, key, "activate", problem);
  activation.queue = queue.filter((entry) => {
    entry.failedAttempts++;
    if (entry.reply_to === "" && entry.failedAttempts < MAX_ATTEMPTS) return true;
    if (entry.reply_to === "") deadLetter(activation, entry, problem);
    else finishOne(kind.shard);
    return false;
  });
  const fault = asFault(problem, `Cannot answer for "${kind.name}/${key}": its memory cannot be read`);
  failActivation(activation, fault, RETRY_DELAY_MS);
}

/** Gives a message up: it is kept for the operator, and only then need not be delivered again. */
export function deadLetter({ kind, key }: Activation, entry: MailboxEntry, problem: unknown): void {
  const { shard, name } = kind;
  const { operation, message, isLocal, ack } = entry;
  if (isLocal && ack) {
    // A reminder is not given up: it fires again in a minute.
    ack("dead_lettered");
    return finishOne(shard);
  }
  void shard.node.deadLetters.keep({ actor: name, key, operation, message, problem }).then((isDone) => {
    if (isDone) ack?.("dead_lettered");
    finishOne(shard);
  });
}

/** Stops timers and aborts background work; what waits in the mailbox is the caller's to settle. */
export function deactivate(activation: Activation): void {
  activation.phase = "ended";
  endStoreWait(activation);
  activation.storeTimer?.[Symbol.dispose]();
  for (const timer of activation.timers?.values() ?? []) timer[Symbol.dispose]();
  activation.workAbort?.abort();
}

/**
 * Ends an activation after a failure. Callers whose message was begun get the fault. Messages that wait in the mailbox
 * go to a new activation, which loads the stored snapshot after `pause_ms`.
 */
export function failActivation(activation: Activation, fault: Fault, pause_ms = 0): void {
  const { kind, key, queue } = activation;
  const { shard } = kind;
  deactivate(activation);
  kind.activations.delete(key);
  const queued = new Set(queue.map(({ reply_to }) => reply_to));
  for (const [to, entry] of activation.openAsks ?? []) {
    if (queued.has(to)) continue;
    // A closed shard answers nothing: the bus delivers the same message to the next owner.
    if (shard.mode === "closed" && !entry.isLocal) continue;
    shard.node.outbound.reply(to, { fault });
    entry.ack?.("dead_lettered");
  }
  if (queue.length === 0) return;
  const successor = newActivation(kind, key);
  successor.queue = queue;
  for (const entry of queue) trackAsk(successor, entry);
  kind.activations.set(key, successor);
  if (pause_ms === 0) load(successor);
  else shard.node.clock.at(shard.node.clock.now() + pause_ms, () => load(successor));
}
