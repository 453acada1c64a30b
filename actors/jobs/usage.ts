/** How the bills of items add up to the usage that is reported to the account. Pure functions. */
import { countBill, NO_USAGE, type UsageByCategory } from "../../schemas/accounts.ts";
import type { ItemBill } from "../../schemas/jobs.ts";

export const hasUsage = (usage: UsageByCategory): boolean => Object.keys(usage).length > 0;

export function addBill(usage: UsageByCategory, bill: ItemBill): UsageByCategory {
  const total = { ...(usage[bill.category] ?? NO_USAGE) };
  countBill(total, bill);
  return { ...usage, [bill.category]: total };
}
