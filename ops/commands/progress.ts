/** The progress of a job as one line of a given width. Pure functions. */
import type { JobCounts } from "../../schemas/jobs.ts";

/** How many items had finished at a time. */
export interface Sample {
  readonly at_ms: number;
  readonly finished: number;
}

const MAX_BAR = 30;
const MIN_BAR = 8;
/** The rate is that of the last half minute. */
const RATE_WINDOW_MS = 30_000;

export const finishedOf = ({ done, failed, cancelled }: JobCounts): number => done + failed + cancelled;

/** Items per second over the last half minute; null with too few samples. */
export function rateOf(samples: readonly Sample[]): number | null {
  const last = samples.at(-1);
  const first = samples.find(({ at_ms }) => last && last.at_ms - at_ms <= RATE_WINDOW_MS);
  if (!last || !first || last.at_ms === first.at_ms) return null;
  return ((last.finished - first.finished) * 1_000) / (last.at_ms - first.at_ms);
}

/** Items of the job; for a crawl the pages that are known and not excluded, `most` at most. */
const totalOf = ({ total, discovered = 0, excluded = 0 }: JobCounts, most: number): number =>
  Math.max(total, Math.min(most, discovered - excluded));

/** `████▌    1,234 of 5,000, 12.3/s, 4 failed, 5 min left` */
export function progress(
  counts: JobCounts,
  samples: readonly Sample[],
  columns: number,
  most = Infinity,
): string {
  const total = totalOf(counts, most);
  const finished = finishedOf(counts);
  const rate = rateOf(samples);
  const left_s = rate === null || rate === 0 ? null : (total - finished) / rate;
  const words = [
    `${grouped(finished)} of ${grouped(total)}`,
    ...(rate === null ? [] : [`${rate.toFixed(rate < 10 ? 1 : 0)}/s`]),
    ...(counts.failed > 0 ? [`${grouped(counts.failed)} failed`] : []),
    ...(left_s === null || finished === total ? [] : [`${span(left_s)} left`]),
  ].join(", ");
  const width = Math.min(MAX_BAR, columns - words.length - 3);
  const line = width < MIN_BAR ? words : `${bar(total === 0 ? 1 : finished / total, width)}  ${words}`;
  return line.slice(0, Math.max(0, columns - 1));
}

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

function bar(share: number, width: number): string {
  const eighths = Math.floor(share * width * 8);
  const full = "█".repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]!;
  return full.padEnd(width, "░");
}

const grouped = (count: number): string => count.toLocaleString("en-US");

export function span(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3_600).toFixed(1)} h`;
}
