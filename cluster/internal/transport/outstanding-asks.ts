/**
 * The asks of one node of a cluster: each goes to a shard of this process or over the bus, and is sent again until it
 * is answered or its timeout passes, because answers travel at most once. The owner of the key recognises an ask that
 * it has already and answers it once.
 */
import { createHash } from "node:crypto";
import type { Contract, MessageOf, ReplyOf } from "../../contracts/contract.ts";
import type { ActorClient, AskOptions } from "../../actor.ts";
import type { ByteBudget } from "../../byte-budget.ts";
import type { Outcome } from "../turn/node-state.ts";
import type { PartitionLease } from "../partition/partition-lease.ts";
import { ASK_TIMEOUT_MS, type PendingAsks } from "./pending-asks.ts";
import { partitionOf } from "../../placement.ts";
import type { PartitionWatch } from "../partition/partition-watch.ts";
import type { Bus, Inbox } from "../../ports/bus.ts";
import type { Clock } from "../../ports/clock.ts";
import { Fault, type FaultCode, isInfrastructureFault } from "../../ports/fault.ts";
import type { Shard } from "../turn/shard.ts";
import { sealed, encodeBody, type OperationValidators, validatorsOf } from "./wire.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Log } from "../../ports/log.ts";
import type { Tracing } from "../../ports/tracing.ts";
import { tracedAsks } from "../../spans.ts";

/** An open ask older than this is sent again, this often. */
const RESEND_AFTER_MS = 10_000;
/** A tell of background work that the bus refused. */
const TELL_RESEND_AFTER_MS = 1_000;
/**
 * An ask whose owner has lost the key is sent to the next owner at once, and after 250, 500 ms and so on when that answers the
 * same: a lease lapses within 3 s.
 */
const FIRST_MOVED_PAUSE_MS = 250;
const MAX_MOVED_PAUSE_MS = 4_000;

/** A partition that this node owns and has opened. */
export interface LocalPartition extends PartitionLease {
  readonly shard: Shard;
  isClosing: boolean;
  /** Until then its actors have not read the tells that waited for their new owner; undefined: they have. */
  readonly unreadTells: () => Promise<void> | undefined;
  readonly checkStrandedSoon: () => void;
}

interface OutstandingAsk {
  readonly kind: "ask" | "tell";
  readonly token: string;
  readonly name: string;
  readonly key: string;
  readonly operation: string;
  readonly message: unknown;
  /** The span it was sent in. */
  readonly traceparent: string | null | undefined;
  readonly validators: OperationValidators;
  readonly reply_to: string;
  readonly deadline_ms: number;
  readonly partition: number;
  /** The partition whose background work asks; null: asked from outside the actors. */
  readonly fromPartition: number | null;
  /** Distinguishes an attempt from every other one on the bus, also when the caller asks the same once more. */
  readonly serial: number;
  /** For a tell, which is stored once however often it is sent. */
  readonly dedup_id: string;
  attempt: number;
  /** How often an owner answered that it has lost the key. */
  moves: number;
  resend_at_ms: number;
  /** The partition of this process that has it; null: it went over the bus. */
  sentTo: LocalPartition | null;
}

/** The state that the parts of one node of a cluster share. */
export interface ClusterState {
  readonly clock: Clock;
  readonly bus: Bus;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly tracing: Tracing | undefined;
  readonly nodeName: string;
  readonly partitionCount: number;
  readonly inbox: Inbox;
  readonly pending: PendingAsks;
  readonly outstanding: Map<string, OutstandingAsk>;
  readonly partitions: Map<number, LocalPartition>;
  readonly watch: PartitionWatch;
  /** How long ago that was by the clock of the bus, in milliseconds; 0: not known. */
  readonly timeOnBus: (sent_ms: number) => number;
  /** Undefined: messages take what they need. */
  readonly memory: ByteBudget | undefined;
  nextId: number;
  isStopping: boolean;
}

/** An answer on the wire. */
type WireAnswer =
  | { readonly reply: unknown }
  | { readonly fault: { readonly code: FaultCode; readonly message: string } };

/** The partition, when it is open in this process and takes messages. */
export function openPartitionAt({ partitions }: ClusterState, partition: number): LocalPartition | null {
  const local = partitions.get(partition);
  return local && !local.isClosing && local.isValid() ? local : null;
}

/** `fromPartition` null: asked from outside the actors. */
export const clientFor = (state: ClusterState, fromPartition: number | null): ActorClient =>
  tracedAsks(state.tracing, plainClientFor(state, fromPartition));

const plainClientFor =
  (state: ClusterState, fromPartition: number | null): ActorClient =>
  <O, N extends keyof O & string>(
    of: Contract<O>,
    key: string,
    operation: N,
    message: MessageOf<O[N]>,
    { timeout_ms = ASK_TIMEOUT_MS, idempotency_id }: AskOptions = {},
  ): Promise<ReplyOf<O[N]>> => {
    const token =
      idempotency_id === undefined
        ? `${state.nextId++}`
        : tokenOf(`${of.name} ${key} ${operation} ${idempotency_id}`);
    const existing = state.pending.get(token);
    if (existing) return existing.promise;
    const isExternal = fromPartition === null;
    const { promise, deadline_ms } = state.pending.open(token, `"${of.name}/${key}"`, timeout_ms, isExternal);
    try {
      if (state.isStopping && isExternal)
        throw new Fault("no_answer", `Cannot ask "${of.name}/${key}": this node is stopping`);
      const validators = validatorsOf(of, operation);
      const { kind } = validators;
      const checked = sealed(`"${of.name}.${operation}"`, validators.message, message);
      const ask: OutstandingAsk = {
        kind,
        token,
        name: of.name,
        key,
        operation,
        message: checked,
        traceparent: state.tracing?.current(),
        validators,
        reply_to: `${of.name}.${operation}#${state.inbox.address(token)}`,
        deadline_ms,
        partition: partitionOf(of.shard_by, key, state.partitionCount),
        fromPartition,
        serial: state.nextId++,
        dedup_id: idempotency_id === undefined ? `${state.nodeName}:${token}` : token,
        attempt: 0,
        moves: 0,
        resend_at_ms: state.clock.now() + RESEND_AFTER_MS,
        sentTo: null,
      };
      state.outstanding.set(token, ask);
      send(state, ask).catch((problem: unknown) => {
        // How work ended must not be lost because the bus was away for a moment.
        if (kind === "tell" && !isExternal && isInfrastructureFault(problem))
          ask.resend_at_ms = state.clock.now() + TELL_RESEND_AFTER_MS;
        else failAsk(state, token, problem);
      });
    } catch (problem) {
      failAsk(state, token, problem);
    }
    return promise;
  };

/** Throws Fault mailbox_full, lease_lost, bus_unreachable, message_too_large, no_workers. */
async function send(state: ClusterState, ask: OutstandingAsk): Promise<void> {
  const { kind, token, name, key, operation, traceparent, reply_to, deadline_ms, partition, fromPartition } =
    ask;
  const isOwnPartition = fromPartition === partition;
  const local =
    openPartitionAt(state, partition) ??
    // A partition that moves still takes what its own work tells: how that work ended.
    (kind === "tell" && isOwnPartition ? state.partitions.get(partition) : undefined) ??
    null;
  ask.sentTo = local;
  const unread = kind === "ask" ? local?.unreadTells() : undefined;
  if (unread) {
    await unread;
    return state.outstanding.get(token) === ask ? send(state, ask) : undefined;
  }
  if (local) {
    // Whatever becomes of its sender, a tell is handled.
    const until_ms = kind === "tell" ? Infinity : deadline_ms;
    const entry = { operation, message: ask.message, traceparent, reply_to, deadline_ms: until_ms };
    return local.shard.deliver(name, key, {
      ...entry,
      isRepeatable: true,
      ack: null,
      isLocal: true,
      failedAttempts: 0,
    });
  }
  // The next owner would answer, but it waits for this very work to end.
  if (kind === "ask" && isOwnPartition && state.partitions.has(partition))
    throw new Fault("lease_lost", `Cannot ask "${name}/${key}": its partition is moving`);
  const now_ms = state.clock.now();
  const body = encodeBody({ key, operation, message: ask.message, traceparent }, ask.validators, now_ms);
  const envelope = { partition, name, key, body };
  if (kind === "tell") {
    await state.bus.send({
      ...envelope,
      stream: "work",
      dedup_id: ask.dedup_id,
      reply_to: null,
      timeout_ms: null,
    });
    return resolveAsk(state, token, { reply: undefined });
  }
  if (state.watch.isDeserted(partition)) {
    // A node may have claimed it since the last look.
    await state.watch.refresh();
    if (state.watch.isDeserted(partition)) throw noWorkers(ask);
  }
  // Every attempt is another envelope: the first may have been answered already, and the answer lost.
  const dedup_id = `${state.nodeName}:${token}:${ask.serial}.${ask.attempt}`;
  await state.bus.send({
    ...envelope,
    stream: "sync",
    dedup_id,
    reply_to,
    timeout_ms: Math.max(1, deadline_ms - now_ms),
  });
}

const noWorkers = ({ name, key, partition }: OutstandingAsk): Fault =>
  new Fault("no_workers", `Cannot ask "${name}/${key}": no node owns its partition ${partition}`);

/** Asks that wait on the bus for an owner that does not come. Tells wait there until one comes. */
export function failDesertedAsks(state: ClusterState): void {
  for (const [token, ask] of state.outstanding)
    if (ask.kind === "ask" && ask.sentTo === null && state.watch.isDeserted(ask.partition))
      failAsk(state, token, noWorkers(ask));
}

/** Ends an ask with its outcome; nothing happens when it has ended already. */
export function resolveAsk({ outstanding, pending }: ClusterState, token: string, outcome: Outcome): void {
  outstanding.delete(token);
  pending.resolve(token, outcome);
}

function failAsk({ outstanding, pending }: ClusterState, token: string, problem: unknown): void {
  outstanding.delete(token);
  if (problem instanceof Fault) pending.resolve(token, { fault: problem });
  else pending.reject(token, problem);
}

/** Sends again what has been open for long or was left with a partition that is gone; `all`: everything. */
export function resendAsks(state: ClusterState, all: boolean): void {
  const now_ms = state.clock.now();
  for (const [token, ask] of state.outstanding) {
    if (!state.pending.get(token)) {
      state.outstanding.delete(token);
      continue;
    }
    const { sentTo } = ask;
    const isStranded = sentTo !== null && state.partitions.get(sentTo.partition) !== sentTo;
    if (!all && !isStranded && now_ms < ask.resend_at_ms) continue;
    ask.resend_at_ms = now_ms + RESEND_AFTER_MS;
    ask.attempt++;
    state.metrics.count("trawl_actor_asks_repeated_total", {});
    // An ask that is refused now may be taken in ten seconds; the timeout ends it.
    send(state, ask).catch(() => {});
  }
}

/**
 * The asks of background work of a partition that this node has lost. Its tells are sent on: the next owner must hear how
 * the work ended.
 */
export function failAsksFrom(state: ClusterState, partition: number): void {
  const fault = new Fault("lease_lost", `Partition ${partition} is another node's now`);
  for (const [token, { kind, fromPartition }] of state.outstanding)
    if (fromPartition === partition && kind === "ask") resolveAsk(state, token, { fault });
}

/** Sends an outcome to the caller: in this process directly, otherwise over the bus. */
export function reply(state: ClusterState, reply_to: string, outcome: Outcome): void {
  const address = reply_to.slice(reply_to.indexOf("#") + 1);
  const ownAddress = state.inbox.address("");
  if (address.startsWith(ownAddress)) return replyHere(state, address.slice(ownAddress.length), outcome);
  const answer: WireAnswer =
    "reply" in outcome ? outcome : { fault: { code: outcome.fault.code, message: outcome.fault.message } };
  state.bus.answer(address, JSON.stringify(answer)).catch((problem: unknown) => {
    // The caller asks again.
    state.log.debug("An answer was lost", { problem });
  });
}

function replyHere(state: ClusterState, token: string, outcome: Outcome): void {
  const ask = state.outstanding.get(token);
  if (ask && "fault" in outcome && outcome.fault.code === "lease_lost")
    askNextOwner(state, ask, outcome.fault);
  else resolveAsk(state, token, outcome);
}

/** The owner could not answer because it may own the key no longer: the next one is asked while the caller waits. */
function askNextOwner(state: ClusterState, ask: OutstandingAsk, fault: Fault): void {
  const { clock, partitions } = state;
  const { token, partition, fromPartition } = ask;
  // The next owner would answer, but it waits for this very work to end.
  const isOfMovingWork = fromPartition === partition && partitions.has(partition);
  const pause_ms =
    ask.moves === 0 ? 0 : Math.min(FIRST_MOVED_PAUSE_MS * 2 ** (ask.moves - 1), MAX_MOVED_PAUSE_MS);
  ask.moves++;
  const at_ms = clock.now() + pause_ms;
  if (isOfMovingWork || at_ms >= ask.deadline_ms) return resolveAsk(state, token, { fault });
  const again = (): void => {
    if (state.outstanding.get(token) !== ask) return;
    ask.attempt++;
    send(state, ask).catch((problem: unknown) => failAsk(state, token, problem));
  };
  if (pause_ms === 0) again();
  else clock.at(at_ms, again);
}

/** An answer has come over the bus. */
export function receiveAnswer(state: ClusterState, token: string, body: string): void {
  const answer = JSON.parse(body) as WireAnswer;
  const outcome = "fault" in answer ? { fault: new Fault(answer.fault.code, answer.fault.message) } : answer;
  replyHere(state, token, outcome);
}

/** An idempotency id of any length as a part of an address. */
const tokenOf = (id: string): string => createHash("sha256").update(id).digest("base64url").slice(0, 32);
