/** Meters that only remember: for tests and for tools that show nothing. */
import type { Level, Meters } from "../../ports/meters.ts";

export interface SilentMeters extends Meters {
  /** What was counted, by meter and label values: `trawl_faults_total no_answer`. */
  readonly counts: ReadonlyMap<string, number>;
  /** The last log lines, at most 1,000. */
  readonly lines: readonly { level: Level; message: string; fields?: Readonly<Record<string, unknown>> }[];
}

const MAX_LINES = 1_000;

const nameOf = (meter: string, labels: object): string => [meter, ...Object.values(labels)].join(" ");

export function silentMeters(): SilentMeters {
  const counts = new Map<string, number>();
  const lines: { level: Level; message: string; fields?: Readonly<Record<string, unknown>> }[] = [];
  return {
    counts,
    lines,
    count(meter, labels, by = 1) {
      const name = nameOf(meter, labels);
      counts.set(name, (counts.get(name) ?? 0) + by);
    },
    gauge: (meter, labels, value) => void counts.set(nameOf(meter, labels), value),
    observe() {},
    say(level, message, fields) {
      if (lines.length === MAX_LINES) lines.shift();
      lines.push({ level, message, ...(fields && { fields }) });
    },
  };
}
