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
export interface Part {
  readonly partition: number;
  readonly epoch: number;
  /** Asked immediately before each request to an origin: false once another node may have taken over. */
  readonly mayStart: () => boolean;
  /** Whether the lease is this node's as far as it knows; what was begun may end. */
  readonly isMine: () => boolean;
  /** Says that the partition was lost, for instance because its reader was taken away. */
  readonly lose: (why: string) => void;
}

/** What is at work in a partition. */
export interface Estate {
  /** Nothing begins any more, nothing comes in; resolves when what is in flight has ended and was acknowledged. */
  readonly finish: () => Promise<void>;
  /** Forgets everything and aborts what is in flight; somebody else's now. */
  readonly drop: () => void;
  /** Takes the reader off the bus, after `drop`. */
  readonly remove: () => Promise<void>;
}

export interface Ownership {
  /** Resolves after the first round of claims. */
  readonly begun: Promise<void>;
  readonly held: () => readonly Pick<Part, "partition" | "epoch">[];
  /** Claims nothing more and hands over everything; after the limit the leases run out by themselves. */
  readonly drain: (limit_ms: number) => Promise<void>;
  /** Gives a partition back to claim it anew under a new epoch: what got stranded on the bus comes again. */
  readonly renounce: (partition: number) => void;
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
const MAX_HAND_OVERS = 4;
/**
 * How long what is in flight in a partition may take to end while it moves: everybody else there waits so long. What is
 * not done by then is aborted, and begun again by the next owner.
 */
const MAX_FINISH_MS = 10_000;

interface Held {
  readonly partition: number;
  readonly epoch: number;
  lease: Lease;
  deadline_ms: number;
  closing: boolean;
  renewing: boolean;
  estate: Estate | null;
  /** Whether it came to be open. */
  ready: Promise<boolean>;
}

export function ownership(
  me: string,
  { clock, leases, meters }: { clock: Clock; leases: Leases; meters: Meters },
  open: (part: Part) => Promise<Estate>,
): Ownership {
  const owned = new Map<number, Held>();
  let draining = false;
  let rounding: Promise<unknown> = Promise.resolve();
  let round_alarm: Disposable | null = null;
  let renew_alarm: Disposable | null = null;

  const isMine = (held: Held): boolean => owned.get(held.partition) === held;
  const extended = (sent_ms: number): number => sent_ms + leases.ttl_ms - MARGIN_MS;

  async function claim(partition: number): Promise<void> {
    const sent_ms = clock.mono();
    const lease = await leases.create(partition, me);
    if (!lease) return;
    if (draining) return leases.release(partition, lease);
    const held: Held = {
      partition,
      epoch: lease.epoch,
      lease,
      deadline_ms: extended(sent_ms),
      closing: false,
      renewing: false,
      estate: null,
      ready: Promise.resolve(false),
    };
    owned.set(partition, held);
    held.ready = furnish(held);
    await held.ready;
  }

  async function furnish(held: Held): Promise<boolean> {
    const { partition, epoch } = held;
    const mayStart = (): boolean => isMine(held) && !held.closing && clock.mono() < held.deadline_ms;
    try {
      const estate = await open({
        partition,
        epoch,
        mayStart,
        isMine: () => isMine(held),
        lose: (why) => lose(held, why),
      });
      held.estate = estate;
      if (isMine(held)) return true;
      // Lost while it was being opened.
      estate.drop();
      await estate.remove();
      return false;
    } catch (problem) {
      meters.say("warn", "A partition could not be opened", { partition, epoch, problem });
      drop(held);
      await leases.release(partition, held.lease).catch(quietly);
      return false;
    }
  }

  function drop(held: Held): void {
    if (isMine(held)) owned.delete(held.partition);
    held.estate?.drop();
  }

  function lose(held: Held, why: string): void {
    if (!isMine(held)) return;
    meters.count("trawl_faults_total", { code: "lease_lost" });
    meters.say("warn", "A partition was lost", { partition: held.partition, epoch: held.epoch, why });
    drop(held);
  }

  async function renew(held: Held): Promise<void> {
    if (clock.mono() > held.deadline_ms + MARGIN_MS) return lose(held, "its lease ran out");
    if (held.renewing) return;
    held.renewing = true;
    const sent_ms = clock.mono();
    try {
      const renewal = await leases.renew(held.partition, me, held.lease);
      if (renewal.kind === "lost") return lose(held, "somebody else has the lease, or nobody");
      held.lease = { epoch: held.epoch, revision: renewal.revision };
      held.deadline_ms = Math.max(held.deadline_ms, extended(sent_ms));
    } catch (problem) {
      // Nobody answered: the deadline just stops moving.
      if (!(problem instanceof Fault)) throw problem;
    } finally {
      held.renewing = false;
    }
  }

  async function handOver(held: Held): Promise<void> {
    if (held.closing) return;
    held.closing = true;
    // A claim under way ends first: dropped half open, its reader would stay behind.
    if (!(await held.ready)) return;
    const { estate } = held;
    const late = Promise.withResolvers<void>();
    const alarm = clock.at(clock.now() + MAX_FINISH_MS, late.resolve);
    await Promise.race([estate!.finish(), late.promise]);
    alarm[Symbol.dispose]();
    if (!isMine(held)) return;
    drop(held);
    await estate!.remove();
    await leases.release(held.partition, held.lease);
  }

  const handedOver = (held: Held): Promise<void> =>
    handOver(held).catch((problem: unknown) => {
      meters.say("warn", "A partition could not be handed over", { partition: held.partition, problem });
      drop(held);
    });

  /** Who is there, and so what is wanted; never two at once. True: something wanted is not had yet. */
  async function round(): Promise<boolean> {
    await leases.present(me);
    const members = await leases.members();
    // A list without me is older than what I just said.
    if (draining || !members.includes(me)) return true;
    const wanted = new Set<number>();
    for (let partition = 0; partition < PARTITIONS; partition++)
      if (ownerOf(partition, members) === me) wanted.add(partition);
    const missing = [...wanted].filter((partition) => !owned.has(partition));
    const handing = [...owned.values()].filter(({ closing }) => closing).length;
    const unwanted = [...owned.values()].filter(
      ({ partition, closing }) => !wanted.has(partition) && !closing,
    );
    for (const held of unwanted.slice(0, Math.max(0, MAX_HAND_OVERS - handing))) void handedOver(held);
    await Promise.all(missing.map(claim));
    return [...wanted].some((partition) => !owned.has(partition));
  }

  async function rounds(): Promise<void> {
    let soon = true;
    try {
      const current = round();
      rounding = current.catch(quietly);
      soon = await current;
    } catch (problem) {
      meters.say("warn", "Cannot see who is there", { problem });
    }
    if (!draining)
      round_alarm = clock.at(clock.now() + (soon ? ROUND_SOON_MS : ROUND_MS), () => void rounds());
  }

  function renewals(): void {
    for (const held of owned.values()) void renew(held);
    renew_alarm = clock.at(clock.now() + RENEW_MS, renewals);
  }

  renewals();
  return {
    begun: rounds(),
    held: () =>
      [...owned.values()]
        .filter(({ closing }) => !closing)
        .map(({ partition, epoch }) => ({ partition, epoch })),
    renounce(partition) {
      const held = owned.get(partition);
      if (held) void handedOver(held);
    },
    async drain(limit_ms) {
      draining = true;
      round_alarm?.[Symbol.dispose]();
      const limit = Promise.withResolvers<void>();
      const alarm = clock.at(clock.now() + limit_ms, limit.resolve);
      // Said first, so that others claim what is given back; a round under way must not claim it again.
      await Promise.race([limit.promise, leases.absent(me).catch(quietly)]);
      await Promise.race([limit.promise, rounding]);
      await Promise.race([limit.promise, Promise.all([...owned.values()].map(handedOver))]);
      alarm[Symbol.dispose]();
      for (const held of owned.values()) drop(held);
      renew_alarm?.[Symbol.dispose]();
    },
  };
}

/** Its lease runs out by itself. */
const quietly = (): void => {};
