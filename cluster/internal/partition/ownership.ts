/**
 * Which partitions this node owns. A round looks at the members and works out what this node should own: it claims what
 * is missing and hands off what is too much. That is a hint on which all nodes agree; the lease alone decides.
 */
import {
  claim,
  drop,
  handOff,
  ignore,
  type OwnershipDeps,
  type OwnershipState,
  type PartitionHandle,
  type PartitionLease,
  renew,
} from "./partition-lease.ts";
import { repeatedRounds } from "./rounds.ts";
import { ownerOf } from "../../placement.ts";

export interface Ownership {
  /** Resolves after the first round of claims. */
  readonly firstRound: Promise<void>;
  readonly partitions: () => readonly Pick<PartitionLease, "partition" | "epoch">[];
  /** Claims nothing more and hands off everything; after the limit the leases run out by themselves. */
  readonly drain: (limit_ms: number) => Promise<void>;
  /** Hands a partition off to claim it anew under a new epoch: the bus delivers again what is stranded. */
  readonly relinquish: (partition: number) => void;
}

/** All leases of this node, in parallel; a timer of its own in which nothing else is awaited. */
export const RENEW_MS = 800;
/**
 * When a whole cluster starts again, its first node would claim every partition. It waits so long for the others. A
 * longer wait delays the start of a cluster with one worker.
 */
export const GATHER_MS = 2_000;
/** At once. With 256 two workers did not settle within 30 s on a machine at ten times its load, with 64 they did (one run each). */
export const MAX_CLAIMS = 64;
/** A lease store younger than this is that of a new cluster, which has nothing to gather for. */
export const NEW_CLUSTER_MS = 10_000;

export function ownership(
  nodeName: string,
  deps: OwnershipDeps,
  open: (lease: PartitionLease) => Promise<PartitionHandle>,
): Ownership {
  const { clock, leases, log } = deps;
  const state: OwnershipState = {
    ...deps,
    nodeName,
    open,
    partitions: new Map(),
    isDraining: false,
    losses: null,
    claims_from_ms: null,
  };
  const { partitions } = state;
  let renewTimer: Disposable | null = null;

  function renewals(): void {
    for (const owned of partitions.values()) void renew(state, owned);
    renewTimer = clock.at(clock.now() + RENEW_MS, renewals);
  }

  renewals();
  const rounds = repeatedRounds(deps, () => round(state));
  return {
    firstRound: rounds.first,
    partitions: () =>
      [...partitions.values()]
        .filter(({ isClosing }) => !isClosing)
        .map(({ partition, epoch }) => ({ partition, epoch })),
    relinquish(partition) {
      const owned = partitions.get(partition);
      if (owned) void handOff(state, owned);
    },
    async drain(limit_ms) {
      state.isDraining = true;
      rounds.stop();
      const limit = Promise.withResolvers<void>();
      const timer = clock.at(clock.now() + limit_ms, limit.resolve);
      // First of all, so that other nodes claim what this node hands off; a round under way must not claim it again.
      await Promise.race([limit.promise, leases.removePresence(nodeName).catch(ignore)]);
      await Promise.race([limit.promise, rounds.current()]);
      const count = partitions.size;
      const handoffs = [...partitions.values()].map((owned) => handOff(state, owned));
      await Promise.race([limit.promise, Promise.all(handoffs)]);
      timer[Symbol.dispose]();
      if (count > 0)
        log.info("Partitions were released", {
          released: count - partitions.size,
          left: partitions.size,
        });
      for (const owned of partitions.values()) drop(state, owned);
      renewTimer?.[Symbol.dispose]();
    },
  };
}

/** Claims and hands off once; never two rounds at a time. True: something this node should own is not owned yet. */
async function round(state: OwnershipState): Promise<boolean> {
  const { leases, nodeName, partitions } = state;
  if (!state.mayOwn()) {
    await leases.removePresence(nodeName);
    for (const owned of partitions.values()) void handOff(state, owned);
    return false;
  }
  if (state.isForeign()) for (const owned of partitions.values()) void handOff(state, owned);
  // A read comes first: while this node gets no answers, what it sends may still arrive, and it must not seem present.
  let members = await leases.members();
  await leases.announcePresence(nodeName);
  if (!members.includes(nodeName)) members = await leases.members();
  // A list without this node is older than its presence.
  if (state.isDraining || !members.includes(nodeName)) return true;
  const wanted = new Set<number>();
  for (let partition = 0; partition < state.partitionCount; partition++)
    if (ownerOf(partition, members) === nodeName) wanted.add(partition);
  const unclaimed = [...wanted].filter((partition) => !partitions.has(partition));
  // All at once: a node that owns nearly everything after a restart must not keep its callers waiting in turns.
  const leaving = [...partitions.values()].filter(
    ({ partition, isClosing }) => !wanted.has(partition) && !isClosing,
  );
  for (const owned of leaving) void handOff(state, owned);
  if (leaving.length > 0) state.log.info("Partitions go to other nodes", { partitions: numbersOf(leaving) });
  if (unclaimed.length > 0) await claimAll(state, unclaimed);
  return [...wanted].some((partition) => !partitions.has(partition));
}

async function claimAll(state: OwnershipState, unclaimed: readonly number[]): Promise<void> {
  const { clock } = state;
  const { survey, terms } = await state.claimTerms();
  if (state.isForeign()) return;
  const isNew = terms?.generation === 1 && survey.age_ms < NEW_CLUSTER_MS;
  const hasOwners = survey.held.size > 0 || isNew;
  state.claims_from_ms ??= hasOwners ? -Infinity : clock.mono() + GATHER_MS;
  if (!terms || clock.mono() < state.claims_from_ms || state.isDraining) return;
  for (let from = 0; from < unclaimed.length && !state.isDraining; from += MAX_CLAIMS) {
    const claims = unclaimed.slice(from, from + MAX_CLAIMS);
    // All of them end before the round does: a claim that is answered in the next round would replace a later claim of the same partition.
    const ends = await Promise.allSettled(claims.map((partition) => claim(state, partition, terms)));
    const failed = ends.find((end) => end.status === "rejected");
    if (failed) throw failed.reason;
  }
  const taken = unclaimed.flatMap((partition) => state.partitions.get(partition) ?? []);
  if (taken.length > 0)
    state.log.info("Partitions were taken over", {
      partitions: numbersOf(taken),
      owned: state.partitions.size,
    });
}

const numbersOf = (owned: readonly { readonly partition: number }[]): readonly number[] =>
  owned.map(({ partition }) => partition);
