/**
 * Leases decide which node owns a partition, and nothing else does. A lease that is not renewed within `ttl_ms`
 * expires. Each later owner gets a larger epoch, which serves as the fencing token.
 */
export interface Lease {
  /** Generation and revision at creation in one number: the fencing token of this ownership. */
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

/** A node's clock as it was compared last. */
export interface ClockReading {
  readonly node: string;
  /** Another one for each comparison of a node. */
  readonly id: number;
  /** The node's clock when it sent the reading, minus the store's clock when it stored it: too small by the way there. */
  readonly ahead_ms: number;
}

/** A reading older than this is forgotten with its node. */
export const CLOCK_READING_TTL_MS = 10_000;

/** The lease store at one moment. */
export interface LeaseSurvey {
  /** Which store it is: another one after its data was lost and it was created again. */
  readonly store_id: string;
  /** How long this store exists. */
  readonly age_ms: number;
  /** Revision of the last change of a lease. Smaller than before: the store was rolled back to an earlier state. */
  readonly revision: number;
  /** The partitions that have a lease. */
  readonly held: ReadonlySet<number>;
}

/** The lease store that a claim refers to. Epochs of a new store would start again at 1, so each store has a larger generation. */
export interface ClaimTerms {
  readonly store_id: string;
  readonly generation: number;
  /** The store had reached it when the terms were made: a claim with a smaller one finds a store that was rolled back. */
  readonly revision: number;
}

/** Multiplier of the generation in an epoch: room for 8,000 generations of 2^40 revisions each. */
export const EPOCHS_OF_GENERATION = 2 ** 40;

export interface Assignment {
  /** The lease of the node that owns the partition; null: no node does. */
  readonly lease: string | null;
  /** Grows with each owner. */
  readonly epoch: number;
  /** Its owner is to return it. */
  readonly isLeaving: boolean;
}

/** Which lease of a node owns which partition, in a cluster of more than 64 partitions. */
export interface AssignmentTable {
  /** A table of an earlier generation is void. */
  readonly generation: number;
  /** Grows with each write. */
  readonly version: number;
  readonly assignments: readonly Assignment[];
}

export type TableVersion = Pick<AssignmentTable, "generation" | "version">;

export const isNewerTable = (a: TableVersion, b: TableVersion): boolean =>
  a.generation > b.generation || (a.generation === b.generation && a.version > b.version);

export interface StoredTable {
  readonly revision: number;
  readonly table: AssignmentTable;
}

/** The part of the store that every node looks at in each round. */
export interface TableLook {
  /** Revision of the last table, or a larger number until it is read; 0: there is none. */
  readonly table_revision: number;
  /** Revision of the last renewal of the lease ASSIGNER; 0: no node holds it. */
  readonly assigner_revision: number;
}

/** The lease of the node that writes the table. */
export const ASSIGNER = "assigner";

/**
 * Leases with names, which nodes of a cluster of more than 64 partitions hold, and the table that is written under them. A name is never used
 * again, but for that of the assigner; a lease carries a text that each renewal replaces.
 */
export interface NamedLeases {
  /** Takes a lease for a holder, of a name that is its own; answers its revision. Null: it is held. Throws Fault bus_unreachable when the terms are those of another store. */
  hold(name: string, holder: string, terms: ClaimTerms): Promise<number | null>;
  /**
   * Answers the new revision. Null: the lease has lapsed, or the store knows an older renewal than the named one, because it was rolled back.
   * A renewal goes on from an earlier one of the same holder that took effect although its answer was lost.
   */
  renewHeld(name: string, holder: string, text: string, revision: number): Promise<number | null>;
  /** The lease ends at once; with a revision only when that is its last one. */
  releaseHeld(name: string, revision?: number): Promise<void>;
  /** The names of all leases that have not lapsed. */
  heldNames(): Promise<ReadonlySet<string>>;
  /** The text of the last renewal; null: the lease has lapsed. */
  textOf(name: string): Promise<string | null>;
  look(): Promise<TableLook>;
  table(): Promise<StoredTable | null>;
  /** Replaces the table of that revision (0: there is none); answers the new one. Null: another node has replaced it. */
  writeTable(table: AssignmentTable, revision: number, terms: ClaimTerms): Promise<number | null>;
  /** Calls back when there may be a new table. */
  onTable(call: () => void): Disposable;
}

/**
 * All methods throw Fault bus_unreachable, after which the result is unknown, and nothing else. A store that lost its
 * data is created again by the first call that finds it missing.
 */
export interface Leases extends NamedLeases {
  /** How long a lease lasts; equal on all nodes. */
  readonly ttl_ms: number;
  survey(): Promise<LeaseSurvey>;
  /**
   * Null: another node owns the partition. Throws Fault bus_unreachable when the terms name another store, or one that was
   * rolled back since.
   */
  create(partition: number, node: string, terms: ClaimTerms): Promise<Lease | null>;
  /** `renewed` also when an earlier renewal of this same lease took effect although its reply was lost. */
  renew(partition: number, node: string, lease: Lease): Promise<Renewal>;
  /** Releases the lease immediately. No effect when the lease has another revision by now. */
  release(partition: number, lease: Lease): Promise<void>;

  /** Marks this node as present for `presenceTtlMs(ttl_ms)`. */
  announcePresence(node: string): Promise<void>;
  removePresence(node: string): Promise<void>;
  members(): Promise<readonly string[]>;

  /** Stores what this node's clock says, and answers the last reading of each node, this one's too. */
  compareClocks(node: string, clock_ms: number): Promise<readonly ClockReading[]>;

  /** A setting that must be equal on all nodes: stores the value if there is none, and answers the stored value. */
  agreeOn(name: string, value: string): Promise<string>;
  /** Replaces the value of such a setting. Only while no node with another value runs. */
  overrule(name: string, value: string): Promise<void>;
  close(): Promise<void>;
}
