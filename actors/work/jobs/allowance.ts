/**
 * The allowance of a job by its key: whether the key is still active, and units of its monthly quota, leased from the key's
 * Account actor as gateways lease them (actors/business/accounts/quota.ts). An item starts only against a unit. What was used is
 * stored with the items' states and reported under a sequence number, so that the account counts it exactly once.
 */
import {
  Account,
  accountKey,
  type Counts,
  isUsable,
  type LeaseReply,
  monthOf,
  type QuotaCategory,
} from "../../../schemas/accounts.ts";
import { basisOf } from "../../../schemas/invoices.ts";
import type { QuotaReport } from "../../../schemas/jobs.ts";
import { writeProgress } from "./checkpoint.ts";
import type { Frontier } from "./frontier.ts";
import { type JobServices, type JobState, type JobTurn, NO_QUOTA, RETRY_MS, startTask } from "./state.ts";

/** A change of the key, its project or its customer takes effect within this time. */
const PAYER_MS = 2_000;
/** Units are reported this often, and well before the account gives a silent job up. */
const REPORT_MS = 2_000;
const REPORT_TIMEOUT_MS = 10_000;
/** While others hold the rest of a quota. */
const ASK_AGAIN_MS = 1_000;

/** Whether items may start: `unknown` until the key is read, `paused` while the customer is suspended. */
export type Permission = "unknown" | "active" | "paused" | "revoked";

/** Reads the key again when the last read is old. */
export function permission(services: JobServices, turn: JobTurn): Permission {
  const { state, now_ms } = turn;
  if (now_ms >= state.payer_read_ms + PAYER_MS && startTask(turn, "reading_payer")) {
    const { spec } = state.record!;
    turn.pipeToSelf("payerRead", async (ask) => {
      try {
        const payer = await services.findPayer(spec.project, spec.key_prefix);
        const key = payer?.key ?? null;
        const account = accountKey(spec.customer, spec.project, spec.key_prefix);
        const month = { month: monthOf(services.clock.now()) };
        // Charges to a customer with prices are reserved for each item.
        const isCharged = payer !== null && basisOf(payer.customer, month.month) === "charge";
        const limits = isCharged ? [] : (payer?.spend_limits ?? []);
        const cap = limits.find((limit) => limit.account === account)?.limit_micros ?? null;
        const spent =
          cap === null ? 0 : (await ask(Account, account, "allowances", month)).settled.spend_micros;
        return {
          payer: {
            status:
              key !== null && !isUsable(key, services.clock.now())
                ? ("revoked" as const)
                : payer?.customer.status === "suspended"
                  ? ("paused" as const)
                  : ("active" as const),
            limit: spec.category === null ? null : (key?.quotas[spec.category] ?? null),
            is_spent: cap !== null && spent >= cap,
            is_charged: isCharged,
          },
        };
      } catch {
        return { payer: null };
      }
    });
  }
  return state.payer?.status ?? "unknown";
}

/** Null: the key could not be read. */
export function applyPayer(state: JobState, payer: JobState["payer"], now_ms: number): void {
  state.in_progress.delete("reading_payer");
  if (payer === null) state.retry_at_ms = now_ms + RETRY_MS;
  else {
    state.payer = payer;
    state.payer_read_ms = now_ms;
  }
}

/** Why an item cannot run; null: it may. */
export function refusalOf({ payer, exhausted_month }: JobState, now_ms: number): string | null {
  if (payer?.is_spent) return "key_budget_exhausted";
  return payer?.limit !== null && exhausted_month === monthOf(now_ms) ? "key_quota_exhausted" : null;
}

/** How many items may be in flight, as far as the quota goes. */
export const unitsOf = ({ payer, units }: JobState): number => (payer?.limit === null ? Infinity : units);

/** Reports what was used, and asks for units where items wait for one. */
export function leaseUnits(turn: JobTurn, frontier: Frontier): void {
  const { state, now_ms } = turn;
  if (state.payer === null || state.payer.limit === null) return;
  const quota = state.record!.quota ?? NO_QUOTA;
  if (quota.report === null) {
    const wanted = Math.min(state.window, frontier.demand());
    const isShort = wanted > state.units && now_ms >= state.units_retry_ms;
    const isDue = now_ms >= state.units_asked_ms + REPORT_MS && quota.sequence > 0;
    const isOver = quota.sequence > 0 && quota.month !== monthOf(now_ms);
    const hasNews = state.units > 0 || quota.used > 0 || state.bills.length > 0;
    if (!(isOver || (isShort && state.exhausted_month !== monthOf(now_ms)) || (isDue && hasNews))) return;
    // With the states of the items, so that no unit is returned before its use is reported.
    writeProgress(state, frontier, now_ms);
    const held = isOver ? 0 : Math.min(state.units, Math.max(frontier.inFlight(), wanted));
    seal(state, held, isOver ? 0 : Math.max(0, wanted - held), isOver, now_ms);
  }
  report(turn);
}

/** Returns all units at the end of a job. True: there is nothing left to report. */
export function returnUnits(turn: JobTurn): boolean {
  const { state, now_ms } = turn;
  const { quota } = state.record!;
  if (quota === null) return true;
  if (quota.report === null) {
    if (quota.sequence === 0 && quota.used === 0) {
      state.record = { ...state.record!, quota: null };
      return true;
    }
    seal(state, 0, 0, quota.sequence > 0, now_ms);
  }
  report(turn);
  return false;
}

/** Puts a report into the record, which is stored before it is sent. */
function seal(state: JobState, held: number, requested: number, is_final: boolean, now_ms: number): void {
  const quota = state.record!.quota ?? NO_QUOTA;
  const sequence = quota.sequence + 1;
  // The first report of a holder says that nothing was used: it may be repeated when the account has forgotten it.
  const isFirst = sequence === 1;
  const month = isFirst ? monthOf(now_ms) : quota.month;
  const sealed: QuotaReport = {
    sequence,
    used: isFirst ? 0 : quota.used,
    held: isFirst ? 0 : held,
    requested,
    limit: state.payer?.limit ?? null,
    is_final,
  };
  state.units = isFirst ? 0 : held;
  state.units_asked_ms = now_ms;
  state.record = {
    ...state.record!,
    quota: { ...quota, month, sequence, used: isFirst ? quota.used : 0, report: sealed },
  };
}

function report(turn: JobTurn): void {
  const { key, state } = turn;
  const { quota, spec } = state.record!;
  if (!quota?.report || !startTask(turn, "leasing_units")) return;
  const { category } = spec;
  const { sequence, used, held, requested, limit, is_final } = quota.report;
  const holder = `job:${key}.${quota.generation}`;
  const message = {
    holder,
    sequence,
    month: quota.month,
    limits: { search: null, fetch: null, [category!]: limit },
    used: countsOf(category!, used),
    held: countsOf(category!, held),
    requested: countsOf(category!, requested),
    prefetch: countsOf(category!, 0),
    is_final,
  };
  const account = accountKey(spec.customer, spec.project, spec.key_prefix);
  const options = { timeout_ms: REPORT_TIMEOUT_MS, idempotency_id: `${holder}:${quota.month}:${sequence}` };
  turn.pipeToSelf("unitsGranted", (ask) =>
    ask(Account, account, "lease", message, options).then(
      (reply) => ({ sequence, reply }),
      () => ({ sequence, reply: null }),
    ),
  );
}

/** Takes the account's answer over. */
export function applyLease(
  state: JobState,
  { sequence, reply }: { readonly sequence: number; readonly reply: LeaseReply | null },
  now_ms: number,
): void {
  state.in_progress.delete("leasing_units");
  const { record } = state;
  const quota = record?.quota;
  if (!quota?.report || quota.report.sequence !== sequence) return;
  if (reply === null) {
    state.retry_at_ms = now_ms + RETRY_MS;
    return;
  }
  const { requested, limit, is_final } = quota.report;
  if (!reply.is_known || is_final) {
    // A forgotten holder's units count as used, those of unreported items among them.
    const used = is_final ? quota.used : 0;
    state.units = 0;
    const next = { ...NO_QUOTA, generation: quota.generation + 1, used };
    state.record = { ...record!, quota: record!.finished_ms !== null ? null : next };
    return;
  }
  state.record = { ...record!, quota: { ...quota, report: null } };
  const { category } = record!.spec;
  state.units += reply.granted[category!];
  if (requested > 0 && reply.granted[category!] === 0) state.units_retry_ms = now_ms + ASK_AGAIN_MS;
  if (requested > 0 && limit !== null && reply.settled[category!] >= limit)
    state.exhausted_month = quota.month;
}

const countsOf = (category: QuotaCategory, units: number): Counts => ({
  search: 0,
  fetch: 0,
  [category]: units,
});
