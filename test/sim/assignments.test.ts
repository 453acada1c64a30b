/**
 * Ownership by a table of assignments, with faults from a seed: one owner a partition, delays kept, no partition without an owner for
 * longer than a lease and a round after the last fault of a node that it waited for. SEED=7 repeats one course, RUNS=50 takes more of them, NODES=1000 PARTITIONS=4096 MINUTES=10 a larger one.
 */
import { expect, inject, test } from "vitest";
import { type Course, type Outcome, simulateAssignments } from "./assignments.ts";
import { isRepeated, onSeed, seeds } from "./seeds.ts";

const LEASE_MS = 3_000;
const ROUND_MS = 800;
/** The sample of 200 ms, the time to open a partition, and the way of the table to its next owner. */
const SLACK_MS = 400;
const BOUND_MS = LEASE_MS + ROUND_MS + SLACK_MS;

const course = (seed: number, more: Partial<Course> = {}): Course => ({
  seed,
  nodes: Number(process.env["NODES"] ?? 40),
  partitions: Number(process.env["PARTITIONS"] ?? 256),
  rest_s: 20,
  faults_s: 60 * Number(process.env["MINUTES"] ?? 3),
  killed_a_minute: 0.05,
  isOnlyDeaths: false,
  trusts_too_long_ms: 0,
  wipes: false,
  ...more,
});

function told(outcome: Outcome): Outcome {
  if (isRepeated || process.env["NODES"] !== undefined) process.stderr.write(`${JSON.stringify(outcome)}\n`);
  return outcome;
}

test.each(seeds(2))(
  "nodes that die leave no partition without an owner for longer than a lease and a round (seed %i)",
  (seed) =>
    onSeed(seed, async () => {
      const { problems, unowned_ms } = told(await simulateAssignments(course(seed, { isOnlyDeaths: true })));
      expect(problems).toEqual([]);
      expect(unowned_ms.spells).toBeGreaterThan(0);
      expect(unowned_ms.max).toBeLessThanOrEqual(BOUND_MS);
    }),
);

test.each(seeds(3))("two owners never work, nor is a delay too short, whatever breaks (seed %i)", (seed) =>
  onSeed(seed, async () => {
    const { problems, after_fault_ms, started_requests } = told(
      await simulateAssignments(course(seed, { wipes: seed % 2 === 0 })),
    );
    expect(problems).toEqual([]);
    expect(started_requests).toBeGreaterThan(1_000);
    // Where two faults meet their times add up: what waits for a node that dies waits for the lease of the next one again.
    expect(after_fault_ms.max).toBeLessThanOrEqual(BOUND_MS);
  }),
);

test("nodes that believe in their leases for too long are caught", async () => {
  const first = inject("seed");
  const found: string[] = [];
  for (let n = 0; n < 10 && found.length === 0; n++)
    found.push(...(await simulateAssignments(course(first + n, { trusts_too_long_ms: 3_600 }))).problems);
  expect(found.join("\n")).toMatch(/owners|was hit after/);
});

test("operations at rest are those of nodes: not more with more partitions, and as many for each of more nodes", async () => {
  const sumOf = ({ at_rest }: Outcome): number => Object.values(at_rest).reduce((sum, rate) => sum + rate, 0);
  const measured = async (nodes: number, partitions: number): Promise<number> =>
    sumOf(await simulateAssignments(course(1, { nodes, partitions, faults_s: 0 })));
  const [few, many, more] = [await measured(20, 64), await measured(20, 1_024), await measured(80, 1_024)];
  expect(many / few).toBeLessThan(1.03);
  expect(more / many).toBeLessThan(1.03);
  expect(many).toBeLessThan(4.5);
});
