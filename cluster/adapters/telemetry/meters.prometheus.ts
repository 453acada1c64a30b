/**
 * Meters as Prometheus reads them and log lines as pino writes them, one JSON object a line on standard error
 * (readable ones on a terminal). Process figures (memory, event loop, CPU) come along.
 */
import pino from "pino";
import pretty from "pino-pretty";
import { collectDefaultMetrics, Gauge, type Metric, Registry } from "prom-client";
import { type Level, METERS, type Meter, type Meters } from "../../ports/meters.ts";
import { counter, histogram } from "./metric-series.ts";

export interface PrometheusMeters extends Meters {
  /** What /metrics answers, in the text format. */
  render(): Promise<string>;
  readonly contentType: string;
}

export interface MetersSettings {
  /** Less important lines are left out. */
  readonly level: Level | "trace" | "fatal" | "silent";
  /** Where log lines go; default standard error. */
  readonly write?: { write(line: string): void };
}

/** Fields in which somebody might hand in a secret all the same. */
const REDACTED = ["authorization", "api_key", "secret", "token", "password", "headers.authorization"];

export function prometheusMeters({ level, write }: MetersSettings): PrometheusMeters {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "trawl_" });
  const counters = new Map<Meter, ReturnType<typeof counter>>();
  const gauges = new Map<Meter, Gauge>();
  const histograms = new Map<Meter, ReturnType<typeof histogram>>();
  for (const [key, meter] of Object.entries(METERS)) {
    const name = key as Meter;
    const { help, labels } = meter;
    switch (meter.kind) {
      case "counter":
        counters.set(name, counter({ name, help, labels }));
        registry.registerMetric(counters.get(name) as unknown as Metric);
        break;
      case "gauge":
        gauges.set(name, new Gauge({ name, help, labelNames: [...labels], registers: [registry] }));
        break;
      case "histogram":
        histograms.set(name, histogram({ name, help, labels, buckets: meter.buckets }));
        registry.registerMetric(histograms.get(name) as unknown as Metric);
        break;
    }
  }

  const terminal = process.stderr.isTTY ? pretty({ destination: 2, sync: true }) : pino.destination(2);
  const log = pino(
    {
      level,
      base: null,
      redact: { paths: REDACTED, censor: "[redacted]" },
      serializers: { problem: pino.stdSerializers.errWithCause },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    write ?? terminal,
  );

  return {
    count: (meter, labels, by = 1) => counters.get(meter)!.add(labels, by),
    gauge: (meter, labels, value) => gauges.get(meter)!.set(labels, value),
    observe: (meter, labels, value) => histograms.get(meter)!.observe(labels, value),
    say: (at, message, fields) => log[at](fields ?? {}, message),
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
