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
import { ownerOf, PARTITIONS } from "./placement.ts";

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
const RENEW_MS = 800;
const ROUND_MS = 800;
/** While another node still owns something that this node should. */
const ROUND_SOON_MS = 200;
/** Handoffs at a time when a node joins. */
const MAX_HANDOFFS = 4;

export function ownership(
  nodeName: string,
  deps: OwnershipDeps,
  open: (lease: PartitionLease) => Promise<PartitionHandle>,
): Ownership {
  const { clock, leases, log } = deps;
  const state: OwnershipState = { ...deps, nodeName, open, partitions: new Map(), isDraining: false };
  const { partitions } = state;
  let currentRound: Promise<unknown> = Promise.resolve();
  let roundTimer: Disposable | null = null;
  let renewTimer: Disposable | null = null;

  async function rounds(): Promise<void> {
    let isIncomplete = true;
    try {
      const current = round(state);
      currentRound = current.catch(ignore);
      isIncomplete = await current;
    } catch (problem) {
      log.warn("Cannot list the members", { problem });
    }
    if (state.isDraining) return;
    roundTimer = clock.at(clock.now() + (isIncomplete ? ROUND_SOON_MS : ROUND_MS), () => void rounds());
  }

  function renewals(): void {
    for (const owned of partitions.values()) void renew(state, owned);
    renewTimer = clock.at(clock.now() + RENEW_MS, renewals);
  }

  renewals();
  return {
    firstRound: rounds(),
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
      roundTimer?.[Symbol.dispose]();
      const limit = Promise.withResolvers<void>();
      const timer = clock.at(clock.now() + limit_ms, limit.resolve);
      // First of all, so that other nodes claim what this node hands off; a round under way must not claim it again.
      await Promise.race([limit.promise, leases.removePresence(nodeName).catch(ignore)]);
      await Promise.race([limit.promise, currentRound]);
      const handoffs = [...partitions.values()].map((owned) => handOff(state, owned));
      await Promise.race([limit.promise, Promise.all(handoffs)]);
      timer[Symbol.dispose]();
      for (const owned of partitions.values()) drop(state, owned);
      renewTimer?.[Symbol.dispose]();
    },
  };
}

/** Claims and hands off once; never two rounds at a time. True: something this node should own is not owned yet. */
async function round(state: OwnershipState): Promise<boolean> {
  const { leases, nodeName, partitions } = state;
  await leases.announcePresence(nodeName);
  const members = await leases.members();
  // A list without this node is older than its presence.
  if (state.isDraining || !members.includes(nodeName)) return true;
  const wanted = new Set<number>();
  for (let partition = 0; partition < PARTITIONS; partition++)
    if (ownerOf(partition, members) === nodeName) wanted.add(partition);
  const unclaimed = [...wanted].filter((partition) => !partitions.has(partition));
  const owned = [...partitions.values()];
  const handoffs = owned.filter(({ isClosing }) => isClosing).length;
  const surplus = owned.filter(({ partition, isClosing }) => !wanted.has(partition) && !isClosing);
  for (const each of surplus.slice(0, Math.max(0, MAX_HANDOFFS - handoffs))) void handOff(state, each);
  await Promise.all(unclaimed.map((partition) => claim(state, partition)));
  return [...wanted].some((partition) => !partitions.has(partition));
}
