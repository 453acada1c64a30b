/** Lengths of time on the command line: 90s, 30m, 6h, 7d. */
import { InvalidArgumentError } from "commander";

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
export const HOUR_MS = UNITS.h;

/** In milliseconds. Throws InvalidArgumentError. */
export function readDuration(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError("Not a time as 90s, 30m, 6h or 7d.");
  return Number(count) * UNITS[unit as keyof typeof UNITS];
}

/** "90 s", "5 min", "3 h". */
export function shortDuration(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1_000));
  if (s < 120) return `${s} s`;
  return s < 7_200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3_600)} h`;
}
