/** Metrics and a log that only remember what they were given: for tests, and for tools that show nothing. */
import type { Log, LogFields, LogLevel } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields?: LogFields;
}

export interface SilentTelemetry {
  readonly metrics: Metrics;
  readonly log: Log;
  /** Counters and gauges by metric and label values: `trawl_faults_total no_answer`. */
  readonly counts: ReadonlyMap<string, number>;
  /** The newest log lines, at most 1,000. */
  readonly lines: readonly LogLine[];
}

const MAX_LINES = 1_000;

const nameOf = (metric: string, labels: object): string => [metric, ...Object.values(labels)].join(" ");

export function silentTelemetry(): SilentTelemetry {
  const counts = new Map<string, number>();
  const lines: LogLine[] = [];
  const at =
    (level: LogLevel) =>
    (message: string, fields?: LogFields): void => {
      if (lines.length === MAX_LINES) lines.shift();
      lines.push({ level, message, ...(fields && { fields }) });
    };
  return {
    counts,
    lines,
    metrics: {
      begin(metric, labels) {
        const name = nameOf(metric, labels);
        counts.set(name, counts.get(name) ?? 0);
      },
      count(metric, labels, by = 1) {
        const name = nameOf(metric, labels);
        counts.set(name, (counts.get(name) ?? 0) + by);
      },
      gauge: (metric, labels, value) => void counts.set(nameOf(metric, labels), value),
      observe() {},
    },
    log: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") },
  };
}
