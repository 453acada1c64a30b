/**
 * A partition from claim to release: claimed by its lease, opened, renewed, and either released by a handoff or lost.
 *
 * Time is the monotonic clock, and a deadline is counted from before the call left. So this node stops by itself before
 * another node can begin.
 */
import type { Clock } from "../../ports/clock.ts";
import { Fault } from "../../ports/fault.ts";
import type { ClaimTerms, Lease, Leases, LeaseSurvey } from "../../ports/leases.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Log } from "../../ports/log.ts";

/** A partition while this node owns it. */
export interface PartitionLease {
  readonly partition: number;
  readonly epoch: number;
  /** Asked immediately before each request to an origin: false once another node may have taken over. */
  readonly isValid: () => boolean;
  /** Whether the lease still covers writes while the partition drains: what was begun may be stored. */
  readonly mayStore: () => boolean;
  /** Whether the lease is this node's as far as it knows; what was begun may end. */
  readonly isHeld: () => boolean;
  /** Reports that the partition was lost, for instance because its reader was taken away. */
  readonly lose: (why: string) => void;
}

/** The parts of a partition on this node, as its owner ends them. */
export interface PartitionHandle {
  /** Begins nothing more and takes nothing more; resolves when what is in flight has ended and was acknowledged. */
  readonly drain: () => Promise<void>;
  /** Forgets everything and aborts what is in flight: it is another node's now. */
  readonly drop: () => void;
  /** Takes the reader off the bus, after `drop`. */
  readonly remove: () => Promise<void>;
}

export interface OwnedPartition {
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

export interface OwnershipDeps {
  /** False: this node's clock is too far from the cluster's, so it wants nothing and hands off what it owns. */
  readonly mayOwn: () => boolean;
  /** The documents belong to the nodes of another lease store: this node claims nothing and hands off what it owns. */
  readonly isForeign: () => boolean;
  readonly partitionCount: number;
  readonly clock: Clock;
  readonly leases: Leases;
  readonly metrics: Metrics;
  readonly log: Log;
  /** The partitions that are owned now, and the terms for a claim; null: nothing may be claimed yet. Throws Fault. */
  readonly claimTerms: () => Promise<{ readonly survey: LeaseSurvey; readonly terms: ClaimTerms | null }>;
}

export interface OwnershipState extends OwnershipDeps {
  readonly nodeName: string;
  readonly open: (lease: PartitionLease) => Promise<PartitionHandle>;
  readonly partitions: Map<number, OwnedPartition>;
  isDraining: boolean;
  /** Partitions that were lost and are not logged yet, with the reason of the first. */
  losses: { readonly why: string; readonly partitions: number[] } | null;
  /** The monotonic time of the first claim; null until this node knows whether others own something. */
  claims_from_ms: number | null;
}

/** Drift of two clocks, and the time from the check to the socket. */
export const MARGIN_MS = 600;
/** Losses within this time after the first one are one line of the log: leases are renewed every 0.8 s. */
const LOSSES_LOGGED_MS = 2_000;
const MAX_NAMED_PARTITIONS = 5;
/**
 * How long what is in flight in a partition may take to end while it moves: callers of the partition wait so long. What
 * is not done by then is aborted, and the next owner begins it again. With the claim that follows, partitions are
 * shared evenly within 10 s of a node's start.
 */
export const MAX_DRAIN_MS = 8_000;

const isHeld = ({ partitions }: OwnershipState, owned: OwnedPartition): boolean =>
  partitions.get(owned.partition) === owned;

export const deadlineFrom = ({ leases }: Pick<OwnershipDeps, "leases">, sent_ms: number): number =>
  sent_ms + leases.ttl_ms - MARGIN_MS;

/** A renewal that was sent at that time has been answered. */
export function extend(
  deps: Pick<OwnershipDeps, "clock" | "leases" | "metrics">,
  held: { deadline_ms: number },
  sent_ms: number,
): void {
  const { clock, leases, metrics } = deps;
  // The time since the renewal before, which its deadline remembers.
  if (clock.mono() - (held.deadline_ms - deadlineFrom(deps, 0)) > (leases.ttl_ms * 2) / 3)
    metrics.count("trawl_lease_renewals_late_total", {});
  held.deadline_ms = Math.max(held.deadline_ms, deadlineFrom(deps, sent_ms));
}

/** Waits for what is in flight, but not for longer than a handoff may take. */
export async function drainInTime(
  { clock }: Pick<OwnershipDeps, "clock">,
  handle: PartitionHandle,
): Promise<void> {
  const limit = Promise.withResolvers<void>();
  const timer = clock.at(clock.now() + MAX_DRAIN_MS, limit.resolve);
  try {
    await Promise.race([handle.drain(), limit.promise]);
  } finally {
    timer[Symbol.dispose]();
  }
}

/** Takes the lease when it is free, and opens the partition. */
export async function claim(state: OwnershipState, partition: number, terms: ClaimTerms): Promise<void> {
  const { clock, leases, nodeName, partitions } = state;
  const sent_ms = clock.mono();
  const lease = await leases.create(partition, nodeName, terms);
  if (!lease) return;
  if (state.isDraining) return leases.release(partition, lease);
  const owned: OwnedPartition = {
    partition,
    epoch: lease.epoch,
    lease,
    deadline_ms: deadlineFrom(state, sent_ms),
    isClosing: false,
    isRenewing: false,
    handle: null,
    ready: Promise.resolve(false),
  };
  partitions.set(partition, owned);
  owned.ready = open(state, owned);
  await owned.ready;
}

async function open(state: OwnershipState, owned: OwnedPartition): Promise<boolean> {
  const { clock, leases, log } = state;
  const { partition, epoch } = owned;
  try {
    const handle = await state.open({
      partition,
      epoch,
      isValid: () => isHeld(state, owned) && !owned.isClosing && clock.mono() < owned.deadline_ms,
      mayStore: () => isHeld(state, owned) && clock.mono() < owned.deadline_ms,
      isHeld: () => isHeld(state, owned),
      lose: (why) => lose(state, owned, why),
    });
    owned.handle = handle;
    if (isHeld(state, owned)) return true;
    // Lost while it was being opened.
    handle.drop();
    await handle.remove();
    return false;
  } catch (problem) {
    log.warn("A partition could not be opened", { partition, epoch, problem });
    drop(state, owned);
    await leases.release(partition, owned.lease).catch(ignore);
    return false;
  }
}

export function drop(state: OwnershipState, owned: OwnedPartition): void {
  if (isHeld(state, owned)) state.partitions.delete(owned.partition);
  owned.handle?.drop();
}

function lose(state: OwnershipState, owned: OwnedPartition, why: string): void {
  if (!isHeld(state, owned)) return;
  noteLoss(state, owned.partition, why);
  drop(state, owned);
}

/** A node that is cut off loses all its partitions within a second: the log gets one line for all of them. */
export function noteLoss(
  state: Pick<OwnershipState, "clock" | "log" | "metrics" | "losses">,
  partition: number,
  why: string,
): void {
  const { clock, log, metrics, losses } = state;
  metrics.count("trawl_faults_total", { code: "lease_lost" });
  if (losses) return void losses.partitions.push(partition);
  const { partitions } = (state.losses = { why, partitions: [partition] });
  clock.at(clock.now() + LOSSES_LOGGED_MS, () => {
    state.losses = null;
    const named = partitions.slice(0, MAX_NAMED_PARTITIONS);
    log.warn("Partitions were lost", { lost: partitions.length, partitions: named, why });
  });
}

/** Renews the lease; a partition whose lease has run out or is another node's is dropped. */
export async function renew(state: OwnershipState, owned: OwnedPartition): Promise<void> {
  const { clock, leases, nodeName } = state;
  if (clock.mono() > owned.deadline_ms + MARGIN_MS) return lose(state, owned, "its lease ran out");
  if (owned.isRenewing) return;
  owned.isRenewing = true;
  const sent_ms = clock.mono();
  try {
    const renewal = await leases.renew(owned.partition, nodeName, owned.lease);
    if (renewal.kind === "lost") return lose(state, owned, "its lease is gone or another node's");
    owned.lease = { epoch: owned.epoch, revision: renewal.revision };
    extend(state, owned, sent_ms);
  } catch (problem) {
    // The lease store did not answer: the deadline stops moving.
    if (!(problem instanceof Fault)) throw problem;
  } finally {
    owned.isRenewing = false;
  }
}

/** Drains a partition and releases its lease, so that the next owner need not wait for it. A failure drops it. */
export async function handOff(state: OwnershipState, owned: OwnedPartition): Promise<void> {
  if (owned.isClosing) return;
  owned.isClosing = true;
  try {
    await drainAndRelease(state, owned);
  } catch (problem) {
    const { partition } = owned;
    state.log.warn("A partition could not be transferred", { partition, problem });
    drop(state, owned);
  }
}

async function drainAndRelease(state: OwnershipState, owned: OwnedPartition): Promise<void> {
  // A claim under way ends first: dropped half open, its reader would stay behind.
  if (!(await owned.ready)) return;
  const { handle } = owned;
  await drainInTime(state, handle!);
  if (!isHeld(state, owned)) return;
  drop(state, owned);
  await handle!.remove();
  await state.leases.release(owned.partition, owned.lease);
}

/** A lease that cannot be released runs out by itself. */
export const ignore = (): void => {};
