/**
 * The public status of the service: what clients read under /v1/status, what nodes report to the status board, and what is
 * stored of incidents, maintenance windows and the history. Nothing here names a host, an address, a project or a key.
 */
import { type Static, Type } from "typebox";
import { Nullable, Timestamp } from "./common.ts";
import { ask, contract } from "./contract.ts";

/** From best to worst. */
export const STATUSES = ["operational", "maintenance", "degraded", "partial_outage", "major_outage"] as const;
export type Status = (typeof STATUSES)[number];

export const REASONS = [
  "no_workers",
  "queue_lag",
  "low_success_rate",
  "high_latency",
  "engines_reduced",
  "engines_unavailable",
  "tier_errors",
  "scheduler_stalled",
  "jobs_waiting",
  "database_unreachable",
  "cache_unreachable",
  "object_storage_unreachable",
  "filings_backoff",
  "throttled",
  "incident",
  "maintenance",
  "canary_failed",
  "source_backoff",
  "schema_drift",
  "parse_failures",
] as const;
export type Reason = (typeof REASONS)[number];

/** Components with an id of their own; beside them there is `company_<source>` for each active company source. */
export const COMPONENT_IDS = [
  "api",
  "search",
  "fetch",
  "browser_rendering",
  "archive",
  "paid_tiers",
  "filings",
  "batch_jobs",
  "storage",
] as const;
export const COMPANY_COMPONENT = /^company_[a-z0-9_]{1,60}$/;

export const INCIDENT_STATES = ["investigating", "identified", "monitoring", "resolved"] as const;
export type IncidentState = (typeof INCIDENT_STATES)[number];
export const IMPACTS = ["none", "degraded", "partial_outage", "major_outage"] as const;
export type Impact = (typeof IMPACTS)[number];
export const MAINTENANCE_STATES = ["scheduled", "in_progress", "completed"] as const;
export type MaintenanceState = (typeof MAINTENANCE_STATES)[number];

/** The figures of a component are of this long. */
export const WINDOW_S = 600;
/** The overall status in the history. */
export const OVERALL = "_overall";
export const MAX_HISTORY_HOURS = 168;

export const StatusComponent = Type.Object({
  id: Type.String(),
  group: Nullable(Type.String()),
  name: Type.String(),
  description: Type.String(),
  status: Type.Enum([...STATUSES]),
  reasons: Type.Array(Type.Enum([...REASONS])),
  /** A figure that is not known is absent. */
  metrics: Type.Record(Type.String(), Type.Number()),
});
export type StatusComponent = Static<typeof StatusComponent>;

/** The states of an update are those of an incident or of a maintenance window. */
export const StatusUpdate = Type.Object({ at: Timestamp, status: Type.String(), message: Type.String() });

export const StatusIncident = Type.Object({
  id: Type.String(),
  title: Type.String(),
  status: Type.Enum([...INCIDENT_STATES]),
  impact: Type.Enum([...IMPACTS]),
  components: Type.Array(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
  resolved_at: Nullable(Timestamp),
  updates: Type.Array(StatusUpdate),
});
export type StatusIncident = Static<typeof StatusIncident>;

export const StatusMaintenance = Type.Object({
  id: Type.String(),
  title: Type.String(),
  status: Type.Enum([...MAINTENANCE_STATES]),
  components: Type.Array(Type.String(), { description: "Empty: the whole service" }),
  starts_at: Timestamp,
  ends_at: Timestamp,
  created_at: Timestamp,
  updated_at: Timestamp,
  completed_at: Nullable(Timestamp),
  updates: Type.Array(StatusUpdate),
});
export type StatusMaintenance = Static<typeof StatusMaintenance>;

export const StatusSummary = Type.Object({
  status: Type.Enum([...STATUSES]),
  description: Type.String(),
  updated_at: Timestamp,
});
export type StatusSummary = Static<typeof StatusSummary>;

export const ServiceStatus = Type.Object({
  ...StatusSummary.properties,
  window_s: Type.Integer(),
  components: Type.Array(StatusComponent),
  incidents: Type.Array(StatusIncident),
  maintenance: Type.Array(StatusMaintenance),
});
export type ServiceStatus = Static<typeof ServiceStatus>;

export const ComponentStatus = Type.Object({
  ...StatusComponent.properties,
  updated_at: Timestamp,
  incidents: Type.Array(StatusIncident),
  maintenance: Type.Array(StatusMaintenance),
});

export const StatusSeries = Type.Object({
  /** 0 to 1; null: nothing was recorded. */
  uptime: Nullable(Type.Number()),
  statuses: Type.Array(Nullable(Type.Enum([...STATUSES]))),
});
export type StatusSeries = Static<typeof StatusSeries>;

export const StatusHistory = Type.Object({
  /** When the first bucket begins, and when the last one ends. */
  since: Timestamp,
  until: Timestamp,
  bucket_s: Type.Integer(),
  components: Type.Record(Type.String(), StatusSeries),
});
export type StatusHistory = Static<typeof StatusHistory>;

/** How figures of several nodes become one: `buckets` are latencies counted by bound, and become their 95th percentile. */
export const Figure = Type.Union([
  Type.Object({ sum: Type.Number() }),
  Type.Object({ max: Type.Number() }),
  Type.Object({ min: Type.Number() }),
  Type.Object({ buckets: Type.Array(Type.Integer()) }),
]);
export type Figure = Static<typeof Figure>;
export const Figures = Type.Record(Type.String(), Figure);
export type Figures = Static<typeof Figures>;

/** Collects the figures of all nodes: one for the cluster. It stores nothing, so it works without the database. */
export const StatusBoard = contract("status_board", {
  /** Replaces what the node reported before; answered with the figures of all nodes. */
  report: ask(
    Type.Object({ node: Type.String(), figures: Figures }),
    Type.Object({
      figures: Figures,
      /** How long the board has been collecting: it knows of every node after two of their periods. */
      collected_ms: Type.Number(),
    }),
  ),
});
export const BOARD_KEY = "main";

/** The worst status of components in one bucket of five minutes: one code of the codes in history.ts each. */
export const Observation = Type.Object({
  bucket: Type.Integer({ description: "Unix time divided by five minutes" }),
  codes: Type.Record(Type.String(), Type.String()),
});
export type Observation = Static<typeof Observation>;

/** By component, one code for each bucket from `first` on; "." where nothing was recorded. */
export const HistoryRows = Type.Object({
  first: Type.Integer(),
  rows: Type.Record(Type.String(), Type.String()),
});
export type HistoryRows = Static<typeof HistoryRows>;

/** Keeps seven days of statuses: one for the cluster. */
export const StatusHistorian = contract("status_history", {
  /** Worse statuses of a bucket replace better ones. Resolved once stored. */
  record: ask(Type.Object({ observations: Type.Array(Observation) }), Type.Null()),
  read: ask(Type.Null(), HistoryRows),
});
export const HISTORIAN_KEY = "main";
