/**
 * Who holds a partition, and who is there. Only this decides ownership (cluster.md, section 3.3): a lease that is not
 * renewed is forgotten after `ttl_ms`, and a later holder's epoch is larger than every earlier one's.
 */
export interface Lease {
  /** The revision at creation: the fencing token of this ownership. */
  readonly epoch: number;
  /** Grows with each renewal; the next renewal must name it. */
  readonly revision: number;
}

export type Renewal =
  | { readonly kind: "renewed"; readonly revision: number }
  /** Somebody else's, or forgotten. */
  | { readonly kind: "lost" };

/** Who falls silent is missed before its leases run out: the others are at its partitions when they do. */
export const presenceTtlMs = (ttl_ms: number): number => Math.round((ttl_ms * 2) / 3);

/** Throws Fault bus_unreachable (nothing is known then) and nothing else. */
export interface Leases {
  /** The same on all nodes. */
  readonly ttl_ms: number;
  /** null: somebody holds it. */
  create(partition: number, node: string): Promise<Lease | null>;
  /** `renewed` also when an earlier renewal of this very lease arrived though its answer was lost. */
  renew(partition: number, node: string, lease: Lease): Promise<Renewal>;
  /** Gives it back at once; nothing happens when it is no longer this revision's. */
  release(partition: number, lease: Lease): Promise<void>;

  /** Says that this node is there, for `presenceOf(ttl_ms)`. */
  announcePresence(node: string): Promise<void>;
  removePresence(node: string): Promise<void>;
  members(): Promise<readonly string[]>;

  /** A setting all nodes must share: stores it when nobody has, and answers what is stored. */
  agreeOn(name: string, value: string): Promise<string>;
  close(): Promise<void>;
}
