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
import { MIN_PARTITIONS, partitionOf } from "./placement.ts";
import { sealed } from "./internal/transport/wire.ts";
import { Fault } from "./ports/fault.ts";

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

/** By the partition modulo 64 in a cluster of more, so that no document is written again when their number changes. */
const tagOf = (partition: number): string => `reminder-${partition % MIN_PARTITIONS}`;

/** The tag under which recovery finds this key. */
export const reminderTag = (
  { shard_by }: Pick<ActorKind["actor"]["contract"], "shard_by">,
  key: string,
): string => tagOf(partitionOf(shard_by, key, MIN_PARTITIONS));

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
    message = sealed(
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

/**
 * Finds the stored reminders of these partitions and sets their timers. Recoveries of a kind that wait at the same time share
 * their queries: a node that takes over many partitions asks once for all of them.
 */
export async function recoverReminders(shard: ShardState, partitions: Iterable<number>): Promise<void> {
  const all = [...partitions];
  const kinds = [...shard.kinds.values()].filter(({ actor }) => actor.reminder !== undefined);
  await Promise.all(kinds.map((kind) => recoverKind(kind, all)));
}

function recoverKind(kind: ActorKind, partitions: readonly number[]): Promise<void> {
  const { node } = kind.shard;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const waiting = node.recoveries.get(kind.name);
  const recovery = { kind, partitions, resolve, reject };
  if (waiting) waiting.push(recovery);
  else {
    node.recoveries.set(kind.name, [recovery]);
    void limitRecoveries(node, () => recoverWaiting(node, kind.name));
  }
  return promise;
}

/** Recoveries that come from now on wait for the next query: this one may miss reminders that are stored before them. */
async function recoverWaiting(node: NodeState, name: string): Promise<void> {
  const recoveries = node.recoveries.get(name)!;
  node.recoveries.delete(name);
  const owners = new Map(
    recoveries.flatMap(({ kind, partitions }) => partitions.map((partition) => [partition, kind] as const)),
  );
  const failed = new Map<ActorKind, unknown>();
  try {
    await readReminders(node, name, owners);
  } catch (problem) {
    // A document that cannot be read keeps back those of its own partition only.
    const isAway = problem instanceof Fault && problem.code === "documents_unreachable";
    for (const [partition, kind] of owners) {
      const alone = new Map([[partition, kind]]);
      const reading = isAway ? Promise.reject(problem) : readReminders(node, name, alone);
      await reading.catch((reason: unknown) => failed.set(kind, reason));
    }
  }
  for (const { kind, resolve, reject } of recoveries)
    if (failed.has(kind)) reject(failed.get(kind));
    else resolve();
}

async function readReminders(
  node: NodeState,
  name: string,
  owners: ReadonlyMap<number, ActorKind>,
): Promise<void> {
  const tags = [...new Set([...owners.keys()].map(tagOf))];
  for (let from = ""; ;) {
    const page = await node.documents.list(name, { tags, from, limit: MAX_RECOVER });
    for (const { key, value } of page) recoverReminder(node, owners, key, value);
    if (page.length < MAX_RECOVER) return;
    from = `${page.at(-1)!.key}\0`;
  }
}

function recoverReminder(
  { clock, partitionCount }: NodeState,
  owners: ReadonlyMap<number, ActorKind>,
  key: string,
  value: unknown,
): void {
  const [anyKind] = owners.values();
  const { shard_by } = anyKind!.actor.contract;
  // Undefined: it has the tag of a partition that this node takes over, and is in another one.
  const kind = owners.get(partitionOf(shard_by, key, partitionCount));
  if (kind === undefined || kind.shard.mode === "ended" || kind.reminders.has(key)) return;
  scheduleReminder(kind, key, kind.actor.reminder!(value as never), clock.now());
}

/** Other requests keep some of the store's connections. */
async function limitRecoveries(node: NodeState, query: () => Promise<void>): Promise<void> {
  if (node.recovering >= MAX_CONCURRENT_RECOVERIES)
    await new Promise<void>((resolve) => node.recoveryWaiters.push(resolve));
  node.recovering++;
  try {
    await query();
  } finally {
    node.recovering--;
    node.recoveryWaiters.shift()?.();
  }
}
