/**
 * The public status of the service: what clients read under /v1/status, what nodes report to the status board, and what is
 * stored of incidents, maintenance windows and the history. Nothing here names a host, an address, a project or a key.
 */
import { type Static, Type } from "typebox";
import { Field, Component, Nullable, Timestamp } from "./common.ts";
import { ask, contract } from "../cluster/contracts/contract.ts";

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

export const StatusComponent = Component("StatusComponent", {
  id: Field(Type.String(), "The id of the component", "fetch"),
  group: Field(
    Nullable(Type.String()),
    "`company_data` for sources of company data, else null",
    "company_data",
  ),
  name: Field(Type.String(), "Its name", "Fetch"),
  description: Field(Type.String(), "What it does", "Retrieval of pages and documents"),
  status: Field(Type.Enum([...STATUSES]), "What it is like now"),
  reasons: Field(Type.Array(Type.Enum([...REASONS])), "Why it is not operational", ["low_success_rate"]),
  /** A figure that is not known is absent. */
  metrics: Field(
    Type.Record(Type.String(), Type.Number()),
    "Figures of the last 600 s; one that is not known is absent, and new ones may be added",
    { requests: 1240, success_rate: 0.981, latency_p95_ms: 2500, workers_alive: 3 },
  ),
});
export type StatusComponent = Static<typeof StatusComponent>;

/** The states of an update are those of an incident or of a maintenance window. */
export const StatusUpdate = Component("StatusUpdate", {
  at: Field(Timestamp, "When", "2026-11-23T09:40:00.000Z"),
  status: Field(Type.String(), "The status from then on", "identified"),
  message: Field(Type.String(), "What was said", "A proxy of the provider is overloaded"),
});

export const StatusIncident = Component("StatusIncident", {
  id: Field(Type.String(), "Its id", "inc_mf3k2x9q01ab"),
  title: Field(Type.String(), "What it is, in a few words", "Slow fetches"),
  status: Field(Type.Enum([...INCIDENT_STATES]), "How far it is"),
  impact: Field(Type.Enum([...IMPACTS]), "The least that its components are shown as while it is unresolved"),
  components: Field(Type.Array(Type.String()), "The components it concerns", ["fetch"]),
  created_at: Field(Timestamp, "When it was announced", "2026-11-23T09:12:00.000Z"),
  updated_at: Field(Timestamp, "When it last changed", "2026-11-23T09:40:00.000Z"),
  resolved_at: Field(
    Nullable(Timestamp),
    "When it was resolved; null: it is not",
    "2026-11-23T10:05:00.000Z",
  ),
  updates: Field(Type.Array(StatusUpdate), "What was said about it, newest first"),
});
export type StatusIncident = Static<typeof StatusIncident>;

export const StatusMaintenance = Component("StatusMaintenance", {
  id: Field(Type.String(), "Its id", "mnt_mf3k2x9q01ab"),
  title: Field(Type.String(), "What it is, in a few words", "Move of the database"),
  status: Field(Type.Enum([...MAINTENANCE_STATES]), "Whether it has begun"),
  components: Field(
    Type.Array(Type.String(), { description: "Empty: the whole service" }),
    "The components it concerns; empty: the whole service",
    ["storage"],
  ),
  starts_at: Field(Timestamp, "When it begins", "2026-11-24T22:00:00.000Z"),
  ends_at: Field(Timestamp, "When it ends", "2026-11-24T23:00:00.000Z"),
  created_at: Field(Timestamp, "When it was announced", "2026-11-23T09:12:00.000Z"),
  updated_at: Field(Timestamp, "When it last changed", "2026-11-23T09:40:00.000Z"),
  completed_at: Field(
    Nullable(Timestamp),
    "When it was completed; null: it is not",
    "2026-11-24T22:40:00.000Z",
  ),
  updates: Field(Type.Array(StatusUpdate), "What was said about it, newest first"),
});
export type StatusMaintenance = Static<typeof StatusMaintenance>;

export const StatusSummary = Component("StatusSummary", {
  status: Field(
    Type.Enum([...STATUSES]),
    "The worst status of the components, as the specification weighs them",
  ),
  description: Field(Type.String(), "The status in a sentence", "All systems are operational"),
  updated_at: Field(Timestamp, "When this was drawn up", "2026-11-23T09:40:15.000Z"),
});
export type StatusSummary = Static<typeof StatusSummary>;

export const ServiceStatus = Component("ServiceStatus", {
  ...StatusSummary.properties,
  window_s: Field(Type.Integer(), "The figures are of so many seconds", 600),
  components: Field(Type.Array(StatusComponent), "Every component of this deployment"),
  incidents: Field(
    Type.Array(StatusIncident),
    "Unresolved incidents and those resolved within 7 days, newest first",
  ),
  maintenance: Field(
    Type.Array(StatusMaintenance),
    "Windows to come, in progress, or completed within 7 days, soonest first",
  ),
});
export type ServiceStatus = Static<typeof ServiceStatus>;

export const ComponentStatus = Component("ComponentStatus", {
  ...StatusComponent.properties,
  updated_at: Field(Timestamp, "When this was drawn up", "2026-11-23T09:40:15.000Z"),
  incidents: Field(Type.Array(StatusIncident), "Those that name the component"),
  maintenance: Field(Type.Array(StatusMaintenance), "Those that name the component, or the whole service"),
});

export const StatusSeries = Component("StatusSeries", {
  /** 0 to 1; null: nothing was recorded. */
  uptime: Field(
    Nullable(Type.Number()),
    "0 to 1: a partial outage counts as 30 % of its time down, a major outage as all of it; null: nothing was recorded",
    0.9995,
  ),
  recorded_s: Field(
    Type.Integer(),
    "The seconds of the period that were recorded, in steps of 300: `uptime` is of these alone",
    86_400,
  ),
  statuses: Field(
    Type.Array(Nullable(Type.Enum([...STATUSES]))),
    "The worst status of each bucket, oldest first; null: nothing was recorded",
  ),
});
export type StatusSeries = Static<typeof StatusSeries>;

export const StatusHistory = Component("StatusHistory", {
  /** When the first bucket begins, and when the last one ends. */
  since: Field(Timestamp, "When the first bucket begins", "2026-11-22T09:45:00.000Z"),
  until: Field(Timestamp, "When the last bucket ends", "2026-11-23T09:45:00.000Z"),
  bucket_s: Field(Type.Integer(), "The length of a bucket: 300, beyond 24 hours 3600", 300),
  components: Field(
    Type.Record(Type.String(), StatusSeries),
    "By component; `_overall` is the whole service",
    { _overall: { uptime: 1, recorded_s: 300, statuses: ["operational", null] } },
  ),
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
