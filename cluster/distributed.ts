/**
 * Assembly: many processes over a bus, leases and documents that all of them share.
 *
 * Every node can ask; a node with the role `owns` also owns partitions. An ask for a key of this node stays in the
 * process, any other goes to its owner over the bus, or waits for one on the stream SYNC; a tell is an envelope on WORK.
 * partition.ts reads them.
 */
import type { Actor } from "./actor.ts";
import type { ByteBudget } from "./byte-budget.ts";
import { type ClockSkew, clockSkew } from "./clock-skew.ts";
import type { Cluster, ClusterClient, ClusterDeps, Serves } from "./embedded.ts";
import { BEAT_MS, generations, partitionsIn } from "./generation.ts";
import { type LocalNode, node } from "./internal/turn/node.ts";
import { localEntry } from "./internal/turn/node-state.ts";
import {
  type ClusterState,
  clientFor,
  failDesertedAsks,
  openPartitionAt,
  receiveAnswer,
  reply,
  resendAsks,
  resolveAsk,
} from "./internal/transport/outstanding-asks.ts";
import { type Ownership, ownership } from "./internal/partition/ownership.ts";
import type { PartitionLease } from "./internal/partition/partition-lease.ts";
import { NO_STATS } from "./internal/turn/passivation.ts";
import { openPartition, type PartitionDeps } from "./internal/partition/partition.ts";
import { tableOwnership } from "./internal/partition/table-ownership.ts";
import { watchPartitions } from "./internal/partition/partition-watch.ts";
import { pendingAsks } from "./internal/transport/pending-asks.ts";
import { isPartitionCount, MIN_PARTITIONS, partitionOf, usesTable } from "./placement.ts";
import type { Bus } from "./ports/bus.ts";
import { Fault } from "./ports/fault.ts";
import type { Leases } from "./ports/leases.ts";
import { SILENT_LOG } from "./ports/log.ts";
import { SILENT_METRICS } from "./ports/metrics.ts";
import { type RoleNetwork, roleRouter } from "./internal/roles/role-router.ts";
import { type OutgoingTell, type TellLines, tellLines } from "./internal/transport/tell-retries.ts";
import { encodeBody, validatorsOf } from "./internal/transport/wire.ts";

export interface DistributedDeps extends ClusterDeps {
  readonly bus: Bus;
  readonly leases: Leases;
  /** The memory for messages of the bus until they are acknowledged. Default: they take what they need. */
  readonly memory?: ByteBudget;
  /** Into how many partitions a cluster is divided that has no record yet. Default 64, as before there was a choice. */
  readonly newPartitions?: number;
  /** How calls to actors placed by role reach other nodes. Default: they stay in this process. */
  readonly roleNetwork?: Omit<RoleNetwork, "nodeName">;
}

export interface Role {
  /** Unlike that of every other node, also of those that are gone: host, process, chance. */
  readonly name: string;
  /** Whether it owns partitions; a gateway only asks. */
  readonly owns: boolean;
}

export interface DistributedClient extends ClusterClient {
  readonly partitions: () => readonly number[];
  /** The number of partitions of the cluster. */
  readonly partitionCount: number;
  /** The owned partitions with their epochs. */
  readonly ownedPartitions: () => readonly Pick<PartitionLease, "partition" | "epoch">[];
  /** The number of partitions that no node owns and none is about to claim: asks for their keys are refused. */
  readonly desertedPartitions: () => number;
  /** Whether this node may work for the partition's keys at this moment. */
  readonly ownsPartition: (partition: number) => boolean;
  /** Whether the documents belong to the nodes of another lease store, so that this node may own nothing. */
  readonly isForeign: () => boolean;
  /** How far this node's clock is from the cluster's. */
  readonly clockSkew: Pick<ClockSkew, "skew_ms" | "isTooLarge">;
}

export interface DistributedCluster extends DistributedClient, Pick<Cluster, "recovered"> {}

const RESEND_CHECK_MS = 1_000;
const STOP_MS = 10_000;

export async function distributed(
  actors: readonly Actor[],
  deps: DistributedDeps,
  role: Role,
): Promise<DistributedCluster> {
  return (await joinDistributed(deps, role)).serve(actors);
}

/** The parts that a node has once it owns keys. */
interface Serving {
  readonly node: LocalNode;
  readonly tells: TellLines<OutgoingClusterTell>;
  readonly owner: Ownership | null;
}

/** The node joins with its client and its actors that are placed by role, and owns nothing until `serve`. */
export async function joinDistributed(
  deps: DistributedDeps,
  { name: nodeName, owns }: Role,
): Promise<DistributedClient & Serves<DistributedCluster>> {
  const { clock, bus, leases, documents, metrics = SILENT_METRICS, log = SILENT_LOG, tracing } = deps;
  const partitionCount = await agreeOnClusterSettings(deps);
  const { claimTerms, confirm, isForeign, watched } = generations(documents, clock, {
    ttl_ms: leases.ttl_ms,
    partitions: partitionCount,
  });
  await claimTerms(() => leases.survey());
  const { random, roleActors = [], roleNetwork } = deps;
  const network = roleNetwork ? { ...roleNetwork, nodeName } : null;
  const roles = await roleRouter(roleActors, { clock, random, log, tracing }, network);
  const inbox = await bus.inbox((token, body) => receiveAnswer(state, token, body));
  const watch = watchPartitions({ clock, leases, metrics, log, partitionCount }, () =>
    failDesertedAsks(state),
  );
  const state: ClusterState = {
    clock,
    bus,
    metrics,
    log,
    tracing,
    nodeName,
    partitionCount,
    inbox,
    pending: pendingAsks(clock, metrics),
    outstanding: new Map(),
    partitions: new Map(),
    watch,
    timeOnBus: (sent_ms) => skew.timeOnBus(sent_ms),
    memory: deps.memory,
    nextId: 0,
    isStopping: false,
  };
  let serving: Serving | null = null;

  let resendTimer: Disposable | null = null;
  function resendRegularly(): void {
    resendAsks(state, false);
    resendTimer = clock.at(clock.now() + RESEND_CHECK_MS, resendRegularly);
  }
  resendRegularly();
  bus.onReconnect(() => {
    resendAsks(state, true);
    for (const { checkStrandedSoon } of state.partitions.values()) checkStrandedSoon();
  });

  const skew = clockSkew({
    clock,
    leases,
    metrics,
    log,
    nodeName,
    ownsNothing: () => state.partitions.size === 0,
  });
  // A node whose clock is wrong claims nothing.
  await skew.first;
  const ownsPartition = (partition: number): boolean => state.partitions.get(partition)?.isValid() ?? false;

  let beatTimer: Disposable | null = null;
  let wasForeign = false;
  async function confirmRegularly(): Promise<void> {
    // Not reached: what was seen last stands.
    await confirm(() => watch.refresh(), owns).catch(() => {});
    if (isForeign() && !wasForeign) log.error("The documents belong to the nodes of another NATS");
    if (wasForeign && !isForeign()) log.info("The documents belong to the nodes of this NATS again");
    wasForeign = isForeign();
    if (!state.isStopping) beatTimer = clock.at(clock.now() + BEAT_MS, () => void confirmRegularly());
  }

  async function stop(limit_ms = STOP_MS): Promise<void> {
    state.isStopping = true;
    const ends_ms = clock.now() + limit_ms;
    const limit = Promise.withResolvers<void>();
    const timer = clock.at(ends_ms, limit.resolve);
    const rolesDrained = roles.drain(limit_ms);
    await Promise.race([limit.promise, state.pending.drained()]);
    await serving?.owner?.drain(Math.max(0, ends_ms - clock.now()));
    // Messages that partitions could not finish are on its way to their next owners.
    await Promise.race([limit.promise, serving?.tells.drained()]);
    await rolesDrained;
    timer[Symbol.dispose]();
    resendTimer?.[Symbol.dispose]();
    beatTimer?.[Symbol.dispose]();
    watch.stop();
    skew.stop();
    for (const token of state.outstanding.keys())
      resolveAsk(state, token, { fault: new Fault("no_answer", "Cannot answer: this node has stopped") });
    await state.inbox.close();
    await roles.close();
    serving?.node.close();
  }

  const client: DistributedClient = {
    ask: clientFor(state, null),
    roles,
    stats: () => ({ ...(serving?.node.stats() ?? NO_STATS), pending_asks: state.pending.size() }),
    ownsKey: ({ shard_by }, key) => ownsPartition(partitionOf(shard_by, key, partitionCount)),
    stop,
    partitions: () => (serving?.owner?.partitions() ?? []).map(({ partition }) => partition),
    ownedPartitions: () => serving?.owner?.partitions() ?? [],
    partitionCount,
    desertedPartitions: () => watch.deserted(),
    ownsPartition,
    clockSkew: skew,
    isForeign,
  };

  function serve(actors: readonly Actor[]): DistributedCluster {
    const { tells, node: localNode } = runActors(state, deps, actors);
    const partitionDeps: PartitionDeps = {
      actors,
      openShard: localNode.openShard,
      deadLetters: localNode.deadLetters,
      relinquish: (partition) => owner?.relinquish(partition),
    };
    const owner = owns
      ? (usesTable(partitionCount) ? tableOwnership : ownership)(
          nodeName,
          {
            clock,
            partitionCount,
            leases: watched(leases),
            metrics,
            log,
            mayOwn: () => !skew.isTooLarge(),
            isForeign,
            claimTerms: () => claimTerms(() => watch.refresh()),
          },
          (lease) => openPartition(state, partitionDeps, lease),
        )
      : null;
    serving = { node: localNode, tells, owner };
    void confirmRegularly();
    return { ...client, recovered: owner?.firstRound ?? Promise.resolve() };
  }

  return { ...client, serve };
}

/** The actors of this node, and what they tell others. */
function runActors(
  state: ClusterState,
  deps: DistributedDeps,
  actors: readonly Actor[],
): Pick<Serving, "node" | "tells"> {
  const { clock, metrics, log, tracing, nodeName, partitionCount } = state;
  const tells = tellLines<OutgoingClusterTell>({ clock, metrics, log }, (outgoing) =>
    deliverTell(state, outgoing),
  );
  const localNode = node(
    actors,
    { ...deps, metrics, log, partitionCount },
    {
      reply: (reply_to, outcome) => reply(state, reply_to, outcome),
      tell: (contract, key, operation, message) => {
        const dedup_id = `${nodeName}:tell:${state.nextId++}`;
        const traceparent = tracing?.current();
        tells.send({ name: contract.name, contract, key, operation, message, dedup_id, traceparent });
      },
    },
  );
  return { node: localNode, tells };
}

interface OutgoingClusterTell extends OutgoingTell {
  readonly contract: Actor["contract"];
  /** The id of every attempt: a refusal may only mean that the answer got lost. */
  readonly dedup_id: string;
}

/** Gives the tell of a turn to its actor here, or to the bus. Throws, or rejects with, a Fault when it is refused. */
function deliverTell(state: ClusterState, outgoing: OutgoingClusterTell): void | Promise<void> {
  const { name, contract, key, operation, message, dedup_id, traceparent } = outgoing;
  const partition = partitionOf(contract.shard_by, key, state.partitionCount);
  const local = openPartitionAt(state, partition);
  if (local) return local.shard.deliver(name, key, localEntry(operation, message, traceparent));
  const validators = validatorsOf(contract, operation);
  const body = encodeBody({ key, operation, message, traceparent }, validators, state.clock.now());
  const envelope = {
    stream: "work",
    partition,
    name,
    key,
    body,
    dedup_id,
    reply_to: null,
    timeout_ms: null,
  } as const;
  return state.bus.send(envelope).then(() => {});
}

/** Refuses to join a cluster whose nodes have other values of what all must share. Answers the number of partitions. */
async function agreeOnClusterSettings(deps: DistributedDeps): Promise<number> {
  const { leases, documents, newPartitions = MIN_PARTITIONS } = deps;
  const lease_ttl_ms = await leases.agreeOn("lease_ttl_ms", String(leases.ttl_ms));
  if (lease_ttl_ms !== String(leases.ttl_ms))
    throw new Error(
      `Cannot join this cluster: its "lease_ttl_ms" is ${lease_ttl_ms}, this node's is ${leases.ttl_ms}`,
    );
  const recorded = await partitionsIn(documents);
  // Nodes that start a cluster together agree here; a node of a version that knows only 64 refuses any other number.
  const agreed = await leases.agreeOn("partitions", String(recorded ?? newPartitions));
  if (recorded !== null && agreed !== String(recorded))
    throw new Error(
      `Cannot join this cluster: its documents are divided into ${recorded} partitions, its bus into ${agreed}. ` +
        "Stop all nodes and run trawl cluster rebuild",
    );
  if (!isPartitionCount(Number(agreed)))
    throw new Error(
      `Cannot join this cluster: its "partitions" is ${agreed}, which this version does not know`,
    );
  return Number(agreed);
}
