/**
 * The account actor: one for each customer, project and API key. It grants units of a key's monthly quotas to gateways and
 * jobs (quota.ts), reserves and settles money (budget.ts), grants shares of one-second windows (allocation.ts), and adds a
 * project's usage up (usage.ts). It refuses by arithmetic only: each message brings the limit, as its sender read it
 * from the documents of keys, projects and customers (keys.ts).
 */
import { actor, type Turn } from "../../cluster/actor.ts";
import {
  Account,
  type AllowanceUse,
  type LeaseReply,
  monthOf,
  type ReserveReply,
  type Totals,
} from "../../schemas/accounts.ts";
import { allotRates, type Windows } from "./allocation.ts";
import { type Budget, lapse, NOTHING_SPENT, reserve, reservedMicros, settle } from "./budget.ts";
import { lapseHolders, lease, NOTHING_USED, type Quota, reservedUnits } from "./quota.ts";
import { addUsageReport, EMPTY_MONTH, type Month } from "./usage.ts";

export interface AccountSnapshot {
  /** By "2026-11". */
  readonly months: Readonly<Record<string, Month>>;
  readonly gateways: Readonly<Record<string, Gateway>>;
  /** By "2026-11". */
  readonly quotas: Readonly<Record<string, Quota>>;
  readonly budget: Budget;
}

interface Gateway {
  /** Of the last report counted, so that none counts twice. */
  readonly sequence: number;
  readonly at_ms: number;
}

interface State {
  snapshot: AccountSnapshot;
  /** Not stored: a new owner node grants a window once more, for the rest of its second. */
  readonly windows: Windows;
}

/** This month, and the previous one for late reports and readers. */
const MAX_MONTHS = 2;
/** A gateway repeats a report within minutes or never. */
const GATEWAY_RETENTION_MS = 24 * 60 * 60_000;

type AccountTurn = Turn<State, typeof Account.own>;

export const accountActor = () =>
  actor(Account)<State, AccountSnapshot>({
    persist: (state) => state.snapshot,
    activate: (snapshot) => ({
      snapshot: { months: {}, gateways: {}, quotas: {}, budget: NOTHING_SPENT, ...snapshot },
      windows: new Map(),
    }),
    passivate_after_ms: 10 * 60_000,
    on: {
      reportUsage(turn, report) {
        const { months, gateways } = turn.state.snapshot;
        if (report.sequence <= (gateways[report.gateway]?.sequence ?? 0)) return totals(turn, report.month);
        const month = addUsageReport(months[report.month] ?? EMPTY_MONTH, report, turn.now_ms);
        turn.state.snapshot = {
          ...turn.state.snapshot,
          months: newest({ ...months, [report.month]: month }),
          gateways: {
            ...Object.fromEntries(
              Object.entries(gateways).filter(([, { at_ms }]) => turn.now_ms - at_ms < GATEWAY_RETENTION_MS),
            ),
            [report.gateway]: { sequence: report.sequence, at_ms: turn.now_ms },
          },
        };
        return totals(turn, report.month);
      },

      allotRates: (turn, { window, requests }) =>
        allotRates(turn.state.windows, window, requests, turn.now_ms),

      usage: (turn, { month }) => totals(turn, month),

      lease(turn, request): LeaseReply {
        const { quotas } = turn.state.snapshot;
        const before = quotas[request.month] ?? NOTHING_USED;
        const { quota, reply } = lease(before, request, turn.now_ms);
        if (quota !== before)
          turn.state.snapshot = {
            ...turn.state.snapshot,
            quotas: newest({ ...quotas, [request.month]: quota }),
          };
        return reply;
      },

      reserve(turn, request): ReserveReply {
        const { budget, answer } = reserve(turn.state.snapshot.budget, request, turn.now_ms);
        changeBudget(turn, budget);
        return answer;
      },

      settle(turn, settlement) {
        changeBudget(turn, settle(lapse(turn.state.snapshot.budget, turn.now_ms), settlement));
        return { spent_micros: turn.state.snapshot.budget.spent[monthOf(turn.now_ms)] ?? 0 };
      },

      allowances(turn, { month }): AllowanceUse {
        const { quotas } = turn.state.snapshot;
        const quota = lapseHolders(quotas[month] ?? NOTHING_USED, turn.now_ms);
        const budget = lapse(turn.state.snapshot.budget, turn.now_ms);
        return {
          settled: { ...quota.settled, spend_micros: budget.spent[month] ?? 0 },
          reserved: { ...reservedUnits(quota), spend_micros: reservedMicros(budget, month) },
        };
      },
    },
  });

function changeBudget(turn: AccountTurn, budget: Budget): void {
  // The same object is not stored again.
  if (budget !== turn.state.snapshot.budget) turn.state.snapshot = { ...turn.state.snapshot, budget };
}

const newest = <T>(months: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(
    Object.entries(months)
      .toSorted(([a], [b]) => (a < b ? 1 : -1))
      .slice(0, MAX_MONTHS),
  );

function totals({ state }: AccountTurn, month: string): Totals {
  const { keys, events, refreshed_at_ms } = state.snapshot.months[month] ?? EMPTY_MONTH;
  return { month, keys: { ...keys }, events: [...events], refreshed_at_ms };
}
