/**
 * The rules of politeness towards one domain: when the next request may start, how long a caller must expect to wait,
 * and what the domain learns from each answer. Pure functions: no clock, no bus, no store, no queue.
 */
import assert from "node:assert/strict";
import { MAX_SKEW_MS } from "../../cluster/clock-skew.ts";
import type { SlotAnswer, SlotRelease, SlotRequest } from "../../schemas/domain.ts";
import { type OperatorSettings, pauseOf } from "./operator-settings.ts";
import { type FailureRow, restoreRows, skippedUntil, type SkipRequest } from "./skips.ts";

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
  readonly host: string;
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
}

/** What a slot is granted for. */
export type SlotGrant = Pick<SlotRequest, "fetch_id" | "host" | "run_id"> &
  Pick<Lease, "process" | "redirected" | "ahead">;
type Slot = Pick<SlotRelease, "fetch_id" | "run_id">;

/** A host name that does not exist (NXDOMAIN). */
interface NxdomainRecord {
  readonly host: string;
  readonly fetch_id: string;
  readonly at_ms: number;
  /** 0 for a name that was reported only once. */
  readonly dead_until_ms: number;
}

/** The Crawl-delay that robots.txt of one origin asks for; the longest of a domain's origins counts. */
interface CrawlDelay {
  readonly origin: string;
  readonly crawl_delay_ms: number;
  readonly until_ms: number;
}

/** The stored state of a domain. It is stored whole whenever it changes, so every list in it is short. */
export interface Politeness {
  readonly leases: readonly Lease[];
  readonly last_start_ms: number | null;
  /** Moving estimate of the time from grant to release of a slot; 0 before the first release. */
  readonly slot_ms: number;
  readonly crawl_delays: readonly CrawlDelay[];
  /** The delay between requests that 429 answers have led to; 0 when there were none. */
  readonly backoff_ms: number;
  readonly backed_off_at_ms: number;
  /** Until when a Retry-After closes the whole domain. */
  readonly paused_until_ms: number;
  /** Fetches in a row in which every route failed, by scope. */
  readonly failure_rows: readonly FailureRow[];
  readonly nxdomains: readonly NxdomainRecord[];
  /** Absent: the operator set nothing. */
  readonly operator?: OperatorSettings;
}

export const UNTOUCHED: Politeness = {
  leases: [],
  last_start_ms: null,
  slot_ms: 0,
  crawl_delays: [],
  backoff_ms: 0,
  backed_off_at_ms: 0,
  paused_until_ms: 0,
  failure_rows: [],
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

/** The longest time a Retry-After is obeyed, and the longest delay that 429 answers lead to. */
const MAX_PAUSE_MS = 15 * MINUTE_MS;
/** The first 429 makes the delay at least this long, also where the operator set none. */
const MIN_BACKOFF_MS = SECOND_MS;
/** What each good answer leaves of a back-off: 15 min are 1 s again after 31 answers. */
const BACKOFF_DECAY = 0.8;
/** A back-off ends after this time without a 429: only answers shrink it, and a domain without traffic has none. */
const BACKOFF_TTL_MS = 6 * HOUR_MS;

/** robots.txt is read again every 24 h; the Crawl-delay of an origin without requests for twice that is forgotten. */
const CRAWL_DELAY_TTL_MS = 48 * HOUR_MS;
const MAX_DELAYS = 16;

/** How much one release moves the estimate `slot_ms`. */
const SLOT_TIME_WEIGHT = 0.2;

const MAX_SEND_DELAYS = 31;
const MIN_SEND_DELAYS = 3;

/** Clocks count whole milliseconds: an event stamped t happened before t + 1, so a wait counted from it ends later. */
const CLOCK_STEP_MS = 1;

/** Of two owner nodes one clock may be ahead of the cluster's and one behind; a clock that runs away is noticed within a second. */
const SKEW_MARGIN_MS = 2 * MAX_SKEW_MS + SECOND_MS;

/** A stored start counts as recent within this time, however much the clocks of two nodes differ. */
const RECENT_START_MS = MINUTE_MS;
/** How long a slot that another node granted still counts: a node that loses a key aborts its requests at once. */
const ORPHANED_LEASE_MS = 10 * SECOND_MS;
/**
 * The same for a redirect from another site, whose request goes on: longer than a grant is valid (50 s). When too large, a
 * site is slower after a crash, because the requests of the process that died are taken for running.
 */
const ORPHANED_REDIRECT_MS = MINUTE_MS;

export type SlotRefusal = Extract<SlotAnswer, { kind: "refused" }>;

export function refused(error: SlotRefusal["error"], for_ms: number): SlotRefusal {
  return { kind: "refused", error, retry_after_s: Math.max(1, Math.ceil(for_ms / SECOND_MS)) };
}

/** What decides whether a request is refused. */
export type RefusalRequest = SkipRequest & Pick<SlotRequest, "host">;

/** The refusal for a request to this host now; null when it may be granted. */
export function refusalFor(
  { nxdomains, failure_rows, operator }: Politeness,
  request: RefusalRequest,
  now_ms: number,
): SlotRefusal | null {
  const pause_ms = pauseOf(operator, now_ms);
  // As a busy domain: items of jobs wait, and no attempt is counted.
  if (pause_ms > 0) return refused("domain_busy", pause_ms);
  const dead = nxdomains.find((name) => name.host === request.host && name.dead_until_ms > now_ms);
  if (dead) return refused("domain_dead", dead.dead_until_ms - now_ms);
  const until_ms = skippedUntil(failure_rows, request, now_ms);
  return until_ms === null ? null : refused("domain_unavailable", until_ms - now_ms);
}

/** The delay between two requests now: the longest of the operator's limit, the site's Crawl-delay and the back-off. */
export function delayOf(politeness: Politeness, limits: PolitenessLimits, now_ms: number): number {
  const active_backoff_ms = now_ms - politeness.backed_off_at_ms < BACKOFF_TTL_MS ? politeness.backoff_ms : 0;
  return Math.max(limits.min_delay_ms, active_backoff_ms, crawlDelayOf(politeness, now_ms));
}

function crawlDelayOf({ crawl_delays }: Politeness, now_ms: number): number {
  return Math.max(0, ...crawl_delays.map((delay) => (delay.until_ms > now_ms ? delay.crawl_delay_ms : 0)));
}

/** The earliest time at which the delay has passed and no Retry-After closes the domain. */
function openAt(politeness: Politeness, limits: PolitenessLimits, now_ms: number): number {
  const delay_ms = delayOf(politeness, limits, now_ms);
  const { last_start_ms, paused_until_ms } = politeness;
  const delay_over_ms =
    last_start_ms === null || delay_ms === 0 ? now_ms : last_start_ms + delay_ms + CLOCK_STEP_MS;
  return Math.max(delay_over_ms, paused_until_ms);
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
  const delay_ms = delayOf(politeness, limits, now_ms);
  const between_ms = delay_ms === 0 ? 0 : delay_ms + send_delay_ms;
  return Math.max(0, first_ms) + ahead * Math.max(between_ms, slot_ms / limits.max_concurrency);
}

/** The last few times from grant to send, with one more. */
export const withSendDelay = (send_delays: readonly number[], took_ms: number): readonly number[] =>
  [...send_delays, took_ms].slice(-MAX_SEND_DELAYS);

/** The median, because a first request waits for name and connection as the next do not; 0 for too few. */
export function medianSendDelay(send_delays: readonly number[]): number {
  if (send_delays.length < MIN_SEND_DELAYS) return 0;
  return send_delays.toSorted((a, b) => a - b)[Math.floor(send_delays.length / 2)]!;
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
});

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
  return due_ms - Math.min(MAX_AHEAD_MS, Math.floor(delayOf(politeness, limits, now_ms) / 2));
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
 * Retry-After counts: the origin has asked for it all the same.
 */
export function releaseSlot(
  politeness: Politeness,
  limits: PolitenessLimits,
  now_ms: number,
  { status, retry_after_s, ...slot }: SlotRelease,
): Politeness {
  const lease = politeness.leases.find((active) => active.fetch_id === slot.fetch_id);
  const pause_ms = status === 429 || status === 503 ? (retry_after_s ?? 0) * SECOND_MS : 0;
  if (!lease) return pause_ms > 0 ? pauseFor(politeness, now_ms, pause_ms) : politeness;
  const keepsSlot = isTakenOver(lease, slot);
  const took_ms = Math.max(0, now_ms - lease.started_ms);
  const { slot_ms } = politeness;
  const released: Politeness = {
    ...politeness,
    leases: keepsSlot ? politeness.leases : politeness.leases.filter((active) => active !== lease),
    slot_ms: slot_ms === 0 ? took_ms : Math.round(slot_ms + SLOT_TIME_WEIGHT * (took_ms - slot_ms)),
    nxdomains: status === null ? politeness.nxdomains : withoutName(politeness.nxdomains, lease.host),
  };
  const paused = pause_ms > 0 ? pauseFor(released, now_ms, pause_ms) : released;
  if (status === 429) return backOff(paused, limits, now_ms, lease);
  return status !== null && status < 500 ? recover(paused, limits, now_ms) : paused;
}

/** A host that answers exists. */
const withoutName = (nxdomains: Politeness["nxdomains"], answering: string): Politeness["nxdomains"] =>
  nxdomains.some(({ host }) => host === answering)
    ? nxdomains.filter(({ host }) => host !== answering)
    : nxdomains;

/** Without these the next owner node would be less polite, or would skip a site that answers. */
const MUST_BE_STORED = Object.keys({
  last_start_ms: true,
  crawl_delays: true,
  backed_off_at_ms: true,
  paused_until_ms: true,
  failure_rows: true,
  nxdomains: true,
  operator: true,
} satisfies Record<
  Exclude<keyof Politeness, "leases" | "slot_ms" | "backoff_ms">,
  true
>) as (keyof Politeness)[];

/**
 * Whether the domain may act on `next` before that is stored: it has fewer slots in use and a shorter back-off than `stored`, and is
 * otherwise the same. When the process dies before, the next owner node takes these slots for unreleased ones of another
 * process, which count for ten seconds; those of redirects would count for longer.
 */
export const mayStoreLater = (stored: Politeness, next: Politeness): boolean =>
  MUST_BE_STORED.every((name) => next[name] === stored[name]) &&
  next.backoff_ms <= stored.backoff_ms &&
  next.leases.every((lease) => stored.leases.includes(lease)) &&
  stored.leases.every((lease) => lease.redirected === undefined || next.leases.includes(lease));

function pauseFor(politeness: Politeness, now_ms: number, pause_ms: number): Politeness {
  const until_ms = now_ms + Math.min(pause_ms, MAX_PAUSE_MS) + CLOCK_STEP_MS;
  return { ...politeness, paused_until_ms: Math.max(politeness.paused_until_ms, until_ms) };
}

/** Doubles the delay, once for all requests that were under way when it was doubled. */
function backOff(politeness: Politeness, limits: PolitenessLimits, now_ms: number, lease: Lease): Politeness {
  if (politeness.backoff_ms > 0 && lease.started_ms <= politeness.backed_off_at_ms) return politeness;
  const doubled_ms = Math.max(MIN_BACKOFF_MS, 2 * delayOf(politeness, limits, now_ms));
  return { ...politeness, backoff_ms: Math.min(doubled_ms, MAX_PAUSE_MS), backed_off_at_ms: now_ms };
}

/** Each good answer takes a fifth off the back-off, until the usual delay is reached. */
function recover(politeness: Politeness, limits: PolitenessLimits, now_ms: number): Politeness {
  if (politeness.backoff_ms === 0) return politeness;
  const usual_ms = Math.max(limits.min_delay_ms, crawlDelayOf(politeness, now_ms));
  const backoff_ms = Math.floor(politeness.backoff_ms * BACKOFF_DECAY);
  // Without a usual delay a back-off of less than half a second ends.
  const isOver = backoff_ms <= usual_ms || backoff_ms < MIN_BACKOFF_MS / 2;
  return { ...politeness, backoff_ms: isOver ? 0 : backoff_ms };
}

/** After NXDOMAIN for a host: the second fetch within 6 h that reports it makes the host dead for 6 h. */
export function afterNxdomain(
  politeness: Politeness,
  now_ms: number,
  { fetch_id, host }: Pick<SlotRequest, "fetch_id" | "host">,
): Politeness {
  const remembered = politeness.nxdomains.filter((name) => forgetAt(name) > now_ms);
  const previous = remembered.find((name) => name.host === host);
  if (previous?.fetch_id === fetch_id) return politeness;
  const name = { host, fetch_id, at_ms: now_ms, dead_until_ms: previous ? now_ms + DEAD_MS : 0 };
  const other_names = remembered.filter((each) => each !== previous).slice(-(MAX_MISSING - 1));
  return { ...politeness, nxdomains: [...other_names, name] };
}

const forgetAt = ({ at_ms, dead_until_ms }: NxdomainRecord): number =>
  Math.max(at_ms + NXDOMAIN_WINDOW_MS, dead_until_ms);

/** The Crawl-delay of one origin; null or 0 removes it. */
export function setDelay(
  politeness: Politeness,
  now_ms: number,
  { origin, crawl_delay_ms }: { readonly origin: string; readonly crawl_delay_ms: number | null },
): Politeness {
  const other_delays = politeness.crawl_delays.filter(
    (delay) => delay.origin !== origin && delay.until_ms > now_ms,
  );
  if (!crawl_delay_ms) {
    return other_delays.length === politeness.crawl_delays.length
      ? politeness
      : { ...politeness, crawl_delays: other_delays };
  }
  const delay = { origin, crawl_delay_ms, until_ms: now_ms + CRAWL_DELAY_TTL_MS };
  // Only the longest delay counts, so the shorter ones may be forgotten.
  const crawl_delays = [...other_delays, delay]
    .toSorted((a, b) => b.crawl_delay_ms - a.crawl_delay_ms)
    .slice(0, MAX_DELAYS);
  return { ...politeness, crawl_delays };
}

/** Forgets failures, skips and dead hosts, for an operator. Crawl-delay and Retry-After stay. */
export function clear(politeness: Politeness): Politeness {
  return { ...politeness, failure_rows: [], nxdomains: [] };
}

/** A Retry-After was stored by a clock that may be behind this one: it ends later by as much. */
function restoredPause({ paused_until_ms }: Politeness, now_ms: number): number {
  const until_ms = paused_until_ms + SKEW_MARGIN_MS;
  return until_ms > now_ms ? Math.min(until_ms, now_ms + MAX_PAUSE_MS) : paused_until_ms;
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
    backed_off_at_ms: Math.min(snapshot.backed_off_at_ms, now_ms),
    paused_until_ms: restoredPause(snapshot, now_ms),
    crawl_delays: snapshot.crawl_delays.map((delay) => ({
      ...delay,
      until_ms: Math.min(delay.until_ms, now_ms + CRAWL_DELAY_TTL_MS),
    })),
    failure_rows: restoreRows(snapshot.failure_rows, now_ms),
    nxdomains: snapshot.nxdomains.map((name) => ({
      ...name,
      at_ms: Math.min(name.at_ms, now_ms),
      dead_until_ms: Math.min(name.dead_until_ms, now_ms + DEAD_MS),
    })),
  };
}
