/**
 * Delays that single origins (scheme, host, port) of a domain have asked for: a Retry-After, a longer delay after 429, the Crawl-delay of
 * robots.txt. A delay holds for that origin only; the delay between requests and the slots are the whole domain's. Pure functions.
 *
 * The list is bounded, since a domain may have any number of hosts. Of more origins the one that is open soonest is forgotten, and what
 * it asked for then holds for every origin that the domain does not know (ANY_OTHER): no origin is asked sooner than it said.
 */
import { MAX_SKEW_MS } from "../../../cluster/clock-skew.ts";

export interface SlowedOrigin {
  /** "https://www.example.org", or ANY_OTHER. */
  readonly origin: string;
  /** When its last request, or a later one of the domain, was sent; 0: none is known. */
  readonly last_start_ms: number;
  /** The Crawl-delay of robots.txt; 0: none. */
  readonly crawl_delay_ms: number;
  readonly crawl_until_ms: number;
  /** The delay that 429 answers have led to; 0: none. */
  readonly backoff_ms: number;
  readonly backed_off_at_ms: number;
  /** Until when a Retry-After closes it; 0: none. */
  readonly paused_until_ms: number;
}

/** Stands for all origins that have no entry of their own, and that were not known to answer before it was needed. */
export const ANY_OTHER = "*";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** When too large, each grant of a domain with as many slow hosts stores more. One of ANY_OTHER may be added. */
const MAX_SLOWED = 32;

/** The longest time a Retry-After is obeyed, and the longest delay that 429 answers lead to. */
const MAX_PAUSE_MS = 15 * MINUTE_MS;
/** The first 429 makes the delay at least this long, also where the operator set none. */
const MIN_BACKOFF_MS = SECOND_MS;
/** The share of a back-off that each good answer leaves: 15 min are 1 s again after 31 answers. */
const BACKOFF_DECAY = 0.8;
/** A back-off ends after this time without a 429: only answers shrink it, and an origin without traffic has none. */
const BACKOFF_TTL_MS = 6 * HOUR_MS;
/** robots.txt is read again every 24 h; the Crawl-delay of an origin without requests for twice that is forgotten. */
const CRAWL_DELAY_TTL_MS = 48 * HOUR_MS;

/** Clocks count whole milliseconds: an event stamped t happened before t + 1, so a wait counted from it ends later. */
export const CLOCK_STEP_MS = 1;
/** Clocks of two owner nodes: one may be ahead of the cluster's and one behind; a clock that runs away is noticed within a second. */
const SKEW_MARGIN_MS = 2 * MAX_SKEW_MS + SECOND_MS;
/** A request may have been sent so much later than its stored grant: 50 s, and what two clocks may differ. */
const MAX_SENT_AFTER_MS = MINUTE_MS;

/** Whether the domain knows the origin to answer: what holds for ANY_OTHER does not hold for it. */
export type IsKnown = (origin: string) => boolean;

/** The delay and pause that hold for an origin; undefined: none. */
export const slowedOf = (
  slowed: readonly SlowedOrigin[],
  origin: string,
  isKnown: IsKnown,
): SlowedOrigin | undefined =>
  slowed.find((each) => each.origin === origin) ??
  (isKnown(origin) ? undefined : slowed.find((each) => each.origin === ANY_OTHER));

/** The delay that the origin has led to; 0: none. */
export function originDelayOf(slowed: SlowedOrigin | undefined, now_ms: number): number {
  if (slowed === undefined) return 0;
  const { backoff_ms, backed_off_at_ms } = slowed;
  return Math.max(crawlDelayOf(slowed, now_ms), now_ms - backed_off_at_ms < BACKOFF_TTL_MS ? backoff_ms : 0);
}

const crawlDelayOf = ({ crawl_delay_ms, crawl_until_ms }: SlowedOrigin, now_ms: number): number =>
  crawl_until_ms > now_ms ? crawl_delay_ms : 0;

/** From when on the origin may be asked; 0: at any time. */
export function originOpenAt(slowed: SlowedOrigin | undefined, now_ms: number): number {
  if (slowed === undefined) return 0;
  const delay_ms = originDelayOf(slowed, now_ms);
  const delay_over_ms = delay_ms === 0 ? 0 : slowed.last_start_ms + delay_ms + CLOCK_STEP_MS;
  return Math.max(slowed.paused_until_ms, delay_over_ms);
}

/** A request to the origin starts at this time. The same list when none of its delays counts from there. */
export function withStart(
  slowed: readonly SlowedOrigin[],
  origin: string,
  isKnown: IsKnown,
  at_ms: number,
): readonly SlowedOrigin[] {
  const one = slowedOf(slowed, origin, isKnown);
  if (one === undefined || at_ms <= one.last_start_ms) return slowed;
  return slowed.map((each) => (each === one ? { ...one, last_start_ms: at_ms } : each));
}

export interface OriginChange {
  readonly origin: string;
  readonly now_ms: number;
  /** When the last request to the domain was sent, from which a new delay of the origin counts; null: none. */
  readonly last_start_ms: number | null;
}

/** The list after a Retry-After, and the origin that was forgotten for it. */
export const pauseOrigin = (
  slowed: readonly SlowedOrigin[],
  change: OriginChange,
  pause_ms: number,
): Limited =>
  changed(slowed, change, (one) => {
    const until_ms = change.now_ms + Math.min(pause_ms, MAX_PAUSE_MS) + CLOCK_STEP_MS;
    return { ...one, paused_until_ms: Math.max(one.paused_until_ms, until_ms) };
  });

/**
 * The list after a 429: the origin's delay doubles, once for all requests that were under way when it was doubled.
 * `started_ms`: of this one. `usual_ms`: the delay without a back-off.
 */
export const backOffOrigin = (
  slowed: readonly SlowedOrigin[],
  change: OriginChange,
  { started_ms, usual_ms }: { readonly started_ms: number; readonly usual_ms: number },
): Limited =>
  changed(slowed, change, (one) => {
    const { now_ms } = change;
    if (one.backoff_ms > 0 && started_ms <= one.backed_off_at_ms) return one;
    const doubled_ms = Math.max(MIN_BACKOFF_MS, 2 * Math.max(usual_ms, originDelayOf(one, now_ms)));
    return { ...one, backoff_ms: Math.min(doubled_ms, MAX_PAUSE_MS), backed_off_at_ms: now_ms };
  });

/** The list after a good answer: each takes a fifth off the origin's back-off, until the usual delay is reached. */
export function recoverOrigin(
  slowed: readonly SlowedOrigin[],
  { origin, now_ms }: Pick<OriginChange, "origin" | "now_ms">,
  usual_ms: number,
): readonly SlowedOrigin[] {
  const one = slowed.find((each) => each.origin === origin);
  if (one === undefined || one.backoff_ms === 0) return slowed;
  const backoff_ms = Math.floor(one.backoff_ms * BACKOFF_DECAY);
  // Without a usual delay a back-off of less than half a second ends.
  const isOver =
    backoff_ms <= Math.max(usual_ms, crawlDelayOf(one, now_ms)) || backoff_ms < MIN_BACKOFF_MS / 2;
  const next = { ...one, backoff_ms: isOver ? 0 : backoff_ms };
  return slowed.flatMap((each) => (each !== one ? [each] : isOver && isOpen(next, now_ms) ? [] : [next]));
}

/** The list with the Crawl-delay of one origin; null or 0 removes it. */
export function withCrawlDelay(
  slowed: readonly SlowedOrigin[],
  change: OriginChange,
  crawl_delay_ms: number | null,
): Limited {
  const isNew = !slowed.some(({ origin }) => origin === change.origin);
  if (!crawl_delay_ms && isNew) return { slowed, forgotten: null };
  const crawl_until_ms = crawl_delay_ms ? change.now_ms + CRAWL_DELAY_TTL_MS : 0;
  return changed(slowed, change, (one) => ({ ...one, crawl_delay_ms: crawl_delay_ms ?? 0, crawl_until_ms }));
}

interface Limited {
  readonly slowed: readonly SlowedOrigin[];
  /** The origin whose own entry was given up: from now on what holds for ANY_OTHER must hold for it. */
  readonly forgotten: string | null;
}

function changed(
  slowed: readonly SlowedOrigin[],
  { origin, now_ms, last_start_ms }: OriginChange,
  change: (one: SlowedOrigin) => SlowedOrigin,
): Limited {
  const before = slowed.find((each) => each.origin === origin);
  const after = change(before ?? { ...NOT_SLOWED, origin, last_start_ms: last_start_ms ?? 0 });
  if (after === before) return { slowed, forgotten: null };
  const others = slowed.filter((each) => each !== before && !isOpen(each, now_ms));
  return limited(isOpen(after, now_ms) ? others : [...others, after], now_ms);
}

const NOT_SLOWED: Omit<SlowedOrigin, "origin"> = {
  last_start_ms: 0,
  crawl_delay_ms: 0,
  crawl_until_ms: 0,
  backoff_ms: 0,
  backed_off_at_ms: 0,
  paused_until_ms: 0,
};

/** Whether nothing holds for the origin any more. */
export const isOpen = (one: SlowedOrigin, now_ms: number): boolean =>
  one.paused_until_ms <= now_ms && originDelayOf(one, now_ms) === 0;

function limited(slowed: readonly SlowedOrigin[], now_ms: number): Limited {
  const own = slowed.filter(({ origin }) => origin !== ANY_OTHER);
  if (own.length <= MAX_SLOWED) return { slowed, forgotten: null };
  const rank = (one: SlowedOrigin): number =>
    Math.max(one.paused_until_ms - now_ms, originDelayOf(one, now_ms));
  const [first] = own.toSorted((a, b) => rank(a) - rank(b));
  const any = slowed.find(({ origin }) => origin === ANY_OTHER) ?? { ...NOT_SLOWED, origin: ANY_OTHER };
  return {
    slowed: [...own.filter((each) => each !== first), strictest(any, first!, now_ms)],
    forgotten: first!.origin,
  };
}

/** The longer delay and pause of two entries for an origin. */
const strictest = (any: SlowedOrigin, one: SlowedOrigin, now_ms: number): SlowedOrigin => ({
  origin: any.origin,
  last_start_ms: Math.max(any.last_start_ms, one.last_start_ms),
  crawl_delay_ms: Math.max(crawlDelayOf(any, now_ms), crawlDelayOf(one, now_ms)),
  crawl_until_ms: Math.max(any.crawl_until_ms, one.crawl_until_ms),
  backoff_ms: Math.max(any.backoff_ms, one.backoff_ms),
  backed_off_at_ms: Math.max(any.backed_off_at_ms, one.backed_off_at_ms),
  paused_until_ms: Math.max(any.paused_until_ms, one.paused_until_ms),
});

/** Whether a domain that goes on by `next` is at least as polite when it loses that and goes on by `stored`. */
export const isNoStricter = (next: readonly SlowedOrigin[], stored: readonly SlowedOrigin[]): boolean =>
  next === stored ||
  next.every((one) => {
    const before = stored.find(({ origin }) => origin === one.origin);
    return (
      before !== undefined &&
      one.crawl_delay_ms === before.crawl_delay_ms &&
      one.crawl_until_ms === before.crawl_until_ms &&
      one.backed_off_at_ms === before.backed_off_at_ms &&
      one.paused_until_ms === before.paused_until_ms &&
      one.backoff_ms <= before.backoff_ms
    );
  });

/**
 * The stored list at activation, perhaps on a node with another clock. A start may have been up to a minute after its stored grant. A
 * Retry-After was stored by a clock that may be behind this one: it ends later by as much. No time closes an origin for longer than its
 * rule allows.
 */
export const restoreSlowed = (slowed: readonly SlowedOrigin[], now_ms: number): readonly SlowedOrigin[] =>
  slowed.map((one) => {
    const until_ms = one.paused_until_ms === 0 ? 0 : one.paused_until_ms + SKEW_MARGIN_MS;
    return {
      ...one,
      last_start_ms: Math.min(now_ms, one.last_start_ms + MAX_SENT_AFTER_MS),
      crawl_until_ms: Math.min(one.crawl_until_ms, now_ms + CRAWL_DELAY_TTL_MS),
      backed_off_at_ms: Math.min(one.backed_off_at_ms, now_ms),
      paused_until_ms: Math.min(until_ms, now_ms + MAX_PAUSE_MS),
    };
  });
