/**
 * How this process is part of a cluster: alone, with everything in memory between its actors, or as one of many nodes
 * over NATS. compose.ts gets the client, with which the actors are made, and has the node serve them.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { hostname } from "node:os";
import type { Actor } from "../cluster/actor.ts";
import type { ByteBudget } from "../cluster/byte-budget.ts";
import { type DistributedCluster, joinDistributed } from "../cluster/distributed.ts";
import { type ClusterClient, joinEmbedded, type ClusterDeps } from "../cluster/embedded.ts";
import { isUsedElsewhere } from "../cluster/generation.ts";
import { nextEpoch } from "../cluster/process-epoch.ts";
import type { Blobs } from "../cluster/ports/blobs.ts";
import { sleep } from "../cluster/ports/clock.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { LogLevel } from "../cluster/ports/log.ts";
import type { NodeAdmin, NodeDirectory, NodeReport } from "../cluster/ports/node-directory.ts";
import { type Topology, topologyOf } from "../node/topology.ts";
import { agreedSettings, agreeOnSettings } from "./agreed-settings.ts";
import type { Config } from "./config.ts";

export interface Membership {
  readonly cluster: ClusterClient;
  /** From now on the node owns keys; resolves when the stored reminders have been found. Throws Fault. */
  readonly serve: (actors: readonly Actor[]) => Promise<void>;
  /** The name of this node, unlike that of every other and every earlier one. */
  readonly node: string;
  /** Checks of /ready, by name. */
  readonly checks: Readonly<Record<string, { readonly ping: () => Promise<void>; readonly gates: boolean }>>;
  /** Sentences that /ready tells besides. */
  readonly warnings: () => readonly string[];
  /** How far this node's clock is ahead of the cluster's; null: there is no other node, or it is not known. */
  readonly clock_skew_ms: () => number | null;
  /** Whether other nodes listen on the same port. */
  readonly isShared: boolean;
  /** Into how many partitions the cluster is divided; 0: a single process, which owns every key. */
  readonly partitionCount: number;
  readonly ownedPartitions: () => readonly { readonly partition: number; readonly epoch: number }[];
  /** The reports of all nodes, after `announce`. Throws Fault. */
  readonly reports: () => Promise<readonly NodeReport[]>;
  /** Sets the level on all nodes, after `announce`; answers which have set it. Throws Fault. */
  readonly setLogLevel: (level: LogLevel) => Promise<readonly string[]>;
  /** From now on `trawl nodes` and `trawl drain` find this node. */
  readonly announce: (admin: NodeAdmin) => Promise<void>;
  /** Throws when another program than a node of this cluster listens there. */
  readonly claimSharedPort: (host: string, port: number, address: string) => Promise<void>;
  /** After the cluster was stopped. */
  readonly close: () => Promise<void>;
}

export type RoleName = Config["cluster"]["roles"][number];

/** nats-server 2.15 goes on refusing what an existing stream is sent after its full disk has room again. */
const silentStreamWarning = (stream: string): string =>
  `NATS answers, but its stream "${stream}" acknowledges nothing: look at the disk of NATS. After a full disk NATS must be restarted, ` +
  "once there is room";

/** For the commands that look at a cluster, too. Throws Fault. */
export async function openNodeDirectory(address: string): Promise<NodeDirectory> {
  const { natsNodeDirectory } = await import("../cluster/adapters/nodes/node-directory.nats.ts");
  return natsNodeDirectory(address);
}

/** Before stored data is migrated: a node of the older version would go on writing what it knows. Throws Fault, Error. */
export async function assertNoNodeRuns(config: Config): Promise<void> {
  // A single process has locked its data.
  if (topologyOf(config).isAlone) return;
  const nodeDirectory = await openNodeDirectory(config.cluster.bus);
  try {
    const running = (await nodeDirectory.nodes()).map(({ node, version }) => `${node} (${version})`);
    if (running.length > 0)
      throw new Error(
        `Cannot migrate the stored data while nodes of an older version run: ${running.join(", ")}. Stop them with trawl drain first`,
      );
  } finally {
    await nodeDirectory.close();
  }
}

async function isListening(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const roundedOrNull = (ms: number | null): number | null => (ms === null ? null : Math.round(ms));

function assertClock({ isTooLarge, skew_ms }: DistributedCluster["clockSkew"]): void {
  if (isTooLarge()) throw new Error(`This node's clock is ${skew_ms()} ms away from the cluster's`);
}

/** A node that starts listens before it is announced, and a busy one may not report in time. */
const ANNOUNCED_MS = 10_000;
const ANNOUNCED_AGAIN_MS = 500;

export async function join(
  config: Config,
  topology: Topology,
  {
    blobs,
    memory,
    documents_id,
    ...deps
  }: ClusterDeps & { readonly blobs: Blobs; readonly memory: ByteBudget; readonly documents_id: string },
): Promise<Membership> {
  const { bus: address, partitions: newPartitions } = config.cluster;
  const { random, documents, log } = deps;
  const chance = Math.floor(random.next() * 2 ** 32).toString(36);
  const node = `${hostname().replaceAll(/[^A-Za-z0-9-]/g, "-")}-${process.pid}-${chance}`;
  if (topology.isAlone) {
    const cluster = joinEmbedded(deps, await nextEpoch(documents));
    let own: NodeAdmin | null = null;
    return {
      cluster,
      serve: (actors) => cluster.serve(actors).recovered,
      node,
      checks: {},
      warnings: () => [],
      clock_skew_ms: () => null,
      isShared: false,
      partitionCount: 0,
      ownedPartitions: () => [],
      reports: async () => (own ? [own.report()] : []),
      async setLogLevel(level) {
        own?.setLogLevel(level);
        return [node];
      },
      announce: async (admin) => void (own = admin),
      claimSharedPort: async () => {},
      close: async () => {},
    };
  }
  // Loaded when the bus is NATS: one process starts without them.
  const [{ natsBus }, { natsLeases }, { natsRoleBus }] = await Promise.all([
    import("../cluster/adapters/bus/bus.nats.ts"),
    import("../cluster/adapters/leases/leases.nats.ts"),
    import("../cluster/adapters/nodes/role-bus.nats.ts"),
  ]);
  const bus = await natsBus(address, log);
  const leases = await natsLeases(address, log ? { log } : {});
  const nodeDirectory = await openNodeDirectory(address);
  const roleBus = await natsRoleBus(address, log);
  const owns = topology.isWorker;
  const close = async (): Promise<void> => {
    await Promise.allSettled([nodeDirectory.close(), leases.close(), roleBus.close(), bus.close()]);
  };
  try {
    const agreement = await agreeOnSettings(agreedSettings(config, nodeDirectory.cluster), {
      documents,
      leases,
      nodes: () => nodeDirectory.nodes(),
      newId: () => documents_id,
    });
    if (await isUsedElsewhere(documents, deps.clock, () => leases.survey()))
      throw new Error(
        `Cannot join the cluster "${nodeDirectory.cluster}": nodes on another NATS than that of TRAWL_BUS use its documents. ` +
          "Name their NATS in TRAWL_BUS, or another database in TRAWL_DOCUMENTS",
      );
    const roleNetwork = { bus: roleBus, blobs };
    const all = { ...deps, bus, leases, memory, roleNetwork, newPartitions };
    const cluster = await joinDistributed(all, { name: node, owns });
    return {
      cluster,
      serve: (actors) => cluster.serve(owns ? actors : []).recovered,
      node,
      checks: {
        bus: { ping: () => bus.ping(), gates: true },
        partitions: {
          async ping() {
            const count = cluster.desertedPartitions();
            if (count > 0)
              throw new Fault("no_workers", `Cannot reach ${count} partitions: no node owns them`);
          },
          gates: true,
        },
        clock: { ping: async () => assertClock(cluster.clockSkew), gates: true },
        documents_of: {
          async ping() {
            if (cluster.isForeign())
              throw new Fault("no_workers", "Cannot own partitions: nodes on another NATS use the documents");
          },
          gates: true,
        },
      },
      warnings: () => bus.silentStreams().map(silentStreamWarning),
      clock_skew_ms: () => roundedOrNull(cluster.clockSkew.skew_ms()),
      isShared: true,
      partitionCount: cluster.partitionCount,
      ownedPartitions: cluster.ownedPartitions,
      reports: () => nodeDirectory.nodes(),
      setLogLevel: (level) => nodeDirectory.setLogLevel(level),
      async announce(admin) {
        await nodeDirectory.serve(node, admin);
        await agreement.confirm();
      },
      async claimSharedPort(host, port, at) {
        const until_ms = deps.clock.now() + ANNOUNCED_MS;
        // With SO_REUSEPORT the system would give half of the connections to the other program.
        while (await isListening(host, port)) {
          const nodes = await nodeDirectory.nodes();
          if (nodes.some((other) => other.node !== node && other.address === at)) return;
          if (deps.clock.now() >= until_ms)
            throw new Error(`Cannot listen on ${host}:${port}: the address is taken by another program`);
          await sleep(deps.clock, ANNOUNCED_AGAIN_MS);
        }
      },
      close,
    };
  } catch (problem) {
    await close();
    throw problem;
  }
}
