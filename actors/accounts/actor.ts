/**
 * The account actor: one per project. Gateways tell it about once a second what they saw of the project's keys, and
 * it answers with the month as all of them saw it. A tally that comes again is answered and not counted again. Calls
 * are refused by gateways, by what it told them; where several gateways keep one limit it shares out what is left
 * (shares.ts). Money for premium routes it reserves or refuses itself (budget.ts). Keys and projects themselves are
 * documents (keys.ts).
 */
import { actor, type Turn } from "../../cluster/actor.ts";
import {
  Account,
  type Added,
  type Counts,
  monthOf,
  type QuotaCategory,
  type Tally,
  type Totals,
} from "../../schemas/accounts.ts";
import { type Budget, NOTHING_SPENT, reserve, settle } from "./budget.ts";
import { addTally, EMPTY_MONTH, type Month, usedOf } from "./usage.ts";
import { giveQuota, giveRates, NO_COUNTS, type Windows } from "./allocation.ts";

/** Kept whole: a few kilobytes. */
interface Kept {
  /** By "2026-11". */
  readonly months: Readonly<Record<string, Month>>;
  readonly gateways: Readonly<Record<string, Gateway>>;
  /** What premium routes cost and may still cost. Tallies tell the same later, with everything else; this is asked first. */
  readonly budget: Budget;
}

interface Gateway {
  /** Of the last tally counted, so that none counts twice. */
  readonly sequence: number;
  readonly at_ms: number;
  /** What runs there of keys with quotas, and what it was let in with its last tally. */
  readonly holds?: Readonly<Record<string, Counts>>;
  readonly given?: Readonly<Record<string, Counts>>;
}

interface State {
  kept: Kept;
  /** Not kept: a new owner gives a window away once more, for the second that is left of it. */
  readonly windows: Windows;
}

/** This month, and the one before for tallies and readers that come late. */
const MONTHS_KEPT = 2;
/** A gateway repeats a tally within minutes or never. */
const GATEWAY_KEPT_MS = 24 * 60 * 60_000;
/** A gateway that holds something says so every second; what one that is gone held comes back after the longest request. */
const HOLDS_KEPT_MS = 200_000;

type AccountTurn = Turn<State, typeof Account.operations>;

export const account = () =>
  actor(Account)<State, Kept>({
    keep: (state) => state.kept,
    begin: (kept) => ({
      kept: { months: {}, gateways: {}, budget: NOTHING_SPENT, ...kept },
      windows: new Map(),
    }),
    idle_ms: 10 * 60_000,
    on: {
      add(turn, tally) {
        const { months, gateways } = turn.state.kept;
        if (tally.sequence <= (gateways[tally.gateway]?.sequence ?? 0)) return added(turn, tally);
        const month = addTally(months[tally.month] ?? EMPTY_MONTH, tally, turn.now_ms);
        const elsewhere = heldElsewhere(gateways, tally.gateway, turn.now_ms);
        const given = Object.fromEntries(
          Object.entries(tally.wants ?? {}).map(([prefix, wanted]) => {
            const give = (category: QuotaCategory): number => {
              const counted = usedOf(month.keys[prefix] ?? {}, category);
              const held = (tally.holds?.[prefix] ?? NO_COUNTS)[category];
              const used = counted + held + (elsewhere[prefix] ?? NO_COUNTS)[category];
              return giveQuota(tally.allowances[prefix]?.[category] ?? null, used, wanted[category]);
            };
            return [prefix, { search: give("search"), fetch: give("fetch") }];
          }),
        );
        turn.state.kept = {
          ...turn.state.kept,
          months: newest({ ...months, [tally.month]: month }),
          gateways: {
            ...Object.fromEntries(
              Object.entries(gateways).filter(([, { at_ms }]) => turn.now_ms - at_ms < GATEWAY_KEPT_MS),
            ),
            [tally.gateway]: {
              sequence: tally.sequence,
              at_ms: turn.now_ms,
              ...(tally.holds && { holds: sumOf([tally.holds, given]), given }),
            },
          },
        };
        return added(turn, tally);
      },

      rates: (turn, { window, wishes }) => giveRates(turn.state.windows, window, wishes, turn.now_ms),

      usage: (turn, { month }) => totals(turn, month),

      reserve(turn, message) {
        const { budget, answer } = reserve(turn.state.kept.budget, message, turn.now_ms);
        turn.state.kept = { ...turn.state.kept, budget };
        return answer;
      },

      settle(turn, message) {
        const budget = settle(turn.state.kept.budget, message);
        turn.state.kept = { ...turn.state.kept, budget };
        return { spent_micros: budget.spent[monthOf(turn.now_ms)] ?? 0 };
      },
    },
  });

function sumOf(parts: readonly Readonly<Record<string, Counts>>[]): Record<string, Counts> {
  const sums: Record<string, Counts> = {};
  for (const part of parts)
    for (const [prefix, { search, fetch }] of Object.entries(part)) {
      const before = sums[prefix] ?? NO_COUNTS;
      sums[prefix] = { search: before.search + search, fetch: before.fetch + fetch };
    }
  return sums;
}

const heldElsewhere = (gateways: Kept["gateways"], gateway: string, now_ms: number) =>
  sumOf(
    Object.entries(gateways).flatMap(([name, { holds, at_ms }]) =>
      name !== gateway && holds && now_ms - at_ms < HOLDS_KEPT_MS ? [holds] : [],
    ),
  );

const newest = (months: Kept["months"]): Kept["months"] =>
  Object.fromEntries(
    Object.entries(months)
      .toSorted(([a], [b]) => (a < b ? 1 : -1))
      .slice(0, MONTHS_KEPT),
  );

function totals({ state }: AccountTurn, month: string): Totals {
  const { keys, events, refreshed_at_ms } = state.kept.months[month] ?? EMPTY_MONTH;
  return { month, keys: { ...keys }, events: [...events], refreshed_at_ms };
}

/** A tally that comes again is answered with what it was given the first time. */
function added(turn: AccountTurn, { gateway, month }: Tally): Added {
  const { gateways } = turn.state.kept;
  return {
    ...totals(turn, month),
    given: { ...gateways[gateway]?.given },
    elsewhere: heldElsewhere(gateways, gateway, turn.now_ms),
  };
}
