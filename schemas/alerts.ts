/**
 * Usage alerts: the webhooks that are told when a key, project or customer reaches 50, 80 or 100 percent of a monthly
 * allowance, as they are stored and as /v1/alerts shows them.
 */
import { type Static, Type } from "typebox";
import { THRESHOLDS } from "./accounts.ts";
import { Nullable, Timestamp } from "./common.ts";
import { deliveryContract } from "./delivery.ts";

export const ALERT_SCOPES = ["key", "project", "customer"] as const;
export type AlertScope = (typeof ALERT_SCOPES)[number];

const MAX_URL_CHARS = 2_048;
const Thresholds = Type.Array(Type.Enum([...THRESHOLDS]), { minItems: 1, maxItems: 3, uniqueItems: true });

/** POST /v1/alerts. */
export const AlertBody = Type.Object({
  url: Type.String({ maxLength: MAX_URL_CHARS, description: "A public https address" }),
  scope: Type.Enum([...ALERT_SCOPES]),
  key: Type.Optional(
    Nullable(
      Type.String({
        maxLength: 100,
        description: "With scope key: the prefix of the key; default the calling key",
      }),
    ),
  ),
  project: Type.Optional(
    Nullable(
      Type.String({
        maxLength: 100,
        description: "With scope project: its name; default the calling key's project",
      }),
    ),
  ),
  thresholds: Type.Optional(Thresholds),
});
export type AlertBody = Static<typeof AlertBody>;

export const AlertHook = Type.Object({
  id: Type.Integer(),
  url: Type.String(),
  scope: Type.Enum([...ALERT_SCOPES]),
  /** With scope key. */
  key: Nullable(Type.String()),
  /** With scope project. */
  project: Nullable(Type.String()),
  /** Percent of an allowance. */
  thresholds: Type.Array(Type.Integer()),
  created_at: Timestamp,
  last_delivery_at: Nullable(Timestamp),
  /** `delivered_<code>`, `http_<code>`, `error_<class>` or `blocked_destination`; null before the first delivery. */
  last_status: Nullable(Type.String()),
});
export type AlertHook = Static<typeof AlertHook>;

export const AlertHookCreated = Type.Object({
  ...AlertHook.properties,
  /** Signs the deliveries. It is not shown again. */
  secret: Type.String(),
});

/** What a webhook is sent. */
export const UsageThresholdEvent = Type.Object({
  id: Type.String(),
  type: Type.Literal("usage.threshold"),
  created_at: Timestamp,
  scope: Type.Enum([...ALERT_SCOPES]),
  key: Nullable(Type.String()),
  project: Nullable(Type.String()),
  threshold: Type.Integer(),
  period: Type.String(),
  /** Requests, or an amount; null where it would tell an external customer what providers cost. */
  used: Nullable(Type.Union([Type.Integer(), Type.String()])),
  limit: Type.Union([Type.Integer(), Type.String()]),
  unit: Type.String(),
  resets_at: Timestamp,
});
export type UsageThresholdEvent = Static<typeof UsageThresholdEvent>;

/** One for each customer: makes the deliveries that are stored for its webhooks. */
export const UsageAlerts = deliveryContract("usage_alerts");
