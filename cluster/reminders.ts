/**
 * Reminders: messages an actor must get though no caller asks, worked out from its snapshot (Definition.reminder).
 *
 * A reminder is stored with the snapshot (as the document's tag) and kept as a timer of the shard, so it outlives the
 * activation. The next owner of the partition lists the documents with the tag and sets the timers again.
 */
import { reportFailure } from "./internal/turn/failures.ts";
import { enqueue } from "./internal/turn/mailbox.ts";
import {
  type ActorKind,
  type AckReason,
  localEntry,
  type NodeState,
  type ShardState,
} from "./internal/turn/node-state.ts";
import { partitionOf } from "./placement.ts";
import { copyOverWire } from "./internal/transport/wire.ts";

interface AnyReminder {
  readonly at_ms: number;
  readonly operation: string;
  readonly message: unknown;
}

/** After a reminder was dead-lettered. */
const REMINDER_RETRY_MS = 60_000;
/** After a turn that left the reminder's time as it was. */
const REMINDER_REPEAT_MS = 1_000;
/** Documents read at once during recovery. */
const MAX_RECOVER = 500;
const MAX_CONCURRENT_RECOVERIES = 4;

const tagOf = (partition: number): string => `reminder-${partition}`;

/** The tag under which recovery finds this key. */
export const reminderTag = (
  { shard_by }: Pick<ActorKind["actor"]["contract"], "shard_by">,
  key: string,
): string => tagOf(partitionOf(shard_by, key));

/** Sets, moves or (null) removes the timer of a key. */
export function scheduleReminder(
  kind: ActorKind,
  key: string,
  reminder: AnyReminder | null,
  now_ms: number,
  fired_ms = -1,
): void {
  const existing = kind.reminders.get(key);
  if (existing && reminder && existing.at_ms === reminder.at_ms) return;
  existing?.timer[Symbol.dispose]();
  kind.reminders.delete(key);
  if (!reminder) return;
  // A reminder for the very time it fired would fire for ever.
  const at_ms = reminder.at_ms === fired_ms ? now_ms + REMINDER_REPEAT_MS : reminder.at_ms;
  const timer = kind.shard.node.clock.at(at_ms, () => fireReminder(kind, key, reminder));
  kind.reminders.set(key, { at_ms: reminder.at_ms, timer });
}

function fireReminder(kind: ActorKind, key: string, reminder: AnyReminder): void {
  const { shard } = kind;
  const { node } = shard;
  kind.reminders.delete(key);
  if (shard.mode !== "open") return;
  const { operation } = reminder;
  let message: unknown;
  try {
    message = copyOverWire(
      `"${kind.name}.${operation}"`,
      kind.validators.get(operation)!.message,
      reminder.message,
    );
  } catch (problem) {
    return reportFailure(node, kind.name, key, operation, problem);
  }
  const activation = node.activationFor(kind, key);
  activation.fired_reminder_ms = reminder.at_ms;
  const ack = (reason: AckReason): void => {
    const now_ms = node.clock.now();
    if (reason === "dead_lettered")
      scheduleReminder(kind, key, { ...reminder, at_ms: now_ms + REMINDER_RETRY_MS }, now_ms);
    // The snapshot says whether it was done: the same reminder again fires again, a little later.
    else if (shard.mode === "open" && !kind.reminders.has(key))
      scheduleReminder(kind, key, kind.actor.reminder!(activation.snapshot as never), now_ms, reminder.at_ms);
  };
  enqueue(activation, { ...localEntry(operation, message), ack });
}

/** Finds the stored reminders of these partitions and sets their timers. */
export async function recoverReminders(shard: ShardState, partitions: Iterable<number>): Promise<void> {
  const { node } = shard;
  for (const kind of shard.kinds.values()) {
    const { reminder } = kind.actor;
    if (!reminder) continue;
    for (const partition of partitions)
      for (let from = ""; ;) {
        const range = { tag: tagOf(partition), from, limit: MAX_RECOVER };
        const page = await limitRecoveries(node, () => node.documents.list(kind.name, range));
        if (shard.mode === "ended") return;
        for (const { key, value } of page)
          if (!kind.reminders.has(key))
            scheduleReminder(kind, key, reminder(value as never), node.clock.now());
        if (page.length < MAX_RECOVER) break;
        from = `${page.at(-1)!.key}\0`;
      }
  }
}

/** A node that takes over many partitions at once leaves some of the store's connections to other requests. */
async function limitRecoveries<T>(node: NodeState, query: () => Promise<T>): Promise<T> {
  if (node.recovering >= MAX_CONCURRENT_RECOVERIES)
    await new Promise<void>((resolve) => node.recoveryWaiters.push(resolve));
  node.recovering++;
  try {
    return await query();
  } finally {
    node.recovering--;
    node.recoveryWaiters.shift()?.();
  }
}
