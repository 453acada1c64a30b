/**
 * Leases decide which node owns a partition, and nothing else does. A lease that is not renewed within `ttl_ms`
 * expires. Each later owner gets a larger epoch, which serves as the fencing token.
 */
export interface Lease {
  /** The revision at creation: the fencing token of this ownership. */
  readonly epoch: number;
  /** Increases with each renewal; the next renewal must name it. */
  readonly revision: number;
}

export type Renewal =
  | { readonly kind: "renewed"; readonly revision: number }
  /** Another node owns the partition, or the lease expired. */
  | { readonly kind: "lost" };

/**
 * How long a node counts as present without renewing. Shorter than the lease, so that the other nodes claim a dead
 * node's partitions as soon as its leases expire.
 */
export const presenceTtlMs = (ttl_ms: number): number => Math.round((ttl_ms * 2) / 3);

/** All methods throw Fault bus_unreachable, after which the result is unknown, and nothing else. */
export interface Leases {
  /** How long a lease lasts; equal on all nodes. */
  readonly ttl_ms: number;
  /** Null: another node owns the partition. */
  create(partition: number, node: string): Promise<Lease | null>;
  /** `renewed` also when an earlier renewal of this same lease took effect although its reply was lost. */
  renew(partition: number, node: string, lease: Lease): Promise<Renewal>;
  /** Releases the lease immediately. No effect when the lease has another revision by now. */
  release(partition: number, lease: Lease): Promise<void>;

  /** Marks this node as present for `presenceTtlMs(ttl_ms)`. */
  announcePresence(node: string): Promise<void>;
  removePresence(node: string): Promise<void>;
  members(): Promise<readonly string[]>;

  /** A setting that must be equal on all nodes: stores the value if there is none, and answers the stored value. */
  agreeOn(name: string, value: string): Promise<string>;
  close(): Promise<void>;
}
