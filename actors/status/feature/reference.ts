/** The public status in the OpenAPI document. */
import type { ApiReference } from "../../../gateway/openapi/reference.ts";
import {
  ComponentStatus,
  ServiceStatus,
  StatusComponent,
  StatusHistory,
  StatusIncident,
  StatusMaintenance,
  StatusSeries,
  StatusSummary,
  StatusUpdate,
} from "../../../schemas/status.ts";

const COMPONENT = {
  id: ["The id of the component", "fetch"],
  group: ["`company_data` for sources of company data, else null", "company_data"],
  name: ["Its name", "Fetch"],
  description: ["What it does", "Retrieval of pages and documents"],
  status: "What it is like now",
  reasons: ["Why it is not operational", ["low_success_rate"]],
  metrics: [
    "Figures of the last 600 s; one that is not known is absent, and new ones may be added",
    { requests: 1240, success_rate: 0.981, latency_p95_ms: 2500, workers_alive: 3 },
  ],
} as const;

const NOTICE = {
  id: ["Its id", "inc_mf3k2x9q01ab"],
  title: ["What it is, in a few words", "Slow fetches"],
  components: ["The components it concerns", ["fetch"]],
  created_at: ["When it was announced", "2026-11-23T09:12:00.000Z"],
  updated_at: ["When it last changed", "2026-11-23T09:40:00.000Z"],
  updates: "What was said about it, newest first",
} as const;

const OVERALL_STATUS = {
  status: "The worst status of the components, as the specification weighs them",
  description: ["The status in a sentence", "All systems are operational"],
  updated_at: ["When this was drawn up", "2026-11-23T09:40:15.000Z"],
} as const;

const NAMING = {
  incidents: "Unresolved incidents and those resolved within 7 days, newest first",
  maintenance: "Windows to come, in progress, or completed within 7 days, soonest first",
} as const;

export const statusReference: ApiReference = {
  schemas: {
    ServiceStatus,
    StatusSummary,
    StatusComponent,
    ComponentStatus,
    StatusIncident,
    StatusMaintenance,
    StatusUpdate,
    StatusHistory,
    StatusSeries,
  },
  fields: {
    ServiceStatus: {
      ...OVERALL_STATUS,
      ...NAMING,
      window_s: ["The figures are of so many seconds", 600],
      components: "Every component of this deployment",
    },
    StatusSummary: OVERALL_STATUS,
    StatusComponent: COMPONENT,
    ComponentStatus: {
      ...COMPONENT,
      updated_at: OVERALL_STATUS.updated_at,
      incidents: "Those that name the component",
      maintenance: "Those that name the component, or the whole service",
    },
    StatusIncident: {
      ...NOTICE,
      status: "How far it is",
      impact: "The least that its components are shown as while it is unresolved",
      resolved_at: ["When it was resolved; null: it is not", "2026-11-23T10:05:00.000Z"],
    },
    StatusMaintenance: {
      ...NOTICE,
      id: ["Its id", "mnt_mf3k2x9q01ab"],
      title: ["What it is, in a few words", "Move of the database"],
      status: "Whether it has begun",
      components: ["The components it concerns; empty: the whole service", ["storage"]],
      starts_at: ["When it begins", "2026-11-24T22:00:00.000Z"],
      ends_at: ["When it ends", "2026-11-24T23:00:00.000Z"],
      completed_at: ["When it was completed; null: it is not", "2026-11-24T22:40:00.000Z"],
    },
    StatusUpdate: {
      at: ["When", "2026-11-23T09:40:00.000Z"],
      status: ["The status from then on", "identified"],
      message: ["What was said", "A proxy of the provider is overloaded"],
    },
    StatusHistory: {
      since: ["When the first bucket begins", "2026-11-22T09:45:00.000Z"],
      until: ["When the last bucket ends", "2026-11-23T09:45:00.000Z"],
      bucket_s: ["The length of a bucket: 300, beyond 24 hours 3600", 300],
      components: [
        "By component; `_overall` is the whole service",
        { _overall: { uptime: 0.9995, statuses: ["operational", null] } },
      ],
    },
    StatusSeries: {
      uptime: [
        "0 to 1: a partial outage counts as 30 % of its time down, a major outage as all of it; null: nothing was recorded",
        0.9995,
      ],
      statuses: "The worst status of each bucket, oldest first; null: nothing was recorded",
    },
    statusComponent: { id: ["The id of the component", "fetch"] },
    statusHistory: { hours: ["How far back, in hours", 24] },
  },
};
