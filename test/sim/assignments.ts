/**
 * A cluster of many nodes that own partitions by a table of assignments, on true time that the simulation moves: nodes die and come, are
 * paused, hear nothing or are not heard, their clocks drift, their messages to the store take long. Nothing but ownership is in it: no
 * bus, no documents, no actors.
 */
import { memoryLeases } from "../../cluster/adapters/leases/leases.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { timerHeap } from "../../cluster/adapters/time/timer-heap.ts";
import type { PartitionHandle, PartitionLease } from "../../cluster/internal/partition/partition-lease.ts";
import type { Ownership } from "../../cluster/internal/partition/ownership.ts";
import { tableOwnership } from "../../cluster/internal/partition/table-ownership.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import {
  ASSIGNER,
  type AssignmentTable,
  type ClaimTerms,
  type Leases,
  type LeaseSurvey,
} from "../../cluster/ports/leases.ts";
import { SILENT_METRICS } from "../../cluster/ports/metrics.ts";
import { SILENT_LOG } from "../../cluster/ports/log.ts";

const CALL_MS = 1_600;
const DELAY_MS = 1_000;
const SAMPLE_MS = 200;
const TTL_MS = 3_000;
/** A call that takes this long is a fault of its node. */
const SLOW_MS = 200;
/** Clocks of nodes run so much faster or slower. */
const MAX_DRIFT = 0.005;

export interface Course {
  readonly seed: number;
  readonly nodes: number;
  readonly partitions: number;
  /** Without faults, after all nodes have joined. */
  readonly rest_s: number;
  readonly faults_s: number;
  /** The share of nodes that die in a minute of faults; as many join. */
  readonly killed_a_minute: number;
  /** Only deaths: no pauses, no one-way links, no late answers, no partition that cannot be opened. */
  readonly isOnlyDeaths: boolean;
  /** Nodes believe in their leases for so much longer than the store does; 0 but where the checker is checked. */
  readonly trusts_too_long_ms: number;
  /** The store's data is lost once, in the middle of the faults. */
  readonly wipes: boolean;
}

export interface Outcome {
  readonly problems: readonly string[];
  readonly killed: number;
  readonly pauses: number;
  readonly assigner_pauses: number;
  readonly cut: number;
  readonly started_requests: number;
  /** Calls of the store a second and node at rest, by method. */
  readonly at_rest: Readonly<Record<string, number>>;
  readonly with_faults: Readonly<Record<string, number>>;
  /** How long partitions had no valid owner in the time of faults: of how many spells, the median, 99 of 100, the longest. */
  readonly unowned_ms: {
    readonly spells: number;
    readonly p50: number;
    readonly p99: number;
    readonly max: number;
  };
  /**
   * As long, but from the last beginning or end of a fault at a node that the partition waited for: its owners in that time, and the
   * assigners. Without such a fault from the beginning.
   */
  readonly after_fault_ms: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly settled_ms: number;
  readonly fewest: number;
  readonly most: number;
}

interface Holder {
  readonly lease: PartitionLease;
  readonly node: SimulatedNode;
}

/** A node that something waits for from then on. */
interface Named {
  readonly at_ms: number;
  readonly node: string;
}

interface SimulatedNode {
  readonly name: string;
  isAlive: boolean;
  paused_until_ms: number;
  /** Until then the store does not get what it sends, or it does not get answers. */
  mute_until_ms: number;
  deaf_until_ms: number;
  deferred: (() => void)[];
  /** When a fault of this node began or ended. */
  readonly faults_ms: number[];
  ownership: Ownership | null;
}

/** One algorithm: a world of nodes around one store. */
export async function simulateAssignments(course: Course): Promise<Outcome> {
  const random = seededRandom(course.seed);
  const between = (low: number, high: number): number => low + random.next() * (high - low);
  const timers = timerHeap();
  let now_ms = 0;
  const store = memoryLeases({ mono: () => now_ms, wall: () => now_ms } as Clock, TTL_MS);
  const problems: string[] = [];
  const nodes = new Map<string, SimulatedNode>();
  const holders: Set<Holder>[] = Array.from({ length: course.partitions }, () => new Set());
  const epochs: number[] = Array.from({ length: course.partitions }, () => 0);
  const started_at: number[] = Array.from({ length: course.partitions }, () => -Infinity);
  const unowned_since: number[] = Array.from({ length: course.partitions }, () => 0);
  const spells: number[] = [];
  const afterFaults: number[] = [];
  /** Owners of each partition by the table, and assigners, latest last. */
  const owners: Named[][] = Array.from({ length: course.partitions }, () => []);
  const assigners: Named[] = [];
  /** Dead ones, too. */
  const faultsOf = new Map<string, readonly number[]>();
  let wiped_ms = -Infinity;
  let counts = new Map<string, number>();
  let started = 0;
  let isFaulty = false;
  /** The assigner is paused with its next write on the way, which arrives so much later. */
  let nextWriteLate_ms = 0;
  let joined = 0;
  const record: { store_id: string; generation: number; from_ms: number } = {
    store_id: "store-0",
    generation: 1,
    from_ms: 0,
  };

  const later = (ms: number, call: () => void): Disposable => timers.set(now_ms + Math.max(0, ms), call);

  /** Runs on the node when it is not paused; never when it is dead. */
  function on(node: SimulatedNode, call: () => void): void {
    if (!node.isAlive) return;
    if (now_ms < node.paused_until_ms) node.deferred.push(call);
    else call();
  }

  function fault(node: SimulatedNode, ms: number): void {
    const ends_ms = now_ms + ms;
    node.faults_ms.push(now_ms);
    later(ms, () => void node.faults_ms.push(ends_ms));
  }

  function latency(): number {
    const chance = random.next();
    if (course.isOnlyDeaths || !isFaulty) return between(0.3, 8);
    return chance < 0.003 ? between(500, 2_500) : chance < 0.05 ? between(20, 200) : between(0.3, 8);
  }

  function clockOf(node: SimulatedNode): Clock {
    const rate = 1 + between(-MAX_DRIFT, MAX_DRIFT);
    const ahead_ms = between(-5_000, 5_000);
    const from_ms = between(0, 1e7);
    const mono = (): number => from_ms + now_ms * rate;
    const now = (): number => ahead_ms + now_ms * rate;
    return {
      now,
      wall: now,
      mono,
      resync() {},
      at: (at_ms, call) => later((at_ms - now()) / rate, () => on(node, call)),
    };
  }

  /** A call of the store by a node: it may arrive late or not at all, and so may its answer. */
  function called<T>(node: SimulatedNode, name: string, work: () => Promise<T>): Promise<T> {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    later(CALL_MS, () => on(node, () => reject(new Fault("bus_unreachable", "No answer"))));
    const late_ms = name === "writeTable" ? nextWriteLate_ms : 0;
    if (late_ms > 0) {
      nextWriteLate_ms = 0;
      pause(node, late_ms);
    }
    const [there_ms, back_ms] = [latency() + late_ms, latency()];
    if (there_ms + back_ms > SLOW_MS) fault(node, Math.min(there_ms + back_ms, CALL_MS));
    later(there_ms, () => {
      if (now_ms < node.mute_until_ms) return;
      const answer = work();
      answer.catch(() => {});
      later(back_ms, () => {
        if (now_ms < node.deaf_until_ms) return;
        on(node, () => void answer.then(resolve, reject));
      });
    });
    return promise;
  }

  function leasesOf(node: SimulatedNode): Leases {
    const calls = Object.entries(store).filter(
      ([name, member]) => typeof member === "function" && !["onTable", "copy", "wipe"].includes(name),
    );
    const through = Object.fromEntries(
      calls.map(([name, member]) => [
        name,
        (...args: unknown[]) =>
          called(node, name, () => (member as (...all: unknown[]) => Promise<unknown>)(...args)),
      ]),
    );
    return {
      ...(through as unknown as Leases),
      hold: (name, holder, terms) =>
        called(node, "hold", async () => {
          const revision = await store.hold(name, holder, terms);
          if (name === ASSIGNER && revision !== null) assigners.push({ at_ms: now_ms, node: holder });
          return revision;
        }),
      writeTable: (table, revision, terms) =>
        called(node, "writeTable", async () => {
          const written = await store.writeTable(table, revision, terms);
          if (written !== null) noteOwners(table);
          return written;
        }),
      ttl_ms: TTL_MS + course.trusts_too_long_ms,
      onTable: (call) =>
        store.onTable(() => {
          later(latency(), () => {
            if (now_ms >= node.deaf_until_ms) on(node, call);
          });
        }),
    };
  }

  const claimTerms = (
    node: SimulatedNode,
  ): Promise<{ readonly survey: LeaseSurvey; readonly terms: ClaimTerms | null }> =>
    called(node, "claimTerms", async () => {
      const survey = await store.survey();
      if (record.store_id !== survey.store_id)
        Object.assign(record, {
          store_id: survey.store_id,
          generation: record.generation + 1,
          from_ms: now_ms + TTL_MS,
        });
      const { store_id, generation, from_ms } = record;
      return { survey, terms: now_ms < from_ms ? null : { store_id, generation, revision: survey.revision } };
    });

  function noteOwners({ assignments }: AssignmentTable): void {
    for (const [partition, { lease }] of assignments.entries()) {
      const node = lease?.replace(/\/.*/, "");
      if (node !== undefined && owners[partition]!.at(-1)?.node !== node)
        owners[partition]!.push({ at_ms: now_ms, node });
    }
  }

  /** The last beginning or end of a fault in that time at a node that the partition waited for. */
  function lastFault(partition: number, since_ms: number): number {
    const waitedFor = (all: readonly Named[]): readonly string[] =>
      all.filter((_, n) => (all[n + 1]?.at_ms ?? Infinity) >= since_ms).map(({ node }) => node);
    const names = new Set([...waitedFor(owners[partition]!), ...waitedFor(assigners)]);
    const faults = [...names].flatMap((name) => faultsOf.get(name) ?? []).filter((at_ms) => at_ms <= now_ms);
    return faults.reduce((last, at_ms) => Math.max(last, at_ms), Math.max(since_ms, wiped_ms));
  }

  function endSpell(partition: number, since_ms: number): void {
    const [unowned_ms, after_ms] = [now_ms - since_ms, now_ms - lastFault(partition, since_ms)];
    spells.push(unowned_ms);
    afterFaults.push(after_ms);
  }

  function checkOwners(partition: number): number {
    const held = holders[partition]!;
    let valid = 0;
    for (const each of held) {
      if (!each.node.isAlive) held.delete(each);
      else if (each.lease.isValid()) valid++;
    }
    if (valid > 1) problems.push(`${Math.round(now_ms)} ms: partition ${partition} has ${valid} owners`);
    return valid;
  }

  async function open(node: SimulatedNode, lease: PartitionLease, clock: Clock): Promise<PartitionHandle> {
    const { partition, epoch } = lease;
    await new Promise<void>((resolve) => later(between(2, 60), () => on(node, resolve)));
    if (!course.isOnlyDeaths && isFaulty && random.next() < 0.002) {
      fault(node, 0);
      throw new Fault("bus_unreachable", "The bus does not answer");
    }
    if (epoch <= epochs[partition]! || !lease.isValid())
      throw new Fault("lease_lost", `Partition ${partition} has a newer reader`);
    epochs[partition] = epoch;
    const held: Holder = { lease, node };
    holders[partition]!.add(held);
    checkOwners(partition);
    // As if the owner before had sent a request just now.
    let next_ms = clock.now() + DELAY_MS;
    let timer: Disposable | null = null;
    const end = (): void => {
      holders[partition]!.delete(held);
      timer?.[Symbol.dispose]();
    };
    const request = (): void => {
      if (lease.isValid()) {
        started++;
        const apart_ms = now_ms - started_at[partition]!;
        if (apart_ms < DELAY_MS * (1 - 2 * MAX_DRIFT) - 1)
          problems.push(
            `${Math.round(now_ms)} ms: partition ${partition} was hit after ${Math.round(apart_ms)} ms`,
          );
        started_at[partition] = now_ms;
        checkOwners(partition);
        next_ms = clock.now() + DELAY_MS;
      }
      timer = clock.at(Math.max(next_ms, clock.now() + 100), request);
    };
    // A sample of the partitions has a site that is asked all the time.
    if (partition % 16 === 0) timer = clock.at(next_ms, request);
    return {
      drain: () => new Promise((resolve) => later(between(0, 300), () => on(node, resolve))),
      drop: end,
      remove: () => new Promise((resolve) => later(latency(), () => on(node, resolve))),
    };
  }

  function join(): void {
    const node: SimulatedNode = {
      name: `node-${joined++}`,
      isAlive: true,
      paused_until_ms: 0,
      mute_until_ms: 0,
      deaf_until_ms: 0,
      deferred: [],
      faults_ms: [],
      ownership: null,
    };
    nodes.set(node.name, node);
    faultsOf.set(node.name, node.faults_ms);
    const clock = clockOf(node);
    node.ownership = tableOwnership(
      node.name,
      {
        clock,
        leases: leasesOf(node),
        log: SILENT_LOG,
        metrics: SILENT_METRICS,
        isForeign: () => false,
        partitionCount: course.partitions,
        mayOwn: () => true,
        claimTerms: () => claimTerms(node),
      },
      (lease) => open(node, lease, clock),
    );
  }

  function kill(node: SimulatedNode): void {
    fault(node, 0);
    node.isAlive = false;
    node.deferred = [];
    nodes.delete(node.name);
  }

  function pause(node: SimulatedNode, ms: number): void {
    fault(node, ms);
    node.paused_until_ms = Math.max(node.paused_until_ms, now_ms + ms);
    later(node.paused_until_ms - now_ms, () => {
      if (now_ms < node.paused_until_ms) return;
      for (const call of node.deferred.splice(0)) on(node, call);
    });
  }

  const anyNode = (): SimulatedNode => [...nodes.values()][Math.floor(random.next() * nodes.size)]!;
  const assigner = async (): Promise<SimulatedNode | undefined> =>
    nodes.get((await store.textOf(ASSIGNER)) ?? "");

  function sample(): void {
    for (let partition = 0; partition < course.partitions; partition++) {
      const isOwned = checkOwners(partition) > 0;
      const since_ms = unowned_since[partition]!;
      if (!isOwned) unowned_since[partition] = since_ms < 0 ? now_ms : since_ms;
      else if (since_ms >= 0) {
        if (isFaulty) endSpell(partition, since_ms);
        unowned_since[partition] = -1;
      }
    }
    later(SAMPLE_MS, sample);
  }

  async function pass(ms: number, until: () => boolean = () => false): Promise<void> {
    const end_ms = now_ms + ms;
    for (
      let alarm = timers.due(end_ms);
      alarm && !until() && problems.length < 5;
      alarm = timers.due(end_ms)
    ) {
      now_ms = Math.max(now_ms, alarm.at_ms);
      alarm.call();
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (!until()) now_ms = end_ms;
  }

  const rates = (of: ReadonlyMap<string, number>, seconds: number): Record<string, number> =>
    Object.fromEntries(
      [...of]
        .map(([name, count]) => [name, Number((count / seconds / course.nodes).toFixed(3))] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    );
  const allOwned = (): boolean => unowned_since.every((since_ms) => since_ms < 0);

  sample();
  for (let n = 0; n < course.nodes; n++) later(between(0, 5_000), join);
  await pass(10_000);
  await pass(60_000, allOwned);
  await pass(15_000);
  const settled_ms = now_ms;
  counts = new Map();
  await pass(course.rest_s * 1_000);
  const at_rest = rates(counts, course.rest_s);
  const sharesOf = [...nodes.values()].map(({ ownership }) => ownership!.partitions().length);
  counts = new Map();

  isFaulty = true;
  let [killed, pauses, assigner_pauses, cut] = [0, 0, 0, 0];
  const ends_ms = now_ms + course.faults_s * 1_000;
  const often = (a_minute: number, strike: () => void): void => {
    if (a_minute === 0) return;
    const again = (): void => {
      if (now_ms >= ends_ms - 15_000) return;
      strike();
      later(between(0.3, 1.7) * (60_000 / a_minute), again);
    };
    later(between(0, 60_000 / a_minute), again);
  };
  const share_a_minute = Math.max(1, course.nodes * course.killed_a_minute);
  often(share_a_minute, () => {
    kill(anyNode());
    killed++;
    later(between(0, 20_000), join);
  });
  const others_a_minute = course.isOnlyDeaths ? 0 : share_a_minute / 2;
  often(others_a_minute, () => {
    pause(anyNode(), between(300, 9_000));
    pauses++;
  });
  often(others_a_minute, () => {
    const [node, ms] = [anyNode(), between(500, 10_000)];
    fault(node, ms);
    if (random.next() < 0.5) node.mute_until_ms = now_ms + ms;
    else node.deaf_until_ms = now_ms + ms;
    cut++;
  });
  often(course.isOnlyDeaths ? 0 : 2, () => {
    void assigner().then((node) => {
      if (!node) return;
      pause(node, between(1_000, 8_000));
      assigner_pauses++;
    });
  });
  often(course.isOnlyDeaths ? 0 : 2, () => {
    nextWriteLate_ms = between(2_000, 9_000);
  });
  if (course.wipes)
    later((course.faults_s * 1_000) / 2, () => {
      wiped_ms = now_ms;
      store.wipe();
    });
  await pass(course.faults_s * 1_000);
  const with_faults = rates(counts, course.faults_s);
  // Late calls would go on to move partitions of some node at any moment.
  isFaulty = false;
  await pass(20_000, allOwned);
  if (problems.length === 0 && !allOwned())
    problems.push("Partitions have no owner 20 s after the last fault");
  return {
    problems,
    killed,
    pauses,
    assigner_pauses,
    cut,
    started_requests: started,
    at_rest,
    with_faults,
    unowned_ms: { spells: spells.length, ...quantiles(spells) },
    after_fault_ms: quantiles(afterFaults),
    settled_ms: Math.round(settled_ms),
    fewest: Math.min(...sharesOf),
    most: Math.max(...sharesOf),
  };
}

function quantiles(values: readonly number[]): {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
} {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
