/** How usage reports add up to a month, and which thresholds of an allowance they cross. Pure functions. */
import {
  type QuotaCategory,
  QUOTA_CATEGORIES,
  type UsageReport,
  THRESHOLDS,
  type ThresholdEvent,
  type Usage,
  type UsageByCategory,
} from "../../schemas/accounts.ts";

/** One project's month. */
export interface Month {
  readonly keys: Readonly<Record<string, UsageByCategory>>;
  readonly events: readonly ThresholdEvent[];
  readonly refreshed_at_ms: number | null;
}

export const EMPTY_MONTH: Month = { keys: {}, events: [], refreshed_at_ms: null };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    requests: a.requests + b.requests,
    succeeded: a.succeeded + b.succeeded,
    bytes: a.bytes + b.bytes,
    bytes_ok: a.bytes_ok + b.bytes_ok,
    paid_bytes: a.paid_bytes + b.paid_bytes,
    paid_bytes_ok: a.paid_bytes_ok + b.paid_bytes_ok,
    cost_micros: a.cost_micros + b.cost_micros,
    cost_ok_micros: a.cost_ok_micros + b.cost_ok_micros,
  };
}

/** A month with a report counted in, and the thresholds its keys crossed by it. */
export function addUsageReport(month: Month, report: UsageReport, now_ms: number): Month {
  const keys: Record<string, UsageByCategory> = { ...month.keys };
  const events: ThresholdEvent[] = [];
  for (const [prefix, reported] of Object.entries(report.keys)) {
    const previous = keys[prefix] ?? {};
    const next: Record<string, Usage> = { ...previous };
    for (const [category, usage] of Object.entries(reported))
      next[category] = next[category] ? addUsage(next[category], usage) : usage;
    keys[prefix] = next;
    const limits = report.allowances[prefix];
    if (!limits) continue;
    for (const allowance of [...QUOTA_CATEGORIES, "spend"] as const) {
      const crossed = crossings(limits[allowance], usedOf(previous, allowance), usedOf(next, allowance));
      for (const threshold of crossed) events.push({ key: prefix, allowance, threshold, at_ms: now_ms });
    }
  }
  return { keys, events: [...month.events, ...events], refreshed_at_ms: now_ms };
}

/** The thresholds, in percent of the limit, that usage crosses between `previous` and `next`. */
export function crossings(limit: number | null, previous: number, next: number): readonly number[] {
  if (limit === null || limit <= 0) return [];
  return THRESHOLDS.filter((share) => previous * 100 < limit * share && next * 100 >= limit * share);
}

/** `fetch` is fetch_own, fetch_paid and fetch_cached; `spend` is the cost of all categories. */
export function usedOf(usage: UsageByCategory, allowance: QuotaCategory | "spend"): number {
  let used = 0;
  for (const [category, { requests, cost_micros }] of Object.entries(usage)) {
    if (allowance === "spend") used += cost_micros;
    else if (category === allowance || category.startsWith(`${allowance}_`)) used += requests;
  }
  return used;
}
