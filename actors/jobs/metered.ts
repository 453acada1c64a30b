/** How bills of items add up to what an Account is told. Functions of their arguments. */
import type { Usage, UsageByCategory } from "../../schemas/accounts.ts";
import type { ItemBill } from "../../schemas/jobs.ts";

const NOTHING: Usage = {
  requests: 0,
  succeeded: 0,
  bytes: 0,
  bytes_ok: 0,
  paid_bytes: 0,
  paid_bytes_ok: 0,
  cost_micros: 0,
  cost_ok_micros: 0,
};

export const hasUsage = (usage: UsageByCategory): boolean => Object.keys(usage).length > 0;

export function addBill(usage: UsageByCategory, bill: ItemBill): UsageByCategory {
  const { category, ok, bytes, paid, cost_micros } = bill;
  const before = usage[category] ?? NOTHING;
  const paid_bytes = paid ? bytes : 0;
  const good = Number(ok);
  return {
    ...usage,
    [category]: {
      requests: before.requests + 1,
      succeeded: before.succeeded + good,
      bytes: before.bytes + bytes,
      bytes_ok: before.bytes_ok + good * bytes,
      paid_bytes: before.paid_bytes + paid_bytes,
      paid_bytes_ok: before.paid_bytes_ok + good * paid_bytes,
      cost_micros: before.cost_micros + cost_micros,
      cost_ok_micros: before.cost_ok_micros + good * cost_micros,
    },
  };
}
