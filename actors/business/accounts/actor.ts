/**
 * The account actor: one for each customer, project and API key. It grants units of a key's monthly quotas to gateways and
 * jobs (quota.ts), reserves and settles money (budget.ts), records crossed thresholds (thresholds.ts), and grants shares of
 * one-second windows (allocation.ts). What was used is in the ledger, not here (usage-totals.actor.ts). It refuses by arithmetic only: each message brings the limit, as its sender read it
 * from the documents of keys, projects and customers (keys.ts).
 */
import { actor, type Turn } from "../../../cluster/actor.ts";
import {
  Account,
  type AllowanceUse,
  type Crossing,
  type LeaseReply,
  monthOf,
  type ReserveReply,
  QUOTA_CATEGORIES,
  type ThresholdEvent,
} from "../../../schemas/accounts.ts";
import type { AnnounceCrossings } from "./alerts.ts";
import { allotRates, type Windows } from "./allocation.ts";
import {
  type Budget,
  lapse,
  monthOfPurse,
  NOTHING_SPENT,
  purseOf,
  release,
  reserve,
  reservedMicros,
  settle,
} from "./budget.ts";
import { lapseHolders, lease, NOTHING_USED, type Quota, reservedUnits } from "./quota.ts";
import { newCrossings } from "./thresholds.ts";

/** A few kilobytes, and never more than a few hundred: what grows has a bound where it is kept. */
export interface AccountSnapshot {
  /** By "2026-11". */
  readonly quotas: Readonly<Record<string, Quota>>;
  readonly budget: Budget;
  /** By "2026-11": at most one for each allowance and threshold. */
  readonly events: Readonly<Record<string, readonly ThresholdEvent[]>>;
  readonly unannounced: Unannounced;
}

/** Crossings that no webhook's delivery is stored for yet. */
interface Unannounced {
  /** At most one for each allowance, threshold and month. */
  readonly crossings: readonly Crossing[];
  /** When they are announced, or tried again; null: there are none. */
  readonly next_ms: number | null;
}

const NONE: Unannounced = { crossings: [], next_ms: null };

interface State {
  snapshot: AccountSnapshot;
  /** Not stored: a new owner node grants a window once more, for the rest of its second. */
  readonly windows: Windows;
}

/** This month, and the previous one for late reports and readers. */
const MAX_MONTHS = 2;
/** After an announcement that failed or was lost. */
const ANNOUNCE_AGAIN_MS = 10_000;
/** A crossing that could not be announced for this long is not announced any more. */
const ANNOUNCE_TTL_MS = 3 * 24 * 3_600_000;
type AccountTurn = Turn<State, typeof Account.own>;

const WITHOUT_WEBHOOKS: AnnounceCrossings = async () => {};

/** Without `announce` the account records crossings and no webhook hears of them. */
export const accountActor = (announce: AnnounceCrossings = WITHOUT_WEBHOOKS) =>
  actor(Account)<State, AccountSnapshot>({
    persist: (state) => state.snapshot,
    activate: (snapshot) => ({
      snapshot: {
        quotas: {},
        budget: NOTHING_SPENT,
        events: {},
        unannounced: NONE,
        ...snapshot,
      },
      windows: new Map(),
    }),
    passivate_after_ms: 10 * 60_000,
    reminder: ({ unannounced: { next_ms } }) =>
      next_ms === null ? null : { at_ms: next_ms, operation: "announce", message: null },
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
        for (const category of QUOTA_CATEGORIES)
          recordCrossings(turn, request.month, category, request.limits[category], quota.settled[category]);
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
          recordCrossings(turn, month, "spend", limit_micros, budget.spent[month] ?? 0);
        }
        return { spent_micros: budget.spent[monthOf(turn.now_ms)] ?? 0 };
      },

      release(turn, { prefix }) {
        changeBudget(turn, release(lapse(turn.state.snapshot.budget, turn.now_ms), prefix));
        return null;
      },

      allowances(turn, { month, basis }): AllowanceUse {
        const { quotas } = turn.state.snapshot;
        const quota = lapseHolders(quotas[month] ?? NOTHING_USED, turn.now_ms);
        const budget = lapse(turn.state.snapshot.budget, turn.now_ms);
        const purse = purseOf(month, basis);
        return {
          settled: { ...quota.settled, spend_micros: budget.spent[purse] ?? 0 },
          reserved: { ...reservedUnits(quota), spend_micros: reservedMicros(budget, purse) },
          events: [...(turn.state.snapshot.events[month] ?? [])],
        };
      },

      announce(turn) {
        const { key, now_ms, state } = turn;
        const crossings = state.snapshot.unannounced.crossings.filter(
          ({ at_ms }) => now_ms - at_ms < ANNOUNCE_TTL_MS,
        );
        const isDone = crossings.length === 0;
        const unannounced = isDone ? NONE : { crossings, next_ms: Math.ceil(now_ms + ANNOUNCE_AGAIN_MS) };
        state.snapshot = { ...state.snapshot, unannounced };
        if (isDone) return;
        turn.pipeToSelf("announced", async (ask) => {
          const isAnnounced = await announce(ask, key, crossings, Math.floor(now_ms)).then(
            () => true,
            () => false,
          );
          return { crossings: isAnnounced ? crossings : [] };
        });
      },

      announced(turn, { crossings: announced }) {
        const { snapshot } = turn.state;
        const { unannounced } = snapshot;
        const crossings = unannounced.crossings.filter(
          (waiting) => !announced.some((crossing) => isSameCrossing(crossing, waiting)),
        );
        if (crossings.length === unannounced.crossings.length) return;
        const { next_ms } = unannounced;
        turn.state.snapshot = {
          ...snapshot,
          unannounced: crossings.length === 0 ? NONE : { crossings, next_ms },
        };
      },
    },
  });

function changeBudget(turn: AccountTurn, budget: Budget): void {
  // An unchanged budget is the same object and is not stored again.
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
  purse: string,
  allowance: ThresholdEvent["allowance"],
  limit: number | null,
  used: number,
): void {
  const { snapshot } = turn.state;
  const month = monthOfPurse(purse);
  const basis = purse === month ? {} : { basis: "charge" as const };
  const before = snapshot.events[month] ?? [];
  const crossings = newCrossings(before, { allowance, limit, used, month }, turn.now_ms);
  if (crossings.length === 0) return;
  const events = crossings.map(({ threshold, at_ms }) => ({ allowance, threshold, at_ms }));
  turn.state.snapshot = {
    ...snapshot,
    events: newest({ ...snapshot.events, [month]: [...before, ...events] }),
    unannounced: {
      crossings: [
        ...snapshot.unannounced.crossings,
        ...crossings.map((crossing) => ({ ...crossing, ...basis })),
      ],
      next_ms: Math.ceil(turn.now_ms),
    },
  };
}

const isSameCrossing = (a: Crossing, b: Crossing): boolean =>
  a.month === b.month && a.allowance === b.allowance && a.threshold === b.threshold;
