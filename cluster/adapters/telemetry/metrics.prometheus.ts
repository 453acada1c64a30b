/** Metrics in a registry of prom-client (the package of that name's successor, @prometheus-io/client), together with its figures of the process (memory, event loop, CPU). */
import { collectDefaultMetrics, Gauge, type Metric, Registry } from "prom-client";
import { type MetricLabels, type MetricName, type Metrics, type MetricTable } from "../../ports/metrics.ts";
import { counter, histogram } from "./metric-series.ts";

export interface PrometheusMetrics extends Metrics {
  /** The answer of /metrics, in the text format. */
  render(): Promise<string>;
  readonly contentType: string;
}

export function prometheusMetrics(table: MetricTable): PrometheusMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: NEVER_MS });
  for (const name of [...MISNAMED, ...OF_A_TIMER]) registry.removeSingleMetric(name);
  const counters = new Map<MetricName, ReturnType<typeof counter>>();
  const gauges = new Map<MetricName, Gauge<string>>();
  const histograms = new Map<MetricName, ReturnType<typeof histogram>>();
  for (const [key, metric] of Object.entries(table)) {
    const name = key as MetricName;
    const { help, labels } = metric;
    switch (metric.kind) {
      case "counter":
        counters.set(name, counter({ name, help, labels }));
        registry.registerMetric(counters.get(name) as unknown as Metric);
        break;
      case "gauge":
        gauges.set(name, new Gauge({ name, help, labelNames: [...labels], registers: [registry] }));
        break;
      case "histogram":
        histograms.set(name, histogram({ name, help, labels, buckets: metric.buckets }));
        registry.registerMetric(histograms.get(name) as unknown as Metric);
        break;
    }
  }
  const record: Metrics = {
    begin(metric, labels) {
      counters.get(metric)?.add(labels, 0);
      gauges.get(metric)?.set(labels, 0);
      histograms.get(metric)?.begin(labels);
    },
    count: (metric, labels, by = 1) => counters.get(metric)!.add(labels, by),
    gauge: (metric, labels, value) => gauges.get(metric)!.set(labels, value),
    observe: (metric, labels, value) => histograms.get(metric)!.observe(labels, value),
  };
  for (const [key, metric] of Object.entries(table)) {
    const name = key as MetricName;
    const known = metric.series ?? (metric.values ? combinations(metric.labels, metric.values) : []);
    for (const labels of known) record.begin(name, labels as MetricLabels<typeof name>);
  }
  return {
    ...record,
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** Gauges with the suffix of a counter; figures by type have other names. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** A timer of its own would fill them ten times a second in every process; the lag of the event loop says when a node is busy. */
const OF_A_TIMER = ["nodejs_eventloop_utilization_summary", "nodejs_eventloop_utilization_histogram"];
/** The longest wait of a timer. */
const NEVER_MS = 2 ** 31 - 1;

/** Every combination of the values of the labels. */
function combinations(
  [name, ...rest]: readonly string[],
  values: Readonly<Record<string, readonly string[]>>,
): readonly Readonly<Record<string, string>>[] {
  if (name === undefined) return [{}];
  const others = combinations(rest, values);
  return values[name]!.flatMap((value) => others.map((labels) => ({ [name]: value, ...labels })));
}
