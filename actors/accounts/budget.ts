/**
 * How a project's monthly budget for premium routes is never overspent: money is reserved before a route is taken and
 * settled after it, by an id of the attempt's own. Functions of their arguments.
 *
 * A reservation whose settlement never comes lapses and gives its money back; a settlement that comes after that is
 * still counted, for it was spent.
 */
import { monthOf, type ReserveAnswer } from "../../schemas/accounts.ts";

export interface Budget {
  /** Micros settled, by "2026-11"; this month's and the one before. */
  readonly spent: Readonly<Record<string, number>>;
  readonly holds: Readonly<Record<string, Hold>>;
}

interface Hold {
  readonly micros: number;
  /** The month it was reserved in pays. */
  readonly month: string;
  readonly lapses_ms: number;
}

export const NOTHING_SPENT: Budget = { spent: {}, holds: {} };

/** Outlasts every climb (310 s), so that only what died lapses. */
export const HOLD_MS = 6 * 60_000;
/** So long a settlement may come late and be counted. */
const LATE_MS = 24 * 3_600_000;
/** Attempts of one project at once; more are refused, as if there were no money. */
const MAX_HOLDS = 1_000;

export interface Reservation {
  readonly id: string;
  readonly micros: number;
  /** null: no limit. */
  readonly limit_micros: number | null;
}

/** Asked again with the same id, an answer is the same and nothing is held twice. */
export function reserve(
  budget: Budget,
  { id, micros, limit_micros }: Reservation,
  now_ms: number,
): { readonly budget: Budget; readonly answer: ReserveAnswer } {
  const month = monthOf(now_ms);
  const others = Object.fromEntries(
    Object.entries(budget.holds).filter(([other, hold]) => other !== id && now_ms < hold.lapses_ms + LATE_MS),
  );
  const known = budget.holds[id];
  if (known && now_ms < known.lapses_ms) return { budget, answer: { kind: "reserved" } };
  const left_micros =
    limit_micros === null
      ? Infinity
      : limit_micros - (budget.spent[month] ?? 0) - held(others, month, now_ms);
  if (micros > left_micros || Object.keys(others).length >= MAX_HOLDS) {
    return { budget, answer: { kind: "refused", left_micros: Math.max(0, Math.min(left_micros, micros)) } };
  }
  const hold = { micros, month, lapses_ms: now_ms + HOLD_MS };
  return { budget: { ...budget, holds: { ...others, [id]: hold } }, answer: { kind: "reserved" } };
}

/** Never counts more than was reserved; an id nobody reserved, or settled before, counts nothing. */
export function settle(
  budget: Budget,
  { id, micros }: { readonly id: string; readonly micros: number },
): Budget {
  const { [id]: hold, ...holds } = budget.holds;
  if (!hold) return budget;
  const spent = {
    ...budget.spent,
    [hold.month]: (budget.spent[hold.month] ?? 0) + Math.min(micros, hold.micros),
  };
  const months = Object.keys(spent).toSorted().slice(-2);
  return { spent: Object.fromEntries(months.map((month) => [month, spent[month]!])), holds };
}

function held(holds: Budget["holds"], month: string, now_ms: number): number {
  let micros = 0;
  for (const hold of Object.values(holds))
    if (hold.month === month && now_ms < hold.lapses_ms) micros += hold.micros;
  return micros;
}
