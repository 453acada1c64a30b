/**
 * How a project's monthly budget for premium routes is never overspent: money is reserved before a route is used and the
 * reservation is settled after it, under an id of the attempt. Each reservation settles exactly once. Pure functions.
 *
 * A reservation that is not settled expires, and its money is free again; a settlement that comes later still counts,
 * because the money was spent.
 */
import { monthOf, type ReserveReply } from "../../schemas/accounts.ts";

export interface Budget {
  /** Micros settled, by "2026-11"; this month's and the one before. */
  readonly spent: Readonly<Record<string, number>>;
  readonly reservations: Readonly<Record<string, Reservation>>;
}

interface Reservation {
  readonly micros: number;
  /** The month it was reserved in pays. */
  readonly month: string;
  readonly expires_ms: number;
}

export const NOTHING_SPENT: Budget = { spent: {}, reservations: {} };

/** Outlasts every fetch run (310 s), so that only what died lapses. */
export const RESERVATION_TTL_MS = 6 * 60_000;
/** A settlement that comes this long after the reservation expired still counts. */
const LATE_SETTLEMENT_MS = 24 * 3_600_000;
/** Reservations of one project at once; more are refused as if there were no money. */
const MAX_RESERVATIONS = 1_000;

export interface ReservationRequest {
  readonly id: string;
  readonly micros: number;
  /** null: no limit. */
  readonly limit_micros: number | null;
}

/** Idempotent: a repeated id gets the same answer and reserves nothing twice. */
export function reserve(
  budget: Budget,
  { id, micros, limit_micros }: ReservationRequest,
  now_ms: number,
): { readonly budget: Budget; readonly answer: ReserveReply } {
  const month = monthOf(now_ms);
  const otherReservations = Object.fromEntries(
    Object.entries(budget.reservations).filter(
      ([key, reservation]) => key !== id && now_ms < reservation.expires_ms + LATE_SETTLEMENT_MS,
    ),
  );
  const existing = budget.reservations[id];
  if (existing && now_ms < existing.expires_ms) return { budget, answer: { kind: "reserved" } };
  const remaining_micros =
    limit_micros === null
      ? Infinity
      : limit_micros - (budget.spent[month] ?? 0) - reservedMicros(otherReservations, month, now_ms);
  if (micros > remaining_micros || Object.keys(otherReservations).length >= MAX_RESERVATIONS) {
    return {
      budget,
      answer: { kind: "refused", remaining_micros: Math.max(0, Math.min(remaining_micros, micros)) },
    };
  }
  const reservation = { micros, month, expires_ms: now_ms + RESERVATION_TTL_MS };
  return {
    budget: { ...budget, reservations: { ...otherReservations, [id]: reservation } },
    answer: { kind: "reserved" },
  };
}

/** Counts at most what was reserved. An id without a reservation, or one that is settled already, counts nothing. */
export function settle(
  budget: Budget,
  { id, micros }: { readonly id: string; readonly micros: number },
): Budget {
  const { [id]: reservation, ...reservations } = budget.reservations;
  if (!reservation) return budget;
  const spent = {
    ...budget.spent,
    [reservation.month]: (budget.spent[reservation.month] ?? 0) + Math.min(micros, reservation.micros),
  };
  const months = Object.keys(spent).toSorted().slice(-2);
  return { spent: Object.fromEntries(months.map((month) => [month, spent[month]!])), reservations };
}

function reservedMicros(reservations: Budget["reservations"], month: string, now_ms: number): number {
  let micros = 0;
  for (const reservation of Object.values(reservations))
    if (reservation.month === month && now_ms < reservation.expires_ms) micros += reservation.micros;
  return micros;
}
