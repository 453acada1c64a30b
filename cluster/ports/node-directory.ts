/**
 * The running nodes and their state, for operators. Each node answers for itself, at most once. Ownership of partitions
 * does not depend on it: leases alone decide that.
 */
import type { Stream } from "./bus.ts";
import type { LogLevel } from "./log.ts";

/** A node's report about itself. */
export interface NodeReport extends NodeFigures {
  readonly node: string;
  readonly version: string;
  /** The commit that it was built from; null: not known. Absent in reports of older versions. */
  readonly commit?: string | null;
  readonly roles: readonly string[];
  /** It reads bodies that share an object of S3. Absent in reports of older versions. */
  readonly reads_shared_bodies?: boolean;
  /** It finds the right to a body in the document of its page. Absent in reports of older versions. */
  readonly reads_rights_of_pages?: boolean;
  /** The actors of the node that are placed by role, in the order of the ladder. */
  readonly tiers: readonly TierReport[];
  /** The address for clients, which several nodes may share; null: the node has no gateway. */
  readonly address: string | null;
  /** The node's own address for /health, /ready and /metrics. */
  readonly status_address: string;
  /** Unix milliseconds. */
  readonly started_ms: number;
  readonly draining: boolean;
  /** How far its clock is ahead of the cluster's, negative: behind; null: not measured. From 2 s on it owns nothing. */
  readonly clock_skew_ms: number | null;
  readonly partitions: readonly { readonly partition: number; readonly epoch: number }[];
  /** Activations, background works in progress, and asks of this node that have no reply yet. */
  readonly active_actors: number;
  readonly background_works: number;
  readonly pending_asks: number;
}

/** Figures that the slices of a node add to its report. Each adds the type of its own; absent in reports of older versions. */
export interface NodeFigures {}

/** How loaded a tier of a node is. */
export interface TierReport {
  readonly tier: string;
  /** Calls at once. */
  readonly capacity: number;
  readonly in_use: number;
  readonly waiting: number;
  /** `open`: it answers that it is unavailable; `half_open`: one call tries whether that is still so. */
  readonly breaker: "closed" | "open" | "half_open";
  /** Over the last 600 s: calls, those that succeeded, those that ended because what the tier needs did not work. */
  readonly attempts: number;
  readonly successes: number;
  readonly infrastructure_failures: number;
  /** Within this time 95 of 100 successful calls ended; null: none succeeded. */
  readonly p95_ms: number | null;
}

/** The backlog of one partition and stream. A partition that no node reads has the epoch 0. */
export interface QueueReport {
  readonly stream: Stream;
  readonly partition: number;
  readonly epoch: number;
  /** Envelopes that were not delivered yet. */
  readonly waiting: number;
  /** Envelopes that were delivered and not acknowledged. */
  readonly unacknowledged: number;
}

export interface NodeAdmin {
  readonly report: () => NodeReport;
  /** Starts to hand all partitions over and then to end; does not wait for it. */
  readonly drain: () => void;
  /** From now on lines below this level are left out. */
  readonly setLogLevel: (level: LogLevel) => void;
}

/** All methods throw Fault bus_unreachable and nothing else. */
export interface NodeDirectory {
  /** The name that keeps several clusters on one bus apart. */
  readonly cluster: string;
  /** Answers requests for this node until the directory is closed. */
  serve(node: string, admin: NodeAdmin): Promise<void>;
  /** The reports of all nodes that answer within the time. */
  nodes(wait_ms?: number): Promise<readonly NodeReport[]>;
  /** Asks a node to drain. False: there is no node of that name. */
  drain(node: string): Promise<boolean>;
  /** Sets the log level of all nodes, and answers the names of those that did within the time. */
  setLogLevel(level: LogLevel): Promise<readonly string[]>;
  queues(): Promise<readonly QueueReport[]>;
  /** Into how many partitions the cluster is divided; 0: no node has agreed on it since the bus was emptied. */
  partitions(): Promise<number>;
  /**
   * Removes all envelopes and leases of this cluster from the bus, and answers the names of what it removed. Nodes that
   * run lose their partitions and create everything again.
   */
  wipe(): Promise<readonly string[]>;
  close(): Promise<void>;
}
