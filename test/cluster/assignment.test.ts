/** Rules of the table of assignments. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  emptyTable,
  isSettled,
  nextTable,
  Shares,
  withoutOwners,
} from "../../cluster/internal/partition/assignment.ts";
import { ownerOf } from "../../cluster/placement.ts";
import { EPOCHS_OF_GENERATION } from "../../cluster/ports/leases.ts";

const PARTITIONS = 64;
const NOTHING_RETURNED = () => false;

function viewOf(
  leases: readonly string[],
  {
    wants = leases,
    hasReturned = NOTHING_RETURNED as (lease: string, partition: number, epoch: number) => boolean,
  } = {},
) {
  const shares = new Shares(PARTITIONS);
  shares.setNodes(new Set(wants));
  return {
    held: new Set(leases),
    wanted: (partition: number) => shares.ownerOf(partition),
    hasReturned,
  };
}

describe("the next table", () => {
  const first = nextTable(emptyTable(3, 7, PARTITIONS), viewOf(["a", "b"]))!;

  test("gives every partition without an owner to the node that should own it, under the epoch of this write", () => {
    expect(isSettled(first)).toBe(true);
    expect([first.generation, first.version]).toEqual([3, 8]);
    for (const [partition, { lease, epoch }] of first.assignments.entries())
      expect([lease, epoch]).toEqual([ownerOf(partition, ["a", "b"]), 3 * EPOCHS_OF_GENERATION + 8]);
    expect(nextTable(first, viewOf(["a", "b"]))).toBeNull();
  });

  test("asks a live owner to return what another node should own, and gives it away only then", () => {
    const asked = nextTable(first, viewOf(["a", "b", "c"]))!;
    const leaving = [...asked.assignments.entries()].filter(([, { isLeaving }]) => isLeaving);
    expect(leaving.length).toBeGreaterThan(5);
    for (const [partition, { lease, epoch }] of leaving) {
      expect(ownerOf(partition, ["a", "b", "c"])).toBe("c");
      expect({ lease, epoch }).toEqual({
        lease: first.assignments[partition]!.lease,
        epoch: first.assignments[partition]!.epoch,
      });
    }
    expect(nextTable(asked, viewOf(["a", "b", "c"]))).toBeNull();
    const [one] = leaving[0]!;
    const given = nextTable(
      asked,
      viewOf(["a", "b", "c"], { hasReturned: (_, partition) => partition === one }),
    )!;
    expect(given.assignments[one]).toEqual({
      lease: "c",
      epoch: 3 * EPOCHS_OF_GENERATION + 10,
      isLeaving: false,
    });
    expect(given.assignments.filter(({ lease }) => lease === "c")).toHaveLength(1);
  });

  test("takes what was returned under an earlier epoch for nothing", () => {
    const asked = nextTable(first, viewOf(["a", "b", "c"]))!;
    const hasReturned = (_lease: string, _partition: number, epoch: number) =>
      epoch < 3 * EPOCHS_OF_GENERATION + 8;
    expect(nextTable(asked, viewOf(["a", "b", "c"], { hasReturned }))).toBeNull();
  });

  test("gives away what a node without a lease owned, and leaves without an owner what no node wants", () => {
    const gone = nextTable(first, viewOf(["b"]))!;
    expect(new Set(gone.assignments.map(({ lease }) => lease))).toEqual(new Set(["b"]));
    const nobody = nextTable(gone, viewOf([]))!;
    expect(new Set(nobody.assignments.map(({ lease }) => lease))).toEqual(new Set([null]));
    // A node that is present no more and still has its lease keeps what it owns.
    expect(nextTable(first, viewOf(["a", "b"], { wants: [] }))).toBeNull();
  });

  test("follows for a node that let go by itself", () => {
    const without = withoutOwners(first, new Set([5]));
    expect(without.assignments[5]!.lease).toBeNull();
    expect(nextTable(without, viewOf(["a", "b"]))!.assignments[5]).toEqual({
      lease: ownerOf(5, ["a", "b"]),
      epoch: 3 * EPOCHS_OF_GENERATION + 10,
      isLeaving: false,
    });
  });
});

test("shares are those of the rendezvous hash, whichever nodes came and went before", () => {
  const nodes = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 8 }), { maxLength: 10 });
  fc.assert(
    fc.property(fc.array(nodes, { minLength: 1, maxLength: 5 }), (history) => {
      const shares = new Shares(PARTITIONS);
      for (const present of history) shares.setNodes(new Set(present));
      for (let partition = 0; partition < PARTITIONS; partition++)
        expect(shares.ownerOf(partition)).toBe(ownerOf(partition, history.at(-1)!));
    }),
  );
});
