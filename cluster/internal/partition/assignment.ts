/**
 * The table of assignments: which node's lease owns which partition, by rules without time and without a store. The holder of the
 * assigner's lease works out the next table and writes it by compare-and-set; all nodes follow it (table-ownership.ts).
 *
 * A partition gets another owner only when its owner has returned it or has no lease any more. Both stay true once they are, so it does
 * no harm when an assigner that was paused works with an old view: its write is refused, or what it saw still holds.
 */
import { rendezvousWeights } from "../../placement.ts";
import { type Assignment, type AssignmentTable, EPOCHS_OF_GENERATION } from "../../ports/leases.ts";

/** The leases of the cluster as the assigner sees them. */
export interface LeaseView {
  readonly held: ReadonlySet<string>;
  /** The lease of the node that should own a partition; null: no node can. */
  readonly wanted: (partition: number) => string | null;
  readonly hasReturned: (lease: string, partition: number, epoch: number) => boolean;
}

const UNASSIGNED: Assignment = { lease: null, epoch: 0, isLeaving: false };

export const emptyTable = (generation: number, version: number, partitions: number): AssignmentTable => ({
  generation,
  version,
  assignments: Array.from({ length: partitions }, () => UNASSIGNED),
});

/** The table that follows; null: nothing changes. */
export function nextTable(table: AssignmentTable, view: LeaseView): AssignmentTable | null {
  const version = table.version + 1;
  const epoch = table.generation * EPOCHS_OF_GENERATION + version;
  let hasChanged = false;
  const assignments = table.assignments.map((assignment, partition) => {
    const next = nextAssignment(assignment, partition, epoch, view);
    hasChanged ||= next !== assignment;
    return next;
  });
  return hasChanged ? { generation: table.generation, version, assignments } : null;
}

function nextAssignment(
  assignment: Assignment,
  partition: number,
  epoch: number,
  { held, wanted, hasReturned }: LeaseView,
): Assignment {
  const { lease, isLeaving } = assignment;
  const next = wanted(partition);
  const isFree = lease === null || !held.has(lease) || hasReturned(lease, partition, assignment.epoch);
  if (!isFree)
    return next === null || next === lease || isLeaving ? assignment : { ...assignment, isLeaving: true };
  if (next !== null) return { lease: next, epoch, isLeaving: false };
  return lease === null ? assignment : { ...assignment, lease: null, isLeaving: false };
}

/** For a node that has let go of these. */
export const withoutOwners = (table: AssignmentTable, partitions: ReadonlySet<number>): AssignmentTable => ({
  ...table,
  version: table.version + 1,
  assignments: table.assignments.map((assignment, partition) =>
    partitions.has(partition) ? { ...assignment, lease: null, isLeaving: false } : assignment,
  ),
});

/** Whether each partition has an owner that may keep it. */
export const isSettled = ({ assignments }: AssignmentTable): boolean =>
  assignments.every(({ lease, isLeaving }) => lease !== null && !isLeaving);

/** Which node should own which partition, by rendezvous hash; a node that comes or goes moves its own share only. */
export class Shares {
  private readonly owners: (string | null)[];
  private readonly weights: number[];
  private readonly weightsOf = new Map<string, (partition: number) => number>();

  constructor(partitions: number) {
    this.owners = Array.from({ length: partitions }, () => null);
    this.weights = Array.from({ length: partitions }, () => -1);
  }

  ownerOf(partition: number): string | null {
    return this.owners[partition] ?? null;
  }

  setNodes(nodes: ReadonlySet<string>): void {
    for (const node of this.weightsOf.keys()) if (!nodes.has(node)) this.remove(node);
    for (const node of nodes) if (!this.weightsOf.has(node)) this.add(node);
  }

  private add(node: string): void {
    const weightOf = rendezvousWeights(node);
    this.weightsOf.set(node, weightOf);
    for (let partition = 0; partition < this.owners.length; partition++)
      this.offer(partition, node, weightOf(partition));
  }

  private remove(node: string): void {
    this.weightsOf.delete(node);
    for (let partition = 0; partition < this.owners.length; partition++) {
      if (this.owners[partition] !== node) continue;
      this.owners[partition] = null;
      this.weights[partition] = -1;
      for (const [other, weightOf] of this.weightsOf) this.offer(partition, other, weightOf(partition));
    }
  }

  private offer(partition: number, node: string, weight: number): void {
    const owner = this.owners[partition] ?? null;
    const most = this.weights[partition]!;
    if (weight < most || (weight === most && owner !== null && node > owner)) return;
    this.owners[partition] = node;
    this.weights[partition] = weight;
  }
}
