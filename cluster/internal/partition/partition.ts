/**
 * A partition while this node owns it: its shard, and the reader that takes its envelopes off the bus.
 *
 * An envelope is acknowledged when its turn is stored and its answer has left, in this order. What a node that dies has
 * not acknowledged, the bus delivers to the next owner.
 */
import type { Actor } from "../../actor.ts";
import type { DeadLetterKeeper } from "../../dead-letters.ts";
import type { MailboxEntry, ShardContext } from "../turn/node-state.ts";
import {
  type ClusterState,
  clientFor,
  failAsksFrom,
  type LocalPartition,
  reply,
  resendAsks,
} from "../transport/outstanding-asks.ts";
import type { PartitionHandle, PartitionLease } from "./partition-lease.ts";
import { type Backlog, backlog } from "../transport/backlog.ts";
import { messageRoom, type MessageRoom } from "../transport/message-room.ts";
import type { Delivery, Envelope, Subscription } from "../../ports/bus.ts";
import { sleep } from "../../ports/clock.ts";
import { Fault } from "../../ports/fault.ts";
import type { Shard } from "../turn/shard.ts";
import { type UnreadableEnvelopes, unreadableEnvelopes } from "../transport/unreadable-envelopes.ts";
import { decodeMessage, validatorsOf } from "../transport/wire.ts";

const ACK_RETRY_MS = 100;
const RECOVERY_RETRY_MS = 1_000;
/** How often this node looks for envelopes that the bus has delivered and that never arrived. */
const STRANDED_CHECK_MS = 60_000;
/** After the connection was away, when envelopes on their way may have been lost. */
const STRANDED_CHECK_SOON_MS = 2_000;

export interface PartitionDeps {
  readonly actors: readonly Actor[];
  readonly openShard: (context: ShardContext) => Shard;
  /** Gives the partition back, to own it anew under a new epoch: the bus then delivers again what is unacknowledged. */
  readonly relinquish: (partition: number) => void;
  readonly deadLetters: DeadLetterKeeper;
}

interface OpenPartition {
  readonly cluster: ClusterState;
  readonly deps: PartitionDeps;
  readonly lease: PartitionLease;
  readonly local: LocalPartition;
  /** Delivered by the bus and not acknowledged yet. */
  readonly unacknowledged: Set<Delivery>;
  /** The memory that these take. */
  readonly room: MessageRoom;
  readonly unreadable: UnreadableEnvelopes;
  readonly backlog: Backlog;
  /** Acknowledgements on their way. */
  acknowledging: number;
  onAcknowledged: (() => void) | null;
  /** Unacknowledged at the last check, and unknown here. */
  unknownIds: readonly string[];
  /** When its reader was opened, on the monotonic clock. */
  readonly opened_ms: number;
  /** Checks that come soon. */
  soonChecks: number;
  checkTimer: Disposable | null;
  reader: Subscription | null;
}

export async function openPartition(
  cluster: ClusterState,
  deps: PartitionDeps,
  lease: PartitionLease,
): Promise<PartitionHandle> {
  const { partition, epoch } = lease;
  const shard = deps.openShard({
    ownsKeys: lease.isValid,
    mayStore: lease.mayStore,
    epoch,
    ask: clientFor(cluster, partition),
  });
  const local: LocalPartition = {
    ...lease,
    shard,
    isClosing: false,
    unreadTells: () => open.backlog.unread(),
    checkStrandedSoon: () => checkSoon(open),
  };
  const open: OpenPartition = {
    cluster,
    deps,
    lease,
    local,
    unacknowledged: new Set(),
    room: messageRoom(cluster.memory?.messages),
    unreadable: unreadableEnvelopes(cluster.clock, (delivery, reason) => {
      if (reason === "expired" || delivery.envelope.reply_to !== null) void acknowledge(open, delivery);
      else deadLetter(open, delivery, "No node of this version or a newer one read it in time");
    }),
    backlog: backlog(),
    acknowledging: 0,
    onAcknowledged: null,
    unknownIds: [],
    opened_ms: cluster.clock.mono(),
    soonChecks: 0,
    checkTimer: null,
    reader: null,
  };
  const onReaderLost = (): void => lease.lose("its reader was taken away");
  // The bus may deliver before it has answered. Work that began then would send to its own partition over the bus, out of order.
  const opened = Promise.withResolvers<void>();
  const onDelivery = (delivery: Delivery): void | Promise<void> =>
    open.reader === null ? opened.promise.then(() => receive(open, delivery)) : receive(open, delivery);
  const reader = await cluster.bus
    .subscribe(partition, epoch, onDelivery, onReaderLost, () => lease.isValid())
    .catch((problem: unknown) => {
      // The bus may have begun to read all the same, and only its answer was lost.
      local.isClosing = true;
      opened.resolve();
      open.room.close();
      open.unreadable.stop();
      shard.drop("handed_off");
      throw problem;
    });
  open.reader = reader;
  open.backlog.open(reader.backlog);
  cluster.partitions.set(partition, local);
  opened.resolve();
  // Not awaited: envelopes are handled while reminders are recovered.
  void recover(open);
  void checkStranded(open);
  return {
    async drain() {
      local.isClosing = true;
      reader.stop();
      open.backlog.close();
      shard.close();
      await shard.drained();
      if (open.acknowledging > 0) await new Promise<void>((resolve) => (open.onAcknowledged = resolve));
    },
    drop() {
      local.isClosing = true;
      open.room.close();
      open.backlog.close();
      open.checkTimer?.[Symbol.dispose]();
      open.unreadable.stop();
      reader.stop();
      if (cluster.partitions.get(partition) === local) cluster.partitions.delete(partition);
      shard.drop("handed_off");
      failAsksFrom(cluster, partition);
      open.onAcknowledged?.();
      resendAsks(cluster, false);
    },
    remove: () => reader.remove(),
  };
}

// --- from the bus into the shard --------------------------------------------------------------------------------

/**
 * The promise is that of a tell for which there is no room yet, or of an ask that waits for the backlog: the bus delivers none
 * after it before.
 */
function receive(open: OpenPartition, delivery: Delivery): void | Promise<void> {
  const { room } = open;
  if (!takesMessages(open)) return;
  countDelivery(open, delivery);
  open.unacknowledged.add(delivery);
  if (delivery.envelope.stream === "sync") {
    const unread = open.backlog.unread();
    return unread ? unread.then(() => receiveAsk(open, delivery)) : receiveAsk(open, delivery);
  }
  const holding = room.hold(delivery);
  if (holding === true) return takeTell(open, delivery);
  if (holding === false) return;
  return holding.then((isHeld) => {
    if (isHeld && takesMessages(open)) takeTell(open, delivery);
  });
}

const takesMessages = ({ lease, local }: OpenPartition): boolean => lease.isHeld() && !local.isClosing;

function receiveAsk(open: OpenPartition, delivery: Delivery): void {
  if (!takesMessages(open)) return;
  if (open.room.tryHold(delivery)) take(open, delivery);
  else refuse(open, delivery);
}

function takeTell(open: OpenPartition, delivery: Delivery): void {
  take(open, delivery);
  open.backlog.taken();
}

function countDelivery({ cluster, opened_ms }: OpenPartition, { envelope, sent_ms }: Delivery): void {
  const { clock, metrics, timeOnBus } = cluster;
  const { stream } = envelope;
  const delay_ms = timeOnBus(sent_ms);
  metrics.observe("trawl_bus_delivery_delay_seconds", { stream }, delay_ms / 1_000);
  if (delay_ms > clock.mono() - opened_ms) metrics.count("trawl_bus_redeliveries_total", { stream });
}

/** An ask for which there is no room. One that is sent again while its first envelope is worked on is no other ask. */
function refuse(open: OpenPartition, delivery: Delivery): void {
  const { cluster, local } = open;
  const { name, key, reply_to } = delivery.envelope;
  if (reply_to !== null && !local.shard.hasOpenAsk(name, key, reply_to)) {
    const text = `Cannot reach "${name}/${key}": its node has no memory for more messages`;
    reply(cluster, reply_to, { fault: new Fault("mailbox_full", text) });
  }
  void acknowledge(open, delivery);
}

function take(open: OpenPartition, delivery: Delivery): void {
  const { cluster, local } = open;
  const { envelope } = delivery;
  const { name, key, reply_to, timeout_ms } = envelope;
  try {
    // The rest of a time-out counts from when the bus stored the envelope: it may have waited there for an owner.
    const sent_ms = cluster.clock.now() - cluster.timeOnBus(delivery.sent_ms);
    const read = decode(open.deps.actors, envelope, sent_ms);
    if (read.kind === "unknown") return leaveUnread(open, delivery, read.operation);
    const entry: MailboxEntry = {
      operation: read.operation,
      message: read.message,
      traceparent: read.traceparent,
      reply_to: reply_to ?? "",
      isRepeatable: reply_to !== null,
      deadline_ms: timeout_ms === null ? Infinity : sent_ms + timeout_ms,
      ack: () => void acknowledge(open, delivery),
      isLocal: false,
      failedAttempts: 0,
    };
    const { tracing } = cluster;
    if (tracing) tracing.within(read.traceparent, () => local.shard.deliver(name, key, entry));
    else local.shard.deliver(name, key, entry);
  } catch (problem) {
    cluster.metrics.count("trawl_actor_failures_total", { kind: name });
    cluster.log.error("An envelope cannot be read", { actor: name, key, problem });
    const fault = new Fault("no_answer", `Cannot read what was asked of "${name}/${key}"`);
    if (reply_to === null) return deadLetter(open, delivery, problem);
    reply(cluster, reply_to, { fault });
    void acknowledge(open, delivery);
  }
}

/** Gives an envelope up that no turn has seen. */
function deadLetter(open: OpenPartition, delivery: Delivery, problem: unknown): void {
  const { name, key, body } = delivery.envelope;
  const given_up = { actor: name, key, ...contentOf(body), problem };
  void open.deps.deadLetters.keep(given_up).then((isDone) => {
    if (isDone) void acknowledge(open, delivery);
  });
}

function contentOf(body: string): { readonly operation: string; readonly message: unknown } {
  try {
    const { operation, message } = JSON.parse(body) as { operation: unknown; message: unknown };
    return { operation: typeof operation === "string" ? operation : "", message };
  } catch {
    return { operation: "", message: body };
  }
}

/** The caller is not told: a node that knows the operation may own the partition before its deadline. */
function leaveUnread(open: OpenPartition, delivery: Delivery, operation: string): void {
  const { metrics, log } = open.cluster;
  const { name, key } = delivery.envelope;
  metrics.count("trawl_unreadable_messages_total", {});
  log.warn("A message that this version cannot read is left to the next owner", {
    actor: name,
    key,
    operation,
  });
  // It may stay for an hour, and others must not wait for it; unreadable-envelopes.ts has a limit of its own.
  open.room.release(delivery);
  open.unreadable.keep(delivery);
}

type DecodedEnvelope =
  | {
      readonly kind: "known";
      readonly operation: string;
      readonly message: unknown;
      readonly traceparent: string | null;
    }
  /** Another version's. */
  | { readonly kind: "unknown"; readonly operation: string };

/** `sent_ms`: when the bus stored the envelope, on this node's clock. Throws TypeError for what no version sends. */
function decode(actors: readonly Actor[], { name, body }: Envelope, sent_ms: number): DecodedEnvelope {
  const { operation, message, traceparent } = JSON.parse(body) as {
    operation: string;
    message: unknown;
    traceparent?: unknown;
  };
  const contract = actors.find((actor) => actor.contract.name === name)?.contract;
  const isDeclared = contract && (operation in contract.operations || operation in contract.own);
  if (!isDeclared) return { kind: "unknown", operation };
  const validators = validatorsOf(contract, operation);
  const decoded = decodeMessage(message, validators, sent_ms);
  return validators.message.check(decoded)
    ? { kind: "known", operation, message: decoded, traceparent: textOrNull(traceparent) }
    : { kind: "unknown", operation };
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

async function acknowledge(open: OpenPartition, delivery: Delivery): Promise<void> {
  const { cluster, lease, unacknowledged } = open;
  open.acknowledging++;
  // "Not yours" may also come from a server that has just started, so the lease decides.
  while (lease.isHeld()) {
    if (await delivery.acknowledge().catch(() => false)) break;
    await sleep(cluster.clock, ACK_RETRY_MS);
  }
  unacknowledged.delete(delivery);
  open.room.release(delivery);
  open.acknowledging--;
  if (open.acknowledging === 0) open.onAcknowledged?.();
}

async function recover(open: OpenPartition): Promise<void> {
  const { cluster, lease, local } = open;
  const { partition } = lease;
  for (let isFirst = true; isFirst || (lease.isHeld() && !local.isClosing); isFirst = false) {
    try {
      return await local.shard.recover([partition]);
    } catch (problem) {
      if (isFirst) cluster.log.warn("Actors with reminders could not be listed", { partition, problem });
      await sleep(cluster.clock, RECOVERY_RETRY_MS);
    }
  }
}

// --- envelopes that got lost on their way -----------------------------------------------------------------------

async function checkStranded(open: OpenPartition): Promise<void> {
  open.checkTimer = null;
  const oldest = await open.reader!.oldestUnacknowledged().catch(() => null);
  if (oldest === null) {
    // The bus did not answer: what was unknown before still is.
    open.soonChecks = Math.max(1, open.soonChecks);
    return scheduleCheck(open);
  }
  const received = new Set([...open.unacknowledged].map(({ id }) => id));
  const previous = open.unknownIds;
  open.unknownIds = oldest.filter((id) => !received.has(id));
  // An envelope or its acknowledgement may be on its way; one that was unknown the last time is not.
  const stranded = open.unknownIds.filter((id) => previous.includes(id));
  if (stranded.length === 0 && !isBacklogLost(open)) return scheduleCheck(open);
  const { partition } = open.lease;
  open.cluster.log.warn("Envelopes are stranded", { partition, stranded });
  open.deps.relinquish(partition);
}

/** The bus has removed tells that it counted when it was opened: asks would wait for them. */
function isBacklogLost(open: OpenPartition): boolean {
  return (
    open.backlog.hasStood() && ![...open.unacknowledged].some(({ envelope }) => envelope.stream === "work")
  );
}

function scheduleCheck(open: OpenPartition): void {
  if (!takesMessages(open)) return;
  const { clock } = open.cluster;
  const isSoon = open.soonChecks > 0 || open.backlog.unread() !== undefined;
  const after_ms = isSoon ? STRANDED_CHECK_SOON_MS : STRANDED_CHECK_MS;
  open.soonChecks = Math.max(0, open.soonChecks - 1);
  open.checkTimer = clock.at(clock.now() + after_ms, () => void checkStranded(open));
}

function checkSoon(open: OpenPartition): void {
  open.soonChecks = 2;
  // A check that runs at this moment schedules the next one by itself.
  if (!open.checkTimer) return;
  open.checkTimer[Symbol.dispose]();
  scheduleCheck(open);
}
