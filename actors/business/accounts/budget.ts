/**
 * How a monthly amount of money is never overspent: the most that an attempt can cost is reserved before it, and settled
 * with what it did cost after it, under the attempt's id. Each reservation settles exactly once. At any time
 * settled + reserved + free = limit. Pure functions.
 *
 * A reservation that is not settled in time lapses: its process has died, and may have spent the money before, so that all of
 * it counts as settled. A settlement that comes later gives back what was not spent: the lapsed reservation is
 * remembered for a day.
 */
import { monthOf, type ReserveReply, type SpendBasis } from "../../../schemas/accounts.ts";

export interface Budget {
  /** Micros settled, by purse (`purseOf`); this month's and those of the one before. */
  readonly spent: Readonly<Record<string, number>>;
  /** At most 1,000. */
  readonly reservations: Readonly<Record<string, Reservation>>;
  /** Settled in full, until their settlement comes; at most the 1,000 newest. */
  readonly lapsed: Readonly<Record<string, Reservation>>;
}

interface Reservation {
  readonly micros: number;
  /** The purse that pays: of the month it was reserved in. */
  readonly month: string;
  readonly expires_ms: number;
  /** When it was reserved; null: none. */
  readonly limit_micros: number | null;
  readonly holder?: string;
}

export const NOTHING_SPENT: Budget = { spent: {}, reservations: {}, lapsed: {} };

/** Longer than every fetch run (310 s), so that only reservations of work that died lapse. */
export const RESERVATION_TTL_MS = 6 * 60_000;
/** A settlement that comes this long after the reservation lapsed still gives back what was not spent. */
const LATE_SETTLEMENT_MS = 24 * 3_600_000;
/** Reservations of one account at once; more are refused as if there were no money. */
const MAX_RESERVATIONS = 1_000;
const MAX_LAPSED = 1_000;
const MAX_MONTHS = 2;

export interface ReservationRequest {
  readonly id: string;
  readonly micros: number;
  /** null: no limit. */
  readonly limit_micros: number | null;
  /** Default: provider_cost. */
  readonly basis?: SpendBasis;
  readonly holder?: string;
}

/** Costs of providers and charges to the customer are sums apart: "2026-11" and "2026-11 charge". */
export const purseOf = (month: string, basis: SpendBasis = "provider_cost"): string =>
  basis === "charge" ? `${month} charge` : month;
export const monthOfPurse = (purse: string): string => purse.slice(0, 7);

/** Idempotent: a repeated id gets the same answer and reserves nothing twice; its holder is the newest. */
export function reserve(
  before: Budget,
  { id, micros, limit_micros, basis, holder }: ReservationRequest,
  now_ms: number,
): { readonly budget: Budget; readonly answer: ReserveReply } {
  const budget = lapse(before, now_ms);
  const held = budget.reservations[id];
  if (held) {
    const isSame = holder === undefined || held.holder === holder;
    const reservations = isSame ? budget.reservations : { ...budget.reservations, [id]: { ...held, holder } };
    return { budget: isSame ? budget : { ...budget, reservations }, answer: { kind: "reserved" } };
  }
  const month = purseOf(monthOf(now_ms), basis);
  const { [id]: late, ...lapsed } = budget.lapsed;
  // A provider may have been paid for the lapsed attempt; a charge is made once, however often its work is begun.
  const spent = late && basis === "charge" ? addTo(budget.spent, late.month, -late.micros) : budget.spent;
  const remaining_micros =
    limit_micros === null ? Infinity : limit_micros - (spent[month] ?? 0) - reservedMicros(budget, month);
  if (micros > remaining_micros || Object.keys(budget.reservations).length >= MAX_RESERVATIONS)
    return {
      budget,
      answer: { kind: "refused", remaining_micros: Math.max(0, Math.min(remaining_micros, micros)) },
    };
  const expires_ms = now_ms + RESERVATION_TTL_MS;
  const reservation = { micros, month, expires_ms, limit_micros, ...(holder !== undefined && { holder }) };
  return {
    budget: { spent, lapsed, reservations: { ...budget.reservations, [id]: reservation } },
    answer: { kind: "reserved" },
  };
}

/** Counts at most what was reserved. An id without a reservation of this holder, or one that is settled already, counts nothing. */
export function settle(
  budget: Budget,
  { id, micros, holder }: Pick<ReservationRequest, "id" | "micros" | "holder">,
): Budget {
  const { [id]: live, ...reservations } = budget.reservations;
  const { [id]: late, ...lapsed } = budget.lapsed;
  const reservation = live ?? late;
  if (!reservation || (holder !== undefined && reservation.holder !== holder)) return budget;
  const counted = live ? 0 : reservation.micros;
  const spent = addTo(budget.spent, reservation.month, Math.min(micros, reservation.micros) - counted);
  return { spent, reservations, lapsed };
}

/** Settles with nothing every reservation whose id begins so. */
export const release = (budget: Budget, prefix: string): Budget =>
  Object.keys({ ...budget.reservations, ...budget.lapsed })
    .filter((id) => id.startsWith(prefix))
    .reduce((before, id) => settle(before, { id, micros: 0 }), budget);

function addTo(spent: Budget["spent"], month: string, micros: number): Budget["spent"] {
  const sums = { ...spent, [month]: (spent[month] ?? 0) + micros };
  const months = [...new Set(Object.keys(sums).map(monthOfPurse))].toSorted().slice(-MAX_MONTHS);
  return Object.fromEntries(Object.entries(sums).filter(([purse]) => months.includes(monthOfPurse(purse))));
}

/** Counts the money of reservations whose time is over as spent. The same object when there are none. */
export function lapse(budget: Budget, now_ms: number): Budget {
  const live = Object.entries(budget.reservations);
  const over = live.filter(([, { expires_ms }]) => now_ms >= expires_ms);
  const lapsed = Object.entries(budget.lapsed);
  const isOld = ([, { expires_ms }]: [string, Reservation]) => now_ms >= expires_ms + LATE_SETTLEMENT_MS;
  if (over.length === 0 && !lapsed.some(isOld)) return budget;
  const remembered = [...lapsed, ...over].filter((entry) => !isOld(entry));
  return {
    spent: over.reduce((spent, [, { month, micros }]) => addTo(spent, month, micros), budget.spent),
    reservations: Object.fromEntries(live.filter(([, { expires_ms }]) => now_ms < expires_ms)),
    lapsed: Object.fromEntries(
      remembered.toSorted(([, a], [, b]) => a.expires_ms - b.expires_ms).slice(-MAX_LAPSED),
    ),
  };
}

/** The sum of a purse's reservations. */
export function reservedMicros({ reservations }: Budget, month: string): number {
  let micros = 0;
  for (const reservation of Object.values(reservations))
    if (reservation.month === month) micros += reservation.micros;
  return micros;
}
