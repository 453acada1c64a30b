/**
 * The account actor: one for each customer, project and API key. It grants units of a key's monthly quotas to gateways and
 * jobs (quota.ts), reserves and settles money (budget.ts), records crossed thresholds (thresholds.ts), and grants shares of
 * one-second windows (allocation.ts). What was used is in the ledger, not here (usage-totals.actor.ts). It refuses by arithmetic only: each message brings the limit, as its sender read it
 * from the documents of keys, projects and customers (keys.ts).
 */
import { actor, type Turn } from "../../cluster/actor.ts";
import {
  Account,
  type AllowanceUse,
  type LeaseReply,
  monthOf,
  type ReserveReply,
  QUOTA_CATEGORIES,
  type ThresholdEvent,
} from "../../schemas/accounts.ts";
import { allotRates, type Windows } from "./allocation.ts";
import { type Budget, lapse, NOTHING_SPENT, reserve, reservedMicros, settle } from "./budget.ts";
import { lapseHolders, lease, NOTHING_USED, type Quota, reservedUnits } from "./quota.ts";
import { withCrossings } from "./thresholds.ts";

/** A few kilobytes, and never more than a few hundred: what grows has a bound where it is kept. */
export interface AccountSnapshot {
  /** By "2026-11". */
  readonly quotas: Readonly<Record<string, Quota>>;
  readonly budget: Budget;
  /** By "2026-11": at most one for each allowance and threshold. */
  readonly events: Readonly<Record<string, readonly ThresholdEvent[]>>;
}

interface State {
  snapshot: AccountSnapshot;
  /** Not stored: a new owner node grants a window once more, for the rest of its second. */
  readonly windows: Windows;
}

/** This month, and the previous one for late reports and readers. */
const MAX_MONTHS = 2;
type AccountTurn = Turn<State, typeof Account.own>;

export const accountActor = () =>
  actor(Account)<State, AccountSnapshot>({
    persist: (state) => state.snapshot,
    activate: (snapshot) => ({
      snapshot: { quotas: {}, budget: NOTHING_SPENT, events: {}, ...snapshot },
      windows: new Map(),
    }),
    passivate_after_ms: 10 * 60_000,
    on: {
      allotRates: (turn, { window, requests }) =>
        allotRates(turn.state.windows, window, requests, turn.now_ms),

      lease(turn, request): LeaseReply {
        const { quotas } = turn.state.snapshot;
        const before = quotas[request.month] ?? NOTHING_USED;
        const { quota, reply } = lease(before, request, turn.now_ms);
        if (quota !== before)
          turn.state.snapshot = {
            ...turn.state.snapshot,
            quotas: newest({ ...quotas, [request.month]: quota }),
          };
        for (const category of QUOTA_CATEGORIES) {
          const counts = [before.settled[category], quota.settled[category]] as const;
          recordCrossings(turn, request.month, category, request.limits[category], counts);
        }
        return reply;
      },

      reserve(turn, request): ReserveReply {
        const { budget, answer } = reserve(turn.state.snapshot.budget, request, turn.now_ms);
        changeBudget(turn, budget);
        return answer;
      },

      settle(turn, settlement) {
        const { budget: before } = turn.state.snapshot;
        const reservation = before.reservations[settlement.id] ?? before.lapsed[settlement.id];
        const budget = settle(lapse(before, turn.now_ms), settlement);
        changeBudget(turn, budget);
        if (reservation) {
          const { month, limit_micros } = reservation;
          const counts = [before.spent[month] ?? 0, budget.spent[month] ?? 0] as const;
          recordCrossings(turn, month, "spend", limit_micros, counts);
        }
        return { spent_micros: budget.spent[monthOf(turn.now_ms)] ?? 0 };
      },

      allowances(turn, { month }): AllowanceUse {
        const { quotas } = turn.state.snapshot;
        const quota = lapseHolders(quotas[month] ?? NOTHING_USED, turn.now_ms);
        const budget = lapse(turn.state.snapshot.budget, turn.now_ms);
        return {
          settled: { ...quota.settled, spend_micros: budget.spent[month] ?? 0 },
          reserved: { ...reservedUnits(quota), spend_micros: reservedMicros(budget, month) },
          events: [...(turn.state.snapshot.events[month] ?? [])],
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

function recordCrossings(
  turn: AccountTurn,
  month: string,
  allowance: ThresholdEvent["allowance"],
  limit: number | null,
  counts: readonly [previous: number, next: number],
): void {
  const { events } = turn.state.snapshot;
  const before = events[month] ?? [];
  const after = withCrossings(before, allowance, limit, counts, turn.now_ms);
  if (after !== before)
    turn.state.snapshot = { ...turn.state.snapshot, events: newest({ ...events, [month]: after }) };
}
