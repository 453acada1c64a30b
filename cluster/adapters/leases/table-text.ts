/**
 * The table of assignments as text: a base with a row for each partition, and a head with the rows that have changed since. A change of few
 * rows is a write and a read of the head alone. A row is the partition, the place of its lease among those that are named once (-1: none), its
 * epoch within the generation, and whether its owner is to return it; in a base the place of the row is the partition.
 */
import { type Assignment, type AssignmentTable, EPOCHS_OF_GENERATION } from "../../ports/leases.ts";

/** With more rows than these, and than one of eight, the table gets another base: 256 rows are some 5 KB. */
const MAX_CHANGED_ROWS = 256;
const MAX_CHANGED_SHARE = 1 / 8;

/** A table that is stored; no partition of it has had an owner where there is no other. */
export interface TableBase {
  /** Null: nothing is stored for it. */
  readonly key: string | null;
  readonly assignments: readonly Assignment[];
}

interface WrittenRows {
  readonly leases: readonly string[];
  readonly rows: readonly number[];
}

interface WrittenHead extends WrittenRows {
  readonly generation: number;
  readonly version: number;
  readonly partitions: number;
  readonly base: string | null;
}

const NO_OWNER: Assignment = { lease: null, epoch: 0, isLeaving: false };

export const emptyBase = (partitions: number): TableBase => ({
  key: null,
  assignments: Array.from({ length: partitions }, () => NO_OWNER),
});

const isSame = (a: Assignment, b: Assignment): boolean =>
  a.lease === b.lease && a.epoch === b.epoch && a.isLeaving === b.isLeaving;

/** The partitions that differ from the base; null: so many that the table gets another one. */
export function changesFrom({ assignments }: TableBase, table: AssignmentTable): readonly number[] | null {
  const changed = [...table.assignments.keys()].filter(
    (partition) => !isSame(table.assignments[partition]!, assignments[partition] ?? NO_OWNER),
  );
  const most = Math.max(MAX_CHANGED_ROWS, table.assignments.length * MAX_CHANGED_SHARE);
  return changed.length > most ? null : changed;
}

/** Epochs are whole: a base is read without its head, and a head may be of a later generation. */
function writtenRows(rows: readonly (readonly [number[], Assignment])[]): WrittenRows {
  const places = new Map<string, number>();
  const written = rows.flatMap(([before, { lease, epoch, isLeaving }]) => {
    if (lease !== null && !places.has(lease)) places.set(lease, places.size);
    const place = lease === null ? -1 : places.get(lease)!;
    return [
      ...before,
      place,
      Math.floor(epoch / EPOCHS_OF_GENERATION),
      epoch % EPOCHS_OF_GENERATION,
      isLeaving ? 1 : 0,
    ];
  });
  return { leases: [...places.keys()], rows: written };
}

const assignmentOf = (
  leases: readonly string[],
  [place, generation, epoch, isLeaving]: readonly number[],
): Assignment => ({
  lease: leases[place!] ?? null,
  epoch: generation! * EPOCHS_OF_GENERATION + epoch!,
  isLeaving: isLeaving === 1,
});

const chunks = (rows: readonly number[], size: number): number[][] =>
  Array.from({ length: rows.length / size }, (_, n) => rows.slice(size * n, size * (n + 1)));

export const encodeBase = (assignments: readonly Assignment[]): string =>
  JSON.stringify(writtenRows(assignments.map((assignment) => [[], assignment])));

export function decodeBase(key: string, text: string): TableBase {
  const { leases, rows } = JSON.parse(text) as WrittenRows;
  return { key, assignments: chunks(rows, 4).map((row) => assignmentOf(leases, row)) };
}

export function encodeHead(
  { generation, version, assignments }: AssignmentTable,
  base: string | null,
  changed: readonly number[],
): string {
  const rows = writtenRows(changed.map((partition) => [[partition], assignments[partition]!]));
  const head: WrittenHead = { generation, version, partitions: assignments.length, base, ...rows };
  return JSON.stringify(head);
}

export const decodeHead = (text: string): WrittenHead => JSON.parse(text) as WrittenHead;

export function tableOf(
  { generation, version, leases, rows }: WrittenHead,
  base: TableBase,
): AssignmentTable {
  const assignments = [...base.assignments];
  for (const [partition, ...row] of chunks(rows, 5)) assignments[partition!] = assignmentOf(leases, row);
  return { generation, version, assignments };
}
