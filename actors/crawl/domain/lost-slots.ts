/**
 * Slots of redirects from other sites, whose nodes report that their requests go on: which of them are lost, because their node
 * died. Pure.
 */
import { REPORT_EVERY_MS } from "../../../schemas/domain.ts";

/** By fetch, the slots whose callers report. Not stored: the next owner node has rules of its own for slots of other processes. */
export type Reports = ReadonlyMap<string, Report>;

interface Report {
  readonly heard_ms: number;
  /** Since when the caller is missed; null: it is not. */
  readonly missed_ms: number | null;
}

/** Two reports are missing. */
const MISSED_AFTER_MS = 2 * REPORT_EVERY_MS + 5_000;
/**
 * Longer than between two reports: after the domain itself stood still, or its clock stepped, a caller that lives is heard
 * before its slot is free.
 */
const LOST_AFTER_MS = REPORT_EVERY_MS + 10_000;

export const withReport = (reports: Reports, fetch_id: string, now_ms: number): Reports =>
  new Map(reports).set(fetch_id, { heard_ms: now_ms, missed_ms: null });

/** Without those of other slots than these. */
export function reportsOf(reports: Reports, slots: readonly { readonly fetch_id: string }[]): Reports {
  if (reports.size === 0) return reports;
  const kept = [...reports].filter(([id]) => slots.some(({ fetch_id }) => fetch_id === id));
  return kept.length === reports.size ? reports : new Map(kept);
}

/** The slots whose node is missed, and those that are lost by now. */
export function lookForLost(
  reports: Reports,
  now_ms: number,
): { readonly reports: Reports; readonly lost: readonly string[] } {
  if (reports.size === 0) return { reports, lost: [] };
  const entries = [...reports];
  const isLost = ({ missed_ms }: Report): boolean =>
    missed_ms !== null && now_ms - missed_ms >= LOST_AFTER_MS;
  return {
    lost: entries.filter(([, report]) => isLost(report)).map(([fetch_id]) => fetch_id),
    reports: new Map(
      entries
        .filter(([, report]) => !isLost(report))
        .map(([fetch_id, report]) => {
          const isMissed = report.missed_ms === null && now_ms - report.heard_ms >= MISSED_AFTER_MS;
          return [fetch_id, isMissed ? { ...report, missed_ms: now_ms } : report];
        }),
    ),
  };
}

/** When to look again. */
export function nextLookAt(reports: Reports): number {
  let next_ms = Infinity;
  for (const { heard_ms, missed_ms } of reports.values())
    next_ms = Math.min(next_ms, missed_ms === null ? heard_ms + MISSED_AFTER_MS : missed_ms + LOST_AFTER_MS);
  return next_ms;
}
