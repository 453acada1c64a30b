/**
 * Alerts: the webhooks that are told when a key, project or customer reaches 50, 80 or 100 percent of a monthly allowance, or
 * what the operator announces of the service, as /v1/alerts shows them.
 */
import { type Static, Type } from "typebox";
import { THRESHOLDS } from "./accounts.ts";
import { Field, Component, Nullable, Timestamp } from "./common.ts";
import { deliveryContract } from "./delivery.ts";
import { StatusIncident, StatusMaintenance } from "./status.ts";

const USAGE_SCOPES = ["key", "project", "customer"] as const;
/** `status`: the whole service. */
const ALERT_SCOPES = [...USAGE_SCOPES, "status"] as const;
export type AlertScope = (typeof ALERT_SCOPES)[number];

const MAX_URL_CHARS = 2_048;
const Thresholds = Type.Array(Type.Enum([...THRESHOLDS]), { minItems: 1, maxItems: 3, uniqueItems: true });

/** POST /v1/alerts. */
export const AlertBody = Component("AlertBody", {
  url: Field(
    Type.String({ maxLength: MAX_URL_CHARS, description: "A public https address" }),
    null,
    "https://client.example/alerts",
  ),
  scope: Field(
    Type.Enum([...ALERT_SCOPES]),
    "Whose allowances it is about; `status`: incidents and maintenance of the service",
    "key",
  ),
  key: Type.Optional(
    Field(
      Nullable(
        Type.String({
          maxLength: 100,
          description: "With scope key: the prefix of the key; default the calling key",
        }),
      ),
      null,
      "sk_abcdefg",
    ),
  ),
  project: Type.Optional(
    Field(
      Nullable(
        Type.String({
          maxLength: 100,
          description: "With scope project: its name; default the calling key's project",
        }),
      ),
      null,
      "research",
    ),
  ),
  thresholds: Type.Optional(
    Field(Thresholds, "Percent of an allowance; default all. Not with scope status", [80, 100]),
  ),
});
export type AlertBody = Static<typeof AlertBody>;

export const AlertHook = Component("AlertHook", {
  id: Field(Type.Integer(), "Its number", 1),
  url: Field(
    Nullable(Type.String()),
    "Where events are told, with passwords and query secrets masked; null: this node cannot read it",
    "https://client.example/alerts",
  ),
  scope: Field(
    Type.Enum([...ALERT_SCOPES]),
    "Whose allowances it is about; `status`: incidents and maintenance of the service",
    "key",
  ),
  key: Field(
    Nullable(Type.String()),
    "With scope key: the prefix of the key; with scope status: of the key that made it",
    "sk_abcdefg",
  ),
  project: Field(Nullable(Type.String()), "With scope project: its name", "research"),
  thresholds: Field(Type.Array(Type.Integer()), "Percent of an allowance; none with scope status", [80, 100]),
  created_at: Timestamp,
  last_delivery_at: Field(Nullable(Timestamp), "When a delivery was last tried; null: none was"),
  last_status: Field(
    Nullable(Type.String()),
    "`delivered_<code>`, `http_<code>`, `error_<class>` or `blocked_destination`; null before the first delivery",
    "delivered_200",
  ),
});
export type AlertHook = Static<typeof AlertHook>;

export const AlertHookCreated = Component("AlertHookCreated", {
  ...AlertHook.properties,
  /** Signs the deliveries. It is not shown again. */
  secret: Field(
    Type.String(),
    "Signs deliveries; it is not shown again",
    "whsec_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345",
  ),
});

/** Body of a delivery to a webhook. */
export const UsageThresholdEvent = Component("UsageThresholdEvent", {
  id: Field(Type.String(), "The id of the crossing, the same in every attempt", "evt_0123456789abcdef"),
  type: Field(Type.Literal("usage.threshold"), "The kind of event"),
  created_at: Field(Timestamp, "When it was crossed"),
  scope: Field(Type.Enum([...USAGE_SCOPES]), "Whose allowance it is"),
  key: Field(Nullable(Type.String()), "The prefix of the key; null for other scopes", "sk_abcdefg"),
  project: Field(Nullable(Type.String()), "The project; null for scope customer", "research"),
  threshold: Field(Type.Integer(), "Percent of the allowance", 80),
  period: Field(Type.String(), "The month, UTC", "2026-11"),
  used: Field(
    Nullable(Type.Union([Type.Integer(), Type.String()])),
    "Requests, or an amount; null where it would tell an external customer what providers cost",
    800,
  ),
  limit: Field(Type.Union([Type.Integer(), Type.String()]), "The allowance, in the same unit", 1000),
  unit: Field(Type.String(), "`search_requests`, `fetch_requests` or a currency", "fetch_requests"),
  resets_at: Field(Timestamp, "When the month ends"),
});
export type UsageThresholdEvent = Static<typeof UsageThresholdEvent>;

/** Body of a delivery to a webhook of scope status: for each update of an incident or a window, and when a window begins or ends. */
export const StatusNoticeEvent = Component("StatusNoticeEvent", {
  id: Field(Type.String(), "The id of the event, the same in every attempt", "evt_0123456789abcdef"),
  type: Field(Type.Enum(["status.incident", "status.maintenance"]), "The kind of event"),
  created_at: Field(Timestamp, "When it was seen"),
  incident: Field(Nullable(StatusIncident), "The incident as it is now; null: it is about maintenance"),
  maintenance: Field(Nullable(StatusMaintenance), "The window as it is now; null: it is about an incident"),
});
export type StatusNoticeEvent = Static<typeof StatusNoticeEvent>;

/** An incident or a window as it is now, for webhooks. */
export interface StatusNotice extends Pick<StatusNoticeEvent, "type" | "incident" | "maintenance"> {
  /** Names this state of the incident or window: equal for equal states. */
  readonly state: string;
  /** When it came to this state: webhooks that are younger are not told. */
  readonly since_ms: number;
}

/** The actor of each customer that makes the deliveries stored for the customer's webhooks. */
export const UsageAlerts = deliveryContract("usage_alerts");
