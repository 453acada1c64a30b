/**
 * The account actor: one per project. Gateways tell it about once a second what they saw of the project's keys, and
 * it answers with the month as all of them saw it. A tally that comes again is answered and not counted again. Calls
 * are refused by gateways, by what it told them; money for premium routes it reserves or refuses itself (budget.ts).
 * Keys and projects themselves are documents (keys.ts).
 */
import { actor, type Turn } from "../../cluster/actor.ts";
import { Account, monthOf, type Totals } from "../../schemas/accounts.ts";
import { type Budget, NOTHING_SPENT, reserve, settle } from "./budget.ts";
import { addTally, EMPTY_MONTH, type Month } from "./counting.ts";

interface State {
  /** Kept whole: a few kilobytes, by "2026-11". */
  readonly months: Readonly<Record<string, Month>>;
  /** The last tally counted of each gateway, so that none counts twice. */
  readonly gateways: Readonly<Record<string, { readonly sequence: number; readonly at_ms: number }>>;
  /** What premium routes cost and may still cost. Tallies tell the same later, with everything else; this is asked first. */
  readonly budget: Budget;
}

/** This month, and the one before for tallies and readers that come late. */
const MONTHS_KEPT = 2;
/** A gateway repeats a tally within minutes or never. */
const GATEWAY_KEPT_MS = 24 * 60 * 60_000;

type AccountTurn = Turn<State, typeof Account.operations>;

export const account = () =>
  actor(Account)<State, State>({
    keep: (state) => state,
    begin: (kept) => ({ months: {}, gateways: {}, budget: NOTHING_SPENT, ...kept }),
    idle_ms: 10 * 60_000,
    on: {
      add(turn, tally) {
        const { months, gateways } = turn.state;
        if (tally.sequence <= (gateways[tally.gateway]?.sequence ?? 0)) return totals(turn, tally.month);
        turn.state = {
          ...turn.state,
          months: newest({
            ...months,
            [tally.month]: addTally(months[tally.month] ?? EMPTY_MONTH, tally, turn.now_ms),
          }),
          gateways: {
            ...Object.fromEntries(
              Object.entries(gateways).filter(([, { at_ms }]) => turn.now_ms - at_ms < GATEWAY_KEPT_MS),
            ),
            [tally.gateway]: { sequence: tally.sequence, at_ms: turn.now_ms },
          },
        };
        return totals(turn, tally.month);
      },

      usage: (turn, { month }) => totals(turn, month),

      reserve(turn, message) {
        const { budget, answer } = reserve(turn.state.budget, message, turn.now_ms);
        turn.state = { ...turn.state, budget };
        return answer;
      },

      settle(turn, message) {
        const budget = settle(turn.state.budget, message);
        turn.state = { ...turn.state, budget };
        return { spent_micros: budget.spent[monthOf(turn.now_ms)] ?? 0 };
      },
    },
  });

const newest = (months: State["months"]): State["months"] =>
  Object.fromEntries(
    Object.entries(months)
      .toSorted(([a], [b]) => (a < b ? 1 : -1))
      .slice(0, MONTHS_KEPT),
  );

function totals({ state }: AccountTurn, month: string): Totals {
  const { keys, events, refreshed_at_ms } = state.months[month] ?? EMPTY_MONTH;
  return { month, keys: { ...keys }, events: [...events], refreshed_at_ms };
}
