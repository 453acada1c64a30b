/**
 * The account actor: one per project. Each gateway reports about once a second what it saw of the project's keys, and the
 * account answers with the month's usage over all gateways. A report that is repeated is answered and not counted again.
 * Gateways refuse calls themselves, by these answers; where several gateways share a limit, the account allots what
 * remains of it (allocation.ts). It reserves or refuses money for premium routes itself (budget.ts). Keys and projects are
 * documents, not actors (keys.ts).
 */
import { actor, type Turn } from "../../cluster/actor.ts";
import {
  Account,
  type UsageReportReply,
  type Counts,
  monthOf,
  type QuotaCategory,
  type UsageReport,
  type Totals,
} from "../../schemas/accounts.ts";
import { type Budget, NOTHING_SPENT, reserve, settle } from "./budget.ts";
import { addUsageReport, EMPTY_MONTH, type Month, usedOf } from "./usage.ts";
import { allotQuota, allotRates, NO_COUNTS, type Windows } from "./allocation.ts";

/** A few kilobytes. */
interface AccountSnapshot {
  /** By "2026-11". */
  readonly months: Readonly<Record<string, Month>>;
  readonly gateways: Readonly<Record<string, Gateway>>;
  /** What premium routes have cost, and what is reserved for them. Usage reports bring the cost later, with all else. */
  readonly budget: Budget;
}

interface Gateway {
  /** Of the last report counted, so that none counts twice. */
  readonly sequence: number;
  readonly at_ms: number;
  /** Requests of keys with quotas that run there, including those granted to its last report. */
  readonly in_flight?: Readonly<Record<string, Counts>>;
  /** What its last report was granted, for when that report is repeated. */
  readonly granted?: Readonly<Record<string, Counts>>;
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
/**
 * A gateway with requests in flight reports every second. The requests of a gateway that died stop counting after the
 * longest request is over.
 */
const IN_FLIGHT_TTL_MS = 200_000;

type AccountTurn = Turn<State, typeof Account.own>;

export const accountActor = () =>
  actor(Account)<State, AccountSnapshot>({
    persist: (state) => state.snapshot,
    activate: (snapshot) => ({
      snapshot: { months: {}, gateways: {}, budget: NOTHING_SPENT, ...snapshot },
      windows: new Map(),
    }),
    passivate_after_ms: 10 * 60_000,
    on: {
      reportUsage(turn, report) {
        const { months, gateways } = turn.state.snapshot;
        if (report.sequence <= (gateways[report.gateway]?.sequence ?? 0)) return replyTo(turn, report);
        const month = addUsageReport(months[report.month] ?? EMPTY_MONTH, report, turn.now_ms);
        const elsewhere = inFlightElsewhere(gateways, report.gateway, turn.now_ms);
        const granted = Object.fromEntries(
          Object.entries(report.requested ?? {}).map(([prefix, requested]) => {
            const grantFor = (category: QuotaCategory): number => {
              const counted = usedOf(month.keys[prefix] ?? {}, category);
              const inFlight = (report.in_flight?.[prefix] ?? NO_COUNTS)[category];
              const used = counted + inFlight + (elsewhere[prefix] ?? NO_COUNTS)[category];
              return allotQuota(report.allowances[prefix]?.[category] ?? null, used, requested[category]);
            };
            return [prefix, { search: grantFor("search"), fetch: grantFor("fetch") }];
          }),
        );
        turn.state.snapshot = {
          ...turn.state.snapshot,
          months: newest({ ...months, [report.month]: month }),
          gateways: {
            ...Object.fromEntries(
              Object.entries(gateways).filter(([, { at_ms }]) => turn.now_ms - at_ms < GATEWAY_RETENTION_MS),
            ),
            [report.gateway]: {
              sequence: report.sequence,
              at_ms: turn.now_ms,
              ...(report.in_flight && { in_flight: sumOf([report.in_flight, granted]), granted }),
            },
          },
        };
        return replyTo(turn, report);
      },

      allotRates: (turn, { window, requests }) =>
        allotRates(turn.state.windows, window, requests, turn.now_ms),

      usage: (turn, { month }) => totals(turn, month),

      reserve(turn, message) {
        const { budget, answer } = reserve(turn.state.snapshot.budget, message, turn.now_ms);
        turn.state.snapshot = { ...turn.state.snapshot, budget };
        return answer;
      },

      settle(turn, message) {
        const budget = settle(turn.state.snapshot.budget, message);
        turn.state.snapshot = { ...turn.state.snapshot, budget };
        return { spent_micros: budget.spent[monthOf(turn.now_ms)] ?? 0 };
      },
    },
  });

function sumOf(parts: readonly Readonly<Record<string, Counts>>[]): Record<string, Counts> {
  const sums: Record<string, Counts> = {};
  for (const part of parts)
    for (const [prefix, { search, fetch }] of Object.entries(part)) {
      const sum = sums[prefix] ?? NO_COUNTS;
      sums[prefix] = { search: sum.search + search, fetch: sum.fetch + fetch };
    }
  return sums;
}

const inFlightElsewhere = (gateways: AccountSnapshot["gateways"], gateway: string, now_ms: number) =>
  sumOf(
    Object.entries(gateways).flatMap(([name, { in_flight, at_ms }]) =>
      name !== gateway && in_flight && now_ms - at_ms < IN_FLIGHT_TTL_MS ? [in_flight] : [],
    ),
  );

const newest = (months: AccountSnapshot["months"]): AccountSnapshot["months"] =>
  Object.fromEntries(
    Object.entries(months)
      .toSorted(([a], [b]) => (a < b ? 1 : -1))
      .slice(0, MAX_MONTHS),
  );

function totals({ state }: AccountTurn, month: string): Totals {
  const { keys, events, refreshed_at_ms } = state.snapshot.months[month] ?? EMPTY_MONTH;
  return { month, keys: { ...keys }, events: [...events], refreshed_at_ms };
}

/** A repeated report is answered with what it was granted the first time. */
function replyTo(turn: AccountTurn, { gateway, month }: UsageReport): UsageReportReply {
  const { gateways } = turn.state.snapshot;
  return {
    ...totals(turn, month),
    granted: { ...gateways[gateway]?.granted },
    in_flight_elsewhere: inFlightElsewhere(gateways, gateway, turn.now_ms),
  };
}
