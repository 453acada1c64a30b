/** Seven days of a component as bars, and its uptime with the time that the figure is of. Pure. */
import { escapeHtml } from "../../../../gateway/html-page.ts";
import { type StatusHistory, type StatusSeries, STATUSES } from "../../../../schemas/status.ts";
import { timeText, WORDS } from "./parts.ts";

/** Two hours each: narrow enough for a phone. */
const BUCKETS_PER_BAR = 2;
const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

/** "99.95 % up in 7 days", "100.00 % up in the 5 minutes recorded in 7 days"; empty: nothing was recorded. */
export function uptimeText(series: StatusSeries | undefined, { since, until }: Period): string {
  if (series?.uptime == null) return "";
  const percent = `${(Math.floor(series.uptime * 10_000) / 100).toFixed(2)} % up in`;
  const period_s = (Date.parse(until) - Date.parse(since)) / 1_000;
  // The last hour of the period is not over.
  const isWhole = series.recorded_s >= period_s - HOUR_S;
  return isWhole
    ? `${percent} ${durationText(period_s)}`
    : `${percent} the ${durationText(series.recorded_s)} recorded in ${durationText(period_s)}`;
}

type Period = Pick<StatusHistory, "since" | "until">;

/** In the largest unit of which there are two at least, rounded down. */
export function durationText(seconds: number): string {
  if (seconds >= 2 * DAY_S) return `${Math.floor(seconds / DAY_S)} days`;
  if (seconds >= 2 * HOUR_S) return `${Math.floor(seconds / HOUR_S)} hours`;
  return `${Math.floor(seconds / 60)} minutes`;
}

/** The bars are one picture for a screen reader; what is not operational in them follows as a list. */
export function bars(series: StatusSeries | undefined, history: StatusHistory): string {
  const statuses = series?.statuses ?? [];
  const all = Array.from({ length: Math.ceil(statuses.length / BUCKETS_PER_BAR) }, (_, bar) => {
    const from = bar * BUCKETS_PER_BAR;
    const known = statuses.slice(from, from + BUCKETS_PER_BAR).filter((status) => status !== null);
    const worst = STATUSES.findLast((status) => known.includes(status)) ?? null;
    const begins_ms = Date.parse(history.since) + from * history.bucket_s * 1_000;
    return { worst, begins: timeText(new Date(begins_ms).toISOString()) };
  });
  const drawn = all.map(
    ({ worst, begins }) =>
      `<i class="${worst ?? ""}" title="${begins}: ${worst ? WORDS[worst] : "no data"}"></i>`,
  );
  const bad = all.filter(({ worst }) => worst !== null && worst !== "operational");
  const label = `The last seven days. ${uptimeText(series, history) || "Nothing was recorded"}`;
  return (
    `<div class="bars" role="img" aria-label="${escapeHtml(label)}">${drawn.join("")}</div>` +
    (bad.length === 0
      ? ""
      : `<details><summary>When it was not operational (${bad.length})</summary><ul class="plain">${bad
          .map(({ worst, begins }) => `<li>${begins}: ${WORDS[worst!]}</li>`)
          .join("")}</ul></details>`)
  );
}
