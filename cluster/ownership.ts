/**
 * Which partitions this node holds: it claims, renews, hands over and drops (cluster.md, sections 3.3 to 3.6).
 *
 * Who should hold one is a hint everybody works out alike; who does is decided by the lease. What is done with a
 * partition comes in as `open`. Time is the monotonic clock, and a deadline is counted from before the call left, so
 * this node stops by itself before anybody else can begin.
 */
import { ownerOf, PARTITIONS } from "./placement.ts";
import type { Clock } from "./ports/clock.ts";
import { Fault } from "./ports/fault.ts";
import type { Lease, Leases } from "./ports/leases.ts";
import type { Meters } from "./ports/meters.ts";

/** A partition while this node has it. */
export interface PartitionLease {
  readonly partition: number;
  readonly epoch: number;
  /** Asked immediately before each request to an origin: false once another node may have taken over. */
  readonly isValid: () => boolean;
  /** Whether the lease is this node's as far as it knows; what was begun may end. */
  readonly isHeld: () => boolean;
  /** Says that the partition was lost, for instance because its reader was taken away. */
  readonly lose: (why: string) => void;
}

/** What is at work in a partition. */
export interface PartitionHandle {
  /** Nothing begins any more, nothing comes in; resolves when what is in flight has ended and was acknowledged. */
  readonly drain: () => Promise<void>;
  /** Forgets everything and aborts what is in flight; somebody else's now. */
  readonly drop: () => void;
  /** Takes the reader off the bus, after `drop`. */
  readonly remove: () => Promise<void>;
}

export interface Ownership {
  /** Resolves after the first round of claims. */
  readonly firstRound: Promise<void>;
  readonly partitions: () => readonly Pick<PartitionLease, "partition" | "epoch">[];
  /** Claims nothing more and hands over everything; after the limit the leases run out by themselves. */
  readonly drain: (limit_ms: number) => Promise<void>;
  /** Gives a partition back to claim it anew under a new epoch: what got stranded on the bus comes again. */
  readonly relinquish: (partition: number) => void;
}

/** All leases of this node, in parallel; a timer of its own in which nothing else is awaited. */
const RENEW_MS = 800;
/** Who is there, what to claim, what to hand over. */
const ROUND_MS = 800;
/** While something wanted is somebody else's. */
const ROUND_SOON_MS = 200;
/** Drift of two clocks, and the time from the check to the socket. */
const MARGIN_MS = 600;
/** Handed over at once when a node joins. */
const MAX_HANDOFFS = 4;
/**
 * How long what is in flight in a partition may take to end while it moves: everybody else there waits so long. What is
 * not done by then is aborted, and begun again by the next owner.
 */
const MAX_DRAIN_MS = 10_000;

interface OwnedPartition {
  readonly partition: number;
  readonly epoch: number;
  lease: Lease;
  deadline_ms: number;
  isClosing: boolean;
  isRenewing: boolean;
  handle: PartitionHandle | null;
  /** Whether it came to be open. */
  ready: Promise<boolean>;
}

export function ownership(
  nodeName: string,
  { clock, leases, meters }: { clock: Clock; leases: Leases; meters: Meters },
  open: (lease: PartitionLease) => Promise<PartitionHandle>,
): Ownership {
  const partitions = new Map<number, OwnedPartition>();
  let isDraining = false;
  let rounding: Promise<unknown> = Promise.resolve();
  let round_alarm: Disposable | null = null;
  let renew_alarm: Disposable | null = null;

  const isHeld = (owned: OwnedPartition): boolean => partitions.get(owned.partition) === owned;
  const deadlineFrom = (sent_ms: number): number => sent_ms + leases.ttl_ms - MARGIN_MS;

  async function claim(partition: number): Promise<void> {
    const sent_ms = clock.mono();
    const lease = await leases.create(partition, nodeName);
    if (!lease) return;
    if (isDraining) return leases.release(partition, lease);
    const owned: OwnedPartition = {
      partition,
      epoch: lease.epoch,
      lease,
      deadline_ms: deadlineFrom(sent_ms),
      isClosing: false,
      isRenewing: false,
      handle: null,
      ready: Promise.resolve(false),
    };
    partitions.set(partition, owned);
    owned.ready = openPartition(owned);
    await owned.ready;
  }

  async function openPartition(owned: OwnedPartition): Promise<boolean> {
    const { partition, epoch } = owned;
    const isValid = (): boolean => isHeld(owned) && !owned.isClosing && clock.mono() < owned.deadline_ms;
    try {
      const handle = await open({
        partition,
        epoch,
        isValid,
        isHeld: () => isHeld(owned),
        lose: (why) => lose(owned, why),
      });
      owned.handle = handle;
      if (isHeld(owned)) return true;
      // Lost while it was being opened.
      handle.drop();
      await handle.remove();
      return false;
    } catch (problem) {
      meters.say("warn", "A partition could not be opened", { partition, epoch, problem });
      drop(owned);
      await leases.release(partition, owned.lease).catch(ignore);
      return false;
    }
  }

  function drop(owned: OwnedPartition): void {
    if (isHeld(owned)) partitions.delete(owned.partition);
    owned.handle?.drop();
  }

  function lose(owned: OwnedPartition, why: string): void {
    if (!isHeld(owned)) return;
    meters.count("trawl_faults_total", { code: "lease_lost" });
    meters.say("warn", "A partition was lost", { partition: owned.partition, epoch: owned.epoch, why });
    drop(owned);
  }

  async function renew(owned: OwnedPartition): Promise<void> {
    if (clock.mono() > owned.deadline_ms + MARGIN_MS) return lose(owned, "its lease ran out");
    if (owned.isRenewing) return;
    owned.isRenewing = true;
    const sent_ms = clock.mono();
    try {
      const renewal = await leases.renew(owned.partition, nodeName, owned.lease);
      if (renewal.kind === "lost") return lose(owned, "somebody else has the lease, or nobody");
      owned.lease = { epoch: owned.epoch, revision: renewal.revision };
      owned.deadline_ms = Math.max(owned.deadline_ms, deadlineFrom(sent_ms));
    } catch (problem) {
      // Nobody answered: the deadline just stops moving.
      if (!(problem instanceof Fault)) throw problem;
    } finally {
      owned.isRenewing = false;
    }
  }

  async function handOff(owned: OwnedPartition): Promise<void> {
    if (owned.isClosing) return;
    owned.isClosing = true;
    // A claim under way ends first: dropped half open, its reader would stay behind.
    if (!(await owned.ready)) return;
    const { handle } = owned;
    const limit = Promise.withResolvers<void>();
    const timer = clock.at(clock.now() + MAX_DRAIN_MS, limit.resolve);
    await Promise.race([handle!.drain(), limit.promise]);
    timer[Symbol.dispose]();
    if (!isHeld(owned)) return;
    drop(owned);
    await handle!.remove();
    await leases.release(owned.partition, owned.lease);
  }

  const tryHandOff = (owned: OwnedPartition): Promise<void> =>
    handOff(owned).catch((problem: unknown) => {
      meters.say("warn", "A partition could not be handed off", { partition: owned.partition, problem });
      drop(owned);
    });

  /** Who is there, and so what is wanted; never two at once. True: something wanted is not had yet. */
  async function round(): Promise<boolean> {
    await leases.announcePresence(nodeName);
    const members = await leases.members();
    // A list without me is older than what I just said.
    if (isDraining || !members.includes(nodeName)) return true;
    const wanted = new Set<number>();
    for (let partition = 0; partition < PARTITIONS; partition++)
      if (ownerOf(partition, members) === nodeName) wanted.add(partition);
    const unclaimed = [...wanted].filter((partition) => !partitions.has(partition));
    const handoffs = [...partitions.values()].filter(({ isClosing: closing }) => closing).length;
    const surplus = [...partitions.values()].filter(
      ({ partition, isClosing: closing }) => !wanted.has(partition) && !closing,
    );
    for (const owned of surplus.slice(0, Math.max(0, MAX_HANDOFFS - handoffs))) void tryHandOff(owned);
    await Promise.all(unclaimed.map(claim));
    return [...wanted].some((partition) => !partitions.has(partition));
  }

  async function rounds(): Promise<void> {
    let soon = true;
    try {
      const current = round();
      rounding = current.catch(ignore);
      soon = await current;
    } catch (problem) {
      meters.say("warn", "Cannot list the members", { problem });
    }
    if (!isDraining)
      round_alarm = clock.at(clock.now() + (soon ? ROUND_SOON_MS : ROUND_MS), () => void rounds());
  }

  function renewals(): void {
    for (const owned of partitions.values()) void renew(owned);
    renew_alarm = clock.at(clock.now() + RENEW_MS, renewals);
  }

  renewals();
  return {
    firstRound: rounds(),
    partitions: () =>
      [...partitions.values()]
        .filter(({ isClosing: closing }) => !closing)
        .map(({ partition, epoch }) => ({ partition, epoch })),
    relinquish(partition) {
      const owned = partitions.get(partition);
      if (owned) void tryHandOff(owned);
    },
    async drain(limit_ms) {
      isDraining = true;
      round_alarm?.[Symbol.dispose]();
      const limit = Promise.withResolvers<void>();
      const timer = clock.at(clock.now() + limit_ms, limit.resolve);
      // Said first, so that others claim what is given back; a round under way must not claim it again.
      await Promise.race([limit.promise, leases.removePresence(nodeName).catch(ignore)]);
      await Promise.race([limit.promise, rounding]);
      await Promise.race([limit.promise, Promise.all([...partitions.values()].map(tryHandOff))]);
      timer[Symbol.dispose]();
      for (const owned of partitions.values()) drop(owned);
      renew_alarm?.[Symbol.dispose]();
    },
  };
}

/** Its lease runs out by itself. */
const ignore = (): void => {};
