/** Metrics of tiers and browsers. */
import type { MetricTable } from "../../../cluster/ports/metrics.ts";
import { TIERS } from "../../../schemas/tier-table.ts";

export const TIER_METRICS = {
  trawl_tier_capacity: {
    kind: "gauge",
    help: "Calls that a tier of this node takes at once",
    labels: ["tier"],
  },
  trawl_tier_calls: {
    kind: "gauge",
    help: "Calls of a tier of this node, by state: in_use, waiting",
    labels: ["tier", "state"],
  },
  trawl_tier_calls_total: {
    kind: "counter",
    help: "Calls that a tier of this node ended, by what they say of it: success, infrastructure, neutral",
    labels: ["tier", "outcome"],
    values: { tier: TIERS, outcome: ["success", "infrastructure", "neutral"] },
  },
  trawl_tier_refusals_total: {
    kind: "counter",
    help: "Calls that a tier of this node refused, by reason: busy, unavailable",
    labels: ["tier", "reason"],
    values: { tier: TIERS, reason: ["busy", "unavailable"] },
  },
  trawl_tier_breaker_open: {
    kind: "gauge",
    help: "1 while a tier of this node is unavailable because its provider fails",
    labels: ["tier"],
  },
  trawl_browser_pages: { kind: "gauge", help: "Pages open in browsers on this node", labels: [] },
  trawl_browser_ends_total: {
    kind: "counter",
    help: "Browsers closed, by reason: pages, memory, hung, crashed, idle, closed",
    labels: ["reason"],
    values: { reason: ["pages", "memory", "hung", "crashed", "idle", "closed"] },
  },
  trawl_browser_memory_bytes: {
    kind: "gauge",
    help: "Memory of all browser processes of this node while pages are open, without the content of files",
    labels: [],
  },
} as const satisfies MetricTable;

type TierMetrics = typeof TIER_METRICS;
declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends TierMetrics {}
}
