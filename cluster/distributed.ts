/**
 * Assembly: many processes over a Bus, Leases and Documents that all of them share.
 *
 * Every node can ask; one that `owns` also holds partitions. A question to a key this node holds stays in the process,
 * any other is a letter on SYNC; a tell is a letter on WORK. A letter is acknowledged when what its turn kept is stored
 * and its answer has left, in this order, so whoever dies in between leaves it to the next owner (cluster.md, 3.8).
 */
import { createHash } from "node:crypto";
import type { Contract, MessageOf, ReplyOf } from "../schemas/contract.ts";
import type { Actor, AskOptions, ActorClient } from "./actor.ts";
import { type Cluster, type ClusterDeps, SILENT } from "./embedded.ts";
import { assertFits, validatorsOf, copyOverWire } from "./wire.ts";
import { type Shard, node, type Outcome, localEntry, type AckReason } from "./node.ts";
import { type PartitionHandle, ownership, type PartitionLease } from "./ownership.ts";
import { partitionOf, PARTITIONS } from "./placement.ts";
import type { Bus, Delivery, Inbox, Envelope } from "./ports/bus.ts";
import { Fault, type FaultCode } from "./ports/fault.ts";
import type { Leases } from "./ports/leases.ts";
import { pendingAsks, ASK_TIMEOUT_MS } from "./pending-asks.ts";

export interface DistributedDeps extends ClusterDeps {
  readonly bus: Bus;
  readonly leases: Leases;
}

export interface Role {
  /** Unlike every other node's, also of those that are gone: host, process, chance. */
  readonly name: string;
  /** Whether it holds partitions; a gateway only asks. */
  readonly owns: boolean;
}

export interface DistributedCluster extends Cluster {
  readonly partitions: () => readonly number[];
  /** The same with their epochs. */
  readonly ownedPartitions: () => readonly Pick<PartitionLease, "partition" | "epoch">[];
}

/** What an answer looks like on the wire. */
type WireAnswer =
  | { readonly reply: unknown }
  | { readonly fault: { readonly code: FaultCode; readonly message: string } };

/** An open question older than this is asked again, this often: answers travel at most once. */
const RESEND_AFTER_MS = 10_000;
const RESEND_CHECK_MS = 1_000;
/** A tell that was refused is tried again this often, for ten seconds; then it is lost and counted. */
const TELL_RETRY_MS = 250;
const MAX_TELL_RETRIES = 40;
const ACK_RETRY_MS = 100;
/** How often what the bus counts as unacknowledged is looked for among what this node knows it has. */
const STRANDED_CHECK_MS = 60_000;
/** After the connection was away, when what was on its way may have been lost. */
const STRANDED_CHECK_SOON_MS = 2_000;
const STOP_MS = 10_000;

interface LocalPartition extends PartitionLease {
  readonly shard: Shard;
  isClosing: boolean;
  readonly checkStrandedSoon: () => void;
}

interface OutstandingAsk {
  resend_at_ms: number;
  attempt: number;
  /** The place it was left with, when that is in this process. */
  sent_to: LocalPartition | null;
  /** The partition whose work asks; null: asked from outside. */
  readonly from_partition: number | null;
  readonly send: (attempt: number) => Promise<void>;
}

export async function distributed(
  actors: readonly Actor[],
  deps: DistributedDeps,
  { name: nodeName, owns }: Role,
): Promise<DistributedCluster> {
  const { clock, bus, leases, meters = SILENT } = deps;
  const pending = pendingAsks(clock, meters);
  const outstanding = new Map<string, OutstandingAsk>();
  const localPartitions = new Map<number, LocalPartition>();
  let nextId = 0;
  let isStopping = false;
  await assertClusterSettings(deps);

  const inbox: Inbox = await bus.inbox((token, body) => {
    const answer = JSON.parse(body) as WireAnswer;
    resolveAsk(
      token,
      "fault" in answer ? { fault: new Fault(answer.fault.code, answer.fault.message) } : answer,
    );
  });
  const own_address = inbox.address("");

  function resolveAsk(token: string, outcome: Outcome): void {
    outstanding.delete(token);
    pending.resolve(token, outcome);
  }

  // --- asking and telling --------------------------------------------------------------------------------------

  /** The partition's own mailbox, when it is in this process and takes messages. */
  function localPartition(partition: number): LocalPartition | null {
    const local = localPartitions.get(partition);
    return local && !local.isClosing && local.isValid() ? local : null;
  }

  const clientFor =
    (from_partition: number | null): ActorClient =>
    <O, N extends keyof O & string>(
      of: Contract<O>,
      key: string,
      operation: N,
      message: MessageOf<O[N]>,
      { timeout_ms = ASK_TIMEOUT_MS, idempotency_id }: AskOptions = {},
    ): Promise<ReplyOf<O[N]>> => {
      const token =
        idempotency_id === undefined
          ? `${nextId++}`
          : tokenOf(`${of.name} ${key} ${operation} ${idempotency_id}`);
      const existing = pending.get(token);
      if (existing) return existing.promise;
      const partition = partitionOf(of.shard_by, key);
      const what = `"${of.name}.${operation}"`;
      const isExternal = from_partition === null;
      const { promise, deadline_ms } = pending.open(token, `"${of.name}/${key}"`, timeout_ms, isExternal);
      try {
        if (isStopping && isExternal)
          throw new Fault("no_answer", `Cannot ask "${of.name}/${key}": this node is stopping`);
        const { kind, message: validator } = validatorsOf(of, operation);
        const copy = copyOverWire(what, validator, message);
        const reply_to = `${of.name}.${operation}#${inbox.address(token)}`;
        const body = JSON.stringify({ key, operation, message: copy });
        const number = nextId++;
        const ask: OutstandingAsk = {
          resend_at_ms: clock.now() + RESEND_AFTER_MS,
          attempt: 0,
          sent_to: null,
          from_partition,
          async send(attempt) {
            // While it moves, only what its own work tells: how that ended.
            const local =
              localPartition(partition) ??
              (kind === "tell" && from_partition === partition ? localPartitions.get(partition) : null) ??
              null;
            ask.sent_to = local;
            if (local) {
              const envelope = { operation, message: copy, reply_to, isRepeatable: true, deadline_ms };
              return local.shard.deliver(of.name, key, {
                ...envelope,
                ack: null,
                isLocal: true,
                failed_attempts: 0,
              });
            }
            // The next owner would answer, but it waits for this very work to end.
            if (kind === "ask" && from_partition === partition && localPartitions.has(partition))
              throw new Fault("lease_lost", `Cannot ask "${of.name}/${key}": its partition is moving`);
            const envelope = { partition, name: of.name, key, body };
            if (kind === "tell") {
              const once = idempotency_id === undefined ? `${nodeName}:${token}` : token;
              await bus.send({
                ...envelope,
                stream: "work",
                dedup_id: once,
                reply_to: null,
                deadline_ms: null,
              });
              return resolveAsk(token, { reply: undefined });
            }
            // Asked again it is another letter: the first may have been answered already, and the answer lost. So it
            // is when its asker had given up before and asks the same once more.
            const once = `${nodeName}:${token}:${number}.${attempt}`;
            await bus.send({ ...envelope, stream: "sync", dedup_id: once, reply_to, deadline_ms });
          },
        };
        outstanding.set(token, ask);
        ask.send(0).catch((problem: unknown) => failAsk(token, problem));
      } catch (problem) {
        failAsk(token, problem);
      }
      return promise;
    };

  function failAsk(token: string, problem: unknown): void {
    outstanding.delete(token);
    if (problem instanceof Fault) pending.resolve(token, { fault: problem });
    else pending.reject(token, problem);
  }

  /** Asks once more what is open for long, or was left with a place that is gone; and everything after a reconnect. */
  function resendAsks(everything: boolean): void {
    const now_ms = clock.now();
    for (const [token, ask] of outstanding) {
      if (!pending.get(token)) {
        outstanding.delete(token);
        continue;
      }
      const { sent_to: place } = ask;
      const stranded = place !== null && localPartitions.get(place.partition) !== place;
      if (!everything && !stranded && now_ms < ask.resend_at_ms) continue;
      ask.resend_at_ms = now_ms + RESEND_AFTER_MS;
      // What is refused now may be taken in ten seconds; patience ends it.
      ask.send(++ask.attempt).catch(() => {});
    }
  }

  function tell(
    contract: Actor["contract"],
    key: string,
    operation: string,
    message: unknown,
    // The same however often it is tried: a refusal may only mean that the answer got lost.
    once = `${nodeName}:tell:${nextId++}`,
    attempts = 0,
  ): void {
    const partition = partitionOf(contract.shard_by, key);
    const local = localPartition(partition);
    const envelope: Envelope = {
      stream: "work",
      partition,
      name: contract.name,
      key,
      body: JSON.stringify({ key, operation, message }),
      dedup_id: once,
      reply_to: null,
      deadline_ms: null,
    };
    const sent = local
      ? Promise.resolve().then(() => local.shard.deliver(contract.name, key, localEntry(operation, message)))
      : bus.send(envelope).then(() => {});
    sent.catch((problem: unknown) => {
      if (problem instanceof Fault && problem.code !== "message_too_large" && attempts < MAX_TELL_RETRIES) {
        clock.at(clock.now() + TELL_RETRY_MS, () =>
          tell(contract, key, operation, message, once, attempts + 1),
        );
        return;
      }
      if (problem instanceof Fault) meters.count("trawl_faults_total", { code: problem.code });
      meters.say("error", "A message was lost", { actor: contract.name, key, operation, problem });
    });
  }

  function reply(reply_to: string, outcome: Outcome): void {
    const address = reply_to.slice(reply_to.indexOf("#") + 1);
    if (address.startsWith(own_address)) {
      const token = address.slice(own_address.length);
      const ask = outstanding.get(token);
      const hasMoved = "fault" in outcome && outcome.fault.code === "lease_lost" && ask?.sent_to;
      if (!hasMoved || ask.from_partition === ask.sent_to!.partition) return resolveAsk(token, outcome);
      // It moved while somebody else's work waited for it: asked again where it goes.
      ask.send(++ask.attempt).catch((problem: unknown) => failAsk(token, problem));
      return;
    }
    const answer: WireAnswer =
      "reply" in outcome ? outcome : { fault: { code: outcome.fault.code, message: outcome.fault.message } };
    bus.answer(address, JSON.stringify(answer)).catch((problem: unknown) => {
      // The asker asks again.
      meters.say("debug", "An answer was lost", { problem });
    });
  }

  const localNode = node(actors, { ...deps, meters }, { reply, tell });

  // --- one partition -------------------------------------------------------------------------------------------

  async function openPartition(lease: PartitionLease): Promise<PartitionHandle> {
    const shard = localNode.openShard({
      ownsKeys: lease.isValid,
      epoch: lease.epoch,
      ask: clientFor(lease.partition),
    });
    const local: LocalPartition = { ...lease, shard, isClosing: false, checkStrandedSoon };
    /** Handed out by the bus and not acknowledged yet. */
    const unacknowledged = new Set<Delivery>();
    let onAcknowledged: (() => void) | null = null;
    /** Settled, and the bus has not been told yet. */
    let acknowledging = 0;

    async function acknowledge(delivery: Delivery): Promise<void> {
      acknowledging++;
      // "Not yours" may also be a server that has just come up, so the lease decides.
      while (lease.isHeld()) {
        if (await delivery.acknowledge().catch(() => false)) break;
        await pause(ACK_RETRY_MS);
      }
      unacknowledged.delete(delivery);
      acknowledging--;
      if (acknowledging === 0) onAcknowledged?.();
    }

    function onDelivery(delivery: Delivery): void {
      if (!lease.isHeld() || local.isClosing) return;
      unacknowledged.add(delivery);
      const { envelope } = delivery;
      const ack = (reason: AckReason): void => {
        if (reason === "dead_lettered")
          meters.say("warn", "A message was dead-lettered", { actor: envelope.name, key: envelope.key });
        void acknowledge(delivery);
      };
      const now_ms = clock.now();
      if (envelope.deadline_ms !== null && envelope.deadline_ms <= now_ms) return ack("expired");
      try {
        const { operation, message } = decodeEnvelope(envelope);
        shard.deliver(envelope.name, envelope.key, {
          operation,
          message,
          reply_to: envelope.reply_to ?? "",
          isRepeatable: envelope.reply_to !== null,
          deadline_ms: envelope.deadline_ms ?? Infinity,
          ack,
          isLocal: false,
          failed_attempts: 0,
        });
      } catch (problem) {
        meters.count("trawl_actor_failures_total", { kind: envelope.name });
        meters.say("error", "An envelope cannot be read", {
          actor: envelope.name,
          key: envelope.key,
          problem,
        });
        const fault = new Fault(
          "no_answer",
          `Cannot read what was asked of "${envelope.name}/${envelope.key}"`,
        );
        if (envelope.reply_to !== null) reply(envelope.reply_to, { fault });
        ack("dead_lettered");
      }
    }

    const onReaderLost = (): void => lease.lose("its reader was taken away");
    const reader = await bus.subscribe(lease.partition, lease.epoch, onDelivery, onReaderLost, () =>
      lease.isValid(),
    );
    localPartitions.set(lease.partition, local);
    // Not awaited: letters are answered while those with duties are looked for.
    shard.recover([lease.partition]).catch((problem: unknown) => {
      meters.say("warn", "Actors with reminders could not be listed", {
        partition: lease.partition,
        problem,
      });
      retryRecovery();
    });
    function retryRecovery(): void {
      clock.at(clock.now() + RESEND_CHECK_MS, () => {
        if (lease.isHeld() && !local.isClosing) shard.recover([lease.partition]).catch(retryRecovery);
      });
    }

    /** Unacknowledged at the last look, and unknown here. */
    let unknownIds: readonly string[] = [];
    /** Looks that come soon. */
    let soonChecks = 0;
    let timer: Disposable | null = null;
    async function checkStranded(): Promise<void> {
      timer = null;
      const oldest = await reader.oldestUnacknowledged().catch(() => []);
      const knownIds = new Set([...unacknowledged].map(({ id }) => id));
      const previous = unknownIds;
      unknownIds = oldest.filter((id) => !knownIds.has(id));
      // One may be on its way, either way; one that was there the last time is not.
      const stranded = unknownIds.filter((id) => previous.includes(id));
      if (stranded.length > 0) {
        meters.say("warn", "Envelopes are stranded", { partition: lease.partition, stranded });
        partitionOwner?.relinquish(lease.partition);
      } else scheduleCheck();
    }
    function scheduleCheck(): void {
      if (!lease.isHeld() || local.isClosing) return;
      const after_ms = soonChecks > 0 ? STRANDED_CHECK_SOON_MS : STRANDED_CHECK_MS;
      soonChecks = Math.max(0, soonChecks - 1);
      timer = clock.at(clock.now() + after_ms, () => void checkStranded());
    }
    function checkStrandedSoon(): void {
      soonChecks = 2;
      // One that is looking at this moment goes on by itself.
      if (!timer) return;
      timer[Symbol.dispose]();
      scheduleCheck();
    }
    void checkStranded();

    return {
      async drain() {
        local.isClosing = true;
        reader.stop();
        shard.close();
        await shard.drained();
        if (acknowledging > 0) await new Promise<void>((resolve) => (onAcknowledged = resolve));
      },
      drop() {
        local.isClosing = true;
        timer?.[Symbol.dispose]();
        reader.stop();
        if (localPartitions.get(lease.partition) === local) localPartitions.delete(lease.partition);
        shard.drop("handed_off");
        const fault = new Fault("lease_lost", `Partition ${lease.partition} is another node's now`);
        for (const [token, { from_partition: home }] of outstanding)
          if (home === lease.partition) resolveAsk(token, { fault });
        onAcknowledged?.();
        resendAsks(false);
      },
      remove: () => reader.remove(),
    };
  }

  function decodeEnvelope(envelope: Envelope): { operation: string; message: unknown } {
    const actor = actors.find(({ contract }) => contract.name === envelope.name);
    if (!actor)
      throw new TypeError(`Cannot take an envelope for "${envelope.name}": it is not part of this node`);
    const { operation, message } = JSON.parse(envelope.body) as { operation: string; message: unknown };
    const { message: validator } = validatorsOf(actor.contract, operation);
    return { operation, message: assertFits(`"${envelope.name}.${operation}"`, validator, message) };
  }

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      clock.at(clock.now() + ms, resolve);
    });

  let resendTimer: Disposable | null = null;
  function resendRegularly(): void {
    resendAsks(false);
    resendTimer = clock.at(clock.now() + RESEND_CHECK_MS, resendRegularly);
  }
  resendRegularly();
  bus.onReconnect(() => {
    resendAsks(true);
    for (const { checkStrandedSoon: lookSoon } of localPartitions.values()) lookSoon();
  });

  const partitionOwner = owns ? ownership(nodeName, { clock, leases, meters }, openPartition) : null;

  async function stop(limit_ms = STOP_MS): Promise<void> {
    isStopping = true;
    const ends_ms = clock.now() + limit_ms;
    const limit = Promise.withResolvers<void>();
    const timer = clock.at(ends_ms, limit.resolve);
    await Promise.race([limit.promise, pending.drained()]);
    await partitionOwner?.drain(Math.max(0, ends_ms - clock.now()));
    timer[Symbol.dispose]();
    resendTimer?.[Symbol.dispose]();
    for (const token of outstanding.keys())
      resolveAsk(token, { fault: new Fault("no_answer", "Cannot answer: this node has stopped") });
    await inbox.close();
    localNode.close();
  }

  return {
    ask: clientFor(null),
    recovered: partitionOwner?.firstRound ?? Promise.resolve(),
    stop,
    partitions: () => (partitionOwner?.partitions() ?? []).map(({ partition }) => partition),
    ownedPartitions: () => partitionOwner?.partitions() ?? [],
    stats: () => ({ ...localNode.stats(), pending_asks: pending.size() }),
  };
}

/** An id of any length as a part of an address. */
const tokenOf = (id: string): string => createHash("sha256").update(id).digest("base64url").slice(0, 32);

/**
 * What all nodes must share, or this one may not join. The generation is raised when the bus is rebuilt, so that its
 * revisions, which begin at 1 again then, are never mistaken for old ones.
 */
async function assertClusterSettings({ leases, documents }: DistributedDeps): Promise<void> {
  await documents.put("cluster", "main", { generation: 1 }, 0);
  const stored = await documents.get("cluster", "main");
  const { generation } = stored!.value as { generation: number };
  const ours = { partitions: PARTITIONS, lease_ttl_ms: leases.ttl_ms, generation };
  for (const [name, value] of Object.entries(ours)) {
    const theirs = await leases.agreeOn(name, String(value));
    if (theirs !== String(value))
      throw new Error(`Cannot join this cluster: its "${name}" is ${theirs}, this node's is ${value}`);
  }
}
