/**
 * Numbers for operators, as tables: Prometheus naming, units last, and each label has a closed set of values, never a domain, URL,
 * key or job id. Here stand those of the runtime; each other part declares a table of its own (`metrics.ts` in its folder) and adds
 * its type to KnownMetrics. To add a metric, add a row to the table of its part and call `metrics.count`, `gauge` or `observe` with
 * its name.
 */
import { FAULT_CODES } from "./fault.ts";

interface Series {
  readonly help: string;
  readonly labels: readonly string[];
  /** The values of each label, where they are few: then each series is there from the start, as 0. */
  readonly values?: Readonly<Record<string, readonly string[]>>;
  /** The series that are there from the start, where not every combination of values occurs. */
  readonly series?: readonly Readonly<Record<string, string>>[];
}

export type MetricSpec = Series &
  (
    | { readonly kind: "counter" | "gauge" }
    | { readonly kind: "histogram"; readonly buckets: readonly number[] }
  );
export type MetricTable = Readonly<Record<`trawl_${string}`, MetricSpec>>;

export const BOOLEANS = ["false", "true"];
/** An answer by its operation, fresh or from a cache, and each of its errors. */
export const answerSeries = (operations: readonly string[], errors: readonly string[]) =>
  operations.flatMap((operation) => [
    ...BOOLEANS.map((cached) => ({ operation, outcome: "ok", cached })),
    ...errors.map((outcome) => ({ operation, outcome, cached: "false" })),
  ]);
/** Buckets of durations. */
export const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 150] as const;

export const RUNTIME_METRICS = {
  trawl_bus_delivery_delay_seconds: {
    kind: "histogram",
    help: "Time from when the bus stored an envelope until the owner of its partition got it",
    labels: ["stream"],
    values: { stream: ["sync", "work"] },
    buckets: SECONDS,
  },
  trawl_bus_redeliveries_total: {
    kind: "counter",
    help: "Envelopes stored before this node began to read their partition: an earlier owner has not acknowledged them",
    labels: ["stream"],
    values: { stream: ["sync", "work"] },
  },
  trawl_actor_asks_repeated_total: {
    kind: "counter",
    help: "Asks that were sent again because no answer came for ten seconds, or their partition moved",
    labels: [],
  },
  trawl_lease_renewals_late_total: {
    kind: "counter",
    help: "Leases of partitions that were renewed after two thirds of their time",
    labels: [],
  },
  trawl_memory_limit_bytes: {
    kind: "gauge",
    help: "Bytes of bodies and messages that this node may hold in memory at once",
    labels: [],
  },
  trawl_memory_reserved_bytes: {
    kind: "gauge",
    help: "Bytes of bodies and messages reserved in memory",
    labels: [],
  },
  trawl_memory_waiting: { kind: "gauge", help: "Reservations of memory that wait for room", labels: [] },
  trawl_memory_refusals_total: {
    kind: "counter",
    help: "Reservations of memory that found no room in time",
    labels: [],
  },
  trawl_actor_activations: { kind: "gauge", help: "Activations on this node", labels: ["kind"] },
  trawl_actor_mailbox_depth: { kind: "gauge", help: "Messages waiting in mailboxes", labels: ["kind"] },
  trawl_actor_oldest_message_seconds: {
    kind: "gauge",
    help: "How long the oldest message has waited in a mailbox, or for its turn to be stored; 0: none waits",
    labels: ["kind"],
  },
  trawl_clock_skew_seconds: {
    kind: "gauge",
    help: "How far this node's clock is ahead of the cluster's; negative: behind",
    labels: [],
  },
  trawl_actor_store_waits: {
    kind: "gauge",
    help: "Activations on this node that wait for the document store",
    labels: [],
  },
  trawl_actor_failures_total: { kind: "counter", help: "Turns that threw", labels: ["kind"] },
  trawl_dead_letters_total: {
    kind: "counter",
    help: "Messages without a caller that were given up after five broken turns; trawl dead-letters shows them",
    labels: ["kind"],
  },
  trawl_unreadable_messages_total: {
    kind: "counter",
    help: "Messages left to the next owner of their partition because this version cannot read them",
    labels: [],
  },
  trawl_partitions: {
    kind: "gauge",
    help: "Partitions of the cluster by whether a node owns them: owned, unowned",
    labels: ["state"],
    values: { state: ["owned", "unowned"] },
  },
  trawl_partitions_owned: { kind: "gauge", help: "Partitions that this node owns", labels: [] },
  trawl_actor_pending_asks: {
    kind: "gauge",
    help: "Questions to actors that wait for their answer",
    labels: [],
  },
  trawl_actor_background_work: {
    kind: "gauge",
    help: "Work of actors that runs beside their turns",
    labels: [],
  },
  trawl_faults_total: {
    kind: "counter",
    help: "Faults of the bus, the document store and the blob store",
    labels: ["code"],
    values: { code: FAULT_CODES },
  },
} as const satisfies MetricTable;
type RuntimeMetrics = typeof RUNTIME_METRICS;

/** Every metric of the program, by name: the tables of its parts, merged by their declarations. */
export interface KnownMetrics extends RuntimeMetrics {}

export type MetricName = keyof KnownMetrics;
export type MetricLabels<M extends MetricName> = Readonly<Record<KnownMetrics[M]["labels"][number], string>>;

export interface Metrics {
  /** The series is there from now on, as 0: of labels whose values are known only when the service starts. */
  begin<M extends MetricName>(metric: M, labels: MetricLabels<M>): void;
  count<M extends MetricName>(metric: M, labels: MetricLabels<M>, by?: number): void;
  gauge<M extends MetricName>(metric: M, labels: MetricLabels<M>, value: number): void;
  observe<M extends MetricName>(metric: M, labels: MetricLabels<M>, value: number): void;
}

const ignore = (): void => {};

/** Counts nothing: the default where a caller gives no metrics. */
export const SILENT_METRICS: Metrics = { begin: ignore, count: ignore, gauge: ignore, observe: ignore };
