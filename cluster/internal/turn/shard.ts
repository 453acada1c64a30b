/**
 * A shard: the keys this process owns together, for as long as it owns them. An embedded node has one shard with every
 * key, a node of a cluster one for each of its partitions. The shard takes messages, drains and ends.
 */
import { activationFor, deactivate } from "./activation.ts";
import { leaseLost, mailboxFull } from "./failures.ts";
import { enqueue, finishOne, trackAsk } from "./mailbox.ts";
import type {
  Activation,
  ActorKind,
  MailboxEntry,
  NodeState,
  ShardContext,
  ShardState,
} from "./node-state.ts";
import { MAX_MAILBOX_LENGTH } from "../../ports/bus.ts";
import type { Fault } from "../../ports/fault.ts";
import { recoverReminders } from "../../reminders.ts";
import { storeNow } from "./store-later.ts";

/** Asks that one actor may have unanswered, and tells it may have unprocessed; the bus has the same limits. */
export const MAX_ASKS = MAX_MAILBOX_LENGTH.sync;
export const MAX_TELLS = MAX_MAILBOX_LENGTH.work;

/** Why a shard ends: its messages go to the next owner, or every caller gets this fault. */
export type StopReason = "handed_off" | Fault;

export interface Shard {
  /** Puts a message into its actor's mailbox. Throws Fault mailbox_full, lease_lost. */
  readonly deliver: (name: string, key: string, entry: MailboxEntry) => void;
  /** Whether an actor works on an ask that is answered there. */
  readonly hasOpenAsk: (name: string, key: string, reply_to: string) => boolean;
  /** Finds the stored reminders of these partitions and sees that they fire. */
  readonly recover: (partitions: Iterable<number>) => Promise<void>;
  /** Starts no background work any more and fires no reminders; turns and running work go on. */
  readonly quiesce: () => void;
  /**
   * Quiesces, and takes no more messages but the tells of its own work. Messages of the bus that were not begun are
   * forgotten, local callers get lease_lost.
   */
  readonly close: () => void;
  /** Resolves when no message waits, no turn is being stored and no work is running. */
  readonly drained: () => Promise<void>;
  /** Forgets everything and aborts what is in flight. */
  readonly drop: (reason: StopReason) => void;
}

export function openShard(node: NodeState, context: ShardContext): Shard {
  const shard: ShardState = {
    node,
    context,
    kinds: new Map(),
    mode: "open",
    inFlight: 0,
    drainWaiters: [],
  };
  for (const entry of node.catalogue)
    shard.kinds.set(entry.name, { ...entry, shard, activations: new Map(), reminders: new Map() });
  node.shards.add(shard);
  return {
    deliver: (name, key, entry) => deliver(shard, name, key, entry),
    hasOpenAsk: (name, key, reply_to) =>
      shard.kinds.get(name)?.activations.get(key)?.openAsks?.has(reply_to) ?? false,
    recover: (partitions) => recoverReminders(shard, partitions),
    quiesce() {
      shard.mode = "quiescing";
      storeUnstored(shard);
    },
    close: () => close(shard),
    drained: () =>
      new Promise((resolve) => {
        if (shard.inFlight === 0) resolve();
        else shard.drainWaiters.push(resolve);
      }),
    drop: (reason) => drop(shard, reason),
  };
}

const isTell = ({ validators }: ActorKind, { operation }: MailboxEntry): boolean =>
  validators.get(operation)?.kind === "tell";

function deliver(shard: ShardState, name: string, key: string, entry: MailboxEntry): void {
  const { node, mode } = shard;
  const kind = shard.kinds.get(name);
  if (!kind) throw new TypeError(`Cannot take a message for actor "${name}": it is not part of this node`);
  const { reply_to, isLocal } = entry;
  // Work in flight may still tell its neighbours how it ended: a slot that is not released would be missing elsewhere.
  const isLast = mode === "closed" && isLocal && isTell(kind, entry);
  if (!isLast && (mode === "closed" || mode === "ended")) {
    if (isLocal) throw leaseLost(kind, key);
    return;
  }
  const remembered = entry.isRepeatable ? node.rememberedAnswers.get(reply_to) : undefined;
  if (remembered) {
    node.outbound.reply(reply_to, { reply: remembered.reply });
    return entry.ack?.("processed");
  }
  const activation = activationFor(kind, key);
  if (reply_to !== "") {
    // Asked again while the first ask is open: one answer serves both.
    if (activation.openAsks?.has(reply_to)) return entry.ack?.("processed");
    const isLocalAsk = isLocal && kind.validators.get(entry.operation)?.kind === "ask";
    if (isLocalAsk && (activation.openAsks?.size ?? 0) >= MAX_ASKS) throw mailboxFull(kind, key, MAX_ASKS);
  }
  // The bus has counted its own messages.
  if (isLocal && activation.queue.length >= MAX_TELLS) throw mailboxFull(kind, key, MAX_TELLS);
  trackAsk(activation, entry);
  enqueue(activation, entry);
}

/** From now on turns store at once, and those before are stored until the shard has drained. */
function storeUnstored({ kinds }: ShardState): void {
  for (const { activations } of kinds.values()) for (const each of activations.values()) storeNow(each);
}

function close(shard: ShardState): void {
  shard.mode = "closed";
  for (const kind of shard.kinds.values())
    for (const activation of kind.activations.values()) {
      const tells = activation.queue.filter((entry) => entry.isLocal && isTell(kind, entry));
      const dropped = activation.queue.length - tells.length;
      activation.queue = tells;
      for (const [to, entry] of activation.openAsks ?? []) {
        if (!entry.isLocal || isTell(kind, entry)) continue;
        activation.openAsks!.delete(to);
        shard.node.outbound.reply(to, { fault: leaseLost(kind, activation.key) });
      }
      for (let n = 0; n < dropped; n++) finishOne(shard);
    }
  storeUnstored(shard);
}

/** Tells of turns whose only copy is here go to the next owner. Asks and tells with an address are their sender's to repeat. */
function sendOn({ kind, key, current, queue }: Activation): void {
  const { contract } = kind.actor;
  for (const entry of current ? [current, ...queue] : queue)
    if (entry.isLocal && entry.reply_to === "" && entry.operation in (contract.operations as object))
      kind.shard.node.outbound.tell(contract, key, entry.operation, entry.message);
}

function drop(shard: ShardState, reason: StopReason): void {
  shard.mode = "ended";
  shard.node.shards.delete(shard);
  for (const kind of shard.kinds.values()) {
    for (const { timer } of kind.reminders.values()) timer[Symbol.dispose]();
    kind.reminders.clear();
    for (const activation of kind.activations.values()) {
      deactivate(activation);
      if (reason === "handed_off") {
        sendOn(activation);
        continue;
      }
      for (const to of activation.openAsks?.keys() ?? []) shard.node.outbound.reply(to, { fault: reason });
    }
    kind.activations.clear();
  }
  for (const resolve of shard.drainWaiters.splice(0)) resolve();
}
