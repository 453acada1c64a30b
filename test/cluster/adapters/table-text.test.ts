/** How much the nodes of a large cluster write and read when a node dies. */
import { expect, test } from "vitest";
import {
  changesFrom,
  decodeBase,
  decodeHead,
  emptyBase,
  encodeBase,
  encodeHead,
  tableOf,
} from "../../../cluster/adapters/leases/table-text.ts";
import { emptyTable, nextTable, Shares } from "../../../cluster/internal/partition/assignment.ts";
import type { AssignmentTable } from "../../../cluster/ports/leases.ts";

const PARTITIONS = 4_096;
const NODES = Array.from({ length: 1_000 }, (_, n) => `worker-${n}-0123abcd/1.0`);

function tableAfter(table: AssignmentTable, leases: readonly string[]): AssignmentTable {
  const shares = new Shares(PARTITIONS);
  shares.setNodes(new Set(leases));
  return nextTable(table, {
    held: new Set(leases),
    wanted: (partition) => shares.ownerOf(partition),
    hasReturned: () => false,
  })!;
}

test("a death among 1,000 nodes is a head of less than 1 KB, where the table is more than 60 KB", () => {
  const first = tableAfter(emptyTable(1, 0, PARTITIONS), NODES);
  expect(changesFrom(emptyBase(PARTITIONS), first)).toBeNull();
  const base_text = encodeBase(first.assignments);
  const base = decodeBase("b.1", base_text);
  expect(base.assignments).toEqual(first.assignments);
  const next = tableAfter(first, NODES.slice(1));
  const head_text = encodeHead(next, base.key, changesFrom(base, next)!);
  expect(tableOf(decodeHead(head_text), base)).toEqual(next);
  if (process.env["SIZES"] !== undefined)
    process.stderr.write(`${head_text.length} of ${base_text.length}\n`);
  expect(base_text.length).toBeGreaterThan(60_000);
  expect(head_text.length).toBeLessThan(1_000);
});

test("a head stays below 20 KB, whatever has changed since its base", () => {
  let table = emptyTable(1, 0, PARTITIONS);
  let base = emptyBase(PARTITIONS);
  let [bases, largest] = [0, 0];
  // Four partitions get another node, as when one of 1,000 dies.
  for (let version = 1; version <= 1_000; version++) {
    const from = (version * 4) % PARTITIONS;
    const assignments = [...table.assignments];
    for (let partition = from; partition < from + 4; partition++)
      assignments[partition] = { lease: NODES[version % 1_000]!, epoch: 2 ** 40 + version, isLeaving: false };
    table = { generation: 1, version, assignments };
    const changed = changesFrom(base, table);
    if (changed === null) base = decodeBase(`b.${++bases}`, encodeBase(table.assignments));
    else largest = Math.max(largest, encodeHead(table, base.key, changed).length);
  }
  if (process.env["SIZES"] !== undefined) process.stderr.write(`${largest}, ${bases} bases\n`);
  expect(largest).toBeLessThan(20_000);
  expect([bases > 0, bases < 10]).toEqual([true, true]);
});
