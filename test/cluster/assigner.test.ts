/**
 * Nodes of a cluster of more than 64 partitions: the assigner, which writes the table of assignments, while all is well and when it is not, and
 * what a node opens by the table.
 */
import { expect, test } from "vitest";
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import type { PartitionHandle } from "../../cluster/internal/partition/partition-lease.ts";
import { tableOwnership } from "../../cluster/internal/partition/table-ownership.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { ASSIGNER, type Leases } from "../../cluster/ports/leases.ts";
import { SILENT_LOG } from "../../cluster/ports/log.ts";
import { SILENT_METRICS } from "../../cluster/ports/metrics.ts";

const PARTITIONS = 128;
const HANDLE: PartitionHandle = { drain: async () => {}, drop() {}, remove: async () => {} };

function world() {
  const clock = virtualClock();
  const store = memoryLeases(clock);
  const join = (name: string, handle = HANDLE) => {
    const opened: string[] = [];
    let isCutOff = false;
    const through = (call: (...args: unknown[]) => Promise<unknown>) => {
      return async (...args: unknown[]): Promise<unknown> => {
        if (isCutOff) throw new Fault("bus_unreachable", "The node is cut off");
        return call(...args);
      };
    };
    const leases = Object.fromEntries(
      Object.entries(store).map(([method, member]) => [
        method,
        typeof member === "function" && method !== "onTable" ? through(member) : member,
      ]),
    ) as unknown as Leases;
    const ownership = tableOwnership(
      name,
      {
        clock,
        leases,
        log: SILENT_LOG,
        metrics: SILENT_METRICS,
        isForeign: () => false,
        partitionCount: PARTITIONS,
        mayOwn: () => true,
        async claimTerms() {
          const survey = await leases.survey();
          const { store_id, revision } = survey;
          return { survey, terms: { store_id, generation: 1, revision } };
        },
      },
      async ({ partition, epoch }) => {
        opened.push(`partition ${partition} under epoch ${epoch}`);
        return handle;
      },
    );
    return { ownership, opened, cutOff: () => void (isCutOff = true) };
  };
  return { clock, join, assigner: () => store.textOf(ASSIGNER) };
}

test("the assigner is replaced once it has been silent for 1.5 s, before its lease has lapsed", async () => {
  const { clock, join, assigner } = world();
  const first = join("a");
  await clock.advance(4_000);
  join("b");
  await clock.advance(4_000);
  expect(await assigner()).toBe("a");
  first.cutOff();
  await clock.advance(1_400);
  expect(await assigner()).toBe("a");
  await clock.advance(1_300);
  expect(await assigner()).toBe("b");
});

test("a node stays the assigner while it renews its lease", async () => {
  const { clock, join, assigner } = world();
  join("a");
  await clock.advance(4_000);
  for (const name of ["b", "c", "d"]) join(name);
  for (let n = 0; n < 100; n++) {
    await clock.advance(600);
    expect(await assigner()).toBe("a");
  }
});

test("partitions that a node returns are not opened again under their epochs, by a table that comes before their readers are removed", async () => {
  const { clock, join } = world();
  const removed = Promise.withResolvers<void>();
  const { ownership, opened } = join("a", { ...HANDLE, remove: () => removed.promise });
  await clock.advance(4_000);
  expect(opened).toHaveLength(PARTITIONS);
  for (let partition = 0; partition < PARTITIONS; partition++) ownership.relinquish(partition);
  join("b");
  await clock.advance(4_000);
  removed.resolve();
  await clock.advance(4_000);
  expect(opened.length).toBeGreaterThan(PARTITIONS);
  expect([...new Set(opened)]).toEqual(opened);
});
