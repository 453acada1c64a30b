/**
 * How a key's monthly requests are never exceeded: gateways and jobs are its holders, and each runs a request only against
 * a unit that the account granted it. A holder's report says how many units it used, which it keeps, and how many more it
 * needs. At any time settled + reserved + free = limit. Pure functions.
 *
 * A holder that is silent for longer than any request takes has died. It may have answered requests that it never
 * reported, so its units count as used: a quota may come out a second's requests short, and is never exceeded.
 */
import {
  type Counts,
  QUOTA_CATEGORIES,
  type LeaseReply,
  type LeaseRequest,
} from "../../../schemas/accounts.ts";

/** The quota of one key in one month. */
export interface Quota {
  readonly settled: Counts;
  /** At most MAX_HOLDERS. */
  readonly holders: Readonly<Record<string, Holder>>;
}

interface Holder {
  /** The number of its last report, so that a repeated one counts nothing. */
  readonly sequence: number;
  readonly units: Counts;
  readonly at_ms: number;
}

export const NO_COUNTS: Counts = { search: 0, fetch: 0 };
export const NOTHING_USED: Quota = { settled: NO_COUNTS, holders: {} };

/** A holder reports every second or two while it has units, and no request takes longer than 165 s. */
export const HOLDER_TTL_MS = 200_000;
/** Gateways and jobs of one key that hold units at once; a further one is granted nothing. */
export const MAX_HOLDERS = 1_000;
/** A holder gets at most this part of what is free ahead of its requests. */
const PREFETCH_SHARE = 1 / 16;

/** Counts a report exactly once, and grants what is free. */
export function lease(
  before: Quota,
  request: LeaseRequest,
  now_ms: number,
): { readonly quota: Quota; readonly reply: LeaseReply } {
  const lapsed = lapseHolders(before, now_ms);
  const holder = lapsed.holders[request.holder];
  const isKnown = holder !== undefined || request.sequence === 1;
  const isRepeated = holder !== undefined && request.sequence <= holder.sequence;
  const isRefused = holder === undefined && Object.keys(lapsed.holders).length >= MAX_HOLDERS;
  if (!isKnown || isRepeated || isRefused)
    return { quota: lapsed, reply: replyOf(lapsed, request, NO_COUNTS, isKnown) };

  const isFirst = request.sequence === 1;
  const settled = each((category) => lapsed.settled[category] + (isFirst ? 0 : request.used[category]));
  const held = each((category) => (isFirst || request.is_final ? 0 : request.held[category]));
  const { [request.holder]: _, ...others } = lapsed.holders;
  const reserved = reservedUnits({ settled, holders: others });
  const granted = each((category) => {
    const limit = request.limits[category];
    const { [category]: requested } = request.requested;
    if (request.is_final) return 0;
    if (limit === null) return requested;
    const free = Math.max(0, limit - settled[category] - reserved[category] - held[category]);
    const ahead = Math.min(request.prefetch[category], Math.floor(free * PREFETCH_SHARE));
    return Math.min(free, requested + ahead);
  });
  const units = each((category) => held[category] + granted[category]);
  const holders = request.is_final
    ? others
    : { ...others, [request.holder]: { sequence: request.sequence, units, at_ms: now_ms } };
  const quota = { settled, holders };
  return { quota, reply: replyOf(quota, request, granted, true) };
}

/** Counts the units of dead holders as used. The same object when there are none. */
export function lapseHolders(quota: Quota, now_ms: number): Quota {
  if (!hasDead(quota, now_ms)) return quota;
  const all = Object.entries(quota.holders);
  const dead = all.filter(([, { at_ms }]) => now_ms - at_ms >= HOLDER_TTL_MS);
  return {
    settled: each((category) =>
      dead.reduce((sum, [, { units }]) => sum + units[category], quota.settled[category]),
    ),
    holders: Object.fromEntries(all.filter(([, { at_ms }]) => now_ms - at_ms < HOLDER_TTL_MS)),
  };
}

/** Every report asks, so it makes no lists. */
function hasDead({ holders }: Quota, now_ms: number): boolean {
  for (const name in holders) if (now_ms - holders[name]!.at_ms >= HOLDER_TTL_MS) return true;
  return false;
}

export function reservedUnits({ holders }: Quota): Counts {
  const reserved = { search: 0, fetch: 0 };
  for (const name in holders) {
    reserved.search += holders[name]!.units.search;
    reserved.fetch += holders[name]!.units.fetch;
  }
  return reserved;
}

function replyOf(quota: Quota, { limits }: LeaseRequest, granted: Counts, is_known: boolean): LeaseReply {
  const reserved = reservedUnits(quota);
  const free = (category: "search" | "fetch"): number | null => {
    const limit = limits[category];
    return limit === null ? null : Math.max(0, limit - quota.settled[category] - reserved[category]);
  };
  return {
    granted,
    is_known,
    settled: quota.settled,
    free: { search: free("search"), fetch: free("fetch") },
  };
}

const each = (count: (category: (typeof QUOTA_CATEGORIES)[number]) => number): Counts => ({
  search: count("search"),
  fetch: count("fetch"),
});
