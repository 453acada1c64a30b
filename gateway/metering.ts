/**
 * Allowances of a key at this gateway, and the rows that tell what it used: quotas are leased (quotas.ts), what is left of a
 * spend cap is read from the account, and each billed answer becomes a row of the ledger (ledger.ts).
 */
import { LRUCache } from "lru-cache";
import type { Node } from "../cluster/node-record.ts";
import type { Charges } from "../records/charges.ts";
import {
  Account,
  accountKey,
  type Bill,
  fromUsdUp,
  type Grant,
  monthOf,
  type QuotaCategory,
} from "../schemas/accounts.ts";
import { basisOf, type ChargedWork, type ChargeReply, pricesOf } from "../schemas/invoices.ts";
import { NO_DETAIL } from "../schemas/ledger.ts";
import type { RowHead } from "../schemas/ledger-batch.ts";
import type { Ledger, RowAnswer } from "./ledger.ts";
import type { Allowances } from "./limits.ts";
import type { BeginOptions, PendingRequests, SpentBy } from "./pending-requests.ts";
import type { KeyQuota, KeyQuotas } from "./quotas.ts";

/** A key at this gateway. */
export interface KeyMeter {
  readonly grant: Grant;
  /** The key of its Account actor. */
  readonly account: string;
  readonly quota: KeyQuota;
  readonly allowances: Allowances;
  /** Fields that its rows have in common, by bill. */
  readonly heads: WeakMap<Bill, RowHead>;
  /** Prices of the customer this month for a succeeded request; null: spend is what providers cost. */
  prices: ReturnType<typeof pricesOf>;
  /** Spent and reserved of the key's spend cap this month, in its currency, as the account said last. */
  spend_micros: number;
  /** The month of `spend_micros`. */
  month: string;
}

/** A billed answer: what its row has of its own, as whole milliseconds, and the bill. */
export interface Billed extends RowAnswer {
  readonly bill: Bill;
  readonly project_ref: string | null;
}

export interface Metering {
  /** The meter of a key. Waits for what the account knows when the key has limits. Throws Fault. */
  open(grant: Grant): Promise<KeyMeter>;
  /** Moves a meter into the month of `now_ms`. */
  turn(meter: KeyMeter, now_ms: number): void;
  /** Reads what the key has spent and reserved of its cap now. Throws Fault. */
  readSpend(meter: KeyMeter): Promise<void>;
  /** Writes an answer from the cache down, soon. Throws Fault when no row can be kept any more. */
  record(meter: KeyMeter, billed: Billed): void;
  /** Resolves when the answer's row is stored. Throws Fault; the row is stored later then. */
  store(meter: KeyMeter, billed: Billed): Promise<void>;
  /** Resolves when the request is stored as one that has a row, whatever happens to this gateway. Throws Fault. */
  begin(meter: KeyMeter, pending: Billed, options?: BeginOptions): Promise<void>;
  /** Before work, or before an answer that needed none: what its customer is charged fits the limits of spend. Throws Fault. */
  reserveCharge(meter: KeyMeter, request_id: string, work: ChargedWork): Promise<ChargeReply>;
  /** Charges, of what was reserved, what the bill says. Resolves when that is done, or after a second; it goes on then. Never throws. */
  settleCharge(meter: KeyMeter, billed: Billed, onSettled: () => void): Promise<void>;
  /** Cost of the attempts of a request so far, or what they may have cost. Throws Fault. */
  spentBy: SpentBy;
  /** After `begin`: its row is stored, or it needs none. */
  end(request_id: string): void;
  /** Returns all units and stores all rows. */
  drain(): Promise<void>;
}

const MAX_KEYS = 10_000;
/** An answer waits so long for the settlement of its charge, which an account that is away delays. */
const SETTLE_WAIT_MS = 1_000;

export function metering(
  deps: Pick<Node, "ask" | "clock"> & {
    readonly quotas: KeyQuotas;
    readonly ledger: Ledger;
    readonly pending: PendingRequests;
    readonly spending: Pick<Charges, "reserveCharge" | "settleCharge"> & { readonly spentBy: SpentBy };
  },
): Metering {
  const { ask, clock, quotas, ledger, pending, spending } = deps;
  /** So that a key that is looked up again keeps its spend while the account is asked. */
  const spends = new LRUCache<string, Pick<KeyMeter, "spend_micros" | "month">>({ max: MAX_KEYS });

  async function readSpend(meter: KeyMeter): Promise<void> {
    const month = monthOf(clock.now());
    const { customer, per_usd_micros } = meter.grant;
    const prices = pricesOf(customer, month);
    const basis = basisOf(customer, month);
    const { settled, reserved } = await ask(Account, meter.account, "allowances", { month, basis });
    meter.month = month;
    meter.prices = prices;
    const spent_micros = settled.spend_micros + reserved.spend_micros;
    meter.spend_micros = basis === "charge" ? spent_micros : fromUsdUp(spent_micros, per_usd_micros);
    spends.set(meter.account, { month, spend_micros: meter.spend_micros });
    const free = (category: QuotaCategory): number | null => {
      const limit = meter.allowances[category];
      return limit === null ? null : Math.max(0, limit - settled[category] - reserved[category]);
    };
    meter.quota.learn(month, { search: free("search"), fetch: free("fetch") });
  }

  /** A page that is answered from memory has the same bill each time, and the same head for a key. */
  function headOf(meter: KeyMeter, { bill, project_ref }: Billed): RowHead {
    const known = meter.heads.get(bill);
    if (known && known.project_ref === project_ref) return known;
    const { key, project } = meter.grant;
    const head = {
      project: project.name,
      key: key.prefix,
      category: bill.category,
      ok: bill.ok,
      cached: bill.category.endsWith("_cached"),
      bytes: bill.bytes,
      paid: bill.paid,
      cost_micros: bill.cost_micros,
      ...NO_DETAIL,
      ...bill.detail,
      project_ref,
    };
    meter.heads.set(bill, head);
    return head;
  }

  return {
    readSpend,

    async open(grant) {
      const { key, project, customer } = grant;
      const account = accountKey(customer.name, project.name, key.prefix);
      const allowances = { ...key.quotas, spend: key.spend_cap_micros };
      const quota = quotas.of(account, key.quotas);
      const spend = spends.get(account) ?? { spend_micros: 0, month: monthOf(clock.now()) };
      const prices = pricesOf(customer, spend.month);
      const meter: KeyMeter = { grant, account, quota, allowances, prices, heads: new WeakMap(), ...spend };
      if (Object.values(allowances).some((limit) => limit !== null)) await readSpend(meter);
      return meter;
    },

    turn(meter, now_ms) {
      const month = monthOf(now_ms);
      if (meter.month === month) return;
      meter.month = month;
      meter.prices = pricesOf(meter.grant.customer, month);
      meter.spend_micros = 0;
    },

    record: (meter, billed) => ledger.record(meter.grant.customer.name, headOf(meter, billed), billed),
    store: (meter, billed) =>
      ledger.store(meter.grant.customer.name, headOf(meter, billed), billed, {
        within_ms: pending.gatherMs(),
      }),
    begin(meter, billed, options) {
      const { request_id, at_ms, latency_ms } = billed;
      const row = { ...headOf(meter, billed), request_id, at_ms, latency_ms };
      return pending.begin({ customer: meter.grant.customer.name, row }, options);
    },
    reserveCharge: ({ grant: { key, project } }, request_id, work) =>
      spending.reserveCharge(ask, { project: project.name, key: key.prefix }, request_id, work),
    async settleCharge(
      { grant: { key, project } },
      { request_id, at_ms, bill: { category, ok } },
      onSettled,
    ) {
      const row = { request_id, project: project.name, key: key.prefix, category, ok, at_ms };
      const { promise: waited, resolve } = Promise.withResolvers<void>();
      const timer = clock.at(clock.now() + SETTLE_WAIT_MS, resolve);
      await Promise.race([spending.settleCharge(ask, row).then(onSettled), waited]);
      timer[Symbol.dispose]();
    },
    spentBy: spending.spentBy,
    end: pending.end,
    drain: async () => {
      await Promise.all([quotas.drain(), ledger.drain()]);
      await pending.drain();
    },
  };
}
