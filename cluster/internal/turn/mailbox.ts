/** The mailbox of an activation, and which activation takes the next turn. Limits are checked before, in shard.ts. */
import type { AckReason, Activation, MailboxEntry, NodeState, ShardState } from "./node-state.ts";

/** Shared by all activations without messages, so that an idle actor has no array of its own. */
export const EMPTY_QUEUE: MailboxEntry[] = [];

/** Adds a message at the end of the mailbox; an activation that has ended takes none. */
export function enqueue(activation: Activation, entry: MailboxEntry): void {
  if (activation.phase === "ended") return;
  const { shard } = activation.kind;
  shard.inFlight++;
  entry.queued_ms = shard.node.clock.mono();
  if (activation.queue === EMPTY_QUEUE) activation.queue = [entry];
  else activation.queue.push(entry);
  schedule(activation);
}

/** Sees that an activation with messages takes a turn; nothing happens while it loads or stores. */
export function schedule(activation: Activation): void {
  if (activation.isScheduled || activation.phase !== "idle" || activation.queue.length === 0) return;
  activation.isScheduled = true;
  const { node } = activation.kind.shard;
  node.runnable.push(activation);
  if (node.isRunning) return;
  node.isRunning = true;
  queueMicrotask(() => runTurns(node));
}

/** Runs one turn of each activation, in the order in which they got a message. */
function runTurns(node: NodeState): void {
  for (let at = 0; at < node.runnable.length; at++) {
    const activation = node.runnable[at]!;
    activation.isScheduled = false;
    if (activation.phase !== "idle" || activation.queue.length === 0) continue;
    node.takeTurn(activation, activation.queue.shift()!);
    schedule(activation);
  }
  node.runnable = [];
  node.isRunning = false;
}

/** Remembers that a caller waits for this message. */
export function trackAsk(activation: Activation, entry: MailboxEntry): void {
  if (entry.reply_to !== "") (activation.openAsks ??= new Map()).set(entry.reply_to, entry);
}

/** The message need not be delivered again. */
export function acknowledge(activation: Activation, entry: MailboxEntry, reason: AckReason): void {
  if (entry.reply_to !== "") activation.openAsks?.delete(entry.reply_to);
  entry.ack?.(reason);
}

/** Notes that one message or one piece of background work is done; the last one lets the shard drain. */
export function finishOne(shard: ShardState): void {
  shard.inFlight--;
  if (shard.inFlight === 0) for (const resolve of shard.drainWaiters.splice(0)) resolve();
}
