/**
 * The rules of politeness towards one domain: when the next request may start, how long a caller must expect to wait,
 * and what the domain learns from each answer. Pure functions: no clock, no bus, no store, no queue.
 */
import assert from "node:assert/strict";
import type { FetchOutcome, SlotAnswer, SlotRelease, SlotRequest } from "../../../schemas/domain.ts";
import { type OperatorSettings, pauseOf } from "./operator-settings.ts";
import { sameNetworks } from "./robots-state.ts";
import {
  afterOutcome,
  NO_OUTCOMES,
  type Outcomes,
  restoreOutcomes,
  skippedUntil,
  type SkipRequest,
  withoutSuccess,
} from "./skips.ts";
import {
  ANY_OTHER,
  backOffOrigin,
  CLOCK_STEP_MS,
  isNoStricter,
  isOpen,
  originDelayOf,
  originOpenAt,
  pauseOrigin,
  recoverOrigin,
  restoreSlowed,
  type SlowedOrigin,
  slowedOf,
  withCrawlDelay,
  withStart,
} from "./slowed-origins.ts";

export interface PolitenessLimits {
  /** Requests are at least this far apart. Default 500 ms; when too small, sites block the crawler. */
  readonly min_delay_ms: number;
  /** Requests in flight at once. Default 2. */
  readonly max_concurrency: number;
  /**
   * A slot that is not released within this time is free again. It must outlast the longest exchange, a PDF that may
   * take 5 min to download, or a domain sees more requests than slots; when too large, a lost slot is missing for longer.
   */
  readonly lease_ms: number;
}

/** Twice the longest exchange. */
export const LEASE_MS = 10 * 60_000;

/** A slot in use, or one that is stored ahead of its time. */
export interface Lease {
  readonly fetch_id: string;
  readonly origin: string;
  readonly started_ms: number;
  readonly lapses_ms: number;
  /** The run of the fetch that has it. */
  readonly run_id: string;
  /** The process that granted it. */
  readonly process: string;
  /** Only for a redirect from another site, whose request outlives the ownership of this domain: whether it was sent. */
  readonly redirected?: "unsent" | "sent";
  /** It was stored before `started_ms`, and its fetch was told then or not at all. Absent: it was told when it was stored. */
  readonly ahead?: true;
  /** As the request for it has them. */
  readonly networks?: string[];
}

/** The request that a slot is granted for. */
export type SlotGrant = Pick<SlotRequest, "fetch_id" | "origin" | "run_id"> &
  Pick<Lease, "process" | "redirected" | "ahead" | "networks">;
type Slot = Pick<SlotRelease, "fetch_id" | "run_id">;

/** A host name that does not exist (NXDOMAIN). */
interface NxdomainRecord {
  readonly host: string;
  readonly fetch_id: string;
  readonly at_ms: number;
  /** 0 for a name that was reported only once. */
  readonly dead_until_ms: number;
  /** For requests that may reach these private networks; absent: those that the service itself may. */
  readonly networks?: string[];
}

/** The stored state of a domain. It is stored whole whenever it changes, so every list in it is short. */
export interface Politeness extends Outcomes {
  readonly leases: readonly Lease[];
  readonly last_start_ms: number | null;
  /** Moving estimate of the time from grant to release of a slot; 0 before the first release. */
  readonly slot_ms: number;
  /** The delays and pauses that single origins have asked for. */
  readonly slowed: readonly SlowedOrigin[];
  readonly nxdomains: readonly NxdomainRecord[];
  /** Absent: the operator set nothing. */
  readonly operator?: OperatorSettings;
}

export const UNTOUCHED: Politeness = {
  leases: [],
  last_start_ms: null,
  slot_ms: 0,
  slowed: [],
  ...NO_OUTCOMES,
  nxdomains: [],
};

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Two fetches that report a missing name within this time make the host dead. */
const NXDOMAIN_WINDOW_MS = 6 * HOUR_MS;
/** How long a dead host is skipped. */
const DEAD_MS = 6 * HOUR_MS;
/** A site with more missing names forgets the oldest. */
const MAX_MISSING = 64;

/** How much one release moves the estimate `slot_ms`. */
const SLOT_TIME_WEIGHT = 0.2;

const MAX_SEND_DELAYS = 31;
const MIN_SEND_DELAYS = 3;

/** A stored start counts as recent within this time, however much the clocks of two nodes differ. */
const RECENT_START_MS = MINUTE_MS;
/** How long a slot that another node granted still counts: a node that loses a key aborts its requests at once. */
const ORPHANED_LEASE_MS = 10 * SECOND_MS;
/**
 * How long the slot of a redirect from another site still counts, whose request goes on: longer than a grant is valid (50 s). When too large, a
 * site is slower after a crash, because the requests of the process that died are taken for running.
 */
const ORPHANED_REDIRECT_MS = MINUTE_MS;

export type SlotRefusal = Extract<SlotAnswer, { kind: "refused" }>;

export function refused(error: SlotRefusal["error"], for_ms: number): SlotRefusal {
  return { kind: "refused", error, retry_after_s: Math.max(1, Math.ceil(for_ms / SECOND_MS)) };
}

/** The refusal for a request to this origin now; null when it may be granted. */
export function refusalFor(politeness: Politeness, request: SkipRequest, now_ms: number): SlotRefusal | null {
  const pause_ms = pauseOf(politeness.operator, now_ms);
  // As a busy domain: items of jobs wait, and no attempt is counted.
  if (pause_ms > 0) return refused("domain_busy", pause_ms);
  if (politeness.nxdomains.length > 0) {
    const dead = deadFor(politeness, { host: hostOf(request.origin), networks: request.networks }, now_ms);
    if (dead) return dead;
  }
  const until_ms = skippedUntil(politeness, request, now_ms);
  return until_ms === null ? null : refused("domain_unavailable", until_ms - now_ms);
}

type MissingName = { readonly host: string; readonly networks?: SlotRequest["networks"] | undefined };

/** A name that leads to an allowed network exists for requests that may reach it, and for no other. */
export const isMissing = (missing: MissingName, host: string, networks: SlotRequest["networks"]): boolean =>
  missing.host === host && sameNetworks(missing.networks ?? null, networks ?? null);

/** The refusal for a host whose name does not exist for requests with these networks; null: it may. */
export function deadFor(
  { nxdomains }: Politeness,
  { host, networks }: MissingName,
  now_ms: number,
): SlotRefusal | null {
  const dead = nxdomains.find((name) => isMissing(name, host, networks) && name.dead_until_ms > now_ms);
  return dead ? refused("domain_dead", dead.dead_until_ms - now_ms) : null;
}

export const hostOf = (origin: string): string => new URL(origin).hostname;

/** Whether a success of the origin is remembered. */
const isKnownTo =
  ({ successes }: Politeness) =>
  (origin: string): boolean =>
    successes.some((success) => success.origin === origin);

/** The delay and pause that the origin has asked for; undefined: none. */
const slowedFor = (politeness: Politeness, origin: string): SlowedOrigin | undefined =>
  slowedOf(politeness.slowed, origin, isKnownTo(politeness));

/** From when on a request to the origin may start as far as the origin is concerned; 0: at any time. */
export const openForOrigin = (politeness: Politeness, origin: string, now_ms: number): number =>
  originOpenAt(slowedFor(politeness, origin), now_ms);

/** The delay between two requests to the origin: what it has led to, or the domain's. */
export const delayFor = (
  politeness: Politeness,
  { min_delay_ms }: PolitenessLimits,
  origin: string,
  now_ms: number,
): number => Math.max(min_delay_ms, originDelayOf(slowedFor(politeness, origin), now_ms));

/** The earliest time at which the delay of the domain has passed. */
function openAt({ last_start_ms }: Politeness, { min_delay_ms }: PolitenessLimits, now_ms: number): number {
  return last_start_ms === null || min_delay_ms === 0 ? now_ms : last_start_ms + min_delay_ms + CLOCK_STEP_MS;
}

const inFlight = ({ leases }: Politeness, now_ms: number): readonly Lease[] =>
  leases.filter((lease) => lease.lapses_ms > now_ms);

const hasFreeSlot = (politeness: Politeness, limits: PolitenessLimits, now_ms: number): boolean =>
  inFlight(politeness, now_ms).length < limits.max_concurrency;

/** The earliest time of the next grant: the delay has passed and a slot is free, or its lease lapses. */
export function dueAt(politeness: Politeness, limits: PolitenessLimits, now_ms: number): number {
  const open_ms = openAt(politeness, limits, now_ms);
  if (hasFreeSlot(politeness, limits, now_ms)) return open_ms;
  return Math.max(open_ms, Math.min(...inFlight(politeness, now_ms).map((lease) => lease.lapses_ms)));
}

/**
 * How long a caller with `ahead` others before it must expect to wait. Two grants are apart by the delay or, if longer,
 * by the usual time of a slot divided by the number of slots. A slot that has lasted longer than usual is expected to
 * last as much longer again, so a domain whose requests hang soon answers domain_busy. The delay counts from the moment a
 * request is sent, which is `send_delay_ms` after its grant.
 */
export function expectedWait(
  politeness: Politeness,
  limits: PolitenessLimits,
  now_ms: number,
  ahead: number,
  send_delay_ms = 0,
): number {
  const { slot_ms } = politeness;
  const leases = inFlight(politeness, now_ms);
  const frees_ms = leases.map((lease) =>
    Math.min(lease.lapses_ms, now_ms + Math.abs(slot_ms - (now_ms - lease.started_ms))),
  );
  const free_ms = leases.length < limits.max_concurrency ? now_ms : Math.min(...frees_ms);
  const first_ms = Math.max(openAt(politeness, limits, now_ms), free_ms) - now_ms;
  const between_ms = limits.min_delay_ms === 0 ? 0 : limits.min_delay_ms + send_delay_ms;
  return Math.max(0, first_ms) + ahead * Math.max(between_ms, slot_ms / limits.max_concurrency);
}

/** Expected wait for what the origin of the caller has asked for, with `ahead` others that wait for the same origin. */
export function expectedOriginWait(
  politeness: Politeness,
  now_ms: number,
  { origin, ahead }: { readonly origin: string; readonly ahead: number },
): number {
  const slowed = slowedFor(politeness, origin);
  return Math.max(0, originOpenAt(slowed, now_ms) - now_ms) + ahead * originDelayOf(slowed, now_ms);
}

/** The last few times from grant to send, with one more. */
export const withSendDelay = (send_delays: readonly number[], took_ms: number): readonly number[] =>
  [...send_delays, took_ms].slice(-MAX_SEND_DELAYS);

/** The median, because a first request waits for name and connection as the next do not; 0 for too few. */
export function medianSendDelay(send_delays: readonly number[]): number {
  if (send_delays.length < MIN_SEND_DELAYS) return 0;
  return Float64Array.from(send_delays).toSorted()[Math.floor(send_delays.length / 2)]!;
}

/** Whether this fetch has a slot already: a caller that asks again is not counted twice. */
export function hasSlot({ leases }: Politeness, fetch_id: string, now_ms: number): boolean {
  return leases.some((lease) => lease.fetch_id === fetch_id && lease.lapses_ms > now_ms);
}

/** A slot whose request may be sent from `started_ms` on. */
export const leaseOf = ({ lease_ms }: PolitenessLimits, started_ms: number, grant: SlotGrant): Lease => ({
  ...grant,
  started_ms,
  lapses_ms: started_ms + lease_ms,
});

export function grantSlot(
  politeness: Politeness,
  limits: PolitenessLimits,
  now_ms: number,
  grant: SlotGrant,
): Politeness {
  assert(hasFreeSlot(politeness, limits, now_ms), "A domain has no more requests in flight than slots");
  return withLease(politeness, leaseOf(limits, now_ms, grant));
}

/** With one slot more, the last one granted, and without those that have lapsed by then. */
export const withLease = (politeness: Politeness, lease: Lease): Politeness => ({
  ...politeness,
  leases: [...inFlight(politeness, lease.started_ms), lease],
  last_start_ms: lease.started_ms,
  slowed: withStart(politeness.slowed, lease.origin, isKnownTo(politeness), lease.started_ms),
});

/** A request to the origin was sent, or may have been: its own delay counts from there. */
export function withOriginStart(politeness: Politeness, origin: string, sent_ms: number): Politeness {
  const slowed = withStart(politeness.slowed, origin, isKnownTo(politeness), sent_ms);
  return slowed === politeness.slowed ? politeness : { ...politeness, slowed };
}

/**
 * How long before its time a grant is stored, so that the request does not wait for the store: longer than a busy store
 * takes, and at most half of the delay, because until then the slot before it is mostly released. When too large, a domain
 * whose node dies has one slot more that counts for ten seconds.
 */
const MAX_AHEAD_MS = 100;

/** From when on a grant that is due then may be stored. Infinity: not before its time. */
export function storableAt(
  politeness: Politeness,
  limits: PolitenessLimits,
  now_ms: number,
  due_ms: number,
): number {
  if (!hasFreeSlot(politeness, limits, now_ms)) return Infinity;
  return due_ms - Math.min(MAX_AHEAD_MS, Math.floor(limits.min_delay_ms / 2));
}

/** Whether a later run of the fetch has its slot by now. */
const isTakenOver = (lease: Lease, { run_id }: Slot): boolean => lease.run_id !== run_id;

/** Whether this run of the fetch has a slot. */
export const isHeldBy = ({ leases }: Politeness, slot: Slot): boolean =>
  leases.some((lease) => lease.fetch_id === slot.fetch_id && !isTakenOver(lease, slot));

/** The slot of a fetch goes to the run that asks now, which has as long for its exchange as the first. */
export function takeOver(
  politeness: Politeness,
  limits: PolitenessLimits,
  now_ms: number,
  { fetch_id, run_id }: Slot,
): Politeness {
  if (isHeldBy(politeness, { fetch_id, run_id })) return politeness;
  const lapses_ms = now_ms + limits.lease_ms;
  const leases = politeness.leases.map((lease) =>
    lease.fetch_id === fetch_id ? { ...lease, run_id, lapses_ms } : lease,
  );
  return { ...politeness, leases };
}

/**
 * The request of this slot was sent. Stored only for a redirect: the requests of the domain's own fetches end with the
 * ownership of the domain.
 */
export function recordSent(politeness: Politeness, fetch_id: string): Politeness {
  const isSent = (lease: Lease): boolean => lease.fetch_id === fetch_id && lease.redirected === "unsent";
  if (!politeness.leases.some(isSent)) return politeness;
  const leases = politeness.leases.map((lease) =>
    isSent(lease) ? { ...lease, redirected: "sent" as const } : lease,
  );
  return { ...politeness, leases };
}

/** After a request was sent at `sent_ms`, later than its grant: the delay counts from there. */
export function delayFromSend(politeness: Politeness, sent_ms: number): Politeness {
  const { last_start_ms } = politeness;
  return last_start_ms === null || sent_ms <= last_start_ms
    ? politeness
    : { ...politeness, last_start_ms: sent_ms };
}

/** Without the slot of this fetch, which asks for another one. */
export function withoutSlot(politeness: Politeness, fetch_id: string): Politeness {
  return { ...politeness, leases: politeness.leases.filter((lease) => lease.fetch_id !== fetch_id) };
}

/**
 * Frees a slot and learns from the origin's answer. Of a slot that has lapsed or was granted again on another node only the
 * Retry-After counts: the origin has asked for it all the same. `sent_ms`: when the last request to the domain was sent.
 */
export function releaseSlot(
  politeness: Politeness,
  limits: PolitenessLimits,
  now_ms: number,
  { origin, status, retry_after_s, ...slot }: SlotRelease,
  sent_ms = 0,
): Politeness {
  const lease = politeness.leases.find((active) => active.fetch_id === slot.fetch_id);
  const pause_ms = status === 429 || status === 503 ? (retry_after_s ?? 0) * SECOND_MS : 0;
  const last_start_ms = Math.max(politeness.last_start_ms ?? 0, sent_ms);
  const change = { origin, now_ms, last_start_ms };
  const paused =
    pause_ms > 0 ? withSlowed(politeness, pauseOrigin(politeness.slowed, change, pause_ms)) : politeness;
  if (!lease) return paused;
  const keepsSlot = isTakenOver(lease, slot);
  const took_ms = Math.max(0, now_ms - lease.started_ms);
  const { slot_ms } = politeness;
  const released: Politeness = {
    ...paused,
    leases: keepsSlot ? politeness.leases : politeness.leases.filter((active) => active !== lease),
    slot_ms: slot_ms === 0 ? took_ms : Math.round(slot_ms + SLOT_TIME_WEIGHT * (took_ms - slot_ms)),
    nxdomains:
      status === null || politeness.nxdomains.length === 0
        ? politeness.nxdomains
        : withoutName(politeness.nxdomains, hostOf(origin), lease.networks),
  };
  const usual_ms = limits.min_delay_ms;
  if (status === 429)
    return withSlowed(
      released,
      backOffOrigin(released.slowed, change, { started_ms: lease.started_ms, usual_ms }),
    );
  return status !== null && status < 500
    ? { ...released, slowed: recoverOrigin(released.slowed, change, usual_ms) }
    : released;
}

/** An origin that was forgotten for want of room is not known to answer any more. */
const withSlowed = (
  politeness: Politeness,
  { slowed, forgotten }: ReturnType<typeof pauseOrigin>,
): Politeness =>
  slowed === politeness.slowed
    ? politeness
    : { ...politeness, slowed, successes: withoutSuccess(politeness.successes, forgotten) };

/** A host that answers exists, for requests that may reach the same networks. */
function withoutName(
  nxdomains: Politeness["nxdomains"],
  answering: string,
  networks: Lease["networks"],
): Politeness["nxdomains"] {
  const left = nxdomains.filter((name) => !isMissing(name, answering, networks));
  return left.length === nxdomains.length ? nxdomains : left;
}

/** Without these the next owner node would be less polite, or would skip a site that answers. */
const MUST_BE_STORED = Object.keys({
  last_start_ms: true,
  failure_rows: true,
  closures: true,
  nxdomains: true,
  operator: true,
} satisfies Record<
  Exclude<keyof Politeness, "leases" | "slot_ms" | "slowed" | "successes">,
  true
>) as (keyof Politeness)[];

/**
 * Whether the domain may act on `next` before that is stored: it has fewer slots in use and a shorter back-off than `stored`, and is
 * otherwise the same. When the process dies before, the next owner node takes these slots for unreleased ones of another
 * process, which count for ten seconds; those of redirects would count for longer.
 */
export const mayStoreLater = (stored: Politeness, next: Politeness): boolean =>
  MUST_BE_STORED.every((name) => next[name] === stored[name]) &&
  isNoStricter(next.slowed, stored.slowed) &&
  next.leases.every((lease) => stored.leases.includes(lease)) &&
  stored.leases.every((lease) => lease.redirected === undefined || next.leases.includes(lease));

/** After NXDOMAIN for a host: the second fetch within 6 h that reports it makes the host dead for 6 h. */
export function afterNxdomain(
  politeness: Politeness,
  now_ms: number,
  { fetch_id, host, networks }: MissingName & { readonly fetch_id: string },
): Politeness {
  const remembered = politeness.nxdomains.filter((name) => forgetAt(name) > now_ms);
  const previous = remembered.find((name) => isMissing(name, host, networks));
  if (previous?.fetch_id === fetch_id) return politeness;
  const reach = networks && { networks };
  const name = { host, fetch_id, at_ms: now_ms, dead_until_ms: previous ? now_ms + DEAD_MS : 0, ...reach };
  const other_names = remembered.filter((each) => each !== previous).slice(-(MAX_MISSING - 1));
  return { ...politeness, nxdomains: [...other_names, name] };
}

const forgetAt = ({ at_ms, dead_until_ms }: NxdomainRecord): number =>
  Math.max(at_ms + NXDOMAIN_WINDOW_MS, dead_until_ms);

/** The Crawl-delay of one origin; null or 0 removes it. `sent_ms`: when the last request to the domain was sent. */
export function setDelay(
  politeness: Politeness,
  now_ms: number,
  { origin, crawl_delay_ms }: { readonly origin: string; readonly crawl_delay_ms: number | null },
  sent_ms = 0,
): Politeness {
  const last_start_ms = Math.max(politeness.last_start_ms ?? 0, sent_ms);
  return withSlowed(
    politeness,
    withCrawlDelay(politeness.slowed, { origin, now_ms, last_start_ms }, crawl_delay_ms),
  );
}

/** After a fetch. While origins are forgotten for want of room, no other is taken for one that answers: it may be one of them. */
export function withOutcome(politeness: Politeness, outcome: FetchOutcome, now_ms: number): Politeness {
  const { failure_rows, closures, successes } = afterOutcome(politeness, outcome, now_ms);
  const isCrowded = politeness.slowed.some((one) => one.origin === ANY_OTHER && !isOpen(one, now_ms));
  const known = isCrowded ? successes.filter(({ origin }) => isKnownTo(politeness)(origin)) : successes;
  return failure_rows === politeness.failure_rows &&
    closures === politeness.closures &&
    successes === politeness.successes
    ? politeness
    : { ...politeness, failure_rows, closures, successes: known };
}

/** Forgets failures, skips and dead hosts, for an operator. Crawl-delay and Retry-After stay. */
export function clear(politeness: Politeness): Politeness {
  return { ...politeness, failure_rows: [], closures: [], nxdomains: [] };
}

const orphanedFor = ({ redirected }: Lease): number =>
  redirected === undefined ? ORPHANED_LEASE_MS : ORPHANED_REDIRECT_MS;

/**
 * The stored state at activation, perhaps on another node with another clock. A recent start counts as one made now:
 * the delay is at most one too long, never too short. No stored time closes the domain for longer than its rule allows.
 * Slots of another process than this one count for a short time: its requests end with its ownership.
 */
export function restore(
  snapshot: Politeness,
  limits: PolitenessLimits,
  now_ms: number,
  process: string,
): Politeness {
  const { last_start_ms } = snapshot;
  const isRecent = last_start_ms !== null && last_start_ms > now_ms - RECENT_START_MS;
  const leases = inFlight(snapshot, now_ms).map((lease) => ({
    ...lease,
    started_ms: Math.min(lease.started_ms, now_ms),
    lapses_ms: Math.min(
      lease.lapses_ms,
      now_ms + (lease.process === process ? limits.lease_ms : orphanedFor(lease)),
    ),
  }));
  return {
    ...snapshot,
    // With fewer slots than the last owner node had, the youngest leases count.
    leases: leases.slice(-limits.max_concurrency),
    last_start_ms: isRecent ? now_ms : last_start_ms,
    slowed: restoreSlowed(snapshot.slowed, now_ms),
    ...restoreOutcomes(snapshot, now_ms),
    nxdomains: snapshot.nxdomains.map((name) => ({
      ...name,
      at_ms: Math.min(name.at_ms, now_ms),
      dead_until_ms: Math.min(name.dead_until_ms, now_ms + DEAD_MS),
    })),
  };
}
