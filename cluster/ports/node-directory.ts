/**
 * Which nodes there are and how they are, for people: asked of the nodes themselves and answered at most once. Nothing
 * depends on it; who owns what is decided by the leases alone.
 */
import type { Stream } from "./bus.ts";

/** A node about itself. */
export interface NodeReport {
  readonly node: string;
  readonly version: string;
  readonly roles: readonly string[];
  /** Where it serves clients, together with others; null: it does not. */
  readonly address: string | null;
  /** Where it alone tells of itself: /health, /ready, /metrics. */
  readonly status_address: string;
  /** Unix milliseconds. */
  readonly started_ms: number;
  readonly draining: boolean;
  readonly partitions: readonly { readonly partition: number; readonly epoch: number }[];
  /** Actors awake, works running, questions it asked and has no answer to. */
  readonly active_actors: number;
  readonly background_works: number;
  readonly pending_asks: number;
}

/** What is in front of a partition's reader. */
export interface QueueReport {
  readonly stream: Stream;
  readonly partition: number;
  readonly epoch: number;
  /** Letters nobody was handed yet. */
  readonly waiting: number;
  /** Handed out and not acknowledged. */
  readonly unacknowledged: number;
}

/** What a node does for whoever asks. */
export interface NodeAdmin {
  readonly report: () => NodeReport;
  /** Begins to hand everything over and to end; does not wait for it. */
  readonly drain: () => void;
}

/** Throws Fault bus_unreachable and nothing else. */
export interface NodeDirectory {
  /** Answers for this node until the roster is closed. */
  serve(node: string, admin: NodeAdmin): Promise<void>;
  /** Everybody who answers within the time. */
  nodes(wait_ms?: number): Promise<readonly NodeReport[]>;
  /** False: there is no node of that name. */
  drain(node: string): Promise<boolean>;
  queues(): Promise<readonly QueueReport[]>;
  /** Removes all letters and leases of this cluster from the bus; what was removed. Only when no node runs. */
  wipe(): Promise<readonly string[]>;
  close(): Promise<void>;
}
