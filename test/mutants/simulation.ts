/** Bugs that the invariants of the simulator must find by themselves, whatever unit tests say. */
import type { Mutant } from "./mutant.ts";

const mutant =
  (file: string, test: string) =>
  (name: string, find: string, replace: string): Mutant => ({
    name: `${name}, in a simulation`,
    file,
    find,
    replace,
    tests: [`test/sim/${test}.test.ts`],
  });

export const SIMULATION: readonly Mutant[] = [
  // Slots in use, by run.
  mutant("actors/crawl/domain/politeness.ts", "politeness")(
    "frees the slot of another run by a stale release",
    "const keepsSlot = isTakenOver(lease, slot);",
    "const keepsSlot = false;",
  ),
  mutant("actors/crawl/domain/politeness.ts", "politeness")(
    "keeps a slot that is given back after an answer",
    "leases: keepsSlot ? politeness.leases",
    "leases: keepsSlot || status !== null ? politeness.leases",
  ),
  // A dead letter or an acknowledgement.
  mutant("cluster/internal/turn/activation.ts", "cluster")(
    "acknowledges a message that was given up and not kept",
    '.then((isDone) => {\n    if (isDone) ack?.("dead_lettered");\n    finishOne(shard);\n  });',
    ';\n  ack?.("dead_lettered");\n  finishOne(shard);',
  ),
  mutant("cluster/internal/partition/partition.ts", "cluster")(
    "acknowledges an envelope that was given up and not kept",
    "keep(given_up).then((isDone) => {\n    if (isDone) void acknowledge(open, delivery);\n  });",
    "keep(given_up);\n  void acknowledge(open, delivery);",
  ),
  mutant("cluster/dead-letters.ts", "cluster")(
    "takes a message for kept that the store refused",
    "if (!isInfrastructureFault(problem)) {",
    "if (problem) {",
  ),
  // A single writer.
  mutant("cluster/internal/partition/partition-lease.ts", "cluster")(
    "stores for a partition after its lease has lapsed",
    "mayStore: () => isHeld(state, owned) && clock.mono() < owned.deadline_ms",
    "mayStore: () => isHeld(state, owned)",
  ),
  mutant("cluster/internal/turn/store-wait.ts", "cluster")(
    "reads and writes for a key that is another node's",
    "if (context.mayStore()) return use();",
    "if (context) return use();",
  ),
  mutant("cluster/internal/partition/partition-lease.ts", "cluster")(
    "counts the deadline of a renewal from its answer",
    "Math.max(held.deadline_ms, deadlineFrom(deps, sent_ms))",
    "deadlineFrom(deps, clock.mono())",
  ),
];
