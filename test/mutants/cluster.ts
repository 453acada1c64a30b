/** Bugs of the runtime. */
import type { Mutant } from "./mutant.ts";

const TESTS = ["distributed", "embedded", "role-directory"].map((name) => `test/cluster/${name}.test.ts`);
const mutant =
  (file: string, tests: readonly string[] = TESTS) =>
  (name: string, find: string, replace: string): Mutant => ({
    name,
    file: `cluster/${file}`,
    find,
    replace,
    tests,
  });

const lease = mutant("internal/partition/partition-lease.ts");
const partition = mutant("internal/partition/partition.ts");
const turn = mutant("internal/turn/turn.ts");
const asks = mutant("internal/transport/outstanding-asks.ts");
const work = mutant("internal/turn/background-work.ts");
const generation = mutant("generation.ts");
const ownership = mutant("internal/partition/ownership.ts");
const STORE_TURN =
  "else return storeTurn(activation, entry, now_ms, snapshot, () => conclude(activation, turn.state, outbox));";

export const CLUSTER: readonly Mutant[] = [
  lease(
    "counts the deadline of a renewal from its answer",
    "Math.max(held.deadline_ms, deadlineFrom(deps, sent_ms))",
    "deadlineFrom(deps, clock.mono())",
  ),
  lease(
    "counts the deadline of a claim from its answer",
    "    deadline_ms: deadlineFrom(state, sent_ms),",
    "    deadline_ms: deadlineFrom(state, clock.mono()),",
  ),
  lease("trusts a lease to its last moment", "const MARGIN_MS = 600;", "const MARGIN_MS = 0;"),
  lease("trusts a lease for longer than it lasts", "const MARGIN_MS = 600;", "const MARGIN_MS = -1_200;"),
  lease(
    "stores for a partition after its lease has lapsed",
    "mayStore: () => isHeld(state, owned) && clock.mono() < owned.deadline_ms",
    "mayStore: () => isHeld(state, owned)",
  ),
  lease(
    "never releases the lease of a handoff",
    "  await state.leases.release(owned.partition, owned.lease);\n}",
    "}",
  ),
  partition(
    "acknowledges an envelope that was given up and not kept",
    "keep(given_up).then((isDone) => {\n    if (isDone) void acknowledge(open, delivery);\n  });",
    "keep(given_up);\n  void acknowledge(open, delivery);",
  ),
  mutant("internal/turn/activation.ts")(
    "acknowledges a message that was given up and not kept",
    '.then((isDone) => {\n    if (isDone) ack?.("dead_lettered");\n    finishOne(shard);\n  });',
    ';\n  ack?.("dead_lettered");\n  finishOne(shard);',
  ),
  partition(
    "does not repeat an acknowledgement that failed",
    "if (await delivery.acknowledge().catch(() => false)) break;",
    "await delivery.acknowledge().catch(() => false); break;",
  ),
  partition(
    "leaves envelopes stranded that it never got",
    "if (stranded.length === 0 && !isBacklogLost(open)) return scheduleCheck(open);",
    "if (!isBacklogLost(open)) return scheduleCheck(open);",
  ),
  partition(
    "works for a partition before its reader is open",
    "open.reader === null ? opened",
    "opened === null ? opened",
  ),
  partition("does not recover reminders", "  void recover(open);\n", ""),
  mutant("internal/turn/store-wait.ts")(
    "reads and writes for a key that is another node's",
    "if (context.mayStore()) return use();",
    "if (context) return use();",
  ),
  asks(
    "sends an ask again under its old id",
    "`${state.nodeName}:${token}:${ask.serial}.${ask.attempt}`",
    "`${state.nodeName}:${token}:${ask.serial}`",
  ),
  asks(
    "never sends an open ask again",
    "now_ms < ask.resend_at_ms) continue;",
    "now_ms < Infinity) continue;",
  ),
  asks(
    "tells its caller that a key has moved instead of asking the next owner",
    "if (isOfMovingWork || at_ms >= ask.deadline_ms)",
    "if (ask.moves > 0)",
  ),
  asks("asks the next owner without a pause", "ask.moves === 0 ? 0 :", "ask.moves >= 0 ? 1 :"),
  mutant("internal/turn/failures.ts")(
    "tells a lost lease as no answer",
    '  "lease_lost",\n]);\n\nconst isTold',
    "]);\n\nconst isTold",
  ),
  mutant("internal/turn/failures.ts")(
    "tells a full mailbox as no answer",
    '  "mailbox_full",\n  "body_damaged",',
    '  "body_damaged",',
  ),
  ownership(
    "says that it is present before it gets answers",
    "  let members = await leases.members();\n  await leases.announcePresence(nodeName);",
    "  await leases.announcePresence(nodeName);\n  let members = await leases.members();",
  ),
  ownership("claims for nodes that are not there to share", "clock.mono() + GATHER_MS", "clock.mono()"),
  mutant("internal/partition/table-ownership.ts", ["test/cluster/assigner.test.ts"])(
    "waits for the lease of an assigner that is silent",
    "now_ms - state.seenAssigner.since_ms < ASSIGNER_SILENT_MS",
    "true",
  ),
  mutant("internal/partition/table-ownership.ts", ["test/cluster/assigner.test.ts"])(
    "takes the place of an assigner that renews its lease",
    "if (state.seenAssigner.revision !== revision)",
    "if (state.seenAssigner.revision === 0)",
  ),
  mutant("internal/partition/ownership.ts", ["test/cluster/clock-skew.test.ts"])(
    "owns partitions although its clock is wrong",
    "  if (!state.mayOwn()) {",
    "  if (false) {",
  ),
  mutant("internal/roles/role-directory.ts")(
    "takes calls by role that it does not hear",
    "draining: draining || isUnheard",
    "draining",
  ),
  turn(
    "acknowledges a message before its turn is stored",
    STORE_TURN,
    `else { entry.ack?.("processed"); return storeTurn(activation, entry, now_ms, snapshot, () => conclude(activation, turn.state, outbox)); }`,
  ),
  turn(
    "sends what a turn says before it is stored",
    STORE_TURN,
    "else { flush(activation, outbox); return storeTurn(activation, entry, now_ms, snapshot, () => conclude(activation, turn.state, { ...outbox, effects: [] })); }",
  ),
  turn("does not see that another node wrote the key", "  if (!isStored) throw", "  if (false) throw"),
  mutant("internal/turn/turn.ts", ["test/cluster/store-faults.test.ts"])(
    "takes a put of another node for its own",
    "isSame(await documents.get(kind.name, key), snapshot, version + 1)",
    "(await documents.get(kind.name, key)) !== null",
  ),
  turn(
    "handles an ask whose time is over",
    "if (now_ms >= entry.deadline_ms) {",
    "if (now_ms >= Infinity) {",
  ),
  turn(
    "answers an ask twice when it is sent twice",
    "if (entry.isRepeatable) node.rememberedAnswers.set",
    "if (false) node.rememberedAnswers.set",
  ),
  work(
    "lets work go on for a key that may be another node's",
    'ownsKey: () => activation.phase !== "ended" && shard.mode === "open" && shard.context.ownsKeys(),',
    "ownsKey: () => true,",
  ),
  work(
    "begins work in a shard that drains",
    'if (activation.phase === "ended" || shard.mode !== "open") return;',
    'if (activation.phase === "ended") return;',
  ),
  mutant("internal/turn/activation.ts")(
    "does not abort the work of an activation that ends",
    "  activation.workAbort?.abort();\n",
    "",
  ),
  generation(
    "claims a new lease store under the old generation",
    "generation: (record?.generation ?? 0) + 1,",
    "generation: record?.generation ?? 1,",
  ),
  generation(
    "does not notice that the lease store was rolled back",
    "return revision < Math.max(record.revision ?? 0, isSame ? own.revision : 0);",
    "return false;",
  ),
  generation(
    "claims in a store that is younger than the leases of the one before",
    "age_ms >= claims_from_age_ms ?",
    "age_ms >= 0 ?",
  ),
  mutant("internal/turn/store-later.ts")(
    "never stores what may be stored later",
    "else storeNow(activation);\n  });",
    "});",
  ),
];
